//! Refusals as bodies.

use apimachinery::{Status, StatusError};
use serde_json::{Value, json};

/// A `metav1.Status` as it stands in a body.
pub(crate) fn body(refusal: &StatusError) -> Value {
    let status = refusal.status();
    let mut value = json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": status.status.as_deref().unwrap_or("Failure"),
        "message": status.message.as_deref().unwrap_or_default(),
        "reason": status.reason,
        "details": status.details,
        "code": status.code.unwrap_or(500),
    });
    prune(&mut value);
    value
}

/// A refusal with nothing but a code, a reason and a message.
pub(crate) fn refusal(code: u16, reason: &str, message: impl Into<String>) -> StatusError {
    StatusError::new(Status {
        status: Some("Failure".to_owned()),
        message: Some(message.into()),
        reason: Some(reason.to_owned()),
        code: Some(code),
        details: None,
    })
}

/// What Go would leave out: nulls, and empty lists.
fn prune(value: &mut Value) {
    if let Value::Object(fields) = value {
        fields.retain(|_, value| !(value.is_null() || value.as_array().is_some_and(Vec::is_empty)));
        fields.values_mut().for_each(prune);
    }
    if let Value::Array(items) = value {
        items.iter_mut().for_each(prune);
    }
}
