//! `Status`: the body by which the API server says no (or, after a delete, yes).

use serde::ser::SerializeStruct;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Reason;

/// `metav1.Status`, as it stands in a body.
///
/// Reading is lenient: what is null or missing is `None`, unknown fields are skipped, and a code or a delay outside of
/// its range is `None` rather than an error, so that a refusal is never lost over a detail of itself. Writing adds
/// `apiVersion` and `kind`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Status {
    /// `Success` or `Failure`.
    pub status: Option<String>,
    /// For people.
    pub message: Option<String>,
    /// One word for programs; see [`Reason`].
    pub reason: Option<String>,
    /// The HTTP code.
    #[serde(deserialize_with = "in_range")]
    pub code: Option<u16>,
    /// What the answer is about.
    pub details: Option<StatusDetails>,
}

impl Status {
    /// A failure of a known reason.
    pub fn failure(reason: Reason, code: u16, message: impl Into<String>) -> Self {
        Self {
            status: Some("Failure".to_owned()),
            message: Some(message.into()),
            reason: (reason != Reason::Unknown).then(|| reason.as_str().to_owned()),
            code: Some(code),
            details: None,
        }
    }

    /// The reason, as far as it is known here.
    pub fn known_reason(&self) -> Reason {
        self.reason.as_deref().map_or(Reason::Unknown, Reason::parse)
    }

    /// Reads the body of an answer whose HTTP code is an error: a Status of kind `Status` that tells of a failure.
    /// Anything else is `None`: then the answer came from something that is not an API server, or says nothing.
    pub fn from_error_body(body: &[u8]) -> Option<Self> {
        let typed: Typed = serde_json::from_slice(body).ok()?;
        let version = typed.api_version.as_deref().unwrap_or_default();
        let is_failure = typed.status.status.as_deref() == Some("Failure");
        (typed.kind.as_deref() == Some("Status") && is_status_version(version, true) && is_failure)
            .then_some(typed.status)
    }

    /// Reads a Status that stands where an object is expected: the object of an ERROR frame. Its kind must be `Status`
    /// and its apiVersion `v1` or `meta.k8s.io/v1`; whether it tells of a failure is not asked.
    pub fn from_object(body: &[u8]) -> Option<Self> {
        let typed: Typed = serde_json::from_slice(body).ok()?;
        let version = typed.api_version.as_deref().unwrap_or_default();
        (typed.kind.as_deref() == Some("Status") && is_status_version(version, false)).then_some(typed.status)
    }
}

fn is_status_version(api_version: &str, may_be_missing: bool) -> bool {
    matches!(api_version, "v1" | "meta.k8s.io/v1") || (may_be_missing && api_version.is_empty())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Typed {
    #[serde(default)]
    api_version: Option<String>,
    #[serde(default)]
    kind: Option<String>,
    #[serde(flatten)]
    status: Status,
}

impl Serialize for Status {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("Status", 7)?;
        out.serialize_field("kind", "Status")?;
        out.serialize_field("apiVersion", "v1")?;
        for (name, text) in [("status", &self.status), ("message", &self.message), ("reason", &self.reason)] {
            match text {
                Some(text) => out.serialize_field(name, text)?,
                None => out.skip_field(name)?,
            }
        }
        match &self.details {
            Some(details) => out.serialize_field("details", details)?,
            None => out.skip_field("details")?,
        }
        match self.code {
            Some(code) => out.serialize_field("code", &code)?,
            None => out.skip_field("code")?,
        }
        out.end()
    }
}

/// `metav1.StatusDetails`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StatusDetails {
    /// The object's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The kind; in generic answers the resource.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The object's uid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// Each thing that was wrong.
    #[serde(deserialize_with = "nulls_as_defaults", skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<StatusCause>,
    /// Not before this many seconds.
    #[serde(deserialize_with = "in_range", skip_serializing_if = "Option::is_none")]
    pub retry_after_seconds: Option<u32>,
}

/// `metav1.StatusCause`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StatusCause {
    /// One word: `FieldValueInvalid`; see [`cause`](crate::cause).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// For people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The path of the field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
}

fn nulls_as_defaults<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    let items: Option<Vec<Option<T>>> = Option::deserialize(deserializer)?;
    Ok(items.unwrap_or_default().into_iter().map(Option::unwrap_or_default).collect())
}

/// A number, or `None` where it is null or does not fit.
fn in_range<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: TryFrom<i64>,
{
    let number: Option<serde_json::Number> = Option::deserialize(deserializer)?;
    Ok(number.and_then(|number| number.as_i64()).and_then(|number| T::try_from(number).ok()))
}
