//! `ReflectorError`: what went wrong, and during what.

use std::sync::Arc;
use std::time::Duration;

use apimachinery::{ApiError, BoxError, DecodeError, ObjectKey};

/// What went wrong. None of it ends the reflector: see [`Status`](crate::Status) for what it does next.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReflectorError {
    /// The list failed, the second try with the most recent version included.
    #[error("could not list {what}")]
    List {
        /// What is listed.
        what: Arc<str>,
        /// Why.
        #[source]
        source: ApiError,
    },
    /// The watch could not be opened.
    #[error("could not watch {what}")]
    Watch {
        /// What is watched.
        what: Arc<str>,
        /// Why.
        #[source]
        source: ApiError,
    },
    /// The initial state did not come as a watch (WatchList). A list is asked for instead, at once, or the same again; what
    /// comes of that says whether the cache can be filled.
    #[error("could not stream the initial state of {what}")]
    WatchList {
        /// What is watched.
        what: Arc<str>,
        /// Why.
        #[source]
        source: ApiError,
    },
    /// The watch was open and ended with an error.
    #[error("the watch of {what} was ended")]
    WatchEnded {
        /// What is watched.
        what: Arc<str>,
        /// Why.
        #[source]
        source: ApiError,
    },
    /// The server ended the watch in order, in less than a second and without an event (CACHE-R-39).
    #[error("very short watch of {what}: it ended within a second, without an event")]
    VeryShortWatch {
        /// What is watched.
        what: Arc<str>,
    },
    /// The server did not say where the initial events end (CACHE-R-62).
    #[error("the watch of {what} did not mark the end of its initial events within {after:?}")]
    NoInitialEventsEnd {
        /// What is watched.
        what: Arc<str>,
        /// How long we waited.
        after: Duration,
    },
    /// An object that could not be decoded. The cache keeps what it had of it.
    #[error("an object of {what} was skipped")]
    Undecodable {
        /// What is listed or watched.
        what: Arc<str>,
        /// Which object, and why.
        #[source]
        source: DecodeError,
    },
    /// The transform refused an object: a list fails by it, an event of a watch is skipped.
    #[error("could not transform {key} of {what}")]
    Transform {
        /// What is listed or watched.
        what: Arc<str>,
        /// Which object.
        key: ObjectKey,
        /// Why.
        #[source]
        source: BoxError,
    },
    /// The server gave the same page token twice.
    #[error("the server gave the same page of {what} twice")]
    SamePage {
        /// What is listed.
        what: Arc<str>,
    },
}

impl ReflectorError {
    /// The answer of the server or the transport behind it, if there is one.
    pub fn api_error(&self) -> Option<&ApiError> {
        match self {
            Self::List { source, .. }
            | Self::Watch { source, .. }
            | Self::WatchList { source, .. }
            | Self::WatchEnded { source, .. } => Some(source),
            _ => None,
        }
    }
}
