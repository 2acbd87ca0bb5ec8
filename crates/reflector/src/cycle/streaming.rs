//! WatchList: a watch that begins with the present state and marks where that ends.

use std::time::{Duration, Instant};

use apimachinery::{ApiError, EventKind, ListOptions, ResourceVersion, ResourceVersionMatch};

use super::watching::Watching;
use super::{Ask, Cycle, Next, Note, Place, State};
use crate::ReflectorError;
use crate::config::{BOOKMARK_WARNING, Config, FOR_EVER, VERY_SHORT, WATCH_GRACE};
use crate::failure::{Failure, retry_after};

/// What was tried before in the same cycle.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Attempt {
    /// Requests before this one.
    retries: u32,
    /// How many of them ended without an end mark.
    ends: u32,
}

/// A watch of which the initial events have not ended.
#[derive(Debug)]
pub(super) struct Streaming {
    attempt: Attempt,
    started: Instant,
    opened: bool,
    /// When the server should have ended it.
    deadline: Instant,
    last_event: Instant,
    next_warning: Instant,
    /// When the first event came that cannot be an initial one.
    past_initial: Option<Instant>,
    events: u64,
}

impl Streaming {
    pub(super) fn opened(&mut self, now: Instant) {
        self.opened = true;
        self.last_event = now;
    }

    pub(super) fn timeout(&self, config: &Config) -> Instant {
        self.limit(config).min(self.next_warning)
    }

    /// When to give up: after silence, or when the initial events should long be over.
    fn limit(&self, config: &Config) -> Instant {
        // What is beyond the clock is never.
        let silence = self.last_event.checked_add(config.initial_events_silence);
        let overtime = self.past_initial.and_then(|at| at.checked_add(config.initial_events_overtime));
        silence.into_iter().chain(overtime).fold(self.deadline, Instant::min)
    }
}

impl Cycle {
    /// CACHE-R-55.
    pub(super) fn ask_stream(&mut self, now: Instant, attempt: Attempt) -> Ask {
        let seconds = self.draw_watch_timeout();
        let mut options = ListOptions::default();
        // CACHE-R-21
        if !self.version_unavailable {
            options.resource_version = self.last_version.as_str().into();
        }
        options.resource_version_match = Some(ResourceVersionMatch::NotOlderThan);
        options.send_initial_events = Some(true);
        options.allow_watch_bookmarks = true;
        options.timeout_seconds = Some(seconds);
        self.counters.watch_requests += 1;
        self.state = State::Streaming(Streaming {
            attempt,
            started: now,
            opened: false,
            deadline: now + Duration::from_secs(seconds.into()) + WATCH_GRACE,
            last_event: now,
            next_warning: now + BOOKMARK_WARNING,
            past_initial: None,
            events: 0,
        });
        Ask::Watch { options, fresh: true }
    }

    /// An event of an object; `None` for one without a readable version.
    pub(crate) fn event(&mut self, now: Instant, kind: EventKind, version: Option<&str>) -> Place {
        match &mut self.state {
            State::Streaming(streaming) => {
                self.counters.events += 1;
                streaming.events += 1;
                streaming.last_event = now;
                if kind != EventKind::Added {
                    streaming.past_initial.get_or_insert(now);
                }
                Place::Buffer
            }
            State::Watching(watching) => {
                self.counters.events += 1;
                watching.event(kind != EventKind::Added, version, &mut self.last_version);
                self.trouble_since = None;
                Place::Forward
            }
            _ => Place::Nowhere,
        }
    }

    /// A bookmark. `true`: the initial events end here, and the version is that of the whole.
    pub(crate) fn bookmark(&mut self, now: Instant, version: &ResourceVersion, end: bool) -> (Place, bool) {
        match &mut self.state {
            State::Streaming(streaming) => {
                self.counters.events += 1;
                streaming.events += 1;
                streaming.last_event = now;
                if !end {
                    streaming.past_initial.get_or_insert(now);
                }
                (Place::Buffer, end)
            }
            State::Watching(watching) => {
                self.counters.events += 1;
                watching.event(true, Some(version.as_str()), &mut self.last_version);
                self.trouble_since = None;
                (Place::Forward, false)
            }
            _ => (Place::Nowhere, false),
        }
    }

    /// The initial events are handed on; the same stream goes on as a watch (CACHE-R-58).
    pub(crate) fn streamed(&mut self, now: Instant, version: &ResourceVersion, objects: usize) {
        let State::Streaming(streaming) = &self.state else { return };
        let started = streaming.started;
        let watching = Watching::reused(started, streaming.deadline, streaming.events);
        self.counters.streamed_lists += 1;
        self.synced(now, version.as_str(), started, objects as u64);
        self.state = State::Watching(watching);
    }

    /// A list instead, in the same cycle and at once; the next cycle tries again (CACHE-R-14, CACHE-R-59).
    pub(crate) fn fall_back(&mut self, error: ReflectorError) {
        self.counters.fallbacks += 1;
        self.handled(error);
        self.ask_now(Next::List { second: false });
    }

    pub(super) fn stream_timeout(&mut self, now: Instant) {
        let State::Streaming(streaming) = &mut self.state else { return };
        let waited = now.saturating_duration_since(streaming.started);
        if now >= streaming.next_warning {
            streaming.next_warning = now + BOOKMARK_WARNING;
            let silent_for = now.saturating_duration_since(streaming.last_event);
            self.note(Note::WaitingForInitialEvents { silent_for, waited });
        }
        let State::Streaming(streaming) = &self.state else { return };
        if now >= streaming.limit(&self.config) {
            self.no_watch_list_for_some_time(now);
            self.fall_back(ReflectorError::NoInitialEventsEnd { what: self.what.clone(), after: waited });
        }
    }

    /// The server knows watches but not this kind of them: it will not learn to within the minute (CACHE +R2).
    fn no_watch_list_for_some_time(&mut self, now: Instant) {
        self.watch_list_rests_until = now.checked_add(self.config.watch_list_rest.min(FOR_EVER));
    }

    /// CACHE-R-59.
    pub(super) fn stream_failed(&mut self, now: Instant, error: ApiError) {
        let State::Streaming(streaming) = &self.state else { return };
        let attempt = streaming.attempt;
        let opened = streaming.opened;
        let at_least = retry_after(&error);
        let failure = Failure::of(&error);
        let error = ReflectorError::WatchList { what: self.what.clone(), source: error };
        match failure {
            Failure::Busy => {
                self.handled(error);
                self.rest(now, at_least, Next::Stream(attempt.again()));
            }
            // With the most recent version asked for, there is nothing left to change.
            Failure::Expired | Failure::TooLargeVersion if !self.version_unavailable => {
                self.version_unavailable = true;
                self.tell(error);
                self.retry_stream(now, attempt);
            }
            // A cut, as any other end.
            Failure::Transport if opened => self.stream_ended(now, false),
            _ => {
                if !opened && refuses_the_option(&error) {
                    self.no_watch_list_for_some_time(now);
                }
                self.fall_back(error);
            }
        }
    }

    /// It ended before the end mark (CACHE-R-60); the second time, a list (CACHE +R2).
    pub(super) fn stream_ended(&mut self, now: Instant, in_order: bool) {
        let State::Streaming(streaming) = &self.state else { return };
        let mut attempt = streaming.attempt;
        let waited = now.saturating_duration_since(streaming.started);
        if streaming.events == 0 && waited < VERY_SHORT {
            self.counters.short_watches += 1;
            return self.fall_back(ReflectorError::VeryShortWatch { what: self.what.clone() });
        }
        attempt.ends += 1;
        if attempt.ends < 2 {
            return self.retry_stream(now, attempt);
        }
        if in_order {
            self.no_watch_list_for_some_time(now);
        }
        self.fall_back(ReflectorError::NoInitialEventsEnd { what: self.what.clone(), after: waited });
    }

    /// The first retry of a cycle is at once, each later one after a rest (B-R-12).
    fn retry_stream(&mut self, now: Instant, attempt: Attempt) {
        let next = Next::Stream(attempt.again());
        match attempt.retries {
            0 => self.ask_now(next),
            _ => self.rest(now, Duration::ZERO, next),
        }
    }
}

impl Attempt {
    fn again(self) -> Self {
        Self { retries: self.retries.saturating_add(1), ..self }
    }
}

/// Whether the server said that the request itself cannot be: what does not know `sendInitialEvents` answers so. Other
/// refusals say nothing about what the server knows.
fn refuses_the_option(error: &ReflectorError) -> bool {
    matches!(error.api_error(), Some(ApiError::Status(status)) if matches!(status.code(), 400 | 422))
}
