//! [`NotSynced`]: why a cache is not filled.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use apimachinery::{ApiError, ConnectKind};
use reflector::ReflectorError;

/// Why a cache, or a listener of it, has not got what there is.
///
/// One line says what and why in short; the server's own words are in [`source`](Error::source) and below.
#[derive(Debug, Clone)]
pub struct NotSynced {
    what: Arc<str>,
    why: Why,
    last_error: Option<Arc<ReflectorError>>,
}

/// The kind of reason of a [`NotSynced`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Why {
    /// The answer of the server, or the lack of one, will not heal by itself: no rights, no such resource, a
    /// certificate that is not trusted, a transform that fails. The informer goes on trying nevertheless.
    Refused,
    /// It took longer than the caller wanted to wait.
    TimedOut(Duration),
    /// The informer stopped, or nobody is left to run it.
    Stopped,
    /// The listener was removed.
    Removed,
}

impl NotSynced {
    pub(crate) fn new(what: Arc<str>, why: Why, last_error: Option<Arc<ReflectorError>>) -> Self {
        Self { what, why, last_error }
    }

    /// What is not synced, as the source describes it: `pods`, `deployments.apps in namespace shop`.
    pub fn what(&self) -> &str {
        &self.what
    }

    /// The kind of reason.
    pub fn why(&self) -> Why {
        self.why
    }

    /// What went wrong last, if anything did.
    pub fn last_error(&self) -> Option<&Arc<ReflectorError>> {
        self.last_error.as_ref()
    }

    /// The answer of the server or the transport behind it, if there is one.
    pub fn api_error(&self) -> Option<&ApiError> {
        self.last_error.as_ref()?.api_error()
    }
}

impl fmt::Display for NotSynced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = &self.what;
        match self.why {
            Why::Refused => match self.api_error() {
                Some(ApiError::Status(status)) => {
                    write!(f, "{what} cannot be synced: the server answers {}", status.code())
                }
                _ => write!(f, "{what} cannot be synced"),
            },
            Why::TimedOut(limit) => write!(f, "{what} was not synced within {limit:?}"),
            Why::Stopped => write!(f, "{what} was not synced before its informer stopped"),
            Why::Removed => write!(f, "{what} was not synced before the listener was removed"),
        }
    }
}

impl Error for NotSynced {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.last_error.as_ref().map(|error| &**error as &(dyn Error + 'static))
    }
}

/// Whether somebody has to do something before this heals, so that whoever waits should be told.
///
/// Everything else is weather: a server that restarts, a network that is down, a limit that is reached.
pub(crate) fn will_not_heal(error: &ReflectorError) -> bool {
    match error {
        ReflectorError::Transform { .. } => true,
        // A list is under way.
        ReflectorError::WatchList { .. } => false,
        _ => match error.api_error() {
            Some(ApiError::Status(status)) => matches!(status.code(), 400 | 401 | 403..=406 | 415 | 422),
            Some(ApiError::InvalidRequest(_)) => true,
            Some(ApiError::Connect { kind, .. }) => matches!(kind, ConnectKind::Tls | ConnectKind::Auth),
            _ => false,
        },
    }
}
