//! What an error means for the next request.

use std::time::Duration;

use apimachinery::{ApiError, BrokenKind, ConnectKind, Status, StatusError};

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
        match error {
            ApiError::Status(error) => Self::of_status(error.status()),
            ApiError::Connect { kind: ConnectKind::Refused, .. } => Self::Busy,
            // Reading it again would not make it smaller.
            ApiError::Broken { kind: BrokenKind::TooLarge, .. } => Self::Other,
            ApiError::Connect { .. } | ApiError::Broken { .. } | ApiError::Timeout { .. } => Self::Transport,
            _ => Self::Other,
        }
    }

    /// In every shape: the reason alone, the code alone, or both.
    fn of_status(status: &Status) -> Self {
        let code = status.code.unwrap_or(0);
        let reason = status.reason.as_deref().unwrap_or_default();
        if reason == "Expired" || reason == "Gone" || code == 410 {
            return Self::Expired;
        }
        if is_too_large_version(status) {
            return Self::TooLargeVersion;
        }
        match (reason, code) {
            ("TooManyRequests", _) | (_, 429) => Self::Busy,
            ("InternalError", _) | ("" | "Unknown", 500) => Self::Internal,
            (_, 500..) => Self::Server,
            _ => Self::Other,
        }
    }

    /// Whether the version that was asked for cannot be had.
    pub(crate) fn is_about_the_version(self) -> bool {
        matches!(self, Self::Expired | Self::TooLargeVersion)
    }
}

/// By its cause, or, from old servers, by the text of a timeout.
fn is_too_large_version(status: &Status) -> bool {
    const TEXT: &str = "Too large resource version";
    let causes = status.details.as_ref().map_or(&[][..], |details| &details.causes);
    let is_timeout = status.reason.as_deref() == Some("Timeout") || status.code == Some(504);
    causes.iter().any(|cause| {
        cause.reason.as_deref() == Some("ResourceVersionTooLarge")
            || (is_timeout && cause.message.as_deref() == Some(TEXT))
    }) || (is_timeout && status.message.as_deref().is_some_and(|message| message.contains(TEXT)))
}

/// Not before this long, says the server (CACHE +R4).
pub(crate) fn retry_after(error: &ApiError) -> Duration {
    let seconds = match error {
        ApiError::Status(error) => retry_after_seconds(error),
        _ => None,
    };
    seconds.map_or(Duration::ZERO, |seconds| Duration::from_secs(seconds.into()).min(MAX_RETRY_AFTER))
}

fn retry_after_seconds(error: &StatusError) -> Option<u32> {
    error.status().details.as_ref()?.retry_after_seconds
}
