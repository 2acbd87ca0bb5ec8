//! Answers, before they meet a body and its faults.

use apimachinery::StatusError;
use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderName, RETRY_AFTER};
use http::{HeaderValue, StatusCode};
use serde_json::Value;

use crate::http::body::Content;
use crate::http::status;

pub(crate) const JSON: HeaderValue = HeaderValue::from_static("application/json");
const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");
const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");

/// What is answered.
pub(crate) struct Answer {
    pub(crate) code: StatusCode,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) content: Content,
}

impl Answer {
    /// Any bytes.
    pub(crate) fn new(code: u16, content_type: HeaderValue, content: Content) -> Self {
        let code = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Self { code, headers: vec![(CONTENT_TYPE, content_type)], content }
    }

    /// A JSON document, with a newline behind it as Go's encoder writes it.
    pub(crate) fn json(code: u16, value: &Value) -> Self {
        Self::new(code, JSON, Content::Whole(Bytes::from(format!("{value}\n"))))
    }

    /// Plain text.
    pub(crate) fn text(code: u16, text: impl Into<String>) -> Self {
        Self::new(code, TEXT, Content::Whole(Bytes::from(text.into())))
    }

    /// A page such as a proxy shows.
    pub(crate) fn html(code: u16) -> Self {
        let page =
            format!("<html><head><title>{code}</title></head><body><h1>{code}</h1>proxy</body></html>\n");
        Self::new(code, HTML, Content::Whole(Bytes::from(page)))
    }

    /// A refusal: its status as the body, and `Retry-After` where it says when to come back.
    pub(crate) fn refusal(refusal: &StatusError) -> Self {
        let mut answer = Self::json(refusal.code(), &status::body(refusal));
        let seconds = refusal.status().details.as_ref().and_then(|details| details.retry_after_seconds);
        if let Some(seconds) = seconds {
            answer.headers.push((RETRY_AFTER, HeaderValue::from(seconds)));
        }
        answer
    }

    /// What an unknown path says.
    pub(crate) fn no_such_path() -> Self {
        Self::text(404, "404 page not found\n")
    }
}
