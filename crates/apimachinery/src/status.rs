//! `Status` and `StatusError`: how the API server says no, and the predicates that stay true whoever says it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// `metav1.Status`, as it stands in a body.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Status {
    /// `Success` or `Failure`.
    pub status: Option<String>,
    /// For people.
    pub message: Option<String>,
    /// One word for programs; see [`Reason`].
    pub reason: Option<String>,
    /// The HTTP code.
    pub code: Option<u16>,
    /// What the answer is about.
    pub details: Option<StatusDetails>,
}

/// `metav1.StatusDetails`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StatusDetails {
    /// The object's name.
    pub name: Option<String>,
    /// The group.
    pub group: Option<String>,
    /// The kind; in generic answers the resource.
    pub kind: Option<String>,
    /// The object's uid.
    pub uid: Option<String>,
    /// Each thing that was wrong.
    #[serde(deserialize_with = "null_as_empty")]
    pub causes: Vec<StatusCause>,
    /// Not before this many seconds.
    pub retry_after_seconds: Option<u32>,
}

/// `metav1.StatusCause`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StatusCause {
    /// One word: `FieldValueInvalid`.
    pub reason: Option<String>,
    /// For people.
    pub message: Option<String>,
    /// The path of the field.
    pub field: Option<String>,
}

fn null_as_empty<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<StatusCause>, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// The reasons that this library knows. A newer server may send others: they are [`Reason::Unknown`] here, and the text
/// stays readable in [`Status::reason`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the API's own words")]
pub enum Reason {
    Unknown,
    Unauthorized,
    Forbidden,
    NotFound,
    AlreadyExists,
    Conflict,
    Gone,
    Invalid,
    ServerTimeout,
    StoreReadError,
    Timeout,
    TooManyRequests,
    BadRequest,
    MethodNotAllowed,
    NotAcceptable,
    RequestEntityTooLarge,
    UnsupportedMediaType,
    InternalError,
    Expired,
    ServiceUnavailable,
}

/// The server's refusal. Text for people is the server's own message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusError(Box<Status>);

impl StatusError {
    /// The refusal that `status` tells of.
    pub fn new(status: Status) -> Self {
        Self(Box::new(status))
    }

    /// The body as the server sent it.
    pub fn status(&self) -> &Status {
        &self.0
    }

    /// The HTTP code; 0 if the server gave none.
    pub fn code(&self) -> u16 {
        self.0.code.unwrap_or(0)
    }
}

impl fmt::Display for StatusError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.message.as_deref().unwrap_or("the server gave no reason"))
    }
}
impl std::error::Error for StatusError {}
