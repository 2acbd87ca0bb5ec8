//! The work queue, and workers that take their time, die and start again.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use apimachinery::ObjectKey;
use workqueue::{Core, Ticket};

use crate::dice::Dice;

struct Work {
    ticket: Ticket,
    key: ObjectKey,
    until: Instant,
}

pub(crate) struct Workers {
    queue: Core<ObjectKey>,
    busy: Vec<Work>,
    hands: usize,
    at_work: BTreeSet<String>,
    /// Counts adds and starts, so that "after" has a meaning.
    clock: u64,
    added: BTreeMap<String, u64>,
    started: BTreeMap<String, u64>,
}

impl Workers {
    pub(crate) fn new(dice: &mut Dice) -> Self {
        Self {
            queue: Core::new(),
            busy: Vec::new(),
            hands: usize::try_from(dice.between(1, 4)).expect("a small number"),
            at_work: BTreeSet::new(),
            clock: 0,
            added: BTreeMap::new(),
            started: BTreeMap::new(),
        }
    }

    pub(crate) fn add(&mut self, key: ObjectKey) {
        self.clock += 1;
        self.added.insert(key.to_string(), self.clock);
        self.queue.add(key);
    }

    /// Free workers take keys; those whose time has come give theirs back, some to be done again later.
    pub(crate) fn turn(&mut self, now: Instant, dice: &mut Dice) {
        self.queue.advance(now);
        for at in (0..self.busy.len()).rev() {
            if self.busy[at].until <= now {
                let work = self.busy.swap_remove(at);
                if dice.once_in(4) {
                    self.queue.add_after(now, work.key.clone(), dice.millis(0, 5_000));
                }
                assert!(self.at_work.remove(work.key.as_str()));
                self.queue.done(work.ticket);
            }
        }
        while self.busy.len() < self.hands
            && let Some((ticket, key)) = self.queue.take()
        {
            assert!(self.at_work.insert(key.to_string()), "{key} is worked on twice at once");
            self.clock += 1;
            self.started.insert(key.to_string(), self.clock);
            self.busy.push(Work { ticket, key, until: now + dice.millis(0, 2_000) });
        }
    }

    pub(crate) fn next_in(&self, now: Instant) -> Option<Duration> {
        let next = self.busy.iter().map(|work| work.until).chain(self.queue.next_due()).min()?;
        Some(next.saturating_duration_since(now))
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.busy.is_empty() && self.queue.is_idle() && self.queue.next_due().is_none()
    }

    pub(crate) fn assert_nothing_was_lost(&self) {
        for (key, added) in &self.added {
            let started = self.started.get(key).copied().unwrap_or_default();
            assert!(started > *added, "{key} was added and not worked on afterwards");
        }
        let counts = self.queue.counts();
        assert_eq!(
            (counts.queued, counts.waiting, counts.processing),
            (0, 0, 0),
            "a queue at rest has empty sets"
        );
        assert_eq!(counts.stray_dones, 0);
    }
}
