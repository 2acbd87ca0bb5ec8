//! The state machine: what to ask next. It sees versions and errors, never an object.
//!
//! ```text
//!             ┌────────────────── rest ◄──────────────────┐ cycle over
//!             ▼                                           │
//!  start ─► stream ──bookmark──────────► watch ───────────┤ expired, other errors
//!             │ no end mark, refused       ▲ ▲ └─► watch  │ cut: at once, from the last version
//!             ▼                            │ └──── rest ◄─┤ busy: the same again
//!           list ──page──► list ──last page┘              │
//!             └───────────────────────────────────────────┘ failed
//! ```

mod listing;
mod streaming;
mod watching;

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use apimachinery::{ApiError, ListOptions};
use flowcontrol::{Backoff, Jitter};

use crate::config::{Config, FOR_EVER, MIN_WATCH_TIMEOUT};
use crate::{Counters, Phase, ReflectorError, Status};

use listing::Listing;
use streaming::{Attempt, Streaming};
use watching::Watching;

/// Something worth telling, beside the deltas.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Note {
    /// A cycle failed; it rests, then starts with a list. Client-go's error handler is told of these and no others
    /// (CACHE-R-11).
    Failed(Arc<ReflectorError>),
    /// Something else went wrong, and it goes on: a watch ended, was refused for now, an object was skipped.
    Handled(Arc<ReflectorError>),
    /// The initial events have no end yet (CACHE-R-62).
    WaitingForInitialEvents {
        /// Since the last event.
        silent_for: Duration,
        /// Since the request.
        waited: Duration,
    },
    /// A list, or the initial events, took long (CACHE-R-33).
    SlowList {
        /// How long.
        took: Duration,
        /// For how many objects.
        objects: u64,
    },
}

/// What the shell must send. `fresh`: nothing that was collected before belongs to it.
#[derive(Debug)]
pub(crate) enum Ask {
    List { options: ListOptions, fresh: bool },
    Watch { options: ListOptions, fresh: bool },
}

/// Where an event of a stream belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Among the initial events.
    Buffer,
    /// On its way to the cache.
    Forward,
    /// There is no stream: it came late.
    Nowhere,
}

pub(crate) use listing::PageOutcome;
pub(crate) use watching::is_before;

#[expect(clippy::struct_excessive_bools, reason = "four facts that have nothing to do with each other")]
pub(crate) struct Cycle {
    what: Arc<str>,
    config: Config,
    /// Whether the source supports WatchList and the configuration allows it.
    watch_list: bool,
    jitter: Box<dyn Jitter + Send>,
    /// One state for everything that is asked of this server (CACHE-R-04).
    backoff: Backoff,
    /// The last version that is known; empty for none. A buffer, so that an event allocates nothing.
    last_version: String,
    /// The server does not have `last_version` (CACHE-R-22).
    version_unavailable: bool,
    /// A list from the server's cache came in pages (CACHE-R-29).
    paginated: bool,
    state: State,
    /// No WatchList before this: the server does not mark the end of the initial events.
    watch_list_rests_until: Option<Instant>,
    /// Since when the transport or the server keeps a watch from opening (CACHE +R3).
    trouble_since: Option<Instant>,
    internal_errors: Option<InternalErrors>,
    pub(crate) counters: Counters,
    notes: VecDeque<Note>,
    synced_once: bool,
    last_error: Option<Arc<ReflectorError>>,
    failures: u32,
    /// What was last told by [`Cycle::poll_status`].
    told: Option<(Phase, bool, u32)>,
}

enum State {
    /// `next` is to be asked, now or when the rest is over.
    Asking {
        next: Next,
        not_before: Option<Instant>,
    },
    Listing(Listing),
    Streaming(Streaming),
    Watching(Watching),
}

enum Next {
    /// Whatever a cycle begins with.
    Cycle,
    List {
        second: bool,
    },
    Page(Listing),
    Stream(Attempt),
    Watch,
}

struct InternalErrors {
    first: Instant,
    last: Instant,
}

impl Cycle {
    pub(crate) fn new(
        what: Arc<str>,
        config: Config,
        supports: bool,
        jitter: Box<dyn Jitter + Send>,
    ) -> Self {
        Self {
            what,
            watch_list: config.watch_list && supports,
            backoff: Backoff::new(config.backoff),
            config,
            jitter,
            last_version: String::new(),
            version_unavailable: false,
            paginated: false,
            state: State::Asking { next: Next::Cycle, not_before: None },
            watch_list_rests_until: None,
            trouble_since: None,
            internal_errors: None,
            counters: Counters::default(),
            notes: VecDeque::new(),
            synced_once: false,
            last_error: None,
            failures: 0,
            told: None,
        }
    }

    pub(crate) fn poll_request(&mut self, now: Instant) -> Option<Ask> {
        let State::Asking { next, not_before } = &mut self.state else { return None };
        if not_before.is_some_and(|at| now < at) {
            return None;
        }
        match std::mem::replace(next, Next::Cycle) {
            Next::Cycle => {
                self.internal_errors = None;
                self.trouble_since = None;
                if self.watch_list && self.watch_list_rests_until.is_none_or(|until| now >= until) {
                    Some(self.ask_stream(now, Attempt::default()))
                } else {
                    Some(self.ask_list(now, false))
                }
            }
            Next::List { second } => Some(self.ask_list(now, second)),
            Next::Page(listing) => Some(self.ask_page(listing)),
            Next::Stream(attempt) => Some(self.ask_stream(now, attempt)),
            Next::Watch => Some(self.ask_watch(now)),
        }
    }

    /// When to call [`Cycle::handle_timeout`] and [`Cycle::poll_request`] if nothing happens before.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        match &self.state {
            State::Asking { not_before, .. } => *not_before,
            State::Listing(_) => None,
            State::Streaming(streaming) => Some(streaming.timeout(&self.config)),
            State::Watching(watching) => Some(watching.deadline),
        }
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        match &self.state {
            State::Streaming(_) => self.stream_timeout(now),
            State::Watching(watching) if now >= watching.deadline => self.watch_cut(now),
            _ => {}
        }
    }

    /// The watch was opened.
    pub(crate) fn opened(&mut self, now: Instant) {
        match &mut self.state {
            State::Streaming(streaming) => streaming.opened(now),
            State::Watching(watching) => {
                watching.opened = true;
                self.recovered();
            }
            _ => {}
        }
    }

    /// The watch could not be opened, or ended with an error.
    pub(crate) fn watch_failed(&mut self, now: Instant, error: ApiError) {
        match &self.state {
            State::Streaming(_) => self.stream_failed(now, error),
            State::Watching(Watching { opened: true, .. }) => self.watch_ended_by(now, error),
            State::Watching(_) => self.watch_refused(now, error),
            _ => {}
        }
    }

    /// The server ended the watch in order.
    pub(crate) fn watch_ended(&mut self, now: Instant) {
        match &self.state {
            State::Streaming(_) => self.stream_ended(now, true),
            State::Watching(_) => self.watch_closed(now),
            _ => {}
        }
    }

    /// The collection cannot be handed on: the cycle fails and the version stays (CACHE-R-31).
    pub(crate) fn sync_failed(&mut self, now: Instant, error: ReflectorError) {
        self.fail_cycle(now, error, Duration::ZERO);
    }

    /// Whether there is a stream, or should be one; if not, the shell drops what it has.
    pub(crate) fn holds_stream(&self) -> bool {
        matches!(self.state, State::Streaming(_) | State::Watching(_))
    }

    /// Whether a page was asked for.
    pub(crate) fn awaits_page(&self) -> bool {
        matches!(self.state, State::Listing(_))
    }

    /// Whether what was collected so far still belongs to something.
    pub(crate) fn is_collecting(&self) -> bool {
        matches!(
            self.state,
            State::Listing(_) | State::Streaming(_) | State::Asking { next: Next::Page(_), .. }
        )
    }

    pub(crate) fn last_version(&self) -> &str {
        &self.last_version
    }

    pub(crate) fn what(&self) -> &Arc<str> {
        &self.what
    }

    pub(crate) fn poll_note(&mut self) -> Option<Note> {
        self.notes.pop_front()
    }

    /// Tells that an object was skipped, or something like it: the state is not concerned.
    pub(crate) fn tell(&mut self, error: ReflectorError) {
        self.note(Note::Handled(Arc::new(error)));
    }

    /// The status, if it changed since it was asked.
    pub(crate) fn poll_status(&mut self) -> Option<Status> {
        let now = (self.phase(), self.synced_once, self.failures);
        if self.told == Some(now) {
            return None;
        }
        self.told = Some(now);
        Some(Status {
            phase: now.0,
            synced_once: now.1,
            last_error: self.last_error.clone(),
            failures: now.2,
        })
    }

    fn phase(&self) -> Phase {
        match &self.state {
            State::Asking { not_before: Some(_), .. } => Phase::Resting,
            State::Asking { next: Next::Cycle, .. } => Phase::Idle,
            State::Asking { next: Next::List { .. } | Next::Page(_), .. } | State::Listing(_) => {
                Phase::Listing
            }
            State::Asking { next: Next::Stream(_), .. } | State::Streaming(_) => Phase::Streaming,
            State::Watching(Watching { opened: true, .. }) => Phase::Watching,
            State::Asking { next: Next::Watch, .. } | State::Watching(_) => Phase::Opening,
        }
    }

    /// Notes are for people: if nobody takes them, the oldest goes.
    fn note(&mut self, note: Note) {
        if self.notes.len() >= 64 {
            self.notes.pop_front();
        }
        self.notes.push_back(note);
    }

    /// Something went wrong that is dealt with; the status names it until something succeeds.
    fn handled(&mut self, error: ReflectorError) {
        let error = Arc::new(error);
        self.last_error = Some(Arc::clone(&error));
        self.failures = self.failures.saturating_add(1);
        self.note(Note::Handled(error));
    }

    fn recovered(&mut self) {
        self.last_error = None;
        self.failures = 0;
    }

    /// The whole collection was handed on, as of `version`.
    fn synced(&mut self, now: Instant, version: &str, started: Instant, objects: u64) {
        self.version_unavailable = false;
        self.last_version.clear();
        self.last_version.push_str(version);
        self.synced_once = true;
        self.recovered();
        self.counters.lists += 1;
        self.counters.listed += objects;
        let took = now.saturating_duration_since(started);
        if took > crate::config::SLOW_LIST {
            self.note(Note::SlowList { took, objects });
        }
    }

    /// The cycle returns an error (CACHE-R-11).
    fn fail_cycle(&mut self, now: Instant, error: ReflectorError, at_least: Duration) {
        let error = Arc::new(error);
        self.last_error = Some(Arc::clone(&error));
        self.failures = self.failures.saturating_add(1);
        self.note(Note::Failed(error));
        self.rest(now, at_least, Next::Cycle);
    }

    /// One step of the shared back-off, then `next` (CACHE-R-10, CACHE +R4).
    fn rest(&mut self, now: Instant, at_least: Duration, next: Next) {
        let delay = self.backoff.step(now, &mut self.jitter).max(at_least).min(FOR_EVER);
        self.counters.rests += 1;
        self.state = State::Asking { next, not_before: now.checked_add(delay) };
    }

    fn ask_now(&mut self, next: Next) {
        self.state = State::Asking { next, not_before: None };
    }

    /// Whole seconds, uniform in [min, 2·min), drawn anew for each request (CACHE-R-01, CACHE-R-02).
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded and not negative")]
    fn draw_watch_timeout(&mut self) -> u32 {
        let min = self.config.min_watch_timeout.max(MIN_WATCH_TIMEOUT).as_secs_f64();
        let seconds = min + self.jitter.fraction().clamp(0.0, 1.0) * min;
        seconds.min(f64::from(u32::MAX)) as u32
    }
}

impl fmt::Debug for Cycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cycle")
            .field("what", &self.what)
            .field("phase", &self.phase())
            .field("last_version", &self.last_version)
            .finish_non_exhaustive()
    }
}
