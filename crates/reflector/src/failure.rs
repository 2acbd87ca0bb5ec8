//! What an error means for the next request.

use std::time::Duration;

use apimachinery::{ApiError, BrokenKind};

use crate::config::MAX_RETRY_AFTER;

/// What an error means for the next request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The version is older than what the server keeps (CACHE-R-23).
    Expired,
    /// The version is newer than what the server has (CACHE-R-24).
    TooLargeVersion,
    /// 429, or nobody listens: come back later, with the same request (CACHE-R-47).
    Busy,
    /// The server met an error of its own (CACHE-R-50).
    Internal,
    /// Another 5xx.
    Server,
    /// Something between us and the server.
    Transport,
    /// Everything else: the request itself, or rights, or an answer that cannot be read.
    Other,
}

impl Failure {
    pub(crate) fn of(error: &ApiError) -> Self {
        if error.is_expired() {
            Self::Expired
        } else if error.is_too_large_resource_version() {
            Self::TooLargeVersion
        } else if error.is_too_many_requests() || error.is_connection_refused() {
            Self::Busy
        } else if error.is_internal_error() {
            Self::Internal
        } else {
            match error {
                ApiError::Status(refusal) if refusal.code() >= 500 => Self::Server,
                // Reading it again would not make it smaller.
                ApiError::Broken { kind: BrokenKind::TooLarge, .. } => Self::Other,
                ApiError::Connect { .. } | ApiError::Broken { .. } | ApiError::Timeout { .. } => {
                    Self::Transport
                }
                _ => Self::Other,
            }
        }
    }

    /// Whether the version that was asked for cannot be had.
    pub(crate) fn is_about_the_version(self) -> bool {
        matches!(self, Self::Expired | Self::TooLargeVersion)
    }
}

/// Not before this long, says the server (CACHE +R4).
pub(crate) fn retry_after(error: &ApiError) -> Duration {
    error.suggests_delay().unwrap_or_default().min(MAX_RETRY_AFTER)
}
