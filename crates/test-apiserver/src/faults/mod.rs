//! Planned faults: what a test wants to go wrong, and when.
//!
//! ```
//! # use steersman_test_apiserver as test_apiserver;
//! use test_apiserver::faults::{Fault, Verb, When};
//!
//! // The second watch of pods breaks after three events; every list before that is refused once.
//! let plan = [
//!     (When::verb(Verb::List).path("/api/v1/pods"), Fault::refuse(503)),
//!     (When::verb(Verb::Watch).path("/api/v1/pods").after(1), Fault::cut_after_frames(3)),
//! ];
//! # let _ = plan;
//! ```
//!
//! A rule is asked in the order in which it was planned. The first one that matches is used up by one, and decides what
//! becomes of the request; [`Fault::Delay`] alone lets later rules speak too. A rule that waits for its turn
//! ([`When::after`]) counts the request and lets it pass.

mod script;
#[cfg(test)]
mod tests;

use std::time::Duration;

pub(crate) use script::Script;

/// What a request wants, in the API server's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the API's own words")]
pub enum Verb {
    Get,
    List,
    Watch,
    Create,
    Update,
    Patch,
    Delete,
    DeleteCollection,
    /// Not about objects: discovery, version, health.
    Other,
}

/// Which requests a fault is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct When {
    pub(crate) verb: Option<Verb>,
    pub(crate) path: Option<String>,
    pub(crate) query: Option<String>,
    pub(crate) pass: u32,
    pub(crate) times: Option<u32>,
}

impl When {
    /// Any request, once.
    pub fn any() -> Self {
        Self { verb: None, path: None, query: None, pass: 0, times: Some(1) }
    }

    /// A request of that verb, once.
    pub fn verb(verb: Verb) -> Self {
        Self { verb: Some(verb), ..Self::any() }
    }

    /// Only of this path; a `*` at its end stands for any rest.
    #[must_use]
    pub fn path(mut self, path: impl Into<String>) -> Self {
        self.path = Some(path.into());
        self
    }

    /// Only where the raw query contains `part`: `limit=`, `continue=`, `sendInitialEvents=true`.
    #[must_use]
    pub fn query(mut self, part: impl Into<String>) -> Self {
        self.query = Some(part.into());
        self
    }

    /// The first `count` that match pass untouched.
    #[must_use]
    pub fn after(mut self, count: u32) -> Self {
        self.pass = count;
        self
    }

    /// `count` times instead of once.
    #[must_use]
    pub fn times(mut self, count: u32) -> Self {
        self.times = Some(count);
        self
    }

    /// Until [`Faults::clear`](crate::Faults::clear).
    #[must_use]
    pub fn always(mut self) -> Self {
        self.times = None;
        self
    }
}

/// Where in an answer's body a fault strikes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    /// After so many bytes of the body.
    Bytes(u64),
    /// After so many whole frames of a watch; any other body is one frame.
    Frames(u64),
}

/// How an answer ends before its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// As if it were complete: the last chunk of HTTP/1.1, `END_STREAM` of HTTP/2.
    Clean,
    /// Unfinished: HTTP/1.1 closes the connection in the middle, HTTP/2 resets the stream.
    Broken,
    /// The connection itself is reset, with everything that runs over it.
    Reset,
}

/// The shapes in which a server says that a resource version is too old.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expired {
    /// An HTTP 410 with reason `Expired`.
    Answer,
    /// An HTTP 410 with reason `Gone`, as older servers say it.
    AnswerGone,
    /// HTTP 200 and an `ERROR` event with code 410 and reason `Expired`.
    Event,
    /// HTTP 200 and an `ERROR` event with code 410 and reason `Gone`.
    EventGone,
}

/// How a server without WatchList meets `sendInitialEvents`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoWatchList {
    /// 422: forbidden unless the feature gate is on.
    Refused,
    /// As a server that never heard of it: a plain watch, without the present state and without its bookmark.
    Ignored,
}

/// What goes wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// A `Status` with this code, and `Retry-After` in seconds where given.
    Refuse {
        /// The HTTP code.
        code: u16,
        /// The header `Retry-After`, and `details.retryAfterSeconds`.
        retry_after: Option<u32>,
    },
    /// The connection is closed before a byte of the answer.
    Close,
    /// The connection is reset before a byte of the answer.
    Reset,
    /// The body ends early.
    Cut {
        /// Where.
        after: After,
        /// How.
        end: End,
    },
    /// The body falls silent; the connection lives on and answers pings.
    Stall {
        /// Where.
        after: After,
    },
    /// The whole connection falls silent: nothing is read or written any more, and it is not closed.
    Silence,
    /// The request is answered, and the connection takes no other: GOAWAY over HTTP/2, `Connection: close` over HTTP/1.1.
    GoAway,
    /// The resource version is too old.
    Expire(Expired),
    /// The request is held for so long before it is looked at.
    Delay(Duration),
    /// A page of HTML with this code, as a proxy in between answers.
    Html {
        /// The HTTP code.
        code: u16,
    },
    /// These bytes stand in a watch after so many frames, and a newline behind them; the watch goes on.
    Garbage {
        /// Whole frames before it.
        after_frames: u64,
        /// The frame.
        frame: Vec<u8>,
    },
    /// The bookmark that ends the initial events never comes.
    NoInitialEventsEnd,
    /// `sendInitialEvents` meets a server that cannot do it.
    NoWatchList(NoWatchList),
    /// A body that is not JSON, with code 200 and the JSON content type.
    Body(Vec<u8>),
}

impl Fault {
    /// A `Status` with this code.
    pub fn refuse(code: u16) -> Self {
        Self::Refuse { code, retry_after: None }
    }

    /// 429 and `Retry-After`.
    pub fn too_many_requests(retry_after: u32) -> Self {
        Self::Refuse { code: 429, retry_after: Some(retry_after) }
    }

    /// The body breaks off after `frames` frames.
    pub fn cut_after_frames(frames: u64) -> Self {
        Self::Cut { after: After::Frames(frames), end: End::Broken }
    }

    /// The body breaks off after `bytes` bytes.
    pub fn cut_after_bytes(bytes: u64) -> Self {
        Self::Cut { after: After::Bytes(bytes), end: End::Broken }
    }

    /// The watch ends properly after `frames` frames.
    pub fn end_after_frames(frames: u64) -> Self {
        Self::Cut { after: After::Frames(frames), end: End::Clean }
    }

    /// The watch falls silent after `frames` frames.
    pub fn stall_after_frames(frames: u64) -> Self {
        Self::Stall { after: After::Frames(frames) }
    }

    /// A frame that is not JSON, after `frames` good ones.
    pub fn garbage_after_frames(frames: u64) -> Self {
        Self::Garbage { after_frames: frames, frame: b"{\"type\":\"ADDED\",\"object\":{]".to_vec() }
    }
}
