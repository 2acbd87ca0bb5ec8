//! `ApiError`: why a request has no answer, split by what the caller can do about it.

use std::error::Error;
use std::io::ErrorKind;
use std::time::Duration;

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

impl ApiError {
    /// The server's refusal, if there is one: this error, or one that caused it.
    pub fn status(&self) -> Option<&StatusError> {
        match self {
            Self::Status(status) => Some(status),
            Self::Timeout { earlier, .. } => earlier.as_deref().and_then(Self::status),
            _ => StatusError::find(self.source()?),
        }
    }

    /// The version that was asked for is too old: see [`StatusError::is_expired`].
    pub fn is_expired(&self) -> bool {
        self.status().is_some_and(StatusError::is_expired)
    }

    /// The version that was asked for is not there yet: see [`StatusError::is_too_large_resource_version`].
    pub fn is_too_large_resource_version(&self) -> bool {
        self.status().is_some_and(StatusError::is_too_large_resource_version)
    }

    /// How long the server asks to wait: see [`StatusError::suggests_delay`].
    pub fn suggests_delay(&self) -> Option<Duration> {
        self.status().and_then(StatusError::suggests_delay)
    }

    /// Time ran out, whoever's: the caller's limit, a silent connection, or the server's own (504).
    pub fn is_timeout(&self) -> bool {
        self.is_network_timeout() || self.status().is_some_and(StatusError::is_timeout)
    }

    /// Time ran out on this side: the caller's limit, or a silent connection. The server said nothing.
    pub fn is_network_timeout(&self) -> bool {
        match self {
            Self::Timeout { .. } => true,
            Self::Connect { kind, source, .. } => {
                *kind == ConnectKind::Timeout
                    || (*kind == ConnectKind::Other && broke_by(source, &[ErrorKind::TimedOut]))
            }
            Self::Broken { kind, source, .. } => {
                *kind == BrokenKind::Timeout
                    || (*kind == BrokenKind::Other && broke_by(source, &[ErrorKind::TimedOut]))
            }
            _ => false,
        }
    }

    /// Nobody listens there.
    pub fn is_connection_refused(&self) -> bool {
        match self {
            Self::Connect { kind, source, .. } => {
                *kind == ConnectKind::Refused
                    || (*kind == ConnectKind::Other && broke_by(source, &[ErrorKind::ConnectionRefused]))
            }
            _ => false,
        }
    }

    /// The peer reset the connection.
    pub fn is_reset(&self) -> bool {
        match self {
            Self::Connect { source, .. } => broke_by(source, &[ErrorKind::ConnectionReset]),
            Self::Broken { kind, source, .. } => {
                *kind == BrokenKind::Reset || broke_by(source, &[ErrorKind::ConnectionReset])
            }
            _ => false,
        }
    }

    /// The connection ended, in one way or another, and most probably only because the server or something on the way
    /// closed it: end of stream, reset, closed under a write, told to go away.
    pub fn is_probable_eof(&self) -> bool {
        const ENDS: &[ErrorKind] = &[
            ErrorKind::UnexpectedEof,
            ErrorKind::ConnectionReset,
            ErrorKind::ConnectionAborted,
            ErrorKind::BrokenPipe,
            ErrorKind::NotConnected,
        ];
        match self {
            Self::Connect { source, .. } => broke_by(source, ENDS),
            Self::Broken { kind, source, .. } => {
                matches!(kind, BrokenKind::Eof | BrokenKind::Reset | BrokenKind::GoAway)
                    || (*kind == BrokenKind::Other && broke_by(source, ENDS))
            }
            _ => false,
        }
    }

    /// The connection fell silent under a request, pings and all.
    pub fn is_connection_lost(&self) -> bool {
        matches!(self, Self::Broken { kind: BrokenKind::Timeout, .. })
    }
}

/// Whether an I/O error of one of these kinds is in the chain.
fn broke_by(error: &BoxError, kinds: &[ErrorKind]) -> bool {
    let mut next: Option<&(dyn Error + 'static)> = Some(error.as_ref());
    // A chain that is longer than this is a ring.
    for _ in 0..64 {
        let Some(error) = next else { return false };
        next = error.source();
        if let Some(io) = error.downcast_ref::<std::io::Error>() {
            if kinds.contains(&io.kind()) {
                return true;
            }
            if let Some(inner) = io.get_ref() {
                next = Some(inner);
            }
        }
    }
    false
}
