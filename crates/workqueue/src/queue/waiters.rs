//! Who waits in `get`, in the order of arrival; and who of them keeps the queue's time.

use std::task::Waker;
use std::time::Instant;

use crate::core::links::{Linked, Links, List, NONE, at};

/// Wakers taken under the lock, to be woken after it.
#[derive(Debug, Default)]
pub(super) struct Wakes {
    first: Option<Waker>,
    more: Vec<Waker>,
}

impl Wakes {
    pub(super) fn push(&mut self, waker: Waker) {
        if self.first.is_none() {
            self.first = Some(waker);
        } else {
            self.more.push(waker);
        }
    }

    /// Runs other tasks' code: never under the lock (GN-07).
    #[inline]
    pub(super) fn wake(self) {
        if let Some(first) = self.first {
            first.wake();
            self.more.into_iter().for_each(Waker::wake);
        }
    }
}

#[derive(Debug)]
struct Waiter {
    /// `None` once it was told to look, or if the slot is free.
    waker: Option<Waker>,
    /// Told to look, and has not looked yet.
    told: bool,
    links: Links,
}

impl Linked for Waiter {
    fn links(&mut self) -> &mut Links {
        &mut self.links
    }
}

/// The one waiter that sleeps until the next delay is over.
#[derive(Clone, Copy, Debug)]
struct Keeper {
    waiter: u32,
    until: Instant,
}

#[derive(Debug)]
pub(super) struct Waiters {
    all: Vec<Waiter>,
    free: List,
    /// Parked, not told.
    parked: List,
    /// Told to look; each will look or leave.
    told: usize,
    keeper: Option<Keeper>,
}

impl Waiters {
    pub(super) const fn new() -> Self {
        Self { all: Vec::new(), free: List::EMPTY, parked: List::EMPTY, told: 0, keeper: None }
    }

    /// Nobody waits.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.told == 0 && self.parked.is_empty()
    }

    /// A waiter found nothing: it parks, and is told from now on. `next_due` is what it must keep the time for, if
    /// nobody else does; the answer is the moment until which it shall sleep.
    pub(super) fn park(
        &mut self,
        me: Option<u32>,
        waker: &Waker,
        next_due: Option<Instant>,
    ) -> (u32, Option<Instant>) {
        let me = match me {
            Some(me) => {
                let waiter = &mut self.all[at(me)];
                if waiter.told {
                    waiter.told = false;
                    self.told -= 1;
                    self.parked.push_back(&mut self.all, me);
                }
                me
            }
            None => self.enter(),
        };
        match &mut self.all[at(me)].waker {
            Some(known) => known.clone_from(waker),
            none => *none = Some(waker.clone()),
        }
        if self.keeper.is_none_or(|keeper| keeper.waiter == me) {
            self.keeper = next_due.map(|until| Keeper { waiter: me, until });
            return (me, next_due);
        }
        (me, None)
    }

    /// A waiter leaves, with a key or without.
    pub(super) fn leave(&mut self, me: u32) {
        let waiter = &mut self.all[at(me)];
        if std::mem::take(&mut waiter.told) {
            self.told -= 1;
        } else {
            self.parked.remove(&mut self.all, me);
        }
        self.all[at(me)].waker = None;
        self.free.push_back(&mut self.all, me);
        if self.keeper.is_some_and(|keeper| keeper.waiter == me) {
            self.keeper = None;
        }
    }

    /// Tells as many as there is something to do for. Called at the end of each change, so that these hold between any
    /// two: for each ready key someone is told, as long as someone waits; if a delay runs, someone keeps the time (or is
    /// told, and will), and sleeps no longer than it runs; once the queue shuts down, all are told.
    pub(super) fn settle(
        &mut self,
        ready: usize,
        next_due: Option<Instant>,
        shutting_down: bool,
        wakes: &mut Wakes,
    ) {
        if self.parked.is_empty() {
            return;
        }
        while (self.told < ready || shutting_down) && self.tell_one(wakes) {}
        let Some(due) = next_due else { return };
        match &mut self.keeper {
            None if self.told == 0 => {
                self.tell_one(wakes);
            }
            Some(keeper) if due < keeper.until => {
                // Someone who is told looks at the time anyway.
                keeper.until = due;
                if let Some(waker) = &self.all[at(keeper.waiter)].waker {
                    wakes.push(waker.clone());
                }
            }
            None | Some(_) => {}
        }
    }

    /// Tells the one that waits longest; the keeper of the time only if it is the last.
    fn tell_one(&mut self, wakes: &mut Wakes) -> bool {
        let first = self.parked.head();
        let keeps_time = self.keeper.is_some_and(|keeper| keeper.waiter == first);
        let next = match first {
            NONE => return false,
            _ if keeps_time && self.parked.len() > 1 => self.all[at(first)].links.next,
            _ => first,
        };
        self.parked.remove(&mut self.all, next);
        let waiter = &mut self.all[at(next)];
        waiter.told = true;
        self.told += 1;
        if let Some(waker) = waiter.waker.take() {
            wakes.push(waker);
        }
        true
    }

    fn enter(&mut self) -> u32 {
        let me = self.free.pop_front(&mut self.all).unwrap_or_else(|| {
            self.all.push(Waiter { waker: None, told: false, links: Links::ALONE });
            u32::try_from(self.all.len() - 1).expect("fewer than 2^32 waiters")
        });
        self.parked.push_back(&mut self.all, me);
        me
    }
}
