//! Bodies of requests: JSON, YAML or protobuf, into trees.

use apimachinery::{Patch, StatusError};
use serde_json::Value;

use crate::core::errors;
use crate::protobuf;

const OBJECTS: [&str; 3] = ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"];
const PATCHES: [&str; 4] = [
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
];

/// The media type, without its parameters.
fn media(content_type: Option<&str>) -> &str {
    content_type.and_then(|text| text.split(';').next()).unwrap_or_default().trim()
}

/// The body as an object; no media type is JSON.
pub(crate) fn object(content_type: Option<&str>, body: &[u8]) -> Result<Value, StatusError> {
    match media(content_type) {
        "" | "application/json" => json(body),
        "application/yaml" => yaml(body),
        "application/vnd.kubernetes.protobuf" => protobuf::decode(body)
            .map_err(|why| errors::bad_request(format!("the body is not protobuf: {why}"))),
        other => Err(errors::unsupported_media_type(other, &OBJECTS)),
    }
}

/// A body that need not be there.
pub(crate) fn optional(content_type: Option<&str>, body: &[u8]) -> Result<Option<Value>, StatusError> {
    if body.is_empty() { Ok(None) } else { object(content_type, body).map(Some) }
}

/// The body as a patch of the kind that its media type names.
pub(crate) fn patch(content_type: Option<&str>, body: &[u8]) -> Result<Patch, StatusError> {
    match media(content_type) {
        "application/json-patch+json" => json(body).map(Patch::Json),
        "application/merge-patch+json" => json(body).map(Patch::Merge),
        "application/strategic-merge-patch+json" => json(body).map(Patch::Strategic),
        "application/apply-patch+yaml" => yaml(body).map(Patch::Apply),
        other => Err(errors::unsupported_media_type(other, &PATCHES)),
    }
}

fn json(body: &[u8]) -> Result<Value, StatusError> {
    serde_json::from_slice(body)
        .map_err(|error| errors::bad_request(format!("the body is not JSON: {error}")))
}

/// YAML; JSON is YAML, and is read as what it is.
fn yaml(body: &[u8]) -> Result<Value, StatusError> {
    if body.trim_ascii_start().starts_with(b"{") {
        return json(body);
    }
    let text = std::str::from_utf8(body)
        .map_err(|error| errors::bad_request(format!("the body is not UTF-8: {error}")))?;
    serde_saphyr::from_str(text)
        .map_err(|error| errors::bad_request(format!("the body is not YAML: {error}")))
}
