//! Every key that the queue knows, once: a table from keys to slots.

use std::hash::{BuildHasher, Hash};

use hashbrown::hash_table::Entry;
use hashbrown::{DefaultHashBuilder, HashTable};

use super::links::{Linked, Links, NONE, at};

/// Where a key is, apart from a delay that it may wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Only a delay keeps it here.
    Idle,
    /// In the ready list.
    Queued,
    /// Handed out.
    Processing,
    /// Handed out and added again: queued once it is done.
    ProcessingDirty,
}

#[derive(Debug)]
pub(super) struct Slot<K> {
    /// `None` when the slot is free.
    pub(super) key: Option<K>,
    hash: u64,
    pub(super) stage: Stage,
    /// Which hand-out this is, while processing.
    pub(super) serial: u64,
    /// In the ready list while queued, in the free list while free.
    links: Links,
    /// Its place in the heap of delays, or [`NONE`].
    pub(super) delay: u32,
}

impl<K> Linked for Slot<K> {
    fn links(&mut self) -> &mut Links {
        &mut self.links
    }
}

#[derive(Debug)]
pub(super) struct Slots<K> {
    hasher: DefaultHashBuilder,
    table: HashTable<u32>,
    pub(super) all: Vec<Slot<K>>,
    /// The free slots, through `links.next`.
    free: u32,
    used: usize,
    /// Slots given back since the last look at whether there are too many.
    freed: usize,
}

/// Below this many slots nothing is given back.
const KEPT: usize = 1024;

impl<K: Eq + Hash> Slots<K> {
    pub(super) fn new() -> Self {
        Self {
            hasher: DefaultHashBuilder::default(),
            table: HashTable::new(),
            all: Vec::new(),
            free: NONE,
            used: 0,
            freed: 0,
        }
    }

    /// The slot of a key that is known.
    pub(super) fn find(&self, key: &K) -> Option<u32> {
        let hash = self.hasher.hash_one(key);
        self.table.find(hash, |&slot| self.all[at(slot)].key.as_ref() == Some(key)).copied()
    }

    /// The slot of `key`, and the key back when it was known; else a new slot, idle.
    pub(super) fn find_or_insert(&mut self, key: K) -> (u32, Option<K>) {
        let hash = self.hasher.hash_one(&key);
        let all = &self.all;
        let entry = self.table.entry(
            hash,
            |&slot| all[at(slot)].hash == hash && all[at(slot)].key.as_ref() == Some(&key),
            |&slot| all[at(slot)].hash,
        );
        let vacant = match entry {
            Entry::Occupied(known) => return (*known.get(), Some(key)),
            Entry::Vacant(vacant) => vacant,
        };
        let fresh =
            Slot { key: Some(key), hash, stage: Stage::Idle, serial: 0, links: Links::ALONE, delay: NONE };
        let slot = match self.free {
            NONE => {
                let slot = u32::try_from(self.all.len()).ok().filter(|&slot| slot != NONE);
                self.all.push(fresh);
                slot.expect("fewer than 2^32 keys")
            }
            slot => {
                self.free = self.all[at(slot)].links.next;
                self.all[at(slot)] = fresh;
                slot
            }
        };
        vacant.insert(slot);
        self.used += 1;
        (slot, None)
    }

    /// Forgets the key of `slot` if nothing keeps it, and gives it back.
    pub(super) fn release(&mut self, slot: u32) -> Option<K> {
        let it = &mut self.all[at(slot)];
        if it.stage != Stage::Idle || it.delay != NONE {
            return None;
        }
        let key = it.key.take();
        it.links = Links { prev: NONE, next: self.free };
        let hash = it.hash;
        self.free = slot;
        if let Ok(entry) = self.table.find_entry(hash, |&other| other == slot) {
            entry.remove();
        }
        self.used -= 1;
        self.freed += 1;
        if self.freed >= self.all.len() {
            self.give_back();
        }
        key
    }

    /// The room for keys; a burst's is given back when less than a quarter was used for a full pass (WQ-17).
    pub(super) fn capacity(&self) -> usize {
        self.all.capacity()
    }

    #[cfg(test)]
    pub(super) fn used(&self) -> usize {
        self.used
    }

    /// Once per as many releases as there are slots, so its cost is shared out.
    fn give_back(&mut self) {
        self.freed = 0;
        if self.all.len() < KEPT || self.used >= self.all.len() / 4 {
            return;
        }
        // A slot that is used stays where it is: tickets name it. What is free behind the last one goes.
        let end = self.all.iter().rposition(|slot| slot.key.is_some()).map_or(0, |last| last + 1);
        self.all.truncate(end);
        self.all.shrink_to((self.used * 2).max(KEPT));
        let all = &self.all;
        self.table.shrink_to(self.used * 2, |&slot| all[at(slot)].hash);
        // The lowest first, so that the end is free again soon.
        self.free = NONE;
        for (slot, it) in self.all.iter_mut().enumerate().rev() {
            if it.key.is_none() {
                it.links.next = self.free;
                self.free = u32::try_from(slot).expect("a slot's place fits its number");
            }
        }
    }
}
