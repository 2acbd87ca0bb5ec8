//! Watches: a cursor into the log of a collection, a selection, and the time.
//!
//! A watch copies nothing: what it has not read yet is in the log. One that reads slower than the log is bounded finds a
//! gap, and ends with 410 Expired.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use apimachinery::{ListOptions, StatusError};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::collection::Change;
use super::list::{check_watch_options, parse_version};
use super::selector::Selection;
use super::{Core, ExpiredWatch, ResourceInfo, Stored, Target, errors};

/// Names an open watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WatchId(u64);

/// One frame of a watch.
#[derive(Debug, Clone)]
pub enum WatchFrame {
    /// The object is there, or began to match.
    Added(Arc<Stored>),
    /// The object changed.
    Modified(Arc<Stored>),
    /// The object's last state, at the version of its deletion; or it no longer matches.
    Deleted(Arc<Stored>),
    /// Everything up to a version was told.
    Bookmark(Bookmark),
    /// The watch has failed, and ends.
    Error(StatusError),
}

/// What a bookmark says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bookmark {
    /// Everything up to here was told.
    pub resource_version: u64,
    /// Whether it closes the initial events of a streamed list.
    pub ends_initial_events: bool,
    /// The object that carries it on the wire: not a whole object of its kind.
    pub object: Value,
}

/// What a watch has.
#[derive(Debug, Clone)]
pub enum Polled {
    /// A frame.
    Frame(WatchFrame),
    /// Nothing now: [`Core::poll_ready`] will name the watch.
    Pending,
    /// Nothing any more.
    Ended,
}

#[derive(Debug)]
pub(crate) struct Watcher {
    resource: Arc<ResourceInfo>,
    namespace: Option<String>,
    selection: Selection,
    initial: VecDeque<Arc<Stored>>,
    /// The version that the bookmark after the initial events carries.
    initial_end: Option<u64>,
    cursor: u64,
    bookmarks: bool,
    bookmark_due: bool,
    next_bookmark: Option<Timestamp>,
    ends_at: Timestamp,
    ending: Option<Ending>,
    is_ready: bool,
}

#[derive(Debug, Clone)]
enum Ending {
    /// After what is already there.
    Quiet,
    /// At once.
    Failed(Box<StatusError>),
    Over,
}

impl Core {
    /// Opens a watch of a collection; a single object is watched by the field `metadata.name`.
    ///
    /// Version unset or `0`: the present state as ADDED, then changes. Another version: the changes after it. With
    /// `sendInitialEvents` the present state comes first whatever the version, and a bookmark with the annotation
    /// `k8s.io/initial-events-end` after it.
    pub fn watch(
        &mut self,
        target: &Target,
        options: &ListOptions,
        now: Timestamp,
    ) -> Result<WatchId, StatusError> {
        let resource = self.resolve(target)?;
        check_watch_options(options)?;
        let selection = Selection::parse(
            &resource,
            options.label_selector.as_deref(),
            options.field_selector.as_deref(),
        )?;
        let asked = parse_version(options.resource_version.as_str())?;
        let collection = &self.collections[resource.collection.0];
        let wants_state = options.send_initial_events.unwrap_or(asked == 0);
        if options.send_initial_events.is_some() && asked > self.version {
            return Err(errors::too_large(asked, self.version));
        }
        let mut ending = None;
        let mut initial = VecDeque::new();
        let mut cursor = if asked == 0 { self.version } else { asked };
        if wants_state {
            cursor = self.version;
            let prefix =
                target.namespace.as_ref().map(|namespace| format!("{namespace}/")).unwrap_or_default();
            let found = collection.at(cursor, &prefix, &prefix).into_iter().flatten();
            initial = found
                .filter(|(_, object)| selection.matches(&resource, object))
                .map(|(_, o)| o.clone())
                .collect();
        } else if cursor < collection.oldest() {
            let refusal = errors::too_old(asked, collection.oldest());
            if self.options.expired_watch == ExpiredWatch::Answer {
                return Err(refusal);
            }
            ending = Some(Ending::Failed(Box::new(refusal)));
        }
        let bookmarks = options.allow_watch_bookmarks;
        let lifetime = match options.timeout_seconds {
            None | Some(0) => {
                let least = self.options.min_watch_timeout;
                let more = self.dice.below(u64::try_from(least.as_millis()).unwrap_or(u64::MAX));
                least + Duration::from_millis(more)
            }
            Some(seconds) => Duration::from_secs(u64::from(seconds)),
        };
        let ends_at = now.checked_add(lifetime).unwrap_or(Timestamp::MAX);
        self.last_watch += 1;
        let id = WatchId(self.last_watch);
        let streams_list = options.send_initial_events == Some(true);
        let mut watcher = Watcher {
            resource,
            namespace: target.namespace.clone(),
            selection,
            initial,
            initial_end: (streams_list && bookmarks).then_some(cursor),
            cursor,
            bookmarks,
            bookmark_due: false,
            next_bookmark: None,
            ends_at,
            ending,
            is_ready: false,
        };
        watcher.plan_bookmark(now, self.options.bookmark_every);
        self.watchers.insert(id, watcher);
        self.wake(id);
        Ok(id)
    }

    /// What a watch has next. A watch that ended stays known until [`Core::stop_watch`].
    pub fn poll_event(&mut self, id: WatchId) -> Polled {
        let Some(watcher) = self.watchers.get_mut(&id) else { return Polled::Ended };
        match watcher.ending.take() {
            Some(Ending::Failed(refusal)) => {
                watcher.ending = Some(Ending::Over);
                return Polled::Frame(WatchFrame::Error(*refusal));
            }
            Some(Ending::Over) => {
                watcher.ending = Some(Ending::Over);
                return Polled::Ended;
            }
            other => watcher.ending = other,
        }
        if let Some(object) = watcher.initial.pop_front() {
            let object = Self::served(&watcher.resource, &object);
            return Polled::Frame(WatchFrame::Added(object));
        }
        if let Some(version) = watcher.initial_end.take() {
            return Polled::Frame(WatchFrame::Bookmark(Bookmark::new(&watcher.resource, version, true)));
        }
        let collection = &self.collections[watcher.resource.collection.0];
        loop {
            match collection.after(watcher.cursor) {
                Ok(Some(change)) => {
                    let seen = watcher.cursor;
                    watcher.cursor = change.version;
                    if let Some(frame) = watcher.frame(change) {
                        let resource = watcher.resource.clone();
                        return Polled::Frame(Self::served_frame(&resource, frame));
                    }
                    debug_assert!(seen < watcher.cursor);
                }
                Ok(None) => break,
                Err(_) => {
                    let refusal = errors::too_old(watcher.cursor, collection.oldest());
                    watcher.ending = Some(Ending::Over);
                    return Polled::Frame(WatchFrame::Error(refusal));
                }
            }
        }
        if std::mem::take(&mut watcher.bookmark_due) {
            let version = self.version.max(watcher.cursor);
            return Polled::Frame(WatchFrame::Bookmark(Bookmark::new(&watcher.resource, version, false)));
        }
        if watcher.ending.is_some() {
            watcher.ending = Some(Ending::Over);
            return Polled::Ended;
        }
        Polled::Pending
    }

    /// A watch that has something new, each named once until it is polled.
    pub fn poll_ready(&mut self) -> Option<WatchId> {
        loop {
            let id = self.ready.pop_front()?;
            if let Some(watcher) = self.watchers.get_mut(&id) {
                watcher.is_ready = false;
                return Some(id);
            }
        }
    }

    /// Forgets a watch.
    pub fn stop_watch(&mut self, id: WatchId) {
        self.watchers.remove(&id);
    }

    /// The open watches, and what each watches.
    pub fn watches(&self) -> impl Iterator<Item = (WatchId, &Arc<ResourceInfo>)> {
        self.watchers.iter().map(|(&id, watcher)| (id, &watcher.resource))
    }

    /// Ends every watch, or those of one resource, after what it has: the stream just closes.
    pub fn end_watches(&mut self, of: Option<&ResourceInfo>) {
        self.finish(of, &Ending::Quiet);
    }

    /// Fails every watch, or those of one resource, with `refusal` in an ERROR frame. What it has not read is skipped.
    pub fn fail_watches(&mut self, of: Option<&ResourceInfo>, refusal: &StatusError) {
        self.finish(of, &Ending::Failed(Box::new(refusal.clone())));
    }

    /// Fails every watch with 410 Expired.
    pub fn expire_watches(&mut self) {
        let refusal = errors::too_old(self.version.saturating_sub(1), self.version);
        self.fail_watches(None, &refusal);
    }

    /// Ends one watch after what it has.
    pub fn end_watch(&mut self, id: WatchId) {
        self.finish_one(id, Ending::Quiet);
    }

    /// Fails one watch with `refusal` in an ERROR frame.
    pub fn fail_watch(&mut self, id: WatchId, refusal: &StatusError) {
        self.finish_one(id, Ending::Failed(Box::new(refusal.clone())));
    }

    fn finish_one(&mut self, id: WatchId, ending: Ending) {
        if let Some(watcher) = self.watchers.get_mut(&id)
            && !matches!(watcher.ending, Some(Ending::Over))
        {
            watcher.ending = Some(ending);
            self.wake(id);
        }
    }

    fn finish(&mut self, of: Option<&ResourceInfo>, ending: &Ending) {
        let meant =
            |watcher: &Watcher| of.is_none_or(|resource| resource.collection == watcher.resource.collection);
        let ids: Vec<_> =
            self.watchers.iter().filter(|(_, watcher)| meant(watcher)).map(|(&id, _)| id).collect();
        for id in ids {
            self.finish_one(id, ending.clone());
        }
    }

    pub(crate) fn wake(&mut self, id: WatchId) {
        if let Some(watcher) = self.watchers.get_mut(&id).filter(|watcher| !watcher.is_ready) {
            watcher.is_ready = true;
            self.ready.push_back(id);
        }
    }

    /// Wakes those who watch a collection that changed in `namespace`.
    pub(crate) fn wake_watchers_of(&mut self, resource: &ResourceInfo, namespace: &str) {
        for (&id, watcher) in &mut self.watchers {
            let meant = watcher.resource.collection == resource.collection
                && watcher.namespace.as_deref().is_none_or(|watched| watched == namespace);
            if meant && !watcher.is_ready {
                watcher.is_ready = true;
                self.ready.push_back(id);
            }
        }
    }

    pub(crate) fn watch_timeout(&self) -> Option<Timestamp> {
        let open = self.watchers.values().filter(|watcher| watcher.ending.is_none());
        open.map(|watcher| watcher.next_bookmark.map_or(watcher.ends_at, |at| at.min(watcher.ends_at))).min()
    }

    pub(crate) fn handle_watch_timeout(&mut self, now: Timestamp) {
        let every = self.options.bookmark_every;
        let mut due = Vec::new();
        for (&id, watcher) in self.watchers.iter_mut().filter(|(_, watcher)| watcher.ending.is_none()) {
            if watcher.next_bookmark.is_some_and(|at| at <= now) {
                watcher.bookmark_due = true;
                watcher.plan_bookmark(now, every);
                due.push(id);
            }
            if watcher.ends_at <= now {
                watcher.ending = Some(Ending::Quiet);
                due.push(id);
            }
        }
        for id in due {
            self.wake(id);
        }
    }

    fn served_frame(resource: &ResourceInfo, frame: WatchFrame) -> WatchFrame {
        match frame {
            WatchFrame::Added(object) => WatchFrame::Added(Self::served(resource, &object)),
            WatchFrame::Modified(object) => WatchFrame::Modified(Self::served(resource, &object)),
            WatchFrame::Deleted(object) => WatchFrame::Deleted(Self::served(resource, &object)),
            other => other,
        }
    }
}

impl Watcher {
    /// What a change is for this watch: by what matched before and what matches now.
    fn frame(&self, change: &Change) -> Option<WatchFrame> {
        if self.namespace.as_deref().is_some_and(|namespace| namespace != change.object.namespace()) {
            return None;
        }
        let matches = |object: &Arc<Stored>| self.selection.matches(&self.resource, object);
        let did = change.before.as_ref().filter(|before| matches(before));
        let does = !change.is_deletion && matches(&change.object);
        match (did, does) {
            (None, false) => None,
            (None, true) => Some(WatchFrame::Added(change.object.clone())),
            (Some(_), true) => Some(WatchFrame::Modified(change.object.clone())),
            (Some(_), false) if change.is_deletion => Some(WatchFrame::Deleted(change.object.clone())),
            (Some(before), false) => {
                let mut value = before.value();
                value["metadata"]["resourceVersion"] = Value::String(change.version.to_string());
                Some(WatchFrame::Deleted(Arc::new(Stored::new(&self.resource, &value))))
            }
        }
    }

    /// The next bookmark: after the period, but two seconds before the end if that comes first.
    fn plan_bookmark(&mut self, now: Timestamp, every: Duration) {
        if !self.bookmarks {
            return;
        }
        let next = now.checked_add(every).unwrap_or(Timestamp::MAX);
        let last = self.ends_at.checked_sub(Duration::from_secs(2)).unwrap_or(Timestamp::MIN);
        self.next_bookmark = [next, last].into_iter().filter(|&at| at > now && at < self.ends_at).min();
    }
}

impl Bookmark {
    fn new(resource: &ResourceInfo, version: u64, ends_initial_events: bool) -> Self {
        let mut metadata = json!({"resourceVersion": version.to_string(), "creationTimestamp": null});
        if ends_initial_events {
            metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        let mut object =
            json!({"kind": resource.kind, "apiVersion": resource.api_version(), "metadata": metadata});
        if let Some((spec, status)) = zero_of(resource) {
            object["spec"] = spec;
            object["status"] = status;
        }
        Self { resource_version: version, ends_initial_events, object }
    }
}

/// The zero of a kind's Go struct, as it is printed: not a whole object.
fn zero_of(resource: &ResourceInfo) -> Option<(Value, Value)> {
    let template = json!({"metadata": {}, "spec": {"containers": null}});
    match (resource.group.as_str(), resource.plural.as_str()) {
        ("", "pods") => Some((json!({"containers": null}), json!({}))),
        ("", "namespaces") => Some((json!({}), json!({}))),
        ("", "services") => Some((json!({}), json!({"loadBalancer": {}}))),
        ("apps", "deployments") => {
            Some((json!({"selector": null, "template": template, "strategy": {}}), json!({})))
        }
        ("apps", "replicasets") => {
            Some((json!({"selector": null, "template": template}), json!({"replicas": 0})))
        }
        ("batch", "jobs") => Some((json!({"template": template}), json!({}))),
        _ => None,
    }
}
