//! One index as a plain value: which slots have a value, and which values a slot has.
//!
//! A value and the slots that have it know each other's position, so that a change costs the same however many objects
//! share the value: the last slot of the list takes the place of the one that leaves. Per object and value that is four
//! bytes in the list and sixteen beside the slot.

use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};

use hashbrown::{DefaultHashBuilder, HashTable};

/// What an index function said of one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Values<V> {
    None,
    One(V),
    Many(Vec<V>),
}

impl<V: Eq> Values<V> {
    /// Duplicates collapse (CACHE-S-20).
    pub(crate) fn collect(values: impl IntoIterator<Item = V>) -> Self {
        let mut values = values.into_iter();
        let Some(first) = values.next() else { return Self::None };
        let Some(second) = values.next() else { return Self::One(first) };
        let mut all = vec![first];
        for value in std::iter::once(second).chain(values) {
            if !all.contains(&value) {
                all.push(value);
            }
        }
        match all.len() {
            1 => all.pop().map_or(Self::None, Self::One),
            _ => Self::Many(all),
        }
    }

    fn as_slice(&self) -> &[V] {
        match self {
            Self::None => &[],
            Self::One(value) => std::slice::from_ref(value),
            Self::Many(values) => values,
        }
    }
}

/// Where a slot stands under one value.
#[derive(Debug, Clone, Copy)]
struct Place {
    value: u32,
    at: u32,
}

#[derive(Debug, Clone)]
enum Places {
    None,
    One(Place),
    Many(Box<Several>),
}

/// Behind one thin pointer, so that the many slots of one value do not pay for the few of several.
#[derive(Debug, Clone)]
struct Several(Vec<Place>);

impl Places {
    fn as_slice(&self) -> &[Place] {
        match self {
            Self::None => &[],
            Self::One(place) => std::slice::from_ref(place),
            Self::Many(several) => &several.0,
        }
    }

    fn as_mut_slice(&mut self) -> &mut [Place] {
        match self {
            Self::None => &mut [],
            Self::One(place) => std::slice::from_mut(place),
            Self::Many(several) => &mut several.0,
        }
    }
}

#[derive(Debug)]
struct Posting<V> {
    value: V,
    slots: Vec<u32>,
}

/// One index: values to slots, and slots to values.
#[derive(Debug)]
pub(crate) struct Postings<V> {
    of_value: Vec<Option<Posting<V>>>,
    free: Vec<u32>,
    by_value: HashTable<u32>,
    of_slot: Vec<Places>,
    hasher: DefaultHashBuilder,
}

impl<V> Default for Postings<V> {
    fn default() -> Self {
        Self {
            of_value: Vec::new(),
            free: Vec::new(),
            by_value: HashTable::new(),
            of_slot: Vec::new(),
            hasher: DefaultHashBuilder::default(),
        }
    }
}

impl<V: Hash + Eq> Postings<V> {
    /// The slot has exactly these values from now on.
    pub(crate) fn set(&mut self, slot: u32, values: Values<V>) {
        if self.has_exactly(slot, values.as_slice()) {
            return;
        }
        self.clear(slot);
        let places = match values {
            Values::None => return,
            Values::One(value) => Places::One(self.insert(slot, value)),
            Values::Many(values) => {
                let places = values.into_iter().map(|value| self.insert(slot, value)).collect();
                Places::Many(Box::new(Several(places)))
            }
        };
        let slot = slot as usize;
        if self.of_slot.len() <= slot {
            self.of_slot.resize(slot + 1, Places::None);
        }
        self.of_slot[slot] = places;
    }

    /// The slot has no value any more. A value without slots is dropped (CACHE-S-23).
    pub(crate) fn clear(&mut self, slot: u32) {
        let Some(places) = self.of_slot.get_mut(slot as usize) else { return };
        let places = std::mem::replace(places, Places::None);
        for &place in places.as_slice() {
            self.remove(place);
        }
    }

    /// The slots that have a value, in no particular order.
    pub(crate) fn slots<Q: Hash + Eq + ?Sized>(&self, value: &Q) -> &[u32]
    where
        V: Borrow<Q>,
    {
        self.find(value).and_then(|id| self.of_value[id as usize].as_ref()).map_or(&[], |found| &found.slots)
    }

    /// The values that some slot has, in no particular order.
    pub(crate) fn values(&self) -> impl Iterator<Item = &V> {
        self.of_value.iter().flatten().map(|posting| &posting.value)
    }

    fn find<Q: Hash + Eq + ?Sized>(&self, value: &Q) -> Option<u32>
    where
        V: Borrow<Q>,
    {
        let hash = self.hasher.hash_one(value);
        self.by_value
            .find(hash, |&id| {
                self.of_value[id as usize].as_ref().is_some_and(|posting| posting.value.borrow() == value)
            })
            .copied()
    }

    fn has_exactly(&self, slot: u32, values: &[V]) -> bool {
        let places = self.of_slot.get(slot as usize).map_or(&[][..], Places::as_slice);
        places.len() == values.len()
            && places.iter().all(|place| {
                self.of_value[place.value as usize]
                    .as_ref()
                    .is_some_and(|posting| values.contains(&posting.value))
            })
    }

    fn insert(&mut self, slot: u32, value: V) -> Place {
        let id = match self.find(&value) {
            Some(id) => id,
            None => self.new_posting(value),
        };
        let mut at = 0;
        if let Some(posting) = &mut self.of_value[id as usize] {
            at = to_u32(posting.slots.len());
            posting.slots.push(slot);
        }
        Place { value: id, at }
    }

    fn new_posting(&mut self, value: V) -> u32 {
        let hash = self.hasher.hash_one(&value);
        let posting = Some(Posting { value, slots: Vec::new() });
        let id = if let Some(id) = self.free.pop() {
            self.of_value[id as usize] = posting;
            id
        } else {
            self.of_value.push(posting);
            to_u32(self.of_value.len() - 1)
        };
        let (of_value, hasher) = (&self.of_value, &self.hasher);
        self.by_value.insert_unique(hash, id, |&id| {
            of_value[id as usize].as_ref().map_or(0, |posting| hasher.hash_one(&posting.value))
        });
        id
    }

    /// Takes one slot out of a value's list; the list's last takes its place.
    fn remove(&mut self, place: Place) {
        let Some(posting) = &mut self.of_value[place.value as usize] else { return };
        posting.slots.swap_remove(place.at as usize);
        if let Some(&moved) = posting.slots.get(place.at as usize) {
            let places = self.of_slot[moved as usize].as_mut_slice();
            if let Some(moved) = places.iter_mut().find(|other| other.value == place.value) {
                moved.at = place.at;
            }
        } else if posting.slots.is_empty() {
            let hash = self.hasher.hash_one(&posting.value);
            if let Ok(found) = self.by_value.find_entry(hash, |&id| id == place.value) {
                found.remove();
            }
            self.of_value[place.value as usize] = None;
            self.free.push(place.value);
        }
    }
}

/// Slots and values are counted in 32 bits: more of them than that do not fit into memory.
pub(crate) fn to_u32(number: usize) -> u32 {
    u32::try_from(number).expect("fewer than 2^32 objects and index values")
}

#[cfg(test)]
mod tests;
