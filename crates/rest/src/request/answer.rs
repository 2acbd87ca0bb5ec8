//! What an answer says: its media type, its kind, and, if it is a no, which.

use std::borrow::Cow;

use apimachinery::{ApiError, DecodeError, Status, StatusCause, StatusDetails, StatusError, cause};
use http::header::{CONTENT_TYPE, HeaderMap, RETRY_AFTER};
use serde::Deserialize;

/// How much of a server's text an error shows (REST-ER-10).
const TEXT_LIMIT: usize = 2048;

/// What a request was about, for errors that the server did not write.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct About<'a> {
    /// The method: `GET`.
    pub(crate) method: &'a str,
    pub(crate) group: &'a str,
    /// The plural; `""` if unknown.
    pub(crate) resource: &'a str,
    /// `""` for none.
    pub(crate) name: &'a str,
}

/// The refusal in an answer. If the body is a Status that tells of a failure, that (REST-ER-12); otherwise what can be
/// made of the code, the headers and the text (REST-ER-09, REST-ER-13).
pub(crate) fn refusal(code: u16, headers: &HeaderMap, body: &[u8], about: About<'_>) -> StatusError {
    let delay = retry_after(headers).and_then(|seconds| u32::try_from(seconds.max(0)).ok());
    if matches!(media_type(headers), Media::Json | Media::Absent)
        && let Some(mut status) = Status::from_error_body(body)
    {
        if let Some(delay) = delay.filter(|&delay| delay > 0) {
            let details = status.details.get_or_insert_with(StatusDetails::default);
            details.retry_after_seconds.get_or_insert(delay);
        }
        return StatusError::new(status);
    }
    let text = match media_type(headers) {
        Media::Text | Media::Absent => text_of(body),
        _ => "unknown".to_owned(),
    };
    generic(code, &text, delay, about)
}

/// The kind of an object.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct TypeMeta<'a> {
    #[serde(borrow, default)]
    pub(crate) kind: Option<Cow<'a, str>>,
}

/// Go's `NewGenericServerResponse`: the table of REST-ER-11.
fn generic(code: u16, text: &str, delay: Option<u32>, about: About<'_>) -> StatusError {
    let (reason, message): (&str, Cow<'_, str>) = match code {
        409 if about.method == "POST" => ("AlreadyExists", "the server reported a conflict".into()),
        409 => ("Conflict", "the server reported a conflict".into()),
        404 => ("NotFound", "the server could not find the requested resource".into()),
        400 => ("BadRequest", "the server rejected our request for an unknown reason".into()),
        401 => ("Unauthorized", "the server has asked for the client to provide credentials".into()),
        403 => ("Forbidden", text.into()),
        406 if text.is_empty() || text == "unknown" => (
            "NotAcceptable",
            "the server was unable to respond with a content type that the client supports".into(),
        ),
        406 => ("NotAcceptable", text.into()),
        415 => ("UnsupportedMediaType", text.into()),
        405 => ("MethodNotAllowed", "the server does not allow this method on the requested resource".into()),
        422 => ("Invalid", "the server rejected our request due to an error in our request".into()),
        503 => ("ServiceUnavailable", "the server is currently unable to handle the request".into()),
        504 => (
            "Timeout",
            "the server was unable to return a response in the time allotted, but may still be processing the request"
                .into(),
        ),
        429 => (
            "TooManyRequests",
            "the server has received too many requests and has asked us to try again later".into(),
        ),
        500.. => (
            "InternalError",
            format!("an error on the server ({text:?}) has prevented the request from succeeding").into(),
        ),
        _ => (
            "",
            format!("the server responded with the status code {code} but did not return more information").into(),
        ),
    };
    let message = match (qualified(about), about.name) {
        (None, _) => message.into_owned(),
        (Some(resource), "") => format!("{message} ({} {resource})", about.method.to_lowercase()),
        (Some(resource), name) => format!("{message} ({} {resource} {name})", about.method.to_lowercase()),
    };
    let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let cause = StatusCause {
        reason: Some(cause::UNEXPECTED_SERVER_RESPONSE.to_owned()),
        message: Some(text.to_owned()),
        ..StatusCause::default()
    };
    let details = StatusDetails {
        name: some(about.name),
        group: some(about.group),
        kind: some(about.resource),
        causes: vec![cause],
        retry_after_seconds: delay,
        ..StatusDetails::default()
    };
    StatusError::new(Status {
        status: Some("Failure".to_owned()),
        message: Some(message),
        reason: some(reason),
        code: Some(code),
        details: Some(details),
    })
}

fn qualified(about: About<'_>) -> Option<String> {
    match (about.resource, about.group) {
        ("", _) => None,
        (resource, "") => Some(resource.to_owned()),
        (resource, group) => Some(format!("{resource}.{group}")),
    }
}

/// The first 2048 bytes, without blanks around.
fn text_of(body: &[u8]) -> String {
    let body = &body[..body.len().min(TEXT_LIMIT)];
    // A text cut inside of a character loses that character, not more.
    let text = match std::str::from_utf8(body) {
        Err(error) if error.error_len().is_none() => String::from_utf8_lossy(&body[..error.valid_up_to()]),
        _ => String::from_utf8_lossy(body),
    };
    text.trim().to_owned()
}

/// The whole seconds that the server asks us to wait. A date (RFC 9110 allows it) is no number and counts as absent, as
/// in client-go (REST-RT-02).
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<i64> {
    headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()
}

/// The media type of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Media {
    /// `application/json`, with whatever parameters.
    Json,
    /// `text/…`.
    Text,
    /// No header.
    Absent,
    /// Something else.
    Other,
}

pub(crate) fn media_type(headers: &HeaderMap) -> Media {
    let Some(value) = headers.get(CONTENT_TYPE) else { return Media::Absent };
    let value = value.to_str().unwrap_or_default();
    let media = value.split(';').next().unwrap_or_default().trim();
    if media.is_empty() && value.is_empty() {
        Media::Absent
    } else if media.eq_ignore_ascii_case("application/json") {
        Media::Json
    } else if media.get(..5).is_some_and(|front| front.eq_ignore_ascii_case("text/")) {
        Media::Text
    } else {
        Media::Other
    }
}

/// A success must be JSON to be read; a missing header counts as that, because it is what was asked for (REST-RS-02).
pub(crate) fn check_json(headers: &HeaderMap) -> Result<(), ApiError> {
    match media_type(headers) {
        Media::Json | Media::Absent => Ok(()),
        Media::Text | Media::Other => {
            let value =
                headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("(unreadable)");
            Err(DecodeError::new(format!("the answer is {value:?}, not application/json")).into())
        }
    }
}

/// Checks that the whole answer to a request for one object is one of the right kind: a Status of failure is an error
/// whatever the code (REST-RS-05); another kind is an error that names it (REST-RS-06).
pub(crate) fn check_object(
    code: u16,
    headers: &HeaderMap,
    body: &[u8],
    takes: impl FnOnce(&str) -> bool,
) -> Result<(), ApiError> {
    check_json(headers)?;
    if body.trim_ascii().is_empty() {
        let media =
            headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("no content type");
        return Err(DecodeError::new(format!("the answer has no body (status {code}, {media})")).into());
    }
    if let Some(status) = Status::from_error_body(body) {
        return Err(StatusError::new(status).into());
    }
    let head: TypeMeta<'_> = serde_json::from_slice(body)
        .map_err(|error| DecodeError::unparsed("the answer is no JSON object", &error))?;
    match head.kind.as_deref() {
        None | Some("") => Err(DecodeError::about(body, "the answer has no kind").into()),
        Some(kind) if takes(kind) => Ok(()),
        Some(kind) => Err(DecodeError::about(body, format!("unexpected object: a {kind:?}")).into()),
    }
}
