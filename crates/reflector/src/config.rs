//! The numbers of a reflector.

use std::time::Duration;

use flowcontrol::BackoffPolicy;

/// The numbers of a reflector. The default is client-go's, where client-go has one.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Config {
    /// Ask for the initial state as a watch (WatchList), where the source supports it (CACHE-R-08). Default: yes.
    pub watch_list: bool,
    /// Objects a page. `None`, the default: 500, or all at once where the server can answer from its cache
    /// (CACHE-R-25). `Some(0)` never asks for pages.
    pub page_size: Option<u32>,
    /// Let the very first list be the most recent state instead of whatever the server has cached. Default: no, as
    /// client-go. A process that replaces another one and must not see an older state than that one saw wants `true`.
    pub most_recent_first: bool,
    /// The server ends a watch after a random time between this and twice this. Below 5 minutes, the default, it counts
    /// as 5 minutes (CACHE-R-01).
    pub min_watch_timeout: Duration,
    /// The rests after failures: one state for all of them (CACHE-R-03, CACHE-R-04).
    pub backoff: BackoffPolicy,
    /// How long a watch that ends with an internal error of the server is opened again before a list. Default: zero
    /// (CACHE-R-50).
    pub internal_error_budget: Duration,
    /// How long a watch that cannot be opened because of the transport or a 5xx is tried again before a list
    /// (CACHE +R3). Default: 1 minute.
    pub watch_open_budget: Duration,
    /// How long a watch may be silent before its initial events have ended, until a list is asked for instead
    /// (CACHE-R-62, +R2). Default: 20 s.
    pub initial_events_silence: Duration,
    /// How long the initial events may go on after an event that cannot be one of them. Default: 60 s.
    pub initial_events_overtime: Duration,
    /// How long WatchList is not tried after a server did not mark the end of its initial events. Default: 10 minutes.
    pub watch_list_rest: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            watch_list: true,
            page_size: None,
            most_recent_first: false,
            min_watch_timeout: MIN_WATCH_TIMEOUT,
            backoff: BackoffPolicy::RELIST,
            internal_error_budget: Duration::ZERO,
            watch_open_budget: Duration::from_mins(1),
            initial_events_silence: Duration::from_secs(20),
            initial_events_overtime: Duration::from_mins(1),
            watch_list_rest: Duration::from_mins(10),
        }
    }
}

/// CACHE-R-01.
pub(crate) const MIN_WATCH_TIMEOUT: Duration = Duration::from_mins(5);

/// CACHE-R-25.
pub(crate) const PAGE_SIZE: u32 = 500;

/// A watch that ends before this without an event is "very short" (CACHE-R-39).
pub(crate) const VERY_SHORT: Duration = Duration::from_secs(1);

/// A server that did not end a watch this long after it should have will not do so: the connection is dead.
pub(crate) const WATCH_GRACE: Duration = Duration::from_secs(30);

/// How often a missing end of the initial events is told (CACHE-R-62).
pub(crate) const BOOKMARK_WARNING: Duration = Duration::from_secs(10);

/// A list that takes longer is told (CACHE-R-33).
pub(crate) const SLOW_LIST: Duration = Duration::from_secs(10);

/// A quiet time after which the budget for internal errors starts again (CACHE-R-50).
pub(crate) const INTERNAL_ERROR_QUIET: Duration = Duration::from_mins(1);

/// No `Retry-After` is honoured beyond this.
pub(crate) const MAX_RETRY_AFTER: Duration = Duration::from_mins(10);

/// As long as anything waits. A moment beyond the clock's range would count as none, and that as now (GN-03).
pub(crate) const FOR_EVER: Duration = Duration::from_hours(100 * 365 * 24);
