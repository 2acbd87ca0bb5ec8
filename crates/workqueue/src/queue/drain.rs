//! Waiting until a queue that takes nothing more has nothing left.

use std::fmt;
use std::future::Future;
use std::hash::Hash;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use super::Queue;
use super::waiters::Wakes;
use crate::core::Core;

/// The future of [`Queue::shutdown_with_drain`]. Any number of them may wait at once (WQ-13).
#[must_use = "the drain is over when this is awaited"]
pub struct Drain<K: Eq + Hash + Clone> {
    queue: Queue<K>,
    /// The round of drains it belongs to: a plain shutdown ends a round.
    round: u64,
    place: Option<u64>,
}

/// What a drain left behind, because a plain shutdown or its limit came first.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[error("the queue was not drained: {} keys queued, {} keys in flight", queued.len(), processing.len())]
pub struct NotDrained<K> {
    /// Keys that nobody took, in no order.
    pub queued: Vec<K>,
    /// Keys that are not done, in no order.
    pub processing: Vec<K>,
}

impl<K: Eq + Hash + Clone> NotDrained<K> {
    pub(super) fn left(core: &Core<K>) -> Result<(), Self> {
        if core.is_idle() {
            return Ok(());
        }
        let (queued, processing) = core.unfinished();
        Err(Self { queued, processing })
    }
}

impl<K: Eq + Hash + Clone> Drain<K> {
    pub(super) fn start(queue: &Queue<K>) -> Self {
        let mut wakes = Wakes::default();
        let (round, discarded) = {
            let mut state = queue.shared.state.lock();
            let discarded = state.core.shutdown();
            state.settle(&mut wakes);
            (state.drainers.round, discarded)
        };
        wakes.wake();
        drop(discarded);
        Self { queue: queue.clone(), round, place: None }
    }
}

impl<K: Eq + Hash + Clone> Future for Drain<K> {
    type Output = Result<(), NotDrained<K>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let mut state = this.queue.shared.state.lock();
        if state.core.is_idle() || state.drainers.plainly_shut_since(this.round) {
            if let Some(place) = this.place.take() {
                state.drainers.leave(place);
            }
            return Poll::Ready(NotDrained::left(&state.core));
        }
        this.place = Some(state.drainers.wait(this.place, cx.waker()));
        Poll::Pending
    }
}

impl<K: Eq + Hash + Clone> Drop for Drain<K> {
    fn drop(&mut self) {
        if let Some(place) = self.place.take() {
            self.queue.shared.state.lock().drainers.leave(place);
        }
    }
}

impl<K: Eq + Hash + Clone> fmt::Debug for Drain<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Drain").field("waits", &self.place.is_some()).finish_non_exhaustive()
    }
}

/// Who waits for the queue to have nothing left: few, and not for long.
#[derive(Debug)]
pub(super) struct Drainers {
    all: Vec<(u64, Waker)>,
    next_place: u64,
    round: u64,
}

impl Drainers {
    pub(super) const fn new() -> Self {
        Self { all: Vec::new(), next_place: 0, round: 0 }
    }

    /// A plain shutdown: whoever drains waits no longer.
    pub(super) fn end_round(&mut self, wakes: &mut Wakes) {
        self.round += 1;
        self.release(wakes);
    }

    /// Everybody looks again.
    pub(super) fn release(&mut self, wakes: &mut Wakes) {
        for (_, waker) in self.all.drain(..) {
            wakes.push(waker);
        }
    }

    fn plainly_shut_since(&self, round: u64) -> bool {
        self.round != round
    }

    fn wait(&mut self, place: Option<u64>, waker: &Waker) -> u64 {
        let place = place.unwrap_or_else(|| {
            self.next_place += 1;
            self.next_place
        });
        match self.all.iter_mut().find(|(known, _)| *known == place) {
            Some((_, known)) => known.clone_from(waker),
            None => self.all.push((place, waker.clone())),
        }
        place
    }

    fn leave(&mut self, place: u64) {
        self.all.retain(|(known, _)| *known != place);
    }
}
