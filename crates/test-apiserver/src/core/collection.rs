//! `Collection`: the objects of one resource, and what happened to them lately.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use super::stored::Stored;

/// One change of one object.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) version: u64,
    pub(crate) key: String,
    /// The state before; none for a creation.
    pub(crate) before: Option<Arc<Stored>>,
    /// The state after; for a deletion the last state, at the deletion's version.
    pub(crate) object: Arc<Stored>,
    pub(crate) is_deletion: bool,
}

/// Objects in the order of their keys, and a bounded log of changes in the order of their versions.
#[derive(Debug)]
pub(crate) struct Collection {
    /// The version of the API that objects are kept in.
    pub(crate) api_version: String,
    objects: BTreeMap<String, Arc<Stored>>,
    log: VecDeque<Arc<Change>>,
    bound: usize,
    /// Changes up to here may be missing from the log: nobody can start there or before.
    oldest: u64,
    /// The newest change that was really dropped: who had not seen it has a gap.
    lost: u64,
}

impl Collection {
    pub(crate) fn new(api_version: String, bound: usize, version: u64) -> Self {
        let (objects, log) = (BTreeMap::new(), VecDeque::new());
        Self { api_version, objects, log, bound: bound.max(1), oldest: version, lost: 0 }
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Arc<Stored>> {
        self.objects.get(key)
    }

    pub(crate) fn len(&self) -> usize {
        self.objects.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&String, &Arc<Stored>)> {
        self.objects.iter()
    }

    pub(crate) fn oldest(&self) -> u64 {
        self.oldest
    }

    pub(crate) fn put(&mut self, key: String, object: Arc<Stored>) {
        let before = self.objects.insert(key.clone(), object.clone());
        let version = object.resource_version();
        self.push(Change { version, key, before, object, is_deletion: false });
    }

    /// Removes what `last` is the last state of.
    pub(crate) fn remove(&mut self, key: &str, last: Arc<Stored>) {
        let before = self.objects.remove(key);
        let version = last.resource_version();
        self.push(Change { version, key: key.to_owned(), before, object: last, is_deletion: true });
    }

    fn push(&mut self, change: Change) {
        self.log.push_back(Arc::new(change));
        if self.log.len() > self.bound {
            let through = self.log[self.log.len() - self.bound - 1].version;
            self.compact(through);
        }
    }

    /// Forgets the changes up to and with `version`.
    pub(crate) fn compact(&mut self, version: u64) {
        self.oldest = self.oldest.max(version);
        while self.log.front().is_some_and(|change| change.version <= version) {
            self.lost = self.log.pop_front().map_or(self.lost, |change| change.version);
        }
    }

    /// The first change after `version`; an error if some were dropped before they could be seen.
    pub(crate) fn after(&self, version: u64) -> Result<Option<&Arc<Change>>, Gap> {
        if version < self.lost {
            return Err(Gap);
        }
        let index = self.log.partition_point(|change| change.version <= version);
        Ok(self.log.get(index))
    }

    /// The objects as they were at `version`, from `start` on, under `prefix`, in order. None if that is forgotten.
    pub(crate) fn at<'a>(
        &'a self,
        version: u64,
        prefix: &'a str,
        start: &str,
    ) -> Option<impl Iterator<Item = (&'a str, &'a Arc<Stored>)>> {
        if version < self.oldest {
            return None;
        }
        let mut undone: BTreeMap<&str, Option<&Arc<Stored>>> = BTreeMap::new();
        for change in self.log.iter().rev().take_while(|change| change.version > version) {
            undone.insert(&change.key, change.before.as_ref());
        }
        let from = if start > prefix { start } else { prefix };
        let from = from.to_owned();
        undone.retain(|key, _| *key >= from.as_str());
        let now = self.objects.range::<str, _>((Bound::Included(from.as_str()), Bound::Unbounded));
        let now = now.map(|(key, object)| (key.as_str(), Some(object)));
        let merged = Merged { undone: undone.into_iter().peekable(), now: now.peekable() };
        Some(
            merged
                .take_while(move |(key, _)| key.starts_with(prefix))
                .filter_map(|(key, object)| Some((key, object?))),
        )
    }
}

/// Changes were dropped before they could be seen.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gap;

/// Two ordered streams as one; where both have a key, what was undone holds.
struct Merged<U: Iterator, N: Iterator> {
    undone: std::iter::Peekable<U>,
    now: std::iter::Peekable<N>,
}

type Entry<'a> = (&'a str, Option<&'a Arc<Stored>>);

impl<'a, U: Iterator<Item = Entry<'a>>, N: Iterator<Item = Entry<'a>>> Iterator for Merged<U, N> {
    type Item = Entry<'a>;

    fn next(&mut self) -> Option<Entry<'a>> {
        match (self.undone.peek(), self.now.peek()) {
            (Some((undone, _)), Some((now, _))) if undone == now => {
                self.now.next();
                self.undone.next()
            }
            (Some((undone, _)), Some((now, _))) if now < undone => self.now.next(),
            (Some(_), _) => self.undone.next(),
            (None, _) => self.now.next(),
        }
    }
}
