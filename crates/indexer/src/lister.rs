//! [`Lister`] and [`Snapshot`]: the ends that read.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::hash::Hash;
use std::panic::Location;
use std::sync::atomic::Ordering as Atomic;
use std::sync::{Arc, RwLockReadGuard};

use apimachinery::{ApiResource, Kind, LabelSelector, Object, ObjectKey, ResourceVersion, StatusError};

use crate::cache::Cache;
use crate::error::WaitError;
use crate::function::Typed;
use crate::index::Index;
use crate::shared::Shared;

/// Reads the cache. Cheap to clone; every call is answered from one consistent state (CACHE-Z-07).
///
/// The order of what is listed is unspecified (CACHE-L-08). Objects are shared: to change one, clone it.
pub struct Lister<T: Object> {
    shared: Arc<Shared<T>>,
}

impl<T: Object> Lister<T> {
    pub(crate) fn new(shared: Arc<Shared<T>>) -> Self {
        Self { shared }
    }

    /// The object of that key, given as [`ObjectKey`] or text: `namespace/name`, or `name`.
    pub fn get<Q: Borrow<str> + ?Sized>(&self, key: &Q) -> Option<Arc<T>> {
        self.shared.read().get(key.borrow()).map(|entry| entry.object.clone())
    }

    /// The object of that key, or the server's own words for its absence: `pods "web" not found` (CACHE-L-06).
    pub fn require<Q: Borrow<str> + ?Sized>(&self, key: &Q) -> Result<Arc<T>, StatusError>
    where
        T: Kind,
    {
        self.get(key).ok_or_else(|| not_found(&T::resource(), key.borrow()))
    }

    /// As [`require`](Self::require), for a kept form that does not know its resource.
    pub fn require_of<Q: Borrow<str> + ?Sized>(
        &self,
        resource: &ApiResource,
        key: &Q,
    ) -> Result<Arc<T>, StatusError> {
        self.get(key).ok_or_else(|| not_found(resource, key.borrow()))
    }

    /// Whether there is an object of that key.
    pub fn contains<Q: Borrow<str> + ?Sized>(&self, key: &Q) -> bool {
        self.shared.read().get(key.borrow()).is_some()
    }

    /// All objects.
    pub fn list(&self) -> Vec<Arc<T>> {
        self.in_namespace("")
    }

    /// The objects of one namespace; those of all for `""` (CACHE-L-03). Costs what the namespace holds.
    pub fn in_namespace(&self, namespace: &str) -> Vec<Arc<T>> {
        let content = self.shared.read();
        let mut objects = Vec::with_capacity(content.count_in_namespace(namespace));
        objects.extend(content.in_namespace(namespace).map(|entry| entry.object.clone()));
        objects
    }

    /// The objects whose labels match. A selector that matches nothing does not touch the cache (CACHE-L-01), one that
    /// matches everything looks at no label (CACHE-L-02).
    pub fn select(&self, selector: &LabelSelector) -> Vec<Arc<T>> {
        self.select_in_namespace("", selector)
    }

    /// The objects of one namespace whose labels match; those of all for `""`.
    pub fn select_in_namespace(&self, namespace: &str, selector: &LabelSelector) -> Vec<Arc<T>> {
        if selector.is_nothing() {
            return Vec::new();
        }
        if selector.is_everything() {
            return self.in_namespace(namespace);
        }
        let content = self.shared.read();
        let matching =
            content.in_namespace(namespace).filter(|entry| selector.matches(entry.object.meta().labels()));
        matching.map(|entry| entry.object.clone()).collect()
    }

    /// All keys.
    pub fn keys(&self) -> Vec<ObjectKey> {
        let content = self.shared.read();
        let mut keys = Vec::with_capacity(content.len());
        keys.extend(content.entries().map(|entry| entry.key.clone()));
        keys
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.shared.read().len()
    }

    /// Whether there is no object.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Looks at every object without copying a list. The writer waits meanwhile, so `look` is quick and reads the cache in
    /// no other way: see [`snapshot`](Self::snapshot).
    pub fn for_each(&self, mut look: impl FnMut(&Arc<T>)) {
        for object in self.snapshot().iter() {
            look(object);
        }
    }

    /// One consistent state, read in place. The writer waits until it is dropped, so do not keep it; and use no lister
    /// or index on the same thread meanwhile, for it may wait behind that writer.
    pub fn snapshot(&self) -> Snapshot<'_, T> {
        Snapshot { content: self.shared.read() }
    }

    /// The version that the content corresponds to; empty before the first list.
    pub fn resource_version(&self) -> ResourceVersion {
        self.shared.read().resource_version.clone()
    }

    /// Waits until the cache has seen everything up to a version: give it the version that a write returned, and read
    /// your own writes afterwards.
    ///
    /// Versions are ordered by CACHE-K-10. A collection narrowed by a selector hears of versions outside of it by
    /// bookmarks alone, about once a minute. Cancel safe; put it under a timeout.
    pub async fn wait_until(&self, wanted: &ResourceVersion) -> Result<(), WaitError> {
        if wanted.compare(wanted).is_err() {
            return Err(WaitError::NotComparable(wanted.clone()));
        }
        let mut version = self.shared.version.subscribe();
        loop {
            // `closed` before the version: a version announced before the end must not be overlooked.
            let closed = self.shared.closed.load(Atomic::Acquire);
            let reached = version.borrow_and_update().clone();
            if matches!(reached.compare(wanted), Ok(Ordering::Equal | Ordering::Greater)) {
                return Ok(());
            }
            if closed || version.changed().await.is_err() {
                return Err(WaitError::Stopped { wanted: wanted.clone(), reached });
            }
        }
    }

    /// Adds an index: what `function` says of an object, zero to many values. Complete when this returns, and at any
    /// time: before the first list, while the cache is written, and after (CACHE-S-28).
    ///
    /// An `Option`, an array or a `Vec` of values will do. The function runs once for each state of an object, while no
    /// reader is held up. If it panics, the object is in the cache and not in this index; that is logged and counted
    /// (CACHE-S-24). It may read the cache, but add no index.
    #[track_caller]
    pub fn index<I, V>(&self, function: impl Fn(&T) -> I + Send + 'static) -> Index<T, V>
    where
        I: IntoIterator<Item = V> + 'static,
        V: Hash + Eq + Clone + Send + Sync + 'static,
    {
        let made_at = Location::caller();
        let number = self.shared.add_index(Box::new(Typed::<_, V>::new(function, made_at)));
        Index::new(self.shared.clone(), number)
    }

    /// How often an index function panicked.
    pub fn index_failures(&self) -> u64 {
        self.shared.index_failures.load(Atomic::Relaxed)
    }
}

impl<T: Object> Clone for Lister<T> {
    fn clone(&self) -> Self {
        Self { shared: self.shared.clone() }
    }
}

impl<T: Object> std::fmt::Debug for Lister<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lister").finish_non_exhaustive()
    }
}

/// One consistent state of the cache, read in place.
pub struct Snapshot<'a, T: Object> {
    content: RwLockReadGuard<'a, Cache<T>>,
}

impl<T: Object> Snapshot<'_, T> {
    /// The object of that key.
    pub fn get<Q: Borrow<str> + ?Sized>(&self, key: &Q) -> Option<&Arc<T>> {
        self.content.get(key.borrow()).map(|entry| &entry.object)
    }

    /// All objects.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<T>> {
        self.content.entries().map(|entry| &entry.object)
    }

    /// The objects of one namespace; those of all for `""`.
    pub fn in_namespace(&self, namespace: &str) -> impl Iterator<Item = &Arc<T>> {
        self.content.in_namespace(namespace).map(|entry| &entry.object)
    }

    /// All keys.
    pub fn keys(&self) -> impl Iterator<Item = &ObjectKey> {
        self.content.entries().map(|entry| &entry.key)
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.content.len()
    }

    /// Whether there is no object.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The version that this content corresponds to.
    pub fn resource_version(&self) -> &ResourceVersion {
        &self.content.resource_version
    }
}

impl<T: Object> std::fmt::Debug for Snapshot<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Snapshot").field("len", &self.len()).finish_non_exhaustive()
    }
}

fn not_found(resource: &ApiResource, key: &str) -> StatusError {
    StatusError::not_found(resource, key.split_once('/').map_or(key, |(_, name)| name))
}
