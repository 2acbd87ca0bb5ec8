//! WATCH: from the last version, again and again; which end of it needs a list, which a rest, and which neither.

use std::cmp::Ordering;
use std::time::{Duration, Instant};

use apimachinery::{ApiError, ListOptions, ResourceVersion};

use super::{Ask, Cycle, InternalErrors, Next, State};
use crate::ReflectorError;
use crate::config::{INTERNAL_ERROR_QUIET, VERY_SHORT, WATCH_GRACE};
use crate::failure::{Failure, retry_after};

/// A watch from a version on.
#[derive(Debug)]
pub(super) struct Watching {
    /// Before the request: a proxy may hold the headers back until the first event (CACHE-R-43).
    started: Instant,
    /// When the server should long have ended it.
    pub(super) deadline: Instant,
    pub(super) opened: bool,
    events: u64,
    /// Whether the last version moved.
    advanced: bool,
    /// Whether versions count: not while the initial events of a watch from nowhere may still come, which have no order
    /// (CACHE-R-41).
    versions_count: bool,
}

impl Watching {
    /// The rest of a watch whose initial events are over.
    pub(super) fn reused(started: Instant, deadline: Instant, events: u64) -> Self {
        Self { started, deadline, opened: true, events, advanced: true, versions_count: true }
    }

    /// The last version becomes that of the event, unless that would take it back.
    pub(super) fn event(&mut self, besides_added: bool, version: Option<&str>, last: &mut String) {
        self.events += 1;
        self.versions_count |= besides_added;
        if let Some(version) = version.filter(|version| self.versions_count && !version.is_empty())
            && last != version
            && !is_before(version, last)
        {
            self.advanced = true;
            last.clear();
            last.push_str(version);
        }
    }

    fn was_very_short(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.started) < VERY_SHORT
    }
}

/// Whether `version` is known to be less than `last`: some servers send a deletion with the version that the object had
/// before it.
pub(crate) fn is_before(version: &str, last: &str) -> bool {
    ResourceVersion::compare_texts(version, last) == Ok(Ordering::Less)
}

impl Cycle {
    /// CACHE-R-45.
    pub(super) fn ask_watch(&mut self, now: Instant) -> Ask {
        let seconds = self.draw_watch_timeout();
        let mut options = ListOptions::default();
        options.resource_version = self.last_version.as_str().into();
        options.allow_watch_bookmarks = true;
        options.timeout_seconds = Some(seconds);
        self.counters.watch_requests += 1;
        self.state = State::Watching(Watching {
            started: now,
            deadline: now + Duration::from_secs(seconds.into()) + WATCH_GRACE,
            opened: false,
            events: 0,
            advanced: false,
            versions_count: !matches!(self.last_version.as_str(), "" | "0"),
        });
        Ask::Watch { options, fresh: false }
    }

    /// It could not be opened (CACHE-R-47, CACHE +R3).
    pub(super) fn watch_refused(&mut self, now: Instant, error: ApiError) {
        let at_least = retry_after(&error);
        let failure = Failure::of(&error);
        let error = ReflectorError::Watch { what: self.what.clone(), source: error };
        match failure {
            Failure::Busy => {
                self.handled(error);
                self.rest(now, at_least, Next::Watch);
            }
            Failure::Transport | Failure::Server | Failure::Internal => {
                self.watch_in_trouble(now, error, at_least);
            }
            Failure::Expired | Failure::TooLargeVersion | Failure::Other => {
                self.fail_cycle(now, error, at_least);
            }
        }
    }

    /// The version is still good, so the same again, for a while; then it may be the list that helps.
    fn watch_in_trouble(&mut self, now: Instant, error: ReflectorError, at_least: Duration) {
        let since = *self.trouble_since.get_or_insert(now);
        if now.saturating_duration_since(since) < self.config.watch_open_budget {
            self.handled(error);
            self.rest(now, at_least, Next::Watch);
        } else {
            self.fail_cycle(now, error, at_least);
        }
    }

    /// An error ended it.
    pub(super) fn watch_ended_by(&mut self, now: Instant, error: ApiError) {
        self.forget_trouble(now);
        let at_least = retry_after(&error);
        let failure = Failure::of(&error);
        let error = ReflectorError::WatchEnded { what: self.what.clone(), source: error };
        match failure {
            Failure::Transport => {
                let State::Watching(watching) = &self.state else { return };
                if watching.events == 0 && watching.was_very_short(now) {
                    // Hardly a watch: as if it had not been opened.
                    return self.watch_in_trouble(now, error, at_least);
                }
                self.tell(error);
                self.watch_cut(now);
            }
            // CACHE-R-49
            Failure::Busy => {
                self.handled(error);
                self.rest(now, at_least, Next::Watch);
            }
            // CACHE-R-50
            Failure::Internal if self.internal_error_may_be_retried(now) => {
                self.handled(error);
                self.rest(now, at_least, Next::Watch);
            }
            // CACHE-R-51: the cycle is over, without an error of its own. An expired version is not marked as such:
            // a list "not older than" it is still possible (CACHE-R-22).
            _ => {
                self.handled(error);
                self.rest(now, at_least, Next::Cycle);
            }
        }
    }

    fn internal_error_may_be_retried(&mut self, now: Instant) -> bool {
        let budget = self.config.internal_error_budget;
        if budget.is_zero() {
            return false;
        }
        let fresh = InternalErrors { first: now, last: now };
        let errors = self.internal_errors.get_or_insert(fresh);
        if now.saturating_duration_since(errors.last) >= INTERNAL_ERROR_QUIET {
            errors.first = now;
        }
        errors.last = now;
        now.saturating_duration_since(errors.first) <= budget
    }

    /// The server closed it in order (CACHE-R-39, CACHE-R-48).
    pub(super) fn watch_closed(&mut self, now: Instant) {
        let State::Watching(watching) = &self.state else { return };
        if watching.events == 0 && watching.was_very_short(now) {
            self.counters.short_watches += 1;
            self.handled(ReflectorError::VeryShortWatch { what: self.what.clone() });
            return self.rest(now, Duration::ZERO, Next::Cycle);
        }
        self.watch_cut(now);
    }

    /// It ended, for no reason that concerns the version: on from there, at once.
    pub(super) fn watch_cut(&mut self, now: Instant) {
        let State::Watching(watching) = &self.state else { return };
        if watching.was_very_short(now) && !watching.advanced {
            // Events that lead nowhere, then an end, again and again: not faster than the back-off.
            return self.rest(now, Duration::ZERO, Next::Watch);
        }
        self.forget_trouble(now);
        self.ask_now(Next::Watch);
    }

    /// A watch that was open for a while, events or not, ends the time in which none could be opened.
    fn forget_trouble(&mut self, now: Instant) {
        if let State::Watching(watching) = &self.state
            && !watching.was_very_short(now)
        {
            self.trouble_since = None;
        }
    }
}
