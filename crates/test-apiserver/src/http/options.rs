//! Options of requests: from the query by their wire names, and from the body of a delete.

use apimachinery::{
    CreateOptions, DeleteOptions, FieldValidation, GetOptions, ListOptions, PatchOptions, Preconditions,
    PropagationPolicy, ResourceVersionMatch, StatusError,
};
use serde_json::Value;

use crate::core::errors;
use crate::http::request::Query;

/// Of a list or a watch.
pub(crate) fn list(query: &Query) -> Result<ListOptions, StatusError> {
    let mut options = ListOptions::default();
    let owned = |name: &str| query.text(name).map(str::to_owned);
    options.label_selector = owned("labelSelector");
    options.field_selector = owned("fieldSelector");
    options.continue_token = owned("continue");
    options.resource_version = query.text("resourceVersion").unwrap_or_default().into();
    options.resource_version_match = match query.text("resourceVersionMatch") {
        None => None,
        Some("Exact") => Some(ResourceVersionMatch::Exact),
        Some("NotOlderThan") => Some(ResourceVersionMatch::NotOlderThan),
        Some(other) => {
            let error = errors::FieldError::not_supported(
                "resourceVersionMatch",
                other,
                &["Exact", "NotOlderThan", ""],
            );
            return Err(errors::invalid_kind("meta.k8s.io", "ListOptions", "", &[error]));
        }
    };
    options.limit = small(query, "limit")?.unwrap_or(0);
    options.timeout_seconds = small(query, "timeoutSeconds")?;
    options.allow_watch_bookmarks = query.flag("allowWatchBookmarks").unwrap_or(false);
    options.send_initial_events = query.flag("sendInitialEvents");
    Ok(options)
}

/// A number that may not be negative; too large a one is the largest.
fn small(query: &Query, name: &str) -> Result<Option<u32>, StatusError> {
    let number = query.number(name).map_err(errors::bad_request)?;
    number
        .map(|number| match u32::try_from(number) {
            Ok(number) => Ok(number),
            Err(_) if number < 0 => Err(errors::bad_request(format!("{name} must not be negative"))),
            Err(_) => Ok(u32::MAX),
        })
        .transpose()
}

pub(crate) fn get(query: &Query) -> GetOptions {
    let mut options = GetOptions::default();
    options.resource_version = query.text("resourceVersion").unwrap_or_default().into();
    options
}

/// Of a create or an update.
pub(crate) fn create(query: &Query) -> Result<CreateOptions, StatusError> {
    let mut options = CreateOptions::default();
    options.dry_run = dry_run(query)?;
    options.field_manager = query.text("fieldManager").map(str::to_owned);
    options.field_validation = field_validation(query)?;
    Ok(options)
}

pub(crate) fn patch(query: &Query) -> Result<PatchOptions, StatusError> {
    let mut options = PatchOptions::default();
    options.dry_run = dry_run(query)?;
    options.force = query.flag("force").unwrap_or(false);
    options.field_manager = query.text("fieldManager").map(str::to_owned);
    options.field_validation = field_validation(query)?;
    Ok(options)
}

fn dry_run(query: &Query) -> Result<bool, StatusError> {
    let mut is_dry = false;
    for value in query.all("dryRun") {
        match value {
            "" => {}
            "All" => is_dry = true,
            other => {
                return Err(errors::bad_request(format!(
                    "dryRun: Unsupported value: {other:?}: supported values: \"All\""
                )));
            }
        }
    }
    Ok(is_dry)
}

fn field_validation(query: &Query) -> Result<Option<FieldValidation>, StatusError> {
    match query.text("fieldValidation") {
        None => Ok(None),
        Some("Ignore") => Ok(Some(FieldValidation::Ignore)),
        Some("Warn") => Ok(Some(FieldValidation::Warn)),
        Some("Strict") => Ok(Some(FieldValidation::Strict)),
        Some(other) => Err(errors::bad_request(format!("fieldValidation: Unsupported value: {other:?}"))),
    }
}

/// Of a delete: the body, and what the query says where the body is silent.
pub(crate) fn delete(query: &Query, body: Option<&Value>) -> Result<DeleteOptions, StatusError> {
    let mut options = DeleteOptions::default();
    let body = body.unwrap_or(&Value::Null);
    let in_query = query.number("gracePeriodSeconds").map_err(errors::bad_request)?;
    options.grace_period_seconds = match &body["gracePeriodSeconds"] {
        Value::Null => in_query,
        value => {
            Some(value.as_i64().ok_or_else(|| errors::bad_request("gracePeriodSeconds must be a number"))?)
        }
    };
    options.propagation_policy = match body["propagationPolicy"].as_str().or(query.text("propagationPolicy"))
    {
        None => match body["orphanDependents"].as_bool().or(query.flag("orphanDependents")) {
            Some(true) => Some(PropagationPolicy::Orphan),
            Some(false) => Some(PropagationPolicy::Background),
            None => None,
        },
        Some("Orphan") => Some(PropagationPolicy::Orphan),
        Some("Background") => Some(PropagationPolicy::Background),
        Some("Foreground") => Some(PropagationPolicy::Foreground),
        Some(other) => {
            let known = ["Foreground", "Background", "Orphan", "nil"];
            let error = errors::FieldError::not_supported("propagationPolicy", other, &known);
            return Err(errors::invalid_kind("meta.k8s.io", "DeleteOptions", "", &[error]));
        }
    };
    let text = |field: &str| body["preconditions"][field].as_str().map(str::to_owned);
    if body["preconditions"].is_object() {
        options.preconditions =
            Some(Preconditions { uid: text("uid"), resource_version: text("resourceVersion") });
    }
    let in_body = body["dryRun"].as_array().is_some_and(|values| values.iter().any(|value| value == "All"));
    options.dry_run = in_body || dry_run(query)?;
    Ok(options)
}
