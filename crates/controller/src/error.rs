//! Why a controller could not run, or did not stop as it should.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use apimachinery::ObjectKey;
use shared_informer::ReflectorError;

use crate::outcome::one_line;

/// What [`Controller::run`](crate::Controller::run) fails with.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ControllerError {
    /// It was put together in a way that cannot work: a name is missing, nothing is watched.
    #[error("{0}")]
    Misuse(&'static str),
    /// Sources did not get their first state in time. No reconcile was made.
    #[error("controller {controller}: {}", Unsynced::list(sources))]
    NotSynced {
        /// The controller.
        controller: Arc<str>,
        /// Each with the reason; at least one.
        sources: Vec<Unsynced>,
    },
    /// An informer stopped while the controller ran: whoever runs it was quicker, or failed.
    #[error("controller {controller}: the informer of {what} has stopped")]
    SourceStopped {
        /// The controller.
        controller: Arc<str>,
        /// What the informer caches.
        what: String,
    },
    /// The reconciler panicked, and panics are not to be recovered from.
    #[error("controller {controller}: the reconciler panicked on {key}: {message}")]
    Panicked {
        /// The controller.
        controller: Arc<str>,
        /// What it worked on.
        key: ObjectKey,
        /// What the panic said.
        message: String,
    },
    /// Reconciles went on for longer than the grace period after shutdown, and were aborted.
    #[error("controller {controller}: aborted after {grace:?} of grace: {}", names(keys))]
    Aborted {
        /// The controller.
        controller: Arc<str>,
        /// How long they were waited for.
        grace: Duration,
        /// What they worked on.
        keys: Vec<ObjectKey>,
    },
}

/// A source that is not synced, and why.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Unsynced {
    /// What the informer caches, as its source describes it.
    pub what: String,
    /// How long it was waited for.
    pub waited: Duration,
    /// Whether its cache is filled, and only the controller's own handler is behind.
    pub is_cached: bool,
    /// What went wrong last, if anything did: the server's no (401, 403, 404), no connection, a transform that fails.
    pub last_error: Option<Arc<ReflectorError>>,
}

impl Unsynced {
    fn list(sources: &[Self]) -> String {
        sources.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    }
}

impl fmt::Display for Unsynced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} not synced after {:?}", self.what, self.waited)?;
        match &self.last_error {
            // The one place where sources are spelled out: there may be several, and `source()` names only one.
            Some(error) => write!(f, ": {}", one_line(&**error)),
            None if self.is_cached => f.write_str(": the handler has not been given the whole initial list"),
            None => f.write_str(": no answer yet"),
        }
    }
}

impl Error for Unsynced {}

fn names(keys: &[ObjectKey]) -> String {
    keys.iter().map(ObjectKey::as_str).collect::<Vec<_>>().join(", ")
}
