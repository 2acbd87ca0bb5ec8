//! [`Writer`]: the only thing that changes the cache.

use std::cmp::Ordering;
use std::sync::Arc;
use std::sync::atomic::Ordering as Atomic;

use apimachinery::{Object, ObjectKey, ResourceVersion, Unreadable};

use crate::cache::Cache;
use crate::change::{Change, Write};
use crate::function::Outcome;
use crate::shared::Shared;

/// The end that writes. There is one, and it is not `Clone`: order is its owner's to keep (CACHE-S-13).
///
/// Dropping it freezes the cache: listers go on answering, and waits for versions end.
pub struct Writer<T: Object> {
    shared: Arc<Shared<T>>,
    stale: u64,
}

impl<T: Object> Writer<T> {
    pub(crate) fn new(shared: Arc<Shared<T>>) -> Self {
        Self { shared, stale: 0 }
    }

    /// Applies a batch in its order, under one lock, and says what it did (CACHE-S-08).
    ///
    /// The lock is free again when this returns, and nothing is dropped under it. A key may come more than once. An
    /// upsert that is older than what is stored of the same uid does nothing and is counted
    /// ([`stale_writes`](Self::stale_writes)). The version of the cache becomes that of the last object written that
    /// has one (CACHE-S-11).
    pub fn apply(&mut self, batch: impl IntoIterator<Item = Write<T>>) -> Vec<Change<T>> {
        let batch: Vec<Write<T>> = batch.into_iter().collect();
        if batch.is_empty() {
            return Vec::new();
        }

        let mut functions = self.shared.functions();
        for function in functions.iter_mut() {
            for write in &batch {
                let (key, object) = match write {
                    Write::Upsert { key, object } => (key, Some(&**object)),
                    Write::Remove { key, .. } => (key, None),
                };
                if !function.evaluate(object) {
                    self.shared.index_failed(&**function, key);
                }
            }
        }

        let mut changes = Vec::with_capacity(batch.len());
        let mut outcomes = Vec::with_capacity(if functions.is_empty() { 0 } else { batch.len() });
        let mut retired = Vec::new();
        let mut version = None;

        let mut content = self.shared.write();
        for write in batch {
            let outcome = match write {
                Write::Upsert { key, object } if is_older(&content, &key, &*object) => {
                    self.stale += 1;
                    retired.push(object);
                    Outcome::Nothing
                }
                Write::Upsert { key, object } => {
                    version = version_of(&*object).or(version);
                    let upserted = content.upsert(key, object.clone());
                    changes.push(match upserted.old {
                        None => Change::Added(object),
                        Some(old) => Change::Updated { old, new: object },
                    });
                    Outcome::Stored(upserted.slot)
                }
                Write::Remove { key, last } => {
                    version = last.as_deref().and_then(version_of).or(version);
                    let removed = content.remove(key.as_str());
                    let (slot, old) = removed.map(|(slot, entry)| (slot, entry.object)).unzip();
                    changes.push(Change::Removed { key, old, last });
                    slot.map_or(Outcome::Nothing, Outcome::Emptied)
                }
            };
            if !functions.is_empty() {
                outcomes.push(outcome);
            }
        }
        for (function, postings) in functions.iter_mut().zip(&mut content.indices) {
            function.commit(postings, &outcomes);
        }
        if let Some(version) = &version {
            content.resource_version = version.clone();
        }
        drop(content);
        drop(functions);
        if let Some(version) = version {
            self.announce(version);
        }
        drop(retired);
        changes
    }

    /// Swaps the whole content for `items` (CACHE-S-05), and says what that did: removals first, then the items in
    /// their order (CACHE-C-03). Of a key that comes twice the last item counts.
    ///
    /// The `unreadable` exist, but nothing could be made of them: what was stored of them stays. If some of them have no
    /// name, they may be any, so all that was stored and is not among `items` stays, until a list can be read whole or a
    /// deletion comes by itself. The list is the truth whatever its versions are: an object may become older than it
    /// was, as after a restored backup.
    ///
    /// The new content and its indices are built before the lock is taken; readers wait for a swap alone.
    pub fn replace(
        &mut self,
        items: impl IntoIterator<Item = Arc<T>>,
        unreadable: impl Into<Unreadable>,
        resource_version: ResourceVersion,
    ) -> Vec<Change<T>> {
        let functions = self.shared.functions();
        let items = items.into_iter();
        let mut fresh = Cache::with_capacity(items.size_hint().0);
        for item in items {
            fresh.upsert(item.key(), item);
        }

        let arrived = fresh.len();

        // Only this writer changes the content, so what is read here is what is swapped out below.
        let old = self.shared.read();
        let mut changes: Vec<Change<T>> = Vec::with_capacity(arrived);
        let unreadable = unreadable.into();
        if unreadable.some_nameless {
            for known in old.entries() {
                if fresh.get(known.key.as_str()).is_none() {
                    fresh.upsert(known.key.clone(), known.object.clone());
                }
            }
        }
        for key in unreadable.keys {
            if let (None, Some(known)) = (fresh.get(key.as_str()), old.get(key.as_str())) {
                fresh.upsert(known.key.clone(), known.object.clone());
            }
        }
        for entry in old.entries() {
            if fresh.get(entry.key.as_str()).is_none() {
                let old = Some(entry.object.clone());
                changes.push(Change::Removed { key: entry.key.clone(), old, last: None });
            }
        }
        // What was kept of the unreadable lies behind the items.
        for entry in fresh.entries().take(arrived) {
            let new = entry.object.clone();
            changes.push(match old.get(entry.key.as_str()) {
                None => Change::Added(new),
                Some(known) => Change::Updated { old: known.object.clone(), new },
            });
        }
        drop(old);

        for function in functions.iter() {
            let (postings, failed) = function.build(&mut fresh.numbered());
            for key in &failed {
                self.shared.index_failed(&**function, key);
            }
            fresh.indices.push(postings);
        }
        fresh.resource_version = resource_version.clone();
        let previous = std::mem::replace(&mut *self.shared.write(), fresh);
        drop(functions);
        self.announce(resource_version);
        drop(previous);
        changes
    }

    /// Nothing changed up to this version (CACHE-S-11).
    pub fn bookmark(&mut self, resource_version: ResourceVersion) {
        self.shared.write().resource_version = resource_version.clone();
        self.announce(resource_version);
    }

    /// How many writes were dropped because they were older than what was stored.
    pub fn stale_writes(&self) -> u64 {
        self.stale
    }

    /// The content is visible before its version is announced.
    fn announce(&self, version: ResourceVersion) {
        self.shared.version.send_replace(version);
    }
}

impl<T: Object> Drop for Writer<T> {
    fn drop(&mut self) {
        self.shared.closed.store(true, Atomic::Release);
        // Wakes those who wait for a version, and makes them look at `closed`.
        self.shared.version.send_modify(|_| {});
    }
}

impl<T: Object> std::fmt::Debug for Writer<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer").field("stale_writes", &self.stale).finish_non_exhaustive()
    }
}

/// Whether `object` is a state that was left behind: the same uid, and a version that is known to be less.
fn is_older<T: Object>(content: &Cache<T>, key: &ObjectKey, object: &T) -> bool {
    let Some(stored) = content.get(key.as_str()) else { return false };
    let stored = &*stored.object;
    if stored.resource_version() == object.resource_version() || stored.uid() != object.uid() {
        return false;
    }
    let new = ResourceVersion::from(object.resource_version());
    matches!(new.compare(&stored.resource_version().into()), Ok(Ordering::Less))
}

/// A kept form without a version says nothing about that of the cache (CACHE-S-12).
fn version_of<T: Object>(object: &T) -> Option<ResourceVersion> {
    Some(object.resource_version()).filter(|version| !version.is_empty()).map(ResourceVersion::from)
}
