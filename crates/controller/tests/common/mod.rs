//! A cluster of one kind behind the seam: objects, versions, a log of events, refusals.
#![allow(dead_code, reason = "each test file uses its part")]

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use apimachinery::{
    ApiError, ListOptions, ListWatch, ObjectKey, Page, ResourceVersion, StatusError, WatchEvent,
};
use futures_core::Stream;
use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use shared_informer::SharedInformer;
use tokio::sync::{Notify, mpsc};

/// Longer than anything here takes, on a clock that is paused.
pub(crate) const LIMIT: Duration = Duration::from_hours(24);
pub(crate) const MS: fn(u64) -> Duration = Duration::from_millis;

pub(crate) trait Thing: apimachinery::Object + Clone {
    fn metadata_mut(&mut self) -> &mut ObjectMeta;
}

macro_rules! things {
    ($($type:ty),*) => { $(
        impl Thing for $type {
            fn metadata_mut(&mut self) -> &mut ObjectMeta {
                &mut self.metadata
            }
        }
    )* };
}
things!(ConfigMap, Pod, ReplicaSet);

type Told<T> = Result<WatchEvent<T>, ApiError>;

struct State<T> {
    objects: BTreeMap<ObjectKey, T>,
    version: u64,
    log: Vec<(u64, WatchEvent<T>)>,
    watches: Vec<mpsc::UnboundedSender<Told<T>>>,
    refusal: Option<StatusError>,
    is_silent: bool,
    lists: usize,
}

/// A handle; clones are the same cluster.
pub(crate) struct Cluster<T> {
    #[allow(clippy::disallowed_types, reason = "a fake of a server, in a test")]
    state: Arc<std::sync::Mutex<State<T>>>,
    changed: Arc<Notify>,
}

impl<T> Clone for Cluster<T> {
    fn clone(&self) -> Self {
        Self { state: self.state.clone(), changed: self.changed.clone() }
    }
}

impl<T: Thing> Cluster<T> {
    pub(crate) fn new() -> Self {
        let state = State {
            objects: BTreeMap::new(),
            version: 1,
            log: Vec::new(),
            watches: Vec::new(),
            refusal: None,
            is_silent: false,
            lists: 0,
        };
        #[allow(clippy::disallowed_types, reason = "a fake of a server, in a test")]
        let state = Arc::new(std::sync::Mutex::new(state));
        Self { state, changed: Arc::default() }
    }

    pub(crate) fn informer(&self) -> SharedInformer<T> {
        SharedInformer::new(self.clone())
    }

    /// Creates or changes.
    pub(crate) fn put(&self, mut object: T) -> T {
        let mut state = self.state.lock().unwrap();
        state.version += 1;
        object.metadata_mut().resource_version = Some(state.version.to_string());
        let event = match state.objects.insert(object.key(), object.clone()) {
            None => WatchEvent::Added(object.clone()),
            Some(_) => WatchEvent::Modified(object.clone()),
        };
        state.tell(&event);
        object
    }

    pub(crate) fn delete(&self, key: &str) {
        let mut state = self.state.lock().unwrap();
        let mut object = state.objects.remove(&ObjectKey::parse(key).unwrap()).expect("something to delete");
        state.version += 1;
        object.metadata_mut().resource_version = Some(state.version.to_string());
        state.tell(&WatchEvent::Deleted(object));
    }

    /// Every list is refused, until it is `None`.
    pub(crate) fn refuse(&self, refusal: impl Into<Option<StatusError>>) {
        self.state.lock().unwrap().refusal = refusal.into();
    }

    /// No list is answered.
    pub(crate) fn silence(&self, is_silent: bool) {
        self.state.lock().unwrap().is_silent = is_silent;
        self.changed.notify_waiters();
    }

    pub(crate) fn lists(&self) -> usize {
        self.state.lock().unwrap().lists
    }

    pub(crate) fn watches(&self) -> usize {
        let mut state = self.state.lock().unwrap();
        state.watches.retain(|watch| !watch.is_closed());
        state.watches.len()
    }
}

impl<T: Thing> State<T> {
    fn tell(&mut self, event: &WatchEvent<T>) {
        self.log.push((self.version, event.clone()));
        self.watches.retain(|watch| watch.send(Ok(event.clone())).is_ok());
    }
}

impl<T: Thing> ListWatch<T> for Cluster<T> {
    type Events = Events<T>;

    async fn list(&self, _options: &ListOptions) -> Result<Page<T>, ApiError> {
        loop {
            let changed = self.changed.notified();
            {
                let mut state = self.state.lock().unwrap();
                if !state.is_silent {
                    state.lists += 1;
                    if let Some(refusal) = &state.refusal {
                        return Err(ApiError::Status(refusal.clone()));
                    }
                    return Ok(Page {
                        items: state.objects.values().cloned().collect(),
                        undecodable: Vec::new(),
                        resource_version: ResourceVersion::from(state.version.to_string()),
                        continue_token: None,
                        remaining_item_count: None,
                    });
                }
            }
            changed.await;
        }
    }

    async fn watch(&self, options: &ListOptions) -> Result<Events<T>, ApiError> {
        let since: u64 = options.resource_version.as_str().parse().expect("a version that a list gave");
        let (sender, events) = mpsc::unbounded_channel();
        let mut state = self.state.lock().unwrap();
        for (_, event) in state.log.iter().filter(|(version, _)| *version > since) {
            sender.send(Ok(event.clone())).expect("we hold the other end");
        }
        state.watches.push(sender);
        Ok(Events(events))
    }

    fn supports_watch_list(&self) -> bool {
        false
    }

    fn describe(&self) -> String {
        let name = std::any::type_name::<T>();
        format!("{}s", name.rsplit("::").next().unwrap_or(name).to_lowercase())
    }
}

pub(crate) struct Events<T>(mpsc::UnboundedReceiver<Told<T>>);

impl<T> Stream for Events<T> {
    type Item = Told<T>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Told<T>>> {
        self.0.poll_recv(cx)
    }
}

pub(crate) fn meta(key: &str, uid: &str) -> ObjectMeta {
    let key = ObjectKey::parse(key).unwrap();
    let namespace = (!key.namespace().is_empty()).then(|| key.namespace().to_owned());
    ObjectMeta {
        name: Some(key.name().to_owned()),
        namespace,
        uid: Some(uid.to_owned()),
        ..ObjectMeta::default()
    }
}

pub(crate) fn config_map(key: &str) -> ConfigMap {
    ConfigMap { metadata: meta(key, key), ..ConfigMap::default() }
}

pub(crate) fn pod(key: &str) -> Pod {
    Pod { metadata: meta(key, key), ..Pod::default() }
}

pub(crate) fn replica_set(key: &str, uid: &str) -> ReplicaSet {
    ReplicaSet { metadata: meta(key, uid), ..ReplicaSet::default() }
}

/// `apiVersion kind name uid`, controlling or not.
pub(crate) fn owner(words: &str, controller: Option<bool>) -> OwnerReference {
    let mut words = words.split(' ').map(str::to_owned);
    let mut word = || words.next().expect("four words");
    let (api_version, kind, name, uid) = (word(), word(), word(), word());
    OwnerReference { api_version, kind, name, uid, controller, block_owner_deletion: None }
}

pub(crate) fn key(text: &str) -> ObjectKey {
    ObjectKey::parse(text).unwrap()
}

/// Waits for what must come true; on a paused clock this takes no time.
pub(crate) async fn until(what: &str, holds: impl Fn() -> bool) {
    let waiting = async {
        while !holds() {
            tokio::time::sleep(MS(1)).await;
        }
    };
    assert!(
        tokio::time::timeout(Duration::from_hours(1), waiting).await.is_ok(),
        "it never came true: {what}"
    );
}
