//! A server in a lock, and a listener that remembers.
#![allow(dead_code, reason = "each test binary uses a part")]

use std::collections::BTreeMap;
use std::pin::Pin;
#[expect(clippy::disallowed_types, reason = "a test's world behind one lock")]
use std::sync::Mutex;
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use apimachinery::{
    ApiError, DecodeError, EventKind, Head, ListOptions, ListWatch, Object, ObjectKey, Page, ResourceVersion,
    StatusError, WatchEvent,
};
use futures_util::Stream;
use shared_informer::{Notification, SharedInformer};
use steersman_shared_informer as shared_informer;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// Far more than anything here takes, in virtual time or real.
pub(crate) const LIMIT: Duration = Duration::from_secs(30);

#[derive(Debug, Clone, serde::Deserialize)]
pub(crate) struct Thing {
    metadata: Head,
}
apimachinery::object!(Thing, "v1", "Thing", "things", Namespaced);

pub(crate) fn thing(name: &str, version: u64, uid: &str) -> Thing {
    let metadata = serde_json::json!({ "name": name, "resourceVersion": version.to_string(), "uid": uid });
    serde_json::from_value(serde_json::json!({ "metadata": metadata })).unwrap()
}

/// A server with one collection. It keeps its history until it is told to forget.
#[derive(Clone)]
pub(crate) struct Server {
    #[expect(clippy::disallowed_types, reason = "see above")]
    state: Arc<Mutex<State>>,
    what: &'static str,
}

#[derive(Default)]
struct State {
    version: u64,
    forgotten: u64,
    objects: BTreeMap<String, Thing>,
    /// Names whose objects cannot be decoded.
    unreadable: Vec<String>,
    history: Vec<(u64, EventKind, Thing)>,
    watches: Vec<mpsc::UnboundedSender<Result<WatchEvent<Thing>, ApiError>>>,
    refusal: Option<StatusError>,
    is_hanging: bool,
    lists: usize,
    watch_requests: usize,
}

impl Server {
    pub(crate) fn new() -> Self {
        let state = State { version: 1, ..State::default() };
        #[expect(clippy::disallowed_types, reason = "see above")]
        let state = Arc::new(Mutex::new(state));
        Self { state, what: "things" }
    }

    pub(crate) fn described(mut self, what: &'static str) -> Self {
        self.what = what;
        self
    }

    pub(crate) fn with(names: &[&str]) -> Self {
        let server = Self::new();
        for name in names {
            server.put(name);
        }
        server
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Makes or changes an object; returns its version.
    pub(crate) fn put(&self, name: &str) -> u64 {
        let mut state = self.state();
        state.version += 1;
        let version = state.version;
        let known = state.objects.get(name).map(|known| known.uid().to_owned());
        let kind = if known.is_some() { EventKind::Modified } else { EventKind::Added };
        let uid = known.unwrap_or_else(|| format!("{name}-{version}"));
        let object = thing(name, version, &uid);
        state.objects.insert(name.to_owned(), object.clone());
        state.happened(kind, &object);
        version
    }

    pub(crate) fn delete(&self, name: &str) -> u64 {
        let mut state = self.state();
        state.version += 1;
        let version = state.version;
        let last = state.objects.remove(name).expect("an object to delete");
        let last = thing(name, version, last.uid());
        state.happened(EventKind::Deleted, &last);
        version
    }

    /// From now on nothing can be made of this object.
    pub(crate) fn spoil(&self, name: &str) {
        self.state().unreadable.push(name.to_owned());
    }

    pub(crate) fn repair(&self) {
        self.state().unreadable.clear();
    }

    pub(crate) fn bookmark(&self) {
        let mut state = self.state();
        let bookmark = apimachinery::Bookmark {
            resource_version: state.version.to_string().into(),
            initial_events_end: false,
        };
        state.watches.retain(|watch| watch.send(Ok(WatchEvent::Bookmark(bookmark.clone()))).is_ok());
    }

    /// Ends every watch.
    pub(crate) fn cut(&self) {
        self.state().watches.clear();
    }

    /// Ends every watch, lets `during` happen unseen, and forgets the history, so that a list is needed.
    pub(crate) fn gap(&self, during: impl FnOnce(&Self)) {
        self.cut();
        during(self);
        let mut state = self.state();
        state.version += 1;
        state.forgotten = state.version;
    }

    /// Answers every request like this.
    pub(crate) fn refuse(&self, refusal: Option<StatusError>) {
        self.state().refusal = refusal;
    }

    /// Answers no request at all, or again.
    pub(crate) fn hang(&self, is_hanging: bool) {
        self.state().is_hanging = is_hanging;
    }

    /// How many lists and watches were asked for.
    pub(crate) fn requests(&self) -> (usize, usize) {
        let state = self.state();
        (state.lists, state.watch_requests)
    }

    pub(crate) fn has_watch(&self) -> bool {
        self.state().watches.iter().any(|watch| !watch.is_closed())
    }

    /// What there is: `name@version`.
    pub(crate) fn content(&self) -> Vec<String> {
        self.state().objects.values().map(at).collect()
    }

    fn answer(&self) -> Result<(), ApiError> {
        match &self.state().refusal {
            None => Ok(()),
            Some(refusal) => Err(refusal.clone().into()),
        }
    }

    async fn patience(&self) {
        while self.state().is_hanging {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

impl State {
    fn happened(&mut self, kind: EventKind, object: &Thing) {
        self.history.push((self.version, kind, object.clone()));
        let unreadable = self.unreadable.clone();
        self.watches.retain(|watch| watch.send(Ok(event(&unreadable, kind, object))).is_ok());
    }
}

fn event(unreadable: &[String], kind: EventKind, object: &Thing) -> WatchEvent<Thing> {
    if unreadable.iter().any(|name| name == object.name()) {
        return WatchEvent::Undecodable { kind, error: undecodable(object) };
    }
    match kind {
        EventKind::Added => WatchEvent::Added(object.clone()),
        EventKind::Modified => WatchEvent::Modified(object.clone()),
        EventKind::Deleted => WatchEvent::Deleted(object.clone()),
    }
}

fn undecodable(object: &Thing) -> DecodeError {
    let mut error = DecodeError::new("spoiled");
    error.key = Some(object.key());
    error.resource_version = Some(object.resource_version().into());
    error
}

impl ListWatch<Thing> for Server {
    type Events = Pin<Box<dyn Stream<Item = Result<WatchEvent<Thing>, ApiError>> + Send>>;

    async fn list(&self, _options: &ListOptions) -> Result<Page<Thing>, ApiError> {
        self.state().lists += 1;
        self.patience().await;
        self.answer()?;
        let state = self.state();
        let (bad, good): (Vec<&Thing>, Vec<&Thing>) = state
            .objects
            .values()
            .partition(|object| state.unreadable.iter().any(|name| name == object.name()));
        Ok(Page {
            items: good.into_iter().cloned().collect(),
            undecodable: bad.into_iter().map(undecodable).collect(),
            resource_version: state.version.to_string().into(),
            continue_token: None,
            remaining_item_count: None,
        })
    }

    async fn watch(&self, options: &ListOptions) -> Result<Self::Events, ApiError> {
        self.state().watch_requests += 1;
        self.patience().await;
        self.answer()?;
        let mut state = self.state();
        let from: u64 = options.resource_version.as_str().parse().unwrap_or(0);
        if from < state.forgotten {
            return Err(StatusError::expired("too old resource version").into());
        }
        let (sender, mut receiver) = mpsc::unbounded_channel();
        for (version, kind, object) in &state.history {
            if *version > from {
                let _ = sender.send(Ok(event(&state.unreadable, *kind, object)));
            }
        }
        state.watches.push(sender);
        Ok(Box::pin(futures_util::stream::poll_fn(move |cx| receiver.poll_recv(cx))))
    }

    fn supports_watch_list(&self) -> bool {
        false
    }

    fn describe(&self) -> String {
        self.what.to_owned()
    }
}

pub(crate) fn at(object: &impl Object) -> String {
    format!("{}@{}", object.name(), object.resource_version())
}

/// What is in the cache, sorted by name.
pub(crate) fn cached(informer: &SharedInformer<Thing>) -> Vec<String> {
    let mut all = informer.lister().list();
    all.sort_by(|a, b| a.name().cmp(b.name()));
    all.iter().map(|object| at(&**object)).collect()
}

/// Remembers what it was told, as text.
#[derive(Clone, Default)]
pub(crate) struct Record {
    #[expect(clippy::disallowed_types, reason = "see above")]
    told: Arc<Mutex<Vec<String>>>,
}

impl Record {
    /// Adds itself to the informer for as long as that runs.
    pub(crate) fn of(informer: &SharedInformer<Thing>) -> Self {
        let record = Self::default();
        informer.add_handler(record.handler()).detach();
        record
    }

    pub(crate) fn handler(&self) -> impl Fn(&Notification<Thing>) + Send + use<> {
        let record = self.clone();
        move |notification| record.push(format!("{notification:?}"))
    }

    pub(crate) fn push(&self, text: String) {
        self.told.lock().unwrap().push(text);
    }

    pub(crate) fn told(&self) -> Vec<String> {
        self.told.lock().unwrap().clone()
    }

    /// What it was told since it was asked last.
    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.told.lock().unwrap())
    }

    pub(crate) fn len(&self) -> usize {
        self.told.lock().unwrap().len()
    }
}

/// A listener that keeps what it was told of, and checks that what it is told follows from that.
#[derive(Clone, Default)]
pub(crate) struct Mirror {
    #[expect(clippy::disallowed_types, reason = "see above")]
    state: Arc<Mutex<Memory>>,
}

#[derive(Default)]
struct Memory {
    known: BTreeMap<String, String>,
    /// What did not follow from what was known.
    wrong: Vec<String>,
}

impl Mirror {
    pub(crate) fn handler(&self) -> impl Fn(&Notification<Thing>) + Send + use<> {
        let mirror = self.clone();
        move |notification| mirror.tell(notification)
    }

    pub(crate) fn tell(&self, notification: &Notification<Thing>) {
        let Memory { known, wrong } = &mut *self.state.lock().unwrap();
        let key = notification.key().to_string();
        let follows = match notification {
            Notification::Added { object, .. } => known.insert(key, at(&**object)).is_none(),
            Notification::Updated { old, new } => known.insert(key, at(&**new)) == Some(at(&**old)),
            Notification::Deleted(_) => known.remove(&key).is_some(),
        };
        if !follows {
            wrong.push(format!("{notification:?}"));
        }
    }

    /// What it knows, as the server says it; panics if something did not follow.
    pub(crate) fn content(&self) -> Vec<String> {
        let Memory { known, wrong } = &*self.state.lock().unwrap();
        assert!(wrong.is_empty(), "told what does not follow: {wrong:?}");
        known.values().cloned().collect()
    }
}

/// Runs the informer until the answer is aborted.
pub(crate) fn run(informer: &SharedInformer<Thing>) -> JoinHandle<()> {
    tokio::spawn(informer.run(std::future::pending()))
}

/// Waits for a condition.
pub(crate) async fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let met = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    assert!(tokio::time::timeout(LIMIT, met).await.is_ok(), "not within the limit: {what}");
}

/// Waits until the cache is what the server has, and the watch is open.
pub(crate) async fn settled(informer: &SharedInformer<Thing>, server: &Server) {
    let met = async {
        while !(server.has_watch() && cached(informer) == server.content()) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    if tokio::time::timeout(LIMIT, met).await.is_err() {
        let (cache, content) = (cached(informer), server.content());
        panic!("not settled: the cache {cache:?} is not {content:?}");
    }
}

pub(crate) async fn within<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(LIMIT, future).await.expect("within the limit")
}

pub(crate) fn version(number: u64) -> ResourceVersion {
    number.to_string().into()
}

pub(crate) fn key(name: &str) -> ObjectKey {
    ObjectKey::cluster(name)
}
