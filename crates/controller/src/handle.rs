//! A look at a controller that runs, and a nudge.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use apimachinery::ObjectKey;
use workqueue::{Counts, Queue};

/// Reads what a controller does, and triggers reconciles from outside of the cluster's events. Cheap to clone; valid
/// before, while and after the controller runs.
#[derive(Clone, Debug)]
pub struct Handle {
    pub(crate) queue: Queue<ObjectKey>,
    pub(crate) counters: Arc<Counters>,
}

impl Handle {
    /// `key` is reconciled, once workers run.
    pub fn trigger(&self, key: ObjectKey) {
        self.queue.add(key);
    }

    /// How many keys are ready, wait and are being worked on.
    pub fn queue(&self) -> Counts {
        self.queue.counts()
    }

    /// How often `key` failed in a row.
    pub fn failures(&self, key: &ObjectKey) -> u32 {
        self.queue.requeues(key)
    }

    /// What came of the reconciles so far.
    pub fn stats(&self) -> Stats {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let counters = &self.counters;
        Stats {
            active: counters.active.load(Ordering::Relaxed),
            succeeded: read(&counters.succeeded),
            requeued: read(&counters.requeued),
            failed: read(&counters.failed),
            terminal: read(&counters.terminal),
            conflicts: read(&counters.conflicts),
            timed_out: read(&counters.timed_out),
            panicked: read(&counters.panicked),
        }
    }
}

/// What came of the reconciles of one controller so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Calls in flight.
    pub active: usize,
    /// Calls that succeeded.
    pub succeeded: u64,
    /// Of those, the ones that asked to be called again.
    pub requeued: u64,
    /// Calls that failed, in whatever way.
    pub failed: u64,
    /// Of those, the ones not to be tried again.
    pub terminal: u64,
    /// Of those, the ones that met a write conflict.
    pub conflicts: u64,
    /// Of those, the ones that took longer than they may.
    pub timed_out: u64,
    /// Of those, the ones that panicked.
    pub panicked: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) active: AtomicUsize,
    pub(crate) succeeded: AtomicU64,
    pub(crate) requeued: AtomicU64,
    pub(crate) failed: AtomicU64,
    pub(crate) terminal: AtomicU64,
    pub(crate) conflicts: AtomicU64,
    pub(crate) timed_out: AtomicU64,
    pub(crate) panicked: AtomicU64,
}

impl Counters {
    /// One more call in flight, until the guard is dropped: also by a panic or an abort.
    pub(crate) fn enter(&self) -> Active<'_> {
        self.active.fetch_add(1, Ordering::Relaxed);
        Active(self)
    }
}

pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

pub(crate) struct Active<'a>(&'a Counters);

impl Drop for Active<'_> {
    fn drop(&mut self) {
        self.0.active.fetch_sub(1, Ordering::Relaxed);
    }
}
