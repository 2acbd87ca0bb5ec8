//! Sockets: one request in, one answer out. No Kubernetes type is known here.
//!
//! [`Transport::send`] is one attempt. It connects, secures, authenticates, sends, and gives the answer's head; the
//! rest of the answer comes out of [`Body`] as it arrives.

mod body;

use apimachinery::ApiError;
use bytes::Bytes;

pub(crate) use body::Body;

use crate::config::Server;
use crate::{ClientConfig, ConfigError};

/// Connections to one server, as one user. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Transport {
    server: Server,
}

/// Which connection a request goes over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// One that others use too.
    Shared,
    /// Its own, read on the task that reads the body: for a watch, where a hand-over to another task costs more than
    /// the event.
    Dedicated,
}

impl Transport {
    /// Checks everything that can be checked without a connection: server URL, certificates, keys, credentials.
    pub(crate) fn new(config: &ClientConfig) -> Result<Self, ConfigError> {
        Ok(Transport { server: Server::of(config)? })
    }

    /// Sends this request once. Its URI is path-and-query below the server's base path (`/api/v1/pods?limit=500`).
    ///
    /// Adds what the request does not carry itself: `Authorization`, `User-Agent`, `Impersonate-*`, `Accept-Encoding`,
    /// `Host`. There is no time limit for the answer here: drop the future, and the request is cancelled.
    ///
    /// An answer of any status is `Ok`. Errors are `Connect` (nothing was processed), `Broken` (a write may or may not
    /// have happened, except with `BrokenKind::GoAway`) and `InvalidRequest`.
    #[expect(clippy::unused_async)]
    pub(crate) async fn send(
        &self,
        _request: http::Request<Bytes>,
        _mode: Mode,
    ) -> Result<http::Response<Body>, ApiError> {
        Err(ApiError::InvalidRequest(format!("no way to {}:{} yet", self.server.host(), self.server.port())))
    }
}
