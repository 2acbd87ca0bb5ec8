//! The core: pages and events in, deltas out, and what to ask next.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use apimachinery::{
    ApiError, Bookmark, BoxError, DecodeError, EventKind, ListOptions, Object, ObjectKey, Page,
    ResourceVersion, Unreadable, WatchEvent,
};
use deltafifo::Delta;
use flowcontrol::Jitter;

use crate::cycle::{Ask, Cycle, PageOutcome, Place, is_before};
use crate::{Config, Counters, Note, ReflectorError, Status};

/// What the shell must send next. Whatever was open before is dropped first.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    /// One page of a list; answered by [`ReflectorCore::handle_page`] or [`ReflectorCore::handle_list_error`].
    List(ListOptions),
    /// A watch; answered by [`ReflectorCore::handle_opened`] or [`ReflectorCore::handle_watch_error`].
    Watch(ListOptions),
}

/// What becomes of an object before it is kept. It may change the type. It is called once for each object that the
/// server sends, before the object is shared (CACHE-R-61).
pub type Transform<In, Out> = Box<dyn FnMut(In) -> Result<Out, BoxError> + Send>;

/// The reflector as a value: it holds no stream, waits for nothing and reads no clock.
///
/// Whoever drives it sends what [`ReflectorCore::poll_request`] says, tells it what came back, hands on what
/// [`ReflectorCore::poll_delta`] gives before the next event is told, and comes back at
/// [`ReflectorCore::poll_timeout`].
pub struct ReflectorCore<In, Out = In> {
    cycle: Cycle,
    transform: Kept<In, Out>,
    /// The pages so far.
    items: Vec<Arc<Out>>,
    /// The initial events so far: fresh for every attempt (CACHE-R-56).
    buffer: HashMap<ObjectKey, Arc<Out>>,
    /// What exists and could not be decoded, of either.
    unreadable: HashSet<ObjectKey>,
    /// Whether there was something of which not even the name could be read.
    some_nameless: bool,
    /// Undecodable objects that were told of, so that each version of them is told once.
    told: HashMap<ObjectKey, Option<ResourceVersion>>,
    deltas: VecDeque<Delta<Out>>,
}

/// What is kept of an object.
pub(crate) enum Kept<In, Out> {
    /// `In` is `Out`: the identity, and nothing to fail.
    AsIs(fn(In) -> Out),
    Transformed(Transform<In, Out>),
}

impl<In, Out> Kept<In, Out> {
    fn can_fail(&self) -> bool {
        matches!(self, Self::Transformed(_))
    }
}

/// How many undecodable objects are remembered as told.
const MAX_TOLD: usize = 10_000;

impl<T: Object> ReflectorCore<T> {
    /// A reflector of `what` that keeps what the server sends.
    ///
    /// `watch_list`: whether the source supports WatchList.
    pub fn new(what: Arc<str>, config: Config, watch_list: bool, jitter: Box<dyn Jitter + Send>) -> Self {
        Self::keeping(what, config, watch_list, jitter, Kept::AsIs(std::convert::identity))
    }
}

impl<In: Object, Out: Object> ReflectorCore<In, Out> {
    /// A reflector of `what` that keeps what `transform` makes of it.
    pub fn transforming(
        what: Arc<str>,
        config: Config,
        watch_list: bool,
        jitter: Box<dyn Jitter + Send>,
        transform: Transform<In, Out>,
    ) -> Self {
        Self::keeping(what, config, watch_list, jitter, Kept::Transformed(transform))
    }

    pub(crate) fn keeping(
        what: Arc<str>,
        config: Config,
        watch_list: bool,
        jitter: Box<dyn Jitter + Send>,
        transform: Kept<In, Out>,
    ) -> Self {
        Self {
            cycle: Cycle::new(what, config, watch_list, jitter),
            transform,
            items: Vec::new(),
            buffer: HashMap::new(),
            unreadable: HashSet::new(),
            some_nameless: false,
            told: HashMap::new(),
            deltas: VecDeque::new(),
        }
    }

    /// What to send now, if anything.
    pub fn poll_request(&mut self, now: Instant) -> Option<Request> {
        let (request, fresh) = match self.cycle.poll_request(now)? {
            Ask::List { options, fresh } => (Request::List(options), fresh),
            Ask::Watch { options, fresh } => (Request::Watch(options), fresh),
        };
        if fresh {
            self.forget_collected();
        }
        Some(request)
    }

    /// When to call [`ReflectorCore::handle_timeout`], then [`ReflectorCore::poll_request`], if nothing else happens.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.cycle.poll_timeout()
    }

    /// The time that [`ReflectorCore::poll_timeout`] named has come. Sooner does no harm.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.cycle.handle_timeout(now);
        self.settle();
    }

    /// Whether a watch is open or being opened. If not, its stream or its request is to be dropped.
    pub fn holds_stream(&self) -> bool {
        self.cycle.holds_stream()
    }

    /// The next delta to hand on, in order.
    pub fn poll_delta(&mut self) -> Option<Delta<Out>> {
        self.deltas.pop_front()
    }

    /// The next thing worth telling people.
    pub fn poll_note(&mut self) -> Option<Note> {
        self.cycle.poll_note()
    }

    /// The status, if it changed since the last call.
    pub fn poll_status(&mut self) -> Option<Status> {
        self.cycle.poll_status()
    }

    /// The version of the last delta; handed on once [`ReflectorCore::poll_delta`] is empty.
    pub fn last_resource_version(&self) -> &str {
        self.cycle.last_version()
    }

    /// What it did so far.
    pub fn counters(&self) -> &Counters {
        &self.cycle.counters
    }

    /// A page came.
    pub fn handle_page(&mut self, now: Instant, page: Page<In>) {
        if !self.cycle.awaits_page() {
            return;
        }
        self.items.reserve(page.items.len());
        for item in page.items {
            if item.name().is_empty() {
                self.some_nameless = true;
                self.undecodable(DecodeError::new("it has no name"));
                continue;
            }
            match self.transformed(item) {
                Ok(object) => self.items.push(object),
                Err(error) => return self.sync_failed(now, error),
            }
        }
        for error in page.undecodable {
            match &error.key {
                Some(key) => {
                    self.unreadable.insert(key.clone());
                }
                None => self.some_nameless = true,
            }
            self.undecodable(error);
        }
        let objects = self.items.len();
        match self.cycle.page(now, &page.resource_version, page.continue_token, objects) {
            PageOutcome::Complete(version) => {
                let items = std::mem::take(&mut self.items);
                self.replaced(items, version);
            }
            PageOutcome::Incomplete => self.settle(),
        }
    }

    /// The list failed.
    pub fn handle_list_error(&mut self, now: Instant, error: ApiError) {
        self.cycle.list_failed(now, error);
        self.settle();
    }

    /// The watch is open.
    pub fn handle_opened(&mut self, now: Instant) {
        self.cycle.opened(now);
    }

    /// The watch could not be opened, or ended with an error.
    pub fn handle_watch_error(&mut self, now: Instant, error: ApiError) {
        self.cycle.watch_failed(now, error);
        self.settle();
    }

    /// The server ended the watch in order.
    pub fn handle_watch_end(&mut self, now: Instant) {
        self.cycle.watch_ended(now);
        self.settle();
    }

    /// An event came.
    pub fn handle_event(&mut self, now: Instant, event: WatchEvent<In>) {
        match event {
            WatchEvent::Added(object) => self.object(now, EventKind::Added, object),
            WatchEvent::Modified(object) => self.object(now, EventKind::Modified, object),
            WatchEvent::Deleted(object) => self.object(now, EventKind::Deleted, object),
            WatchEvent::Bookmark(bookmark) => self.bookmark(now, bookmark),
            WatchEvent::Undecodable { kind, error } => self.undecodable_event(now, kind, error),
        }
    }

    fn object(&mut self, now: Instant, kind: EventKind, object: In) {
        if object.name().is_empty() {
            return self.undecodable_event(now, kind, DecodeError::new("it has no name"));
        }
        match self.cycle.event(now, kind, Some(object.resource_version())) {
            Place::Buffer => self.buffer(now, kind, object),
            Place::Forward => {
                let last = self.cycle.last_version();
                let late = is_before(object.resource_version(), last).then(|| ResourceVersion::from(last));
                self.forward(kind, object);
                // The cache took the version of the object, which is not where the stream is.
                self.deltas.extend(late.map(Delta::Bookmark));
            }
            Place::Nowhere => {}
        }
    }

    fn buffer(&mut self, now: Instant, kind: EventKind, object: In) {
        let key = object.key();
        self.unreadable.remove(&key);
        if kind == EventKind::Deleted {
            self.buffer.remove(&key);
            return;
        }
        match self.transformed(object) {
            Ok(object) => {
                self.buffer.insert(key, object);
            }
            Err(error) => self.sync_failed(now, error),
        }
    }

    fn forward(&mut self, kind: EventKind, object: In) {
        if !self.told.is_empty() {
            self.told.remove(&object.key());
        }
        // It is gone, whatever the transform thinks of it.
        let gone = (kind == EventKind::Deleted && self.transform.can_fail())
            .then(|| (object.key(), ResourceVersion::from(object.resource_version())));
        match (self.transformed(object), kind) {
            (Ok(object), EventKind::Added) => self.deltas.push_back(Delta::Added(object)),
            (Ok(object), EventKind::Modified) => self.deltas.push_back(Delta::Updated(object)),
            (Ok(object), EventKind::Deleted) => self.deltas.push_back(Delta::Deleted(object)),
            (Err(error), _) => {
                self.cycle.tell(error);
                if let Some((key, version)) = gone {
                    self.deleted_by_key(key, Some(version));
                }
            }
        }
    }

    /// The bookmark tells the version that a key cannot.
    fn deleted_by_key(&mut self, key: ObjectKey, version: Option<ResourceVersion>) {
        self.deltas.push_back(Delta::DeletedKey(key));
        let last = self.cycle.last_version();
        let news = version.filter(|version| !version.is_empty() && !is_before(version.as_str(), last));
        self.deltas.extend(news.map(Delta::Bookmark));
    }

    fn bookmark(&mut self, now: Instant, bookmark: Bookmark) {
        match self.cycle.bookmark(now, &bookmark.resource_version, bookmark.initial_events_end) {
            (Place::Buffer, true) => {
                let items: Vec<_> = std::mem::take(&mut self.buffer).into_values().collect();
                self.cycle.streamed(now, &bookmark.resource_version, items.len());
                self.replaced(items, bookmark.resource_version);
            }
            (Place::Forward, _) if !bookmark.resource_version.is_empty() => {
                self.deltas.push_back(Delta::Bookmark(bookmark.resource_version));
            }
            _ => {}
        }
    }

    /// One bad object: told by name, and the rest goes on. Of a deletion the key is enough.
    fn undecodable_event(&mut self, now: Instant, kind: EventKind, error: DecodeError) {
        if !self.cycle.holds_stream() {
            return;
        }
        let Some(key) = error.key.clone() else {
            return self.nameless_event(now, kind, error);
        };
        let version = error.resource_version.clone();
        let place = self.cycle.event(now, kind, version.as_ref().map(ResourceVersion::as_str));
        match (place, kind) {
            (Place::Buffer, EventKind::Deleted) => {
                self.buffer.remove(&key);
                self.unreadable.remove(&key);
            }
            // What came before of it in the same stream is still a state of the server's.
            (Place::Buffer, _) if !self.buffer.contains_key(&key) => {
                self.unreadable.insert(key);
            }
            (Place::Forward, EventKind::Deleted) => {
                self.deleted_by_key(key, version);
            }
            _ => {}
        }
        self.undecodable(error);
    }

    /// Without a name it is skipped and its version does not count (CACHE-R-36). But if something was deleted, only a
    /// list can say what; and among the initial events it may be anything that is cached.
    fn nameless_event(&mut self, now: Instant, kind: EventKind, error: DecodeError) {
        self.some_nameless |= self.cycle.is_collecting();
        self.undecodable(error.clone());
        if kind == EventKind::Deleted {
            self.handle_watch_error(now, ApiError::Decode(error));
        }
    }

    /// Tells of a bad object, once for each version of it.
    fn undecodable(&mut self, error: DecodeError) {
        self.cycle.counters.undecodable += 1;
        if let Some(key) = &error.key {
            if self.told.get(key).is_some_and(|version| *version == error.resource_version) {
                return;
            }
            if self.told.len() < MAX_TOLD {
                self.told.insert(key.clone(), error.resource_version.clone());
            }
        }
        let what = Arc::clone(self.cycle.what());
        self.cycle.tell(ReflectorError::Undecodable { what, source: error });
    }

    fn transformed(&mut self, object: In) -> Result<Arc<Out>, ReflectorError> {
        match &mut self.transform {
            Kept::AsIs(keep) => Ok(Arc::new(keep(object))),
            Kept::Transformed(transform) => {
                let key = object.key();
                transform(object).map(Arc::new).map_err(|source| {
                    self.cycle.counters.transform_failures += 1;
                    ReflectorError::Transform { what: Arc::clone(self.cycle.what()), key, source }
                })
            }
        }
    }

    fn replaced(&mut self, items: Vec<Arc<Out>>, resource_version: ResourceVersion) {
        self.told.retain(|key, _| self.unreadable.contains(key));
        let keys: Vec<_> = self.unreadable.drain().collect();
        let unreadable = Unreadable::from(keys).and_nameless(std::mem::take(&mut self.some_nameless));
        self.deltas.push_back(Delta::Replaced { items, unreadable, resource_version });
    }

    fn sync_failed(&mut self, now: Instant, error: ReflectorError) {
        self.cycle.sync_failed(now, error);
        self.settle();
    }

    /// Nothing that was collected outlives what it was collected for.
    fn settle(&mut self) {
        if !self.cycle.is_collecting() {
            self.forget_collected();
        }
    }

    fn forget_collected(&mut self) {
        self.items = Vec::new();
        self.buffer = HashMap::new();
        self.unreadable.clear();
        self.some_nameless = false;
    }
}

impl<In, Out> fmt::Debug for ReflectorCore<In, Out> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReflectorCore").field("cycle", &self.cycle).finish_non_exhaustive()
    }
}
