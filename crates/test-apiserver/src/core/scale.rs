//! The scale subresource: one number of an object, read and written apart.

use std::sync::Arc;

use apimachinery::StatusError;
use serde_json::{Map, Value, json};

use super::Core;
use super::errors::{self, FieldError};
use super::registry::{ResourceInfo, ScalePaths};
use super::stored::Stored;
use super::write::{Writer, Written, text};

/// `autoscaling/v1` Scale of an object.
pub(crate) fn scale_of(resource: &ResourceInfo, object: &Value) -> Result<Value, StatusError> {
    let paths = paths(resource)?;
    let meta = &object["metadata"];
    let mut metadata = Map::new();
    for field in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if let Some(value) = meta.get(field) {
            metadata.insert(field.to_owned(), value.clone());
        }
    }
    let replicas = at(object, &paths.spec_replicas).and_then(Value::as_i64).unwrap_or(0);
    let current = at(object, &paths.status_replicas).and_then(Value::as_i64).unwrap_or(0);
    let mut status = json!({"replicas": current});
    let selector = match &paths.selector {
        Some(path) => at(object, path).and_then(Value::as_str).map(str::to_owned),
        None => printed_selector(&object["spec"]["selector"]),
    };
    if let Some(selector) = selector.filter(|text| !text.is_empty()) {
        status["selector"] = Value::String(selector);
    }
    Ok(json!({
        "kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata,
        "spec": {"replicas": replicas}, "status": status,
    }))
}

fn paths(resource: &ResourceInfo) -> Result<&ScalePaths, StatusError> {
    resource.scale.as_ref().ok_or_else(errors::no_such_path)
}

fn at<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    path.trim_start_matches('.').split('.').try_fold(object, |at, word| at.get(word))
}

/// Sets what stands at a path; false if something on the way is not an object.
fn set(object: &mut Value, path: &str, value: Value) -> bool {
    let mut at = object;
    for word in path.trim_start_matches('.').split('.') {
        if at.is_null() {
            *at = json!({});
        }
        let Some(map) = at.as_object_mut() else { return false };
        at = map.entry(word).or_insert(Value::Null);
    }
    *at = value;
    true
}

/// A label selector as the text that a query takes; a replication controller has a plain map.
fn printed_selector(selector: &Value) -> Option<String> {
    let labels = selector
        .get("matchLabels")
        .or_else(|| selector.get("matchExpressions").is_none().then_some(selector))?;
    let labels = labels.as_object()?.iter();
    let mut terms: Vec<_> =
        labels.filter_map(|(key, value)| Some(format!("{key}={}", value.as_str()?))).collect();
    for rule in selector["matchExpressions"].as_array().into_iter().flatten() {
        let key = rule["key"].as_str()?;
        let values: Vec<_> =
            rule["values"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        terms.push(match rule["operator"].as_str()? {
            "In" => format!("{key} in ({})", values.join(",")),
            "NotIn" => format!("{key} notin ({})", values.join(",")),
            "Exists" => key.to_owned(),
            _ => format!("!{key}"),
        });
    }
    Some(terms.join(","))
}

impl Core {
    /// Writes the number that `scale` wants into the object; gives the new scale.
    pub(crate) fn write_scale(
        &mut self,
        resource: &ResourceInfo,
        old: &Arc<Stored>,
        scale: &Value,
        writer: Writer<'_>,
    ) -> Result<Written, StatusError> {
        let paths = paths(resource)?;
        let given = text(scale, "resourceVersion");
        if !given.is_empty() && given != old.resource_version().to_string() {
            return Err(errors::modified(resource, old.name()));
        }
        if !matches!(text(scale, "name"), "") && text(scale, "name") != old.name() {
            return Err(errors::bad_request(format!(
                "the name of the object ({}) does not match the name on the URL ({})",
                text(scale, "name"),
                old.name()
            )));
        }
        let replicas = &scale["spec"]["replicas"];
        let replicas = match replicas.as_i64() {
            Some(replicas) => replicas,
            None if replicas.is_null() => 0,
            None => return Err(errors::bad_request("Scale.spec.replicas must be a number")),
        };
        if replicas < 0 {
            let why = "must be greater than or equal to 0";
            let error = FieldError::invalid("spec.replicas", &json!(replicas), why);
            return Err(errors::invalid_kind("autoscaling", "Scale", old.name(), &[error]));
        }
        let mut object = Self::served(resource, old).value();
        if !set(&mut object, &paths.spec_replicas, json!(replicas)) {
            return Err(errors::internal("the replicas of the object cannot be set"));
        }
        let object = self.replace(resource, None, old, object, writer)?;
        let scale = scale_of(resource, &object.value())?;
        Ok(Written { object: Arc::new(Stored::new(resource, &scale)), created: false })
    }
}
