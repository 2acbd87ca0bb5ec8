//! The shell: one core, one lock, and those who wait.

mod drain;
mod get;
mod in_flight;
mod waiters;

use std::fmt;
use std::hash::Hash;
use std::time::{Duration, Instant};

pub use drain::{Drain, NotDrained};
pub use get::Get;
pub use in_flight::InFlight;

use crate::clock;
use crate::core::{Added, Core, Counts};
use crate::limiter::{RateLimiter, default_limiter};
use crate::sync::{Arc, Lock};
use drain::Drainers;
use waiters::{Waiters, Wakes};

/// The work queue: each distinct key to at most one worker at a time, later adds folded into one, in the order of
/// arrival. A handle; clones share the queue.
///
/// It runs no task. Whoever waits in [`get`](Queue::get) keeps the queue's time, and a worker that leaves with a key
/// wakes another if there is more to hand out or a delay to keep. A queue in which nobody waits uses no timer; a delay
/// that ended meanwhile is seen by whoever looks next.
///
/// Client-go: `util/workqueue` (`queue.go`, `delaying_queue.go`, `rate_limiting_queue.go`), in one type.
///
/// Delays need a tokio runtime with its timer where `get` is polled. Nothing else here needs one.
pub struct Queue<K: Eq + Hash + Clone> {
    shared: Arc<Shared<K>>,
}

struct Shared<K> {
    state: Lock<State<K>>,
    /// User code, so it has its own lock: the queue is not held while a limiter thinks (GN-07).
    limiter: Lock<Box<dyn RateLimiter<K>>>,
}

struct State<K> {
    core: Core<K>,
    waiters: Waiters,
    drainers: Drainers,
}

impl<K: Eq + Hash + Clone + Send + 'static> Queue<K> {
    /// Empty, with client-go's limiter: 5 ms doubling to 1000 s a key, and 10 a second overall in bursts of 100.
    pub fn new() -> Self {
        Self::with_limiter(default_limiter())
    }
}

impl<K: Eq + Hash + Clone> Queue<K> {
    /// Empty, with the given limiter.
    pub fn with_limiter(limiter: impl RateLimiter<K> + 'static) -> Self {
        let state = State { core: Core::new(), waiters: Waiters::new(), drainers: Drainers::new() };
        let limiter: Box<dyn RateLimiter<K>> = Box::new(limiter);
        Self { shared: Arc::new(Shared { state: Lock::new(state), limiter: Lock::new(limiter) }) }
    }

    /// Chooses another limiter, from the next failure on; what the old one counted is gone.
    pub fn set_limiter(&self, limiter: impl RateLimiter<K> + 'static) {
        let old = std::mem::replace(&mut *self.shared.limiter.lock(), Box::new(limiter));
        // The old one is user code, and goes after the lock.
        drop(old);
    }

    /// `key` needs work. Folded into one with other adds of it; after shutdown nothing.
    #[inline]
    pub fn add(&self, key: K) {
        self.change(|core| core.add(key));
    }

    /// All `keys` need work: one lock, and as many workers woken as there are new keys (WQ-22).
    pub fn add_all(&self, keys: impl IntoIterator<Item = K>) {
        // The iterator is the caller's code: it runs before the lock is taken.
        let keys: Vec<K> = keys.into_iter().collect();
        let unused: Vec<Added<K>> = self.change(|core| keys.into_iter().map(|key| core.add(key)).collect());
        drop(unused);
    }

    /// `key` needs work no sooner than in `delay`. If it waits already, the earlier moment counts (DQ-05). A delay beyond
    /// the clock's range never ends; zero is [`add`](Queue::add).
    pub fn add_after(&self, key: K, delay: Duration) {
        self.change(|core| core.add_after(clock::now(), key, delay));
    }

    /// `key` failed: it needs work again after the time that the limiter says, which is returned.
    pub fn add_rate_limited(&self, key: K) -> Duration {
        let now = clock::now();
        let delay = self.shared.limiter.lock().when(now, &key);
        self.change(|core| core.add_after(now, key, delay));
        delay
    }

    /// `key` succeeded: its next failure is its first. Takes it out of no set (RL-02).
    pub fn forget(&self, key: &K) {
        self.shared.limiter.lock().forget(key);
    }

    /// How often `key` was added rate limited since it was last forgotten.
    pub fn requeues(&self, key: &K) -> u32 {
        self.shared.limiter.lock().requeues(key)
    }

    /// `key` no longer waits for a delay to end; says whether it did. Work that is already due stays.
    pub fn cancel_after(&self, key: &K) -> bool {
        self.change(|core| core.cancel(key))
    }

    /// Waits for a key; `None` once the queue is shut down and empty.
    ///
    /// Cancel safe: a future that is dropped holds no key, and passes on the wake-up that it was given.
    #[inline]
    pub fn get(&self) -> Get<'_, K> {
        Get::new(self)
    }

    /// A key that is ready now.
    pub fn try_get(&self) -> Option<InFlight<K>> {
        let (ticket, key) = self.change(|core| {
            advance(core);
            core.take()
        })?;
        Some(InFlight::new(self.clone(), ticket, key))
    }

    /// How many keys are ready: not those handed out, not those that wait. By the time you look it may have changed.
    pub fn len(&self) -> usize {
        self.counts().queued
    }

    /// Whether no key is ready.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many keys are ready, wait and are handed out, at one moment.
    pub fn counts(&self) -> Counts {
        self.change(|core| {
            advance(core);
            core.counts()
        })
    }

    /// The keys that are handed out, in no order: who is stuck, when a queue does not come to rest.
    pub fn processing(&self) -> Vec<K> {
        self.shared.state.lock().core.unfinished().1
    }

    /// Whether shutdown was called, with drain or without.
    pub fn is_shutting_down(&self) -> bool {
        self.shared.state.lock().core.is_shutting_down()
    }

    /// Closes the queue at once: adds are ignored, delays discarded, everybody who waits is woken. Keys that are queued
    /// are still handed out; `get` answers `None` after the last. Waits for nobody, and releases who drains.
    pub fn shutdown(&self) {
        let mut wakes = Wakes::default();
        let discarded = {
            let mut state = self.shared.state.lock();
            state.drainers.end_round(&mut wakes);
            let discarded = state.core.shutdown();
            state.settle(&mut wakes);
            discarded
        };
        wakes.wake();
        drop(discarded);
    }

    /// Closes the queue (at the call, not at the first poll) and waits until every key that was queued or handed out is
    /// done. A later [`shutdown`](Queue::shutdown) ends the wait; then the error names what was left.
    ///
    /// Cancel safe: the queue stays closed.
    pub fn shutdown_with_drain(&self) -> Drain<K> {
        Drain::start(self)
    }

    /// [`shutdown_with_drain`](Queue::shutdown_with_drain) that waits no longer than `limit`.
    #[cfg(not(loom))]
    pub async fn shutdown_with_drain_within(&self, limit: Duration) -> Result<(), NotDrained<K>> {
        let drain = self.shutdown_with_drain();
        match tokio::time::timeout(limit, drain).await {
            Ok(drained) => drained,
            Err(_elapsed) => NotDrained::left(&self.shared.state.lock().core),
        }
    }

    /// The one way to change the queue: under the lock, and whoever has something to do for it is told after.
    #[inline]
    fn change<R>(&self, change: impl FnOnce(&mut Core<K>) -> R) -> R {
        let mut wakes = Wakes::default();
        let answer = {
            let mut state = self.shared.state.lock();
            let answer = change(&mut state.core);
            state.settle(&mut wakes);
            answer
        };
        wakes.wake();
        answer
    }
}

impl<K: Eq + Hash + Clone> State<K> {
    #[inline]
    fn settle(&mut self, wakes: &mut Wakes) {
        let core = &self.core;
        if !self.waiters.is_empty() {
            self.waiters.settle(core.len(), core.next_due(), core.is_shutting_down(), wakes);
        }
        if core.is_shutting_down() && core.is_idle() {
            self.drainers.release(wakes);
        }
    }
}

/// Queues what is due. The clock is only read if some key waits.
#[inline]
fn advance<K: Eq + Hash + Clone>(core: &mut Core<K>) {
    if let Some(due) = core.next_due() {
        let now: Instant = clock::now();
        if due <= now {
            core.advance(now);
        }
    }
}

impl<K: Eq + Hash + Clone> Clone for Queue<K> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<K: Eq + Hash + Clone + Send + 'static> Default for Queue<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Eq + Hash + Clone> fmt::Debug for Queue<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue")
            .field("counts", &self.shared.state.lock().core.counts())
            .finish_non_exhaustive()
    }
}
