//! Waiting for a key.

use std::fmt;
use std::future::Future;
use std::hash::Hash;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use super::waiters::Wakes;
use super::{InFlight, Queue, State, advance};
use crate::clock::{Timer, poll_budget};

/// The future of [`Queue::get`].
#[must_use = "a key is handed out when this is awaited"]
pub struct Get<'q, K: Eq + Hash + Clone> {
    queue: &'q Queue<K>,
    /// Our place among the waiters, once we waited.
    waiter: Option<u32>,
    timer: Timer,
}

impl<'q, K: Eq + Hash + Clone> Get<'q, K> {
    pub(super) fn new(queue: &'q Queue<K>) -> Self {
        Self { queue, waiter: None, timer: Timer::default() }
    }

    /// Takes a key, or learns that there will be none; else parks.
    fn look(&mut self, cx: &mut Context<'_>, wakes: &mut Wakes) -> Looked<K> {
        let mut state = self.queue.shared.state.lock();
        let State { core, waiters, .. } = &mut *state;
        advance(core);
        let taken = core.take();
        if taken.is_none() && !core.is_shutting_down() {
            let (me, sleep_until) = waiters.park(self.waiter, cx.waker(), core.next_due());
            self.waiter = Some(me);
            return Looked::Nothing { sleep_until };
        }
        if let Some(me) = self.waiter.take() {
            waiters.leave(me);
        }
        // The baton: what is left, a key or a delay, is somebody else's now.
        state.settle(wakes);
        drop(state);
        Looked::Found(taken.map(|(ticket, key)| InFlight::new(self.queue.clone(), ticket, key)))
    }
}

enum Looked<K: Eq + Hash + Clone> {
    Found(Option<InFlight<K>>),
    Nothing { sleep_until: Option<std::time::Instant> },
}

impl<K: Eq + Hash + Clone> Future for Get<'_, K> {
    type Output = Option<InFlight<K>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let budget = ready!(poll_budget(cx));
        loop {
            let mut wakes = Wakes::default();
            let looked = this.look(cx, &mut wakes);
            wakes.wake();
            match looked {
                Looked::Found(answer) => {
                    budget.made_progress();
                    return Poll::Ready(answer);
                }
                Looked::Nothing { sleep_until: None } => {
                    this.timer.stop();
                    return Poll::Pending;
                }
                Looked::Nothing { sleep_until: Some(until) } => ready!(this.timer.poll_at(cx, until)),
            }
        }
    }
}

impl<K: Eq + Hash + Clone> Drop for Get<'_, K> {
    fn drop(&mut self) {
        let Some(me) = self.waiter.take() else { return };
        let mut wakes = Wakes::default();
        {
            let mut state = self.queue.shared.state.lock();
            state.waiters.leave(me);
            state.settle(&mut wakes);
        }
        wakes.wake();
    }
}

impl<K: Eq + Hash + Clone> fmt::Debug for Get<'_, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Get").field("waits", &self.waiter.is_some()).finish_non_exhaustive()
    }
}
