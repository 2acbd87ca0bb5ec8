//! [`Index`]: the handle to an index. Holding one proves that the index exists.

use std::borrow::Borrow;
use std::fmt;
use std::hash::Hash;
use std::marker::PhantomData;
use std::sync::Arc;

use apimachinery::{Object, ObjectKey};

use crate::cache::{Cache, Entry};
use crate::function::typed;
use crate::shared::Shared;

/// One index over the cache. Made by [`Lister::index`](crate::Lister::index); cheap to clone.
pub struct Index<T: Object, V = String> {
    shared: Arc<Shared<T>>,
    number: usize,
    values: PhantomData<fn() -> V>,
}

impl<T: Object, V: Hash + Eq + Clone + Send + Sync + 'static> Index<T, V> {
    pub(crate) fn new(shared: Arc<Shared<T>>, number: usize) -> Self {
        Self { shared, number, values: PhantomData }
    }

    /// The objects that have a value, in no particular order; none for a value that no object has.
    pub fn by<Q: Hash + Eq + ?Sized>(&self, value: &Q) -> Vec<Arc<T>>
    where
        V: Borrow<Q>,
    {
        let content = self.shared.read();
        self.entries(&content, value).map(|entry| entry.object.clone()).collect()
    }

    /// The keys of the objects that have a value, sorted (CACHE-S-26).
    pub fn keys<Q: Hash + Eq + ?Sized>(&self, value: &Q) -> Vec<ObjectKey>
    where
        V: Borrow<Q>,
    {
        let content = self.shared.read();
        let mut keys: Vec<ObjectKey> = self.entries(&content, value).map(|entry| entry.key.clone()).collect();
        drop(content);
        keys.sort_unstable();
        keys
    }

    /// How many objects have a value.
    pub fn count<Q: Hash + Eq + ?Sized>(&self, value: &Q) -> usize
    where
        V: Borrow<Q>,
    {
        typed::<V>(&self.shared.read().indices[self.number]).map_or(0, |postings| postings.slots(value).len())
    }

    /// The values that some object has (CACHE-S-27).
    pub fn values(&self) -> Vec<V> {
        typed::<V>(&self.shared.read().indices[self.number])
            .map(|postings| postings.values().cloned().collect())
            .unwrap_or_default()
    }

    fn entries<'a, Q: Hash + Eq + ?Sized>(
        &self,
        content: &'a Cache<T>,
        value: &Q,
    ) -> impl Iterator<Item = &'a Entry<T>>
    where
        V: Borrow<Q>,
    {
        let slots =
            typed::<V>(&content.indices[self.number]).map_or(&[][..], |postings| postings.slots(value));
        slots.iter().filter_map(|&slot| content.at(slot))
    }
}

impl<T: Object, V> Clone for Index<T, V> {
    fn clone(&self) -> Self {
        Self { shared: self.shared.clone(), number: self.number, values: PhantomData }
    }
}

impl<T: Object, V> fmt::Debug for Index<T, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Index").field("number", &self.number).finish_non_exhaustive()
    }
}
