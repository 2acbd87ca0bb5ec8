//! [`Status`]: how an informer is.

use std::sync::Arc;

use apimachinery::ResourceVersion;
use reflector::{Counters, Phase, ReflectorError};

/// Where an informer is in its life. It goes one way (CACHE-I-01).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum State {
    /// Nobody runs it yet.
    Created,
    /// It runs.
    Running,
    /// It stopped, and will not run again; the cache is as it was then.
    Stopped,
}

/// How an informer is.
///
/// `is_synced` says that the cache was filled once; `phase` says whether it is live: only while it is
/// [`Phase::Watching`] is what happens seen as it happens.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Status {
    /// What is cached, as the source describes it.
    pub what: Arc<str>,
    /// Where it is in its life.
    pub state: State,
    /// Whether the cache was ever filled.
    pub is_synced: bool,
    /// What its reflector is about.
    pub phase: Phase,
    /// How many objects are cached.
    pub objects: usize,
    /// The version of the cache; empty before the first list.
    pub resource_version: ResourceVersion,
    /// What went wrong last; `None` again once a request succeeded.
    pub last_error: Option<Arc<ReflectorError>>,
    /// How many failures in a row that was.
    pub failures: u32,
    /// What the reflector did.
    pub reflector: Counters,
    /// How often an index function panicked.
    pub index_failures: u64,
    /// Events that were dropped because the cache had a newer state of the same object.
    pub stale_events: u64,
    /// The listeners.
    pub listeners: Vec<ListenerStatus>,
}

/// How one listener is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListenerStatus {
    /// What it is called.
    pub name: Arc<str>,
    /// Whether it was given every object that was there at first.
    pub is_synced: bool,
    /// Notifications handed to it.
    pub told: u64,
    /// Objects that wait for a subscription to take them; 0 for a handler.
    pub backlog: usize,
    /// How often it panicked.
    pub panics: u64,
}
