//! A key that is handed out.

use std::fmt;
use std::hash::Hash;
use std::ops::Deref;
use std::time::Duration;

use super::Queue;
use crate::clock;
use crate::core::{Core, Ticket};

/// A key that is yours until this is dropped: on return, on `?`, by a panic, by cancellation. The drop is client-go's
/// `Done`; if the key was added meanwhile, it is queued again.
///
/// A dropped guard is no verdict on the work: whoever failed asks for another round with [`requeue`](InFlight::requeue)
/// or [`requeue_rate_limited`](InFlight::requeue_rate_limited).
pub struct InFlight<K: Eq + Hash + Clone> {
    queue: Queue<K>,
    /// `None` once it is done.
    ticket: Option<Ticket>,
    key: K,
}

impl<K: Eq + Hash + Clone> InFlight<K> {
    #[inline]
    pub(super) fn new(queue: Queue<K>, ticket: Ticket, key: K) -> Self {
        Self { queue, ticket: Some(ticket), key }
    }

    /// The key.
    pub fn key(&self) -> &K {
        &self.key
    }

    /// The queue it came from.
    pub fn queue(&self) -> &Queue<K> {
        &self.queue
    }

    /// The same as dropping it.
    pub fn done(self) {}

    /// Done, and at the tail of the queue again, in one step.
    pub fn requeue(mut self) {
        let key = self.key.clone();
        self.finish(|core| drop(core.add(key)));
    }

    /// Done, and queued again in `delay`, in one step.
    pub fn requeue_after(mut self, delay: Duration) {
        let key = self.key.clone();
        self.finish(|core| drop(core.add_after(clock::now(), key, delay)));
    }

    /// Done, and queued again after the time that the limiter says, which is returned.
    pub fn requeue_rate_limited(self) -> Duration {
        self.queue.add_rate_limited(self.key.clone())
    }

    /// The key succeeded: its next failure is its first.
    pub fn forget(&self) {
        self.queue.forget(&self.key);
    }

    #[inline]
    fn finish(&mut self, before: impl FnOnce(&mut Core<K>)) {
        if let Some(ticket) = self.ticket.take() {
            let finished = self.queue.change(|core| {
                before(core);
                core.done(ticket)
            });
            // The queue's own copy of the key goes after the lock.
            drop(finished);
        }
    }
}

impl<K: Eq + Hash + Clone> Deref for InFlight<K> {
    type Target = K;

    fn deref(&self) -> &K {
        &self.key
    }
}

impl<K: Eq + Hash + Clone> Drop for InFlight<K> {
    #[inline]
    fn drop(&mut self) {
        self.finish(|_| ());
    }
}

impl<K: Eq + Hash + Clone + fmt::Debug> fmt::Debug for InFlight<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("InFlight").field(&self.key).finish()
    }
}
