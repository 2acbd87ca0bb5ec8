//! `Status`, `Counters` and `Monitor`: how a reflector is, for those who must not disturb it.

use std::fmt;
#[expect(clippy::disallowed_types, reason = "written once for many events, read by few")]
use std::sync::Mutex;
use std::sync::{Arc, PoisonError};

use apimachinery::ResourceVersion;
use tokio::sync::watch;

use crate::ReflectorError;

/// What a reflector is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Phase {
    /// It has not started.
    #[default]
    Idle,
    /// Something failed; it waits before it tries again.
    Resting,
    /// A list is under way.
    Listing,
    /// A watch is asked for the initial events, or is sending them.
    Streaming,
    /// A watch is asked for.
    Opening,
    /// A watch is open: what happens is seen as it happens.
    Watching,
}

/// How a reflector is. Changes with the phase or with a failure, never with an event.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Status {
    /// What it is about.
    pub phase: Phase,
    /// Whether the collection was ever handed on as a whole.
    pub synced_once: bool,
    /// What went wrong last, until a list or a watch succeeds again.
    pub last_error: Option<Arc<ReflectorError>>,
    /// How many failures in a row that was.
    pub failures: u32,
}

/// What a reflector did since it was made. Client-go declares most of these and never feeds them (CACHE-M-07).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// Requests for a page of a list.
    pub list_requests: u64,
    /// Lists that were handed on.
    pub lists: u64,
    /// Objects in them.
    pub listed: u64,
    /// Requests for a watch.
    pub watch_requests: u64,
    /// Watches that ended within a second and without an event.
    pub short_watches: u64,
    /// Initial states that came as a watch.
    pub streamed_lists: u64,
    /// Times that a list was asked for because a watch did not give the initial state.
    pub fallbacks: u64,
    /// Events, bookmarks included.
    pub events: u64,
    /// Rests after a failure.
    pub rests: u64,
    /// Objects that could not be decoded.
    pub undecodable: u64,
    /// Objects that the transform refused.
    pub transform_failures: u64,
}

/// A look at a reflector, from anywhere. Cheap to clone.
#[derive(Clone)]
pub struct Monitor {
    pub(crate) status: watch::Receiver<Status>,
    pub(crate) progress: Arc<Progress>,
}

impl Monitor {
    /// How it is now.
    pub fn status(&self) -> Status {
        self.status.borrow().clone()
    }

    /// How it is, and how it changes. The channel closes when the reflector is dropped.
    pub fn changes(&self) -> watch::Receiver<Status> {
        self.status.clone()
    }

    /// The version up to which everything was handed on; empty before the first list.
    ///
    /// It trails the queue by what was read in one go, and never leads it (CACHE-R-40).
    pub fn last_resource_version(&self) -> ResourceVersion {
        self.progress.read(|version, _| version.into())
    }

    /// What it did so far.
    pub fn counters(&self) -> Counters {
        self.progress.read(|_, counters| *counters)
    }
}

impl fmt::Debug for Monitor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Monitor").field("status", &self.status()).finish_non_exhaustive()
    }
}

/// What changes with events: behind a lock that is taken once for all the events that were read in one go.
#[derive(Default)]
pub(crate) struct Progress {
    #[expect(clippy::disallowed_types, reason = "see above")]
    inner: Mutex<(String, Counters)>,
}

impl Progress {
    pub(crate) fn write(&self, version: &str, counters: &Counters) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.0.clear();
        inner.0.push_str(version);
        inner.1 = *counters;
    }

    fn read<R>(&self, f: impl FnOnce(&str, &Counters) -> R) -> R {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        f(&inner.0, &inner.1)
    }
}
