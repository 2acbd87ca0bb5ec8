//! A listener that is slow by dice, and what it believes the cache holds.

use std::collections::{BTreeMap, VecDeque};

use apimachinery::Object;
use indexer::Change;

use crate::dice::Dice;
use crate::thing::{Thing, version};

/// Believes what it is told, one change at a time.
pub(crate) struct Mirror {
    inbox: VecDeque<Change<Thing>>,
    believes: BTreeMap<String, u64>,
    /// The newest version of each key that it was told of, deletions included.
    newest: BTreeMap<String, u64>,
    /// One change in so many turns.
    slowness: u64,
}

impl Mirror {
    pub(crate) fn new(dice: &mut Dice) -> Self {
        Self {
            inbox: VecDeque::new(),
            believes: BTreeMap::new(),
            newest: BTreeMap::new(),
            slowness: *dice.pick(&[1, 2, 10]),
        }
    }

    pub(crate) fn tell(&mut self, change: Change<Thing>) {
        self.inbox.push_back(change);
    }

    pub(crate) fn turn(&mut self, dice: &mut Dice) {
        if dice.once_in(self.slowness)
            && let Some(change) = self.inbox.pop_front()
        {
            self.believe(&change);
        }
    }

    pub(crate) fn catch_up(&mut self) {
        while let Some(change) = self.inbox.pop_front() {
            self.believe(&change);
        }
    }

    pub(crate) fn believes(&self) -> &BTreeMap<String, u64> {
        &self.believes
    }

    fn believe(&mut self, change: &Change<Thing>) {
        let key = change.key().to_string();
        match change {
            Change::Added(object) => {
                assert!(!self.believes.contains_key(&key), "{key} is added, and was there");
                self.sees(&key, version(object));
                self.believes.insert(key, version(object));
            }
            Change::Updated { old, new } => {
                let known = self.believes.get(&key).copied();
                assert_eq!(known, Some(version(old)), "{key}: what it was is what was told last");
                self.sees(&key, version(new));
                self.believes.insert(key, version(new));
            }
            Change::Removed { last, old, .. } => {
                let known = self.believes.remove(&key);
                assert_eq!(known, old.as_deref().map(version), "{key}: what is gone is what was told last");
                if let Some(last) = last {
                    assert_eq!(last.key().as_str(), key);
                    self.sees(&key, version(last));
                }
            }
        }
    }

    /// No object goes back in time.
    fn sees(&mut self, key: &str, version: u64) {
        let newest = self.newest.entry(key.to_owned()).or_default();
        assert!(version >= *newest, "{key} goes back in time, from {newest} to {version}");
        *newest = version;
    }
}
