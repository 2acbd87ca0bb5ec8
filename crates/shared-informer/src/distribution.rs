//! Who is told what: the decisions of the informer, without a listener being called.

use std::sync::Arc;
use std::time::{Duration, Instant};

use apimachinery::Object;
use indexer::Change;

use crate::resync::{Check, Due};
use crate::{Deleted, Notification};

/// A notification, and whether it tells nothing new.
#[derive(Debug)]
pub(crate) struct Routed<T: Object> {
    pub(crate) notification: Notification<T>,
    /// What a listener that was told of everything knows of the object, before this.
    pub(crate) known: Option<Arc<T>>,
    /// Old and new have the same version: a relist found the object unchanged, or this is a resync (CACHE-I-22).
    pub(crate) is_sync: bool,
}

/// The listeners of an informer, `L`, and what they want.
pub(crate) struct Distribution<L> {
    members: Vec<Member<L>>,
    check: Check,
    default_period: Duration,
    is_synced: bool,
}

pub(crate) struct Member<L> {
    pub(crate) listener: L,
    due: Due,
    /// Whether it is told of what did not change. True until the first look at who is due, which sets it for everybody
    /// (CACHE-I-23).
    is_syncing: bool,
}

/// What a new listener needs to know.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Joined {
    /// The cache is filled: the listener is to be caught up with it, and is synced afterwards (CACHE-I-26).
    pub(crate) replay: bool,
    /// What became of the period it asked for, if something did.
    pub(crate) resync: Option<PeriodChange>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PeriodChange {
    /// It asked for less than the informer's own period, which is fixed since it runs (CACHE-I-36).
    Raised { from: Duration, to: Duration },
    /// The informer does not resync at all (CACHE-I-37).
    Never,
}

impl<L> Distribution<L> {
    /// `default_period` for listeners that ask for none; zero: no resync.
    pub(crate) fn new(default_period: Duration) -> Self {
        Self { members: Vec::new(), check: Check::new(default_period), default_period, is_synced: false }
    }

    /// A listener came at `now`; `None` asks for the default period (CACHE-I-35).
    pub(crate) fn join(&mut self, listener: L, period: Option<Duration>, now: Instant) -> Joined {
        let (due, others_change) = self.check.join(period.unwrap_or(self.default_period), now);
        if others_change {
            for member in &mut self.members {
                self.check.adjust(&mut member.due);
            }
        }
        let (from, to) = (due.requested(), due.effective());
        let resync = match () {
            () if from == to => None,
            () if to.is_zero() => Some(PeriodChange::Never),
            () => Some(PeriodChange::Raised { from, to }),
        };
        self.members.push(Member { listener, due, is_syncing: true });
        Joined { replay: self.is_synced, resync }
    }

    /// Lets go of the listeners that are not to stay.
    pub(crate) fn retain(&mut self, mut stays: impl FnMut(&L) -> bool) {
        self.members.retain(|member| stays(&member.listener));
    }

    /// The informer begins to run.
    pub(crate) fn handle_start(&mut self) {
        self.check.fix();
    }

    /// Whether what a list adds now is the initial list. Only the first is; a relist after a gap is not.
    pub(crate) fn is_initial(&self) -> bool {
        !self.is_synced
    }

    /// The cache was filled and everybody told. True the first time.
    pub(crate) fn handle_filled(&mut self, now: Instant) -> bool {
        self.check.start(now);
        !std::mem::replace(&mut self.is_synced, true)
    }

    /// When to call [`handle_timeout`](Self::handle_timeout).
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.check.poll_timeout()
    }

    /// Whether somebody is to be told everything again now: those are the ones that
    /// [`wants`](Member::wants) sync notifications from here on (CACHE-I-39).
    pub(crate) fn handle_timeout(&mut self, now: Instant) -> bool {
        if !self.check.handle_timeout(now) {
            return false;
        }
        let mut is_anybody = false;
        for member in &mut self.members {
            member.is_syncing = member.due.take(now);
            is_anybody |= member.is_syncing;
        }
        is_anybody
    }

    pub(crate) fn members(&self) -> &[Member<L>] {
        &self.members
    }

    #[cfg(test)]
    pub(crate) fn check_period(&self) -> Duration {
        self.check.period()
    }
}

impl<L> Member<L> {
    /// Adds, deletes and real updates go to everybody (CACHE-I-22).
    pub(crate) fn wants(&self, is_sync: bool) -> bool {
        !is_sync || self.is_syncing
    }
}

impl<T: Object> Routed<T> {
    /// What a change of the cache is to a listener.
    pub(crate) fn of(change: Change<T>, is_in_initial_list: bool) -> Self {
        match change {
            Change::Added(object) => Self::added(object, is_in_initial_list),
            Change::Updated { old, new } => {
                let (was, is) = (old.resource_version(), new.resource_version());
                let is_sync = was == is && !is.is_empty();
                Self { known: Some(old.clone()), notification: Notification::Updated { old, new }, is_sync }
            }
            Change::Removed { key, old, last } => {
                let deleted = match last {
                    Some(last) => Deleted::Observed(last),
                    None => Deleted::FinalStateUnknown { key, last_seen: old.clone() },
                };
                Self { known: old, notification: Notification::Deleted(deleted), is_sync: false }
            }
        }
    }

    /// An object that the listener did not know.
    pub(crate) fn added(object: Arc<T>, is_in_initial_list: bool) -> Self {
        let notification = Notification::Added { object, is_in_initial_list };
        Self { known: None, notification, is_sync: false }
    }

    /// The cached object, told again.
    pub(crate) fn resync(object: Arc<T>) -> Self {
        let notification = Notification::Updated { old: object.clone(), new: object.clone() };
        Self { known: Some(object), notification, is_sync: true }
    }
}

#[cfg(test)]
mod tests;
