//! The core: a bounded queue that keeps order and gives batches.

use std::collections::{HashSet, VecDeque};
use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;

use apimachinery::{Object, ObjectKey, ResourceVersion, Unreadable};

use crate::{Batch, Delta, Keyed, ObjectDelta};

/// The most deltas in one batch (CACHE-Q-13).
pub const MAX_BATCH: usize = 1000;

/// How many deltas a queue should hold: as deep as client-go's threshold, because a reader that stalls for long makes
/// the server close the watch (CACHE-Q-23, +Q2).
pub const DEFAULT_CAPACITY: NonZeroUsize = NonZeroUsize::new(2048).unwrap();

/// A bounded queue of deltas: in order, none merged, none dropped.
///
/// It waits for nobody; [`channel`](crate::channel) does.
pub struct DeltaFifo<T> {
    entries: VecDeque<Entry<T>>,
    capacity: NonZeroUsize,
    /// The keys of the batch that is being made; kept for its allocation.
    seen: HashSet<ObjectKey>,
}

/// A queued delta. Those of single objects carry their key and may share a batch.
pub(crate) enum Entry<T> {
    Object(Keyed<T>),
    Replaced { items: Vec<Arc<T>>, unreadable: Unreadable, resource_version: ResourceVersion },
    Bookmark(ResourceVersion),
}

/// The queue has no room; the delta comes back.
pub struct Full<T>(pub Delta<T>);

impl<T: Object> DeltaFifo<T> {
    /// An empty queue that holds up to `capacity` deltas; a replaced collection counts as one.
    pub fn new(capacity: NonZeroUsize) -> Self {
        Self::empty(capacity)
    }

    /// Appends a delta. Without room the delta comes back and nothing has changed.
    pub fn push(&mut self, delta: Delta<T>) -> Result<(), Full<T>> {
        if self.is_full() {
            return Err(Full(delta));
        }
        self.entries.push_back(Entry::new(delta));
        Ok(())
    }

    /// Takes the next batch: a replaced collection or a bookmark alone, else deltas of objects up to the next of those,
    /// up to a key that is already in the batch, or up to [`MAX_BATCH`].
    pub fn pop_batch(&mut self) -> Option<Batch<T>> {
        let mut deltas = Vec::new();
        self.seen.clear();
        while deltas.len() < MAX_BATCH {
            match self.entries.pop_front() {
                None => break,
                Some(Entry::Object(keyed)) if self.seen.insert(keyed.key.clone()) => {
                    if deltas.is_empty() {
                        deltas.reserve_exact((self.entries.len() + 1).min(MAX_BATCH));
                    }
                    deltas.push(keyed);
                }
                // Alone, or the first of the next batch.
                Some(other) if deltas.is_empty() => return Some(other.into_batch()),
                Some(other) => {
                    self.entries.push_front(other);
                    break;
                }
            }
        }
        // No key outlives its batch here.
        self.seen.clear();
        (!deltas.is_empty()).then_some(Batch::Objects(deltas))
    }

    pub(crate) fn push_entry(&mut self, entry: Entry<T>) {
        self.entries.push_back(entry);
    }
}

impl<T> DeltaFifo<T> {
    pub(crate) fn empty(capacity: NonZeroUsize) -> Self {
        Self { entries: VecDeque::new(), capacity, seen: HashSet::new() }
    }

    /// How many deltas are queued.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether none is queued.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether the next push would be refused.
    pub fn is_full(&self) -> bool {
        self.entries.len() >= self.capacity.get()
    }

    /// The most deltas that it holds.
    pub fn capacity(&self) -> usize {
        self.capacity.get()
    }
}

impl<T: Object> Entry<T> {
    /// Here, once, the key is computed.
    pub(crate) fn new(delta: Delta<T>) -> Self {
        let (key, delta) = match delta {
            Delta::Added(object) => (object.key(), ObjectDelta::Added(object)),
            Delta::Updated(object) => (object.key(), ObjectDelta::Updated(object)),
            Delta::Deleted(object) => (object.key(), ObjectDelta::Deleted(Some(object))),
            Delta::DeletedKey(key) => (key, ObjectDelta::Deleted(None)),
            Delta::Replaced { items, unreadable, resource_version } => {
                return Self::Replaced { items, unreadable, resource_version };
            }
            Delta::Bookmark(version) => return Self::Bookmark(version),
        };
        Self::Object(Keyed { key, delta })
    }
}

impl<T> Entry<T> {
    /// What it was made of.
    pub(crate) fn into_delta(self) -> Delta<T> {
        match self {
            Self::Object(Keyed { delta: ObjectDelta::Added(object), .. }) => Delta::Added(object),
            Self::Object(Keyed { delta: ObjectDelta::Updated(object), .. }) => Delta::Updated(object),
            Self::Object(Keyed { delta: ObjectDelta::Deleted(Some(object)), .. }) => Delta::Deleted(object),
            Self::Object(Keyed { delta: ObjectDelta::Deleted(None), key }) => Delta::DeletedKey(key),
            Self::Replaced { items, unreadable, resource_version } => {
                Delta::Replaced { items, unreadable, resource_version }
            }
            Self::Bookmark(version) => Delta::Bookmark(version),
        }
    }

    fn into_batch(self) -> Batch<T> {
        match self {
            Self::Object(keyed) => Batch::Objects(vec![keyed]),
            Self::Replaced { items, unreadable, resource_version } => {
                Batch::Replaced { items, unreadable, resource_version }
            }
            Self::Bookmark(version) => Batch::Bookmark(version),
        }
    }
}

impl<T> fmt::Debug for DeltaFifo<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeltaFifo")
            .field("len", &self.len())
            .field("capacity", &self.capacity)
            .finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for Full<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Full").field(&self.0).finish()
    }
}
