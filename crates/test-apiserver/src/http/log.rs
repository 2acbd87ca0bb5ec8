//! What was asked of the server: a bounded list that tests read.

use std::collections::VecDeque;

use crate::faults::Verb;

/// The log forgets its oldest requests beyond this number.
const CAPACITY: usize = 100_000;

/// A request, as it arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Request {
    /// What it wants.
    pub verb: Verb,
    /// The HTTP method.
    pub method: String,
    /// The path, as encoded by the client.
    pub path: String,
    /// The query, as encoded by the client; empty if there is none.
    pub query: String,
    /// HTTP/1.1 or HTTP/2.
    pub protocol: http::Version,
    /// The headers, without credentials.
    pub headers: http::HeaderMap,
    /// The user, once known; none for a request that was refused with 401.
    pub user: Option<String>,
    /// Which connection it came over, counted from 1.
    pub connection: u64,
}

impl Request {
    /// The decoded value of `name` in the query.
    pub fn parameter(&self, name: &str) -> Option<String> {
        let mut pairs = form_urlencoded::parse(self.query.as_bytes());
        pairs.find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
    }

    /// A header as text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }
}

/// The list.
#[derive(Debug, Default)]
pub(crate) struct Log {
    requests: VecDeque<Request>,
}

impl Log {
    pub(crate) fn push(&mut self, request: Request) {
        if self.requests.len() == CAPACITY {
            self.requests.pop_front();
        }
        self.requests.push_back(request);
    }

    pub(crate) fn clear(&mut self) {
        self.requests.clear();
    }

    pub(crate) fn requests(&self) -> impl Iterator<Item = &Request> {
        self.requests.iter()
    }
}
