//! The resync clock of one informer, and the period of each of its listeners (CACHE-I-35 … I-39).

use std::time::{Duration, Instant};

/// No listener is told everything again more often than this (CACHE-I-35).
pub(crate) const MIN_PERIOD: Duration = Duration::from_secs(1);

/// How often the informer looks who is due. Zero: it does not resync.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Check {
    period: Duration,
    /// Once the informer runs, the period is fixed.
    is_fixed: bool,
    next: Option<Instant>,
}

/// When one listener is due.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Due {
    requested: Duration,
    effective: Duration,
    /// `None` is beyond the clock: never.
    next: Option<Instant>,
}

impl Check {
    pub(crate) fn new(default: Duration) -> Self {
        Self { period: default, is_fixed: false, next: None }
    }

    /// Takes note of a listener that came at `now`. Before the informer runs, the shortest period becomes the check's,
    /// and the others have to be told: then the second answer is true.
    pub(crate) fn join(&mut self, requested: Duration, now: Instant) -> (Due, bool) {
        let requested = if requested.is_zero() { requested } else { requested.max(MIN_PERIOD) };
        let shortens = !requested.is_zero() && requested < self.period;
        if shortens && !self.is_fixed {
            self.period = requested;
        }
        let effective = self.effective(requested);
        (Due { requested, effective, next: now.checked_add(effective) }, shortens && !self.is_fixed)
    }

    /// The period of a listener under the check's period (CACHE-I-37).
    fn effective(&self, requested: Duration) -> Duration {
        if requested.is_zero() || self.period.is_zero() { Duration::ZERO } else { requested.max(self.period) }
    }

    /// The check's period changed.
    pub(crate) fn adjust(&self, due: &mut Due) {
        due.effective = self.effective(due.requested);
    }

    /// The informer runs: no listener changes the check's period any more.
    pub(crate) fn fix(&mut self) {
        self.is_fixed = true;
    }

    /// The cache is filled: the clock runs from here.
    pub(crate) fn start(&mut self, now: Instant) {
        if self.next.is_none() && !self.period.is_zero() {
            self.next = now.checked_add(self.period);
        }
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.next
    }

    /// Whether it is time to look who is due. Looks that were slept through are not made up for.
    pub(crate) fn handle_timeout(&mut self, now: Instant) -> bool {
        let is_time = self.next.is_some_and(|next| next <= now);
        if is_time {
            self.next = now.checked_add(self.period);
        }
        is_time
    }

    #[cfg(test)]
    pub(crate) fn period(&self) -> Duration {
        self.period
    }
}

impl Due {
    /// Whether the listener is due; if so, it is due again a period later (CACHE-I-38).
    pub(crate) fn take(&mut self, now: Instant) -> bool {
        let is_due = !self.effective.is_zero() && self.next.is_some_and(|next| now >= next);
        if is_due {
            self.next = now.checked_add(self.effective);
        }
        is_due
    }

    pub(crate) fn requested(&self) -> Duration {
        self.requested
    }

    pub(crate) fn effective(&self) -> Duration {
        self.effective
    }
}
