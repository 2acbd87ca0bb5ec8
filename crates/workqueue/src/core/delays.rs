//! The keys that wait for a moment: a heap whose entries know their slot, and slots that know their entry.

use std::cmp::Ordering;
use std::time::Instant;

use super::links::{NONE, at};
use super::slots::Slot;

/// When a key is due. `at: None` is never: it waits without a timer (DQ-16).
#[derive(Clone, Copy, Debug)]
struct Delay {
    at: Option<Instant>,
    /// Equal moments keep the order of their calls (DQ-06).
    seq: u64,
    slot: u32,
}

impl Delay {
    fn order(&self, other: &Self) -> Ordering {
        let at = match (self.at, other.at) {
            (Some(a), Some(b)) => a.cmp(&b),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => Ordering::Equal,
        };
        at.then(self.seq.cmp(&other.seq))
    }
}

#[derive(Debug)]
pub(super) struct Delays {
    heap: Vec<Delay>,
    seq: u64,
}

impl Delays {
    pub(super) fn new() -> Self {
        Self { heap: Vec::new(), seq: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.heap.len()
    }

    pub(super) fn next_due(&self) -> Option<Instant> {
        self.heap.first()?.at
    }

    /// `slot` waits until `at`, or until the earlier moment that it already waits for. Says whether `at` counts.
    pub(super) fn push<K>(&mut self, slots: &mut [Slot<K>], slot: u32, at_: Option<Instant>) -> bool {
        self.seq += 1;
        let new = Delay { at: at_, seq: self.seq, slot };
        let place = match slots[at(slot)].delay {
            NONE => {
                let place = self.heap.len();
                self.heap.push(new);
                place
            }
            place if new.order(&self.heap[at(place)]) == Ordering::Less => {
                self.heap[at(place)] = new;
                at(place)
            }
            _ => return false,
        };
        self.sift_up(slots, place);
        true
    }

    /// The slot that is due first, if it is due at `now`.
    pub(super) fn pop_due<K>(&mut self, slots: &mut [Slot<K>], now: Instant) -> Option<u32> {
        let first = self.heap.first()?;
        let slot = first.slot;
        if first.at.is_none_or(|at| at > now) {
            return None;
        }
        self.remove(slots, slot);
        Some(slot)
    }

    /// Any slot that waits: to empty the heap.
    pub(super) fn pop_any<K>(&mut self, slots: &mut [Slot<K>]) -> Option<u32> {
        let Delay { slot, .. } = self.heap.pop()?;
        slots[at(slot)].delay = NONE;
        Some(slot)
    }

    /// Takes out `slot`, which waits.
    pub(super) fn remove<K>(&mut self, slots: &mut [Slot<K>], slot: u32) {
        let place = at(std::mem::replace(&mut slots[at(slot)].delay, NONE));
        self.heap.swap_remove(place);
        if place < self.heap.len() {
            let place = self.sift_up(slots, place);
            self.sift_down(slots, place);
        }
        if self.heap.is_empty() && self.heap.capacity() > 1024 {
            self.heap.shrink_to(1024);
        }
    }

    fn sift_up<K>(&mut self, slots: &mut [Slot<K>], mut place: usize) -> usize {
        let moving = self.heap[place];
        while place > 0 {
            let parent = (place - 1) / 2;
            if self.heap[parent].order(&moving) != Ordering::Greater {
                break;
            }
            self.put(slots, place, self.heap[parent]);
            place = parent;
        }
        self.put(slots, place, moving);
        place
    }

    fn sift_down<K>(&mut self, slots: &mut [Slot<K>], mut place: usize) {
        let moving = self.heap[place];
        loop {
            let mut child = 2 * place + 1;
            if child >= self.heap.len() {
                break;
            }
            if child + 1 < self.heap.len() && self.heap[child + 1].order(&self.heap[child]) == Ordering::Less
            {
                child += 1;
            }
            if moving.order(&self.heap[child]) != Ordering::Greater {
                break;
            }
            self.put(slots, place, self.heap[child]);
            place = child;
        }
        self.put(slots, place, moving);
    }

    fn put<K>(&mut self, slots: &mut [Slot<K>], place: usize, delay: Delay) {
        self.heap[place] = delay;
        slots[at(delay.slot)].delay = u32::try_from(place).expect("fewer delays than slots");
    }
}
