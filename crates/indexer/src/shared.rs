//! What the writer and the listers share: the content behind its lock, and the version announced on a channel.
#![expect(clippy::disallowed_types, reason = "this is the shell of the cache: it owns the two locks")]

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use apimachinery::{Object, ObjectKey, ResourceVersion};
use tokio::sync::watch;

use crate::cache::{Cache, Entry};
use crate::function::Function;

pub(crate) type Functions<T> = Vec<Box<dyn Function<T>>>;

pub(crate) struct Shared<T> {
    content: RwLock<Cache<T>>,
    /// Held for a whole write and while an index is added, so that both see a fixed set of indices. Index functions
    /// run under this lock and not under the content's: they may read the cache.
    functions: Mutex<Functions<T>>,
    pub(crate) version: watch::Sender<ResourceVersion>,
    pub(crate) closed: AtomicBool,
    pub(crate) index_failures: AtomicU64,
}

impl<T: Object> Shared<T> {
    pub(crate) fn new() -> Self {
        Self {
            content: RwLock::new(Cache::with_capacity(0)),
            functions: Mutex::new(Vec::new()),
            version: watch::Sender::new(ResourceVersion::default()),
            closed: AtomicBool::new(false),
            index_failures: AtomicU64::new(0),
        }
    }

    // No user code runs under either lock but index functions, whose panics are caught; and a `Hash` or `Eq` that
    // panics is not a reason to take the cache away from everybody else.

    pub(crate) fn read(&self) -> RwLockReadGuard<'_, Cache<T>> {
        self.content.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, Cache<T>> {
        self.content.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn functions(&self) -> MutexGuard<'_, Functions<T>> {
        self.functions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an index over what is there, and keeps it from now on; returns its number.
    pub(crate) fn add_index(&self, function: Box<dyn Function<T>>) -> usize {
        let mut functions = self.functions();
        // Nobody writes objects while the functions are held, so the content copied here is the content extended below.
        // The function runs on the copy: it may read the cache, and a bookmark may wait to write it.
        let entries: Vec<(u32, Entry<T>)> =
            self.read().numbered().map(|(slot, entry)| (slot, entry.clone())).collect();
        let (postings, failed) = function.build(&mut entries.iter().map(|(slot, entry)| (*slot, entry)));
        for key in &failed {
            self.index_failed(&*function, key);
        }
        functions.push(function);
        let mut content = self.write();
        content.indices.push(postings);
        content.indices.len() - 1
    }

    pub(crate) fn index_failed(&self, function: &dyn Function<T>, key: &ObjectKey) {
        self.index_failures.fetch_add(1, Ordering::Relaxed);
        let index = function.made_at();
        tracing::error!(%index, %key, "an index function panicked; the object is not in that index");
    }
}
