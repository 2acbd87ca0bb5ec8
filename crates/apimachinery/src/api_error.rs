//! `ApiError`: why a request has no answer, split by what the caller can do about it.

use std::error::Error;

use crate::{DecodeError, StatusError};

/// Any error, owned.
pub type BoxError = Box<dyn Error + Send + Sync + 'static>;

/// Why a request has no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ApiError {
    /// The server said no.
    #[error(transparent)]
    Status(#[from] StatusError),
    /// The request never reached a server: no connection, no TLS, no credentials.
    #[error("could not connect to {host}")]
    Connect {
        /// Whom we called.
        host: String,
        /// At which step it failed.
        kind: ConnectKind,
        /// Why.
        #[source]
        source: BoxError,
    },
    /// Something on the way broke: a write may or may not have happened.
    #[error("the connection broke while {during}")]
    Broken {
        /// What we were doing: `reading the answer`.
        during: &'static str,
        /// How it broke.
        kind: BrokenKind,
        /// Why.
        #[source]
        source: BoxError,
    },
    /// An answer came, and it could not be read.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// The request cannot be made as asked; nothing was sent.
    #[error("invalid request: {0}")]
    InvalidRequest(String),
    /// The caller's own time limit ran out before an answer came.
    #[error("{during} took longer than its limit")]
    Timeout {
        /// What took so long.
        during: &'static str,
        /// What had gone wrong before, if anything.
        #[source]
        earlier: Option<Box<ApiError>>,
    },
}

/// At which step of connecting it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ConnectKind {
    /// The name has no address.
    Resolve,
    /// Nobody listens there.
    Refused,
    /// No answer in time.
    Timeout,
    /// The certificates or the protocol did not agree.
    Tls,
    /// The credentials could not be had: token file, plugin.
    Auth,
    /// The proxy refused.
    Proxy,
    /// Something else.
    Other,
}

/// How a connection broke.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BrokenKind {
    /// The peer reset it.
    Reset,
    /// It ended in the middle of something.
    Eof,
    /// Silence, longer than allowed.
    Timeout,
    /// The server is going away; this request was provably not processed.
    GoAway,
    /// A frame or body above its limit.
    TooLarge,
    /// Something else.
    Other,
}
