//! The content as a plain value: slots, the table of keys, the namespaces, the indices.

use std::any::Any;
use std::hash::BuildHasher;
use std::sync::Arc;

use apimachinery::{Object, ObjectKey, ResourceVersion};
use hashbrown::{DefaultHashBuilder, HashTable};

use crate::postings::{Postings, Values, to_u32};

/// An index of which only its owner knows the type of the values.
pub(crate) type AnyPostings = Box<dyn Any + Send + Sync>;

/// Objects by key, by namespace and by index.
///
/// Objects live in slots, and everything else names them by slot: 32 bytes for the slot, about 8 in the table of keys,
/// 20 for the namespace, 20 for each index value. The key shares its text with the object where the kept form has one.
pub(crate) struct Cache<T> {
    slots: Vec<Option<Entry<T>>>,
    free: Vec<u32>,
    by_key: HashTable<u32>,
    namespaces: Postings<Box<str>>,
    pub(crate) indices: Vec<AnyPostings>,
    pub(crate) resource_version: ResourceVersion,
    hasher: DefaultHashBuilder,
}

pub(crate) struct Entry<T> {
    pub(crate) key: ObjectKey,
    pub(crate) object: Arc<T>,
}

impl<T> Clone for Entry<T> {
    fn clone(&self) -> Self {
        Self { key: self.key.clone(), object: self.object.clone() }
    }
}

/// What an upsert found.
pub(crate) struct Upserted<T> {
    pub(crate) slot: u32,
    pub(crate) old: Option<Arc<T>>,
}

impl<T: Object> Cache<T> {
    pub(crate) fn with_capacity(objects: usize) -> Self {
        Self {
            slots: Vec::with_capacity(objects),
            free: Vec::new(),
            by_key: HashTable::with_capacity(objects),
            namespaces: Postings::default(),
            indices: Vec::new(),
            resource_version: ResourceVersion::default(),
            hasher: DefaultHashBuilder::default(),
        }
    }

    /// Stores an object; the one that was there comes back.
    pub(crate) fn upsert(&mut self, key: ObjectKey, object: Arc<T>) -> Upserted<T> {
        if let Some(slot) = self.slot(key.as_str()) {
            // The new key, because it shares its text with the new object.
            let old = self.slots[slot as usize].replace(Entry { key, object });
            return Upserted { slot, old: old.map(|entry| entry.object) };
        }
        let hash = self.hasher.hash_one(key.as_str());
        let namespace: Box<str> = key.namespace().into();
        let entry = Some(Entry { key, object });
        let slot = if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = entry;
            slot
        } else {
            self.slots.push(entry);
            to_u32(self.slots.len() - 1)
        };
        let (slots, hasher) = (&self.slots, &self.hasher);
        self.by_key.insert_unique(hash, slot, |&slot| {
            slots[slot as usize].as_ref().map_or(0, |entry| hasher.hash_one(entry.key.as_str()))
        });
        self.namespaces.set(slot, Values::One(namespace));
        Upserted { slot, old: None }
    }

    /// Takes an object out, and says where it was.
    pub(crate) fn remove(&mut self, key: &str) -> Option<(u32, Entry<T>)> {
        let hash = self.hasher.hash_one(key);
        let slots = &self.slots;
        let found = self.by_key.find_entry(hash, |&slot| is_key(slots, slot, key)).ok()?;
        let (slot, _) = found.remove();
        self.namespaces.clear(slot);
        self.free.push(slot);
        self.slots[slot as usize].take().map(|entry| (slot, entry))
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Entry<T>> {
        self.at(self.slot(key)?)
    }

    pub(crate) fn len(&self) -> usize {
        self.by_key.len()
    }

    pub(crate) fn at(&self, slot: u32) -> Option<&Entry<T>> {
        self.slots[slot as usize].as_ref()
    }

    /// All of them, in no particular order.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &Entry<T>> {
        self.slots.iter().flatten()
    }

    /// All of them, with their slots.
    pub(crate) fn numbered(&self) -> impl Iterator<Item = (u32, &Entry<T>)> {
        self.slots.iter().enumerate().filter_map(|(slot, entry)| Some((to_u32(slot), entry.as_ref()?)))
    }

    /// Those of one namespace; those of all for `""` (CACHE-L-03).
    pub(crate) fn in_namespace(&self, namespace: &str) -> impl Iterator<Item = &Entry<T>> {
        let (all, some) = match namespace {
            "" => (&self.slots[..], &[][..]),
            _ => (&[][..], self.namespaces.slots(namespace)),
        };
        all.iter().flatten().chain(some.iter().filter_map(|&slot| self.at(slot)))
    }

    /// How many [`in_namespace`](Self::in_namespace) says at most.
    pub(crate) fn count_in_namespace(&self, namespace: &str) -> usize {
        if namespace.is_empty() { self.len() } else { self.namespaces.slots(namespace).len() }
    }

    fn slot(&self, key: &str) -> Option<u32> {
        let hash = self.hasher.hash_one(key);
        self.by_key.find(hash, |&slot| is_key(&self.slots, slot, key)).copied()
    }
}

fn is_key<T>(slots: &[Option<Entry<T>>], slot: u32, key: &str) -> bool {
    slots[slot as usize].as_ref().is_some_and(|entry| entry.key.as_str() == key)
}
