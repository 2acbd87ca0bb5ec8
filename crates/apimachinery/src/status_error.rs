//! `StatusError`: the server's refusal, and the predicates that stay true whoever says it.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::{ApiError, ApiResource, Reason, Status, StatusCause, StatusDetails, cause};

/// The server's refusal. Text for people is the server's own message.
///
/// ```
/// use steersman_apimachinery::StatusError;
///
/// let gone = StatusError::expired("the version is too old");
/// assert!(gone.is_expired() && !gone.is_gone());
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct StatusError(Box<Status>);

impl StatusError {
    /// The refusal that `status` tells of.
    pub fn new(status: Status) -> Self {
        Self(Box::new(status))
    }

    /// Reads the object of an ERROR frame, or of any place where an object is expected and a Status may stand.
    pub fn from_object(body: &[u8]) -> Result<Self, UnexpectedObject> {
        Status::from_object(body).map(Self::new).ok_or_else(|| UnexpectedObject { body: body.into() })
    }

    /// The refusal in an error, or in the errors that caused it.
    pub fn find<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a Self> {
        let mut next = Some(error);
        // A chain that is longer than this is a ring.
        for _ in 0..64 {
            let error = next?;
            if let Some(found) = Self::within(error) {
                return Some(found);
            }
            next = match error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref) {
                Some(inner) => Some(inner as &(dyn Error + 'static)),
                None => error.source(),
            };
        }
        None
    }

    fn within<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a Self> {
        let direct = error
            .downcast_ref::<Self>()
            .or_else(|| error.downcast_ref::<Box<Self>>().map(AsRef::as_ref))
            .or_else(|| error.downcast_ref::<Arc<Self>>().map(AsRef::as_ref));
        direct.or_else(|| {
            let api = error
                .downcast_ref::<ApiError>()
                .or_else(|| error.downcast_ref::<Box<ApiError>>().map(AsRef::as_ref))
                .or_else(|| error.downcast_ref::<Arc<ApiError>>().map(AsRef::as_ref))?;
            match api {
                ApiError::Status(status) => Some(status),
                _ => api.source().and_then(Self::find),
            }
        })
    }

    /// The body as the server sent it.
    pub fn status(&self) -> &Status {
        &self.0
    }

    /// The body, owned.
    pub fn into_status(self) -> Status {
        *self.0
    }

    /// The HTTP code; 0 if the server gave none.
    pub fn code(&self) -> u16 {
        self.0.code.unwrap_or(0)
    }

    /// The reason, as far as it is known here.
    pub fn reason(&self) -> Reason {
        self.0.known_reason()
    }

    /// The server's text; `""` if it gave none.
    pub fn message(&self) -> &str {
        self.0.message.as_deref().unwrap_or_default()
    }

    /// Each thing that was wrong.
    pub fn causes(&self) -> &[StatusCause] {
        self.0.details.as_ref().map_or(&[], |details| &details.causes)
    }

    /// The first cause of that word; see [`cause`] for the words.
    pub fn cause(&self, word: &str) -> Option<&StatusCause> {
        self.causes().iter().find(|cause| cause.reason.as_deref() == Some(word))
    }

    /// How long the server asks to wait. Says nothing about whether to try again.
    pub fn suggests_delay(&self) -> Option<Duration> {
        let seconds = self.0.details.as_ref().and_then(|details| details.retry_after_seconds).unwrap_or(0);
        (self.reason() == Reason::ServerTimeout || seconds > 0).then(|| Duration::from_secs(seconds.into()))
    }

    /// Whether the version that was asked for is too old: reason Expired, or [gone](Self::is_gone). What a reflector
    /// asks. See [`is_resource_expired`](Self::is_resource_expired) for the reason alone.
    pub fn is_expired(&self) -> bool {
        self.is_resource_expired() || self.is_gone()
    }

    /// Whether the version that was asked for is newer than any the server has, in all the ways that servers of all
    /// ages say it (client-go `reflector.go`, `isTooLargeResourceVersionError`).
    pub fn is_too_large_resource_version(&self) -> bool {
        const OLD_TEXT: &str = "Too large resource version";
        self.cause(cause::RESOURCE_VERSION_TOO_LARGE).is_some()
            || (self.is_timeout()
                && (self.causes().iter().any(|cause| cause.message.as_deref() == Some(OLD_TEXT))
                    || self.message().contains(OLD_TEXT)))
    }

    /// Whether something that is not an API server may have spoken: a proxy, a gateway. The answer had no Status.
    pub fn is_unexpected_server_response(&self) -> bool {
        self.cause(cause::UNEXPECTED_SERVER_RESPONSE).is_some()
    }

    /// The reason, or the code where the reason is none that is known.
    fn says(&self, reason: Reason, code: u16) -> bool {
        match self.reason() {
            Reason::Unknown => self.code() == code,
            known => known == reason,
        }
    }
}

/// The predicates once, for [`StatusError`] and for [`ApiError`] that holds one.
macro_rules! predicates {
    ($($(#[$doc:meta])* $name:ident($status:ident) = $answer:expr;)*) => {
        impl StatusError {
            $($(#[$doc])* pub fn $name(&self) -> bool { let $status = self; $answer })*
        }
        impl ApiError {
            $($(#[$doc])* pub fn $name(&self) -> bool { self.status().is_some_and(StatusError::$name) })*
        }
    };
}

predicates! {
    /// No such object, or no such resource (404).
    is_not_found(e) = e.says(Reason::NotFound, 404);
    /// A create of what is there already. By reason alone: 409 without a reason is a conflict.
    is_already_exists(e) = e.reason() == Reason::AlreadyExists;
    /// Somebody else was faster: the version in the request is no longer the server's (409).
    is_conflict(e) = e.says(Reason::Conflict, 409);
    /// The object breaks the rules of its kind (422); the causes name the fields.
    is_invalid(e) = e.says(Reason::Invalid, 422);
    /// Gone for good (410 without the reason Expired).
    is_gone(e) = e.says(Reason::Gone, 410);
    /// Reason Expired, and nothing else.
    is_resource_expired(e) = e.reason() == Reason::Expired;
    /// None of the media types that were asked for can be had (406).
    is_not_acceptable(e) = e.says(Reason::NotAcceptable, 406);
    /// The body is of a media type that the server does not read (415).
    is_unsupported_media_type(e) = e.says(Reason::UnsupportedMediaType, 415);
    /// The resource does not know this verb (405).
    is_method_not_supported(e) = e.says(Reason::MethodNotAllowed, 405);
    /// The server cannot answer now (503).
    is_service_unavailable(e) = e.says(Reason::ServiceUnavailable, 503);
    /// The request makes no sense (400).
    is_bad_request(e) = e.says(Reason::BadRequest, 400);
    /// The server does not know who asks (401).
    is_unauthorized(e) = e.says(Reason::Unauthorized, 401);
    /// The server knows who asks, and says no (403).
    is_forbidden(e) = e.says(Reason::Forbidden, 403);
    /// The server's mistake (500).
    is_internal_error(e) = e.says(Reason::InternalError, 500);
    /// The server could not do it in time, and nothing was done: try again. By reason alone.
    is_server_timeout(e) = e.reason() == Reason::ServerTimeout;
    /// The stored object cannot be read. By reason alone.
    is_store_read_error(e) = e.reason() == Reason::StoreReadError;
    /// Slow down (429, whatever the reason).
    is_too_many_requests(e) = e.code() == 429 || e.reason() == Reason::TooManyRequests;
    /// The body is above the server's limit (413, whatever the reason).
    is_request_entity_too_large(e) = e.code() == 413 || e.reason() == Reason::RequestEntityTooLarge;
}

impl StatusError {
    /// The server gave up on the request (504): it may or may not have been done.
    pub fn is_timeout(&self) -> bool {
        self.says(Reason::Timeout, 504)
    }
}

/// One for each reason, with the codes and texts of the reference server.
impl StatusError {
    /// 404: no object of that name.
    pub fn not_found(resource: &ApiResource, name: &str) -> Self {
        let text = format!("{} {name:?} not found", resource.group_resource());
        Self::on(Reason::NotFound, 404, text, resource, name)
    }

    /// 409: an object of that name is there already.
    pub fn already_exists(resource: &ApiResource, name: &str) -> Self {
        let text = format!("{} {name:?} already exists", resource.group_resource());
        Self::on(Reason::AlreadyExists, 409, text, resource, name)
    }

    /// 409: the object is not in the state that the request assumes.
    pub fn conflict(resource: &ApiResource, name: &str, why: &str) -> Self {
        let text = format!("Operation cannot be fulfilled on {} {name:?}: {why}", resource.group_resource());
        Self::on(Reason::Conflict, 409, text, resource, name)
    }

    /// 403: not allowed; an empty name speaks of the whole collection.
    pub fn forbidden(resource: &ApiResource, name: &str, why: &str) -> Self {
        let text = if name.is_empty() {
            format!("{} is forbidden: {why}", resource.group_resource())
        } else {
            format!("{} {name:?} is forbidden: {why}", resource.group_resource())
        };
        Self::on(Reason::Forbidden, 403, text, resource, name)
    }

    /// 422: the object breaks the rules of its kind, one cause for each field.
    pub fn invalid(resource: &ApiResource, name: &str, causes: Vec<StatusCause>) -> Self {
        let kind = match &*resource.group {
            "" => resource.kind.to_string(),
            group => format!("{}.{group}", resource.kind),
        };
        let mut wrong: Vec<String> = Vec::with_capacity(causes.len());
        for cause in &causes {
            let field = cause.field.as_deref().unwrap_or_default();
            let text = format!("{field}: {}", cause.message.as_deref().unwrap_or_default());
            if !wrong.contains(&text) {
                wrong.push(text);
            }
        }
        let text = match &*wrong {
            [] => format!("{kind} {name:?} is invalid"),
            [one] => format!("{kind} {name:?} is invalid: {one}"),
            many => format!("{kind} {name:?} is invalid: [{}]", many.join(", ")),
        };
        let mut status = Status::failure(Reason::Invalid, 422, text);
        status.details = Some(StatusDetails {
            name: Some(name.to_owned()),
            group: some(&resource.group),
            kind: some(&resource.kind),
            causes,
            ..StatusDetails::default()
        });
        Self::new(status)
    }

    /// 405: the resource does not know the verb.
    pub fn method_not_supported(resource: &ApiResource, verb: &str) -> Self {
        let text = format!("{verb} is not supported on resources of kind \"{}\"", resource.group_resource());
        Self::on(Reason::MethodNotAllowed, 405, text, resource, "")
    }

    /// 500, reason ServerTimeout: could not be done in time, nothing was done.
    pub fn server_timeout(resource: &ApiResource, verb: &str, retry_after_seconds: u32) -> Self {
        let text = format!(
            "The {verb} operation against {} could not be completed at this time, please try again.",
            resource.group_resource()
        );
        Self::on(Reason::ServerTimeout, 500, text, resource, verb).after(retry_after_seconds)
    }

    /// 401: the server does not know who asks.
    pub fn unauthorized(why: &str) -> Self {
        let text = if why.is_empty() { "not authorized" } else { why };
        Self::plain(Reason::Unauthorized, 401, text)
    }

    /// 400: the request makes no sense.
    pub fn bad_request(why: &str) -> Self {
        Self::plain(Reason::BadRequest, 400, why)
    }

    /// 410, reason Gone.
    pub fn gone(text: &str) -> Self {
        Self::plain(Reason::Gone, 410, text)
    }

    /// 410, reason Expired: the version or the continue token is too old.
    pub fn expired(text: &str) -> Self {
        Self::plain(Reason::Expired, 410, text)
    }

    /// 504: the server gave up on the request.
    pub fn timeout(what: &str, retry_after_seconds: u32) -> Self {
        Self::plain(Reason::Timeout, 504, format!("Timeout: {what}")).after(retry_after_seconds)
    }

    /// 504 with the cause ResourceVersionTooLarge: the version asked for is not there yet.
    pub fn too_large_resource_version(asked: &str, current: &str, retry_after_seconds: u32) -> Self {
        let what = format!("Too large resource version: {asked}, current: {current}");
        let mut error = Self::timeout(&what, retry_after_seconds);
        error.0.details.get_or_insert_default().causes.push(StatusCause {
            reason: some(cause::RESOURCE_VERSION_TOO_LARGE),
            message: some("Too large resource version"),
            field: None,
        });
        error
    }

    /// 429: slow down.
    pub fn too_many_requests(text: &str, retry_after_seconds: u32) -> Self {
        Self::plain(Reason::TooManyRequests, 429, text).after(retry_after_seconds)
    }

    /// 413: the body is above the server's limit.
    pub fn request_entity_too_large(why: &str) -> Self {
        Self::plain(Reason::RequestEntityTooLarge, 413, format!("Request entity too large: {why}"))
    }

    /// 406: none of the media types asked for can be had.
    pub fn not_acceptable(text: &str) -> Self {
        Self::plain(Reason::NotAcceptable, 406, text)
    }

    /// 415: the body is of a media type that the server does not read.
    pub fn unsupported_media_type(text: &str) -> Self {
        Self::plain(Reason::UnsupportedMediaType, 415, text)
    }

    /// 503: the server cannot answer now.
    pub fn service_unavailable(text: &str) -> Self {
        Self::plain(Reason::ServiceUnavailable, 503, text)
    }

    /// 500: the server's mistake.
    pub fn internal_error(why: &str) -> Self {
        let mut error = Self::plain(Reason::InternalError, 500, format!("Internal error occurred: {why}"));
        let cause = StatusCause { message: some(why), ..StatusCause::default() };
        error.0.details.get_or_insert_default().causes.push(cause);
        error
    }

    /// 500, reason StorageReadError: the stored object cannot be read.
    pub fn store_read_error(text: &str) -> Self {
        Self::plain(Reason::StoreReadError, 500, text)
    }

    fn plain(reason: Reason, code: u16, text: impl Into<String>) -> Self {
        Self::new(Status::failure(reason, code, text))
    }

    fn on(reason: Reason, code: u16, text: String, resource: &ApiResource, name: &str) -> Self {
        let mut error = Self::plain(reason, code, text);
        error.0.details = Some(StatusDetails {
            name: some(name),
            group: some(&resource.group),
            kind: some(&resource.plural),
            ..StatusDetails::default()
        });
        error
    }

    fn after(mut self, seconds: u32) -> Self {
        self.0.details.get_or_insert_default().retry_after_seconds = Some(seconds);
        self
    }
}

fn some(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

impl fmt::Display for StatusError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0.message.as_deref(), self.0.reason.as_deref()) {
            (Some(message), _) if !message.is_empty() => f.write_str(message),
            (_, Some(reason)) if !reason.is_empty() => write!(f, "the server said {reason}"),
            _ => write!(f, "the server answered with code {} and no reason", self.code()),
        }
    }
}

impl fmt::Debug for StatusError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("StatusError").field(&self.0).finish()
    }
}

impl Error for StatusError {}

/// Something other than a Status where only a Status makes sense.
#[derive(Clone, PartialEq, Eq)]
pub struct UnexpectedObject {
    body: Box<[u8]>,
}

impl UnexpectedObject {
    /// What stood there.
    pub fn body(&self) -> &[u8] {
        &self.body
    }
}

impl fmt::Display for UnexpectedObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 256;
        let text = String::from_utf8_lossy(&self.body[..self.body.len().min(SHOWN)]);
        let more = if self.body.len() > SHOWN { "…" } else { "" };
        write!(f, "unexpected object: {text}{more}")
    }
}

impl fmt::Debug for UnexpectedObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UnexpectedObject({})", String::from_utf8_lossy(&self.body))
    }
}

impl Error for UnexpectedObject {}
