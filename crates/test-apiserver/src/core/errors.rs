//! Refusals, in the words of a kube-apiserver.

use apimachinery::{Status, StatusCause, StatusDetails, StatusError};

use super::ResourceInfo;

/// A refusal with a reason, a code, a message and what it is about.
pub fn status(code: u16, reason: &str, message: String, details: Option<StatusDetails>) -> StatusError {
    StatusError::new(Status {
        status: Some("Failure".to_owned()),
        message: Some(message),
        reason: Some(reason.to_owned()),
        code: Some(code),
        details,
    })
}

pub(crate) fn about(resource: &ResourceInfo, name: &str) -> StatusDetails {
    StatusDetails {
        name: some(name),
        group: some(&resource.group),
        kind: Some(resource.plural.clone()),
        ..StatusDetails::default()
    }
}

fn some(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

/// 404 for a path that nothing is served at.
pub fn no_such_path() -> StatusError {
    status(
        404,
        "NotFound",
        "the server could not find the requested resource".to_owned(),
        Some(StatusDetails::default()),
    )
}

/// 404: `deployments.apps "x" not found`.
pub fn not_found(resource: &ResourceInfo, name: &str) -> StatusError {
    let message = format!("{} {name:?} not found", resource.group_resource());
    status(404, "NotFound", message, Some(about(resource, name)))
}

/// 409: `pods "x" already exists`.
pub fn already_exists(resource: &ResourceInfo, name: &str) -> StatusError {
    let message = format!("{} {name:?} already exists", resource.group_resource());
    status(409, "AlreadyExists", message, Some(about(resource, name)))
}

/// 409: `Operation cannot be fulfilled on …`.
pub fn conflict(resource: &ResourceInfo, name: &str, why: &str) -> StatusError {
    let message = format!("Operation cannot be fulfilled on {} {name:?}: {why}", resource.group_resource());
    status(409, "Conflict", message, Some(about(resource, name)))
}

/// 409: the object changed since it was read.
pub fn modified(resource: &ResourceInfo, name: &str) -> StatusError {
    conflict(
        resource,
        name,
        "the object has been modified; please apply your changes to the latest version and try again",
    )
}

/// 403: `pods "x" is forbidden: …`.
pub fn forbidden(resource: &ResourceInfo, name: &str, why: &str, causes: Vec<StatusCause>) -> StatusError {
    let message = if name.is_empty() {
        format!("{} is forbidden: {why}", resource.group_resource())
    } else {
        format!("{} {name:?} is forbidden: {why}", resource.group_resource())
    };
    status(403, "Forbidden", message, Some(StatusDetails { causes, ..about(resource, name) }))
}

/// 400.
pub fn bad_request(message: impl Into<String>) -> StatusError {
    status(400, "BadRequest", message.into(), None)
}

/// 405.
pub fn method_not_allowed(resource: &ResourceInfo, action: &str) -> StatusError {
    let message = format!("{action} is not supported on resources of kind {:?}", resource.group_resource());
    let details = StatusDetails { name: None, ..about(resource, "") };
    status(405, "MethodNotAllowed", message, Some(details))
}

/// 415: the body is of a kind that this resource does not take.
pub fn unsupported_media_type(given: &str, accepted: &[&str]) -> StatusError {
    let message = format!(
        "the body of the request was in an unknown format - accepted media types include: {}",
        accepted.join(", ")
    );
    let _ = given;
    status(415, "UnsupportedMediaType", message, None)
}

/// 410: a version that the server no longer knows.
pub fn expired(message: impl Into<String>) -> StatusError {
    status(410, "Expired", message.into(), None)
}

/// 410 for a watch from a version that is gone.
pub fn too_old(asked: u64, oldest: u64) -> StatusError {
    expired(format!("too old resource version: {asked} ({oldest})"))
}

/// 504 for a version that the server has not reached.
pub fn too_large(asked: u64, current: u64) -> StatusError {
    let message = format!("Timeout: Too large resource version: {asked}, current: {current}");
    let details = StatusDetails {
        causes: vec![StatusCause {
            reason: Some("ResourceVersionTooLarge".to_owned()),
            message: Some("Too large resource version".to_owned()),
            field: None,
        }],
        retry_after_seconds: Some(1),
        ..StatusDetails::default()
    };
    status(504, "Timeout", message, Some(details))
}

/// 500.
pub fn internal(message: &str) -> StatusError {
    let details = StatusDetails {
        causes: vec![StatusCause { message: Some(message.to_owned()), ..StatusCause::default() }],
        ..StatusDetails::default()
    };
    status(500, "InternalError", format!("Internal error occurred: {message}"), Some(details))
}

/// One thing that is wrong with an object. Its texts follow Kubernetes' `field.Error`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldError {
    reason: &'static str,
    field: String,
    message: String,
}

impl FieldError {
    /// A value that may not stand there.
    pub fn invalid(field: impl Into<String>, value: &serde_json::Value, why: &str) -> Self {
        let message = format!("Invalid value: {value}: {why}");
        Self { reason: "FieldValueInvalid", field: field.into(), message }
    }

    /// A value of the wrong type, in the words of the schema check.
    pub fn type_invalid(field: impl Into<String>, value: &str, why: &str) -> Self {
        let message = format!("Invalid value: {value:?}: {why}");
        Self { reason: "FieldValueTypeInvalid", field: field.into(), message }
    }

    /// A value that must be there.
    pub fn required(field: impl Into<String>, why: &str) -> Self {
        let message =
            if why.is_empty() { "Required value".to_owned() } else { format!("Required value: {why}") };
        Self { reason: "FieldValueRequired", field: field.into(), message }
    }

    /// A value that is not to be given here.
    pub fn forbidden(field: impl Into<String>, why: &str) -> Self {
        Self { reason: "FieldValueForbidden", field: field.into(), message: format!("Forbidden: {why}") }
    }

    /// A value that is none of those allowed.
    pub fn not_supported(field: impl Into<String>, value: &str, allowed: &[&str]) -> Self {
        let allowed: Vec<_> = allowed.iter().map(|word| format!("{word:?}")).collect();
        let message = format!("Unsupported value: {value:?}: supported values: {}", allowed.join(", "));
        Self { reason: "FieldValueNotSupported", field: field.into(), message }
    }
}

/// 422: `Pod "x" is invalid: …`; `kind` is `Pod` or `Deployment.apps`.
pub fn invalid_kind(group: &str, kind: &str, name: &str, errors: &[FieldError]) -> StatusError {
    let qualified = if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") };
    let texts: Vec<_> = errors.iter().map(|error| format!("{}: {}", error.field, error.message)).collect();
    let message = match texts.as_slice() {
        [] => format!("{qualified} {name:?} is invalid"),
        [one] => format!("{qualified} {name:?} is invalid: {one}"),
        many => format!("{qualified} {name:?} is invalid: [{}]", many.join(", ")),
    };
    let causes = errors
        .iter()
        .map(|error| StatusCause {
            reason: Some(error.reason.to_owned()),
            message: Some(error.message.clone()),
            field: Some(error.field.clone()),
        })
        .collect();
    let details = StatusDetails {
        name: some(name),
        group: some(group),
        kind: Some(kind.to_owned()),
        causes,
        ..StatusDetails::default()
    };
    status(422, "Invalid", message, Some(details))
}

/// 422 for an object of `resource`.
pub fn invalid(resource: &ResourceInfo, name: &str, errors: &[FieldError]) -> StatusError {
    invalid_kind(&resource.group, &resource.kind, name, errors)
}
