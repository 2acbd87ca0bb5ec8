//! What the queue decides: a plain value, one thread, the time given.

mod delays;
pub(crate) mod links;
mod slots;
#[cfg(test)]
mod tests;

use std::hash::Hash;
use std::time::{Duration, Instant};

use delays::Delays;
use links::{List, NONE, at};
use slots::{Slots, Stage};

/// The sets of the queue, and the rules between them (contract WQ, DQ).
///
/// Each key is stored once, in a slot that says where it is: queued, handed out, handed out and added again, waiting for
/// a moment. The ready list and the heap of delays are made of slots, so that a steady cycle of `add`, `take`, `done`
/// allocates nothing. `K`'s `Hash`, `Eq` and `Clone` are called; keep them cheap (an `ObjectKey` is).
#[derive(Debug)]
pub struct Core<K> {
    slots: Slots<K>,
    ready: List,
    delays: Delays,
    /// Handed out.
    processing: usize,
    /// Handed out and added again.
    held: usize,
    /// Hand-outs so far.
    serial: u64,
    shutting_down: bool,
    adds: u64,
    retries: u64,
    stray_dones: u64,
}

/// Names one hand-out of one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket {
    slot: u32,
    serial: u64,
}

/// What became of an add. A key that the core did not keep comes back, so that its owner drops it.
#[derive(Debug, PartialEq, Eq)]
pub enum Added<K> {
    /// At the tail of the queue.
    Queued,
    /// Someone works on it: queued once that is done.
    WhileProcessing,
    /// Waits for its moment.
    Waiting,
    /// Already where the add would have put it.
    Already(K),
    /// The queue is shutting down.
    Refused(K),
}

/// What became of a done.
#[derive(Debug, PartialEq, Eq)]
pub enum Done<K> {
    /// Nothing more is known of the key (unless it waits for a moment: `None`).
    Finished(Option<K>),
    /// It was added meanwhile and is queued again.
    Requeued,
    /// That hand-out had ended before; nothing changed (WQ-15).
    Stray,
}

/// How much of what there is, and has been.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Keys ready to be handed out: `len`.
    pub queued: usize,
    /// Keys that wait for a moment.
    pub waiting: usize,
    /// Keys handed out and not done.
    pub processing: usize,
    /// Of those, the ones added again meanwhile.
    pub processing_dirty: usize,
    /// Adds that made a key dirty, so far; folded ones do not count.
    pub adds: u64,
    /// Calls of `add_after` and what is built on it, so far.
    pub retries: u64,
    /// Dones of hand-outs that had ended, so far.
    pub stray_dones: u64,
}

impl<K: Eq + Hash + Clone> Core<K> {
    /// Empty, and open.
    pub fn new() -> Self {
        Self {
            slots: Slots::new(),
            ready: List::EMPTY,
            delays: Delays::new(),
            processing: 0,
            held: 0,
            serial: 0,
            shutting_down: false,
            adds: 0,
            retries: 0,
            stray_dones: 0,
        }
    }

    /// `key` needs work (WQ-02 to WQ-04).
    pub fn add(&mut self, key: K) -> Added<K> {
        if self.shutting_down {
            return Added::Refused(key);
        }
        let (slot, known) = self.slots.find_or_insert(key);
        let became = self.mark_dirty(slot);
        match known {
            Some(key) if became == Dirty::Already => Added::Already(key),
            _ if became == Dirty::WhileProcessing => Added::WhileProcessing,
            _ => Added::Queued,
        }
    }

    /// `key` needs work no sooner than `delay` after `now`. Of several moments for one key the earliest counts (DQ-05).
    pub fn add_after(&mut self, now: Instant, key: K, delay: Duration) -> Added<K> {
        if self.shutting_down {
            return Added::Refused(key);
        }
        self.retries += 1;
        if delay.is_zero() {
            return self.add(key);
        }
        let (slot, known) = self.slots.find_or_insert(key);
        let counts = self.delays.push(&mut self.slots.all, slot, now.checked_add(delay));
        match known {
            Some(key) if !counts => Added::Already(key),
            _ => Added::Waiting,
        }
    }

    /// `key` waits no longer; says whether it did. Work that is already due stays (DQ-08).
    pub fn cancel(&mut self, key: &K) -> bool {
        let waiting = self.slots.find(key).filter(|&slot| self.slots.all[at(slot)].delay != NONE);
        if let Some(slot) = waiting {
            self.delays.remove(&mut self.slots.all, slot);
            self.slots.release(slot);
        }
        waiting.is_some()
    }

    /// Queues what is due at `now`, in the order in which it became due (DQ-06). Says how many keys were due.
    pub fn advance(&mut self, now: Instant) -> usize {
        let mut due = 0;
        while let Some(slot) = self.delays.pop_due(&mut self.slots.all, now) {
            self.mark_dirty(slot);
            due += 1;
        }
        due
    }

    /// Hands out the key that was ready first (WQ-05).
    pub fn take(&mut self) -> Option<(Ticket, K)> {
        let slot = self.ready.pop_front(&mut self.slots.all)?;
        self.serial += 1;
        self.processing += 1;
        let it = &mut self.slots.all[at(slot)];
        it.stage = Stage::Processing;
        it.serial = self.serial;
        let key = it.key.clone()?;
        Some((Ticket { slot, serial: self.serial }, key))
    }

    /// That hand-out has ended (WQ-07), also after shutdown.
    pub fn done(&mut self, ticket: Ticket) -> Done<K> {
        let current = self.slots.all.get_mut(at(ticket.slot)).filter(|it| it.serial == ticket.serial);
        match current.map(|it| (it.stage, it)) {
            Some((Stage::Processing, it)) => {
                it.stage = Stage::Idle;
                self.processing -= 1;
                Done::Finished(self.slots.release(ticket.slot))
            }
            Some((Stage::ProcessingDirty, it)) => {
                it.stage = Stage::Queued;
                self.processing -= 1;
                self.held -= 1;
                self.ready.push_back(&mut self.slots.all, ticket.slot);
                Done::Requeued
            }
            Some((Stage::Idle | Stage::Queued, _)) | None => {
                self.stray_dones += 1;
                Done::Stray
            }
        }
    }

    /// No more adds; what waits for a moment is discarded and returned, what is queued stays (WQ-06, DQ-12).
    pub fn shutdown(&mut self) -> Vec<K> {
        self.shutting_down = true;
        let mut discarded = Vec::new();
        while let Some(slot) = self.delays.pop_any(&mut self.slots.all) {
            discarded.extend(self.slots.release(slot));
        }
        discarded
    }

    /// Keys ready to be handed out; not those handed out, not those that wait (WQ-10, DQ-09).
    pub fn len(&self) -> usize {
        self.ready.len()
    }

    /// Whether no key is ready.
    pub fn is_empty(&self) -> bool {
        self.ready.is_empty()
    }

    /// Whether nothing is ready and nothing handed out: what a drain waits for (WQ-14).
    pub fn is_idle(&self) -> bool {
        self.ready.is_empty() && self.processing == 0
    }

    /// Whether shutdown was called.
    pub fn is_shutting_down(&self) -> bool {
        self.shutting_down
    }

    /// When the next waiting key is due; `None` if no key waits, or for ever.
    pub fn next_due(&self) -> Option<Instant> {
        self.delays.next_due()
    }

    /// All counts at once.
    pub fn counts(&self) -> Counts {
        Counts {
            queued: self.ready.len(),
            waiting: self.delays.len(),
            processing: self.processing,
            processing_dirty: self.held,
            adds: self.adds,
            retries: self.retries,
            stray_dones: self.stray_dones,
        }
    }

    /// The keys queued and the keys handed out, in no order.
    pub fn unfinished(&self) -> (Vec<K>, Vec<K>) {
        let (mut queued, mut processing) = (Vec::new(), Vec::new());
        for slot in &self.slots.all {
            match slot.stage {
                Stage::Idle => {}
                Stage::Queued => queued.extend(slot.key.clone()),
                Stage::Processing | Stage::ProcessingDirty => processing.extend(slot.key.clone()),
            }
        }
        (queued, processing)
    }

    /// The keys that there is room for without allocating (WQ-17).
    pub fn capacity(&self) -> usize {
        self.slots.capacity()
    }

    fn mark_dirty(&mut self, slot: u32) -> Dirty {
        let it = &mut self.slots.all[at(slot)];
        match it.stage {
            Stage::Idle => {
                it.stage = Stage::Queued;
                self.ready.push_back(&mut self.slots.all, slot);
                self.adds += 1;
                Dirty::Queued
            }
            Stage::Processing => {
                it.stage = Stage::ProcessingDirty;
                self.held += 1;
                self.adds += 1;
                Dirty::WhileProcessing
            }
            Stage::Queued | Stage::ProcessingDirty => Dirty::Already,
        }
    }
}

#[derive(PartialEq, Eq)]
enum Dirty {
    Queued,
    WhileProcessing,
    Already,
}

impl<K: Eq + Hash + Clone> Default for Core<K> {
    fn default() -> Self {
        Self::new()
    }
}
