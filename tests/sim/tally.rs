//! What happened, over all worlds: a simulation in which nothing went wrong proves nothing.

use std::ops::AddAssign;

/// What happened, over all worlds.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Tally {
    pub(crate) lists: u64,
    pub(crate) list_requests: u64,
    pub(crate) streamed_lists: u64,
    pub(crate) watches: u64,
    pub(crate) fallbacks: u64,
    pub(crate) events: u64,
    pub(crate) cuts: u64,
    pub(crate) errors: u64,
    pub(crate) expired: u64,
    pub(crate) undecodable: u64,
    pub(crate) full: u64,
    pub(crate) restarts: u64,
    pub(crate) compactions: u64,
    pub(crate) removals_told: u64,
    pub(crate) batches: u64,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.lists += other.lists;
        self.list_requests += other.list_requests;
        self.streamed_lists += other.streamed_lists;
        self.watches += other.watches;
        self.fallbacks += other.fallbacks;
        self.events += other.events;
        self.cuts += other.cuts;
        self.errors += other.errors;
        self.expired += other.expired;
        self.undecodable += other.undecodable;
        self.full += other.full;
        self.restarts += other.restarts;
        self.compactions += other.compactions;
        self.removals_told += other.removals_told;
        self.batches += other.batches;
    }
}

impl Tally {
    pub(crate) fn assert_everything_happened(&self) {
        let all = [
            self.lists,
            self.streamed_lists,
            self.watches,
            self.fallbacks,
            self.events,
            self.cuts,
            self.errors,
            self.expired,
            self.undecodable,
            self.full,
            self.restarts,
            self.compactions,
            self.removals_told,
            self.batches,
        ];
        assert!(all.iter().all(|&count| count > 10), "something never happened: {self:?}");
    }
}
