//! Structural schemas: what a custom resource loses, what it is given, and what is wrong with it.

use serde_json::{Map, Value};

use super::errors::FieldError;

const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";

/// Drops what the schema does not know; `dropped` takes the paths.
pub(crate) fn prune(object: &mut Value, schema: &Value, dropped: &mut Vec<String>) {
    prune_at(object, schema, "", true, dropped);
}

fn prune_at(value: &mut Value, schema: &Value, path: &str, is_object_root: bool, dropped: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            let properties = schema["properties"].as_object();
            let additional = &schema["additionalProperties"];
            let keeps = schema[PRESERVE] == true || *additional == true;
            let mut kept = Map::new();
            for (field, mut value) in std::mem::take(map) {
                let path = child(path, &field);
                if is_object_root && matches!(field.as_str(), "apiVersion" | "kind" | "metadata") {
                    kept.insert(field, value);
                } else if let Some(schema) = properties.and_then(|known| known.get(&field)) {
                    let is_root = schema["x-kubernetes-embedded-resource"] == true;
                    prune_at(&mut value, schema, &path, is_root, dropped);
                    kept.insert(field, value);
                } else if additional.is_object() {
                    prune_at(&mut value, additional, &path, false, dropped);
                    kept.insert(field, value);
                } else if keeps {
                    kept.insert(field, value);
                } else {
                    dropped.push(path);
                }
            }
            *map = kept;
        }
        Value::Array(items) => {
            let schema = &schema["items"];
            if schema.is_object() {
                let is_root = schema["x-kubernetes-embedded-resource"] == true;
                for (index, item) in items.iter_mut().enumerate() {
                    prune_at(item, schema, &format!("{path}[{index}]"), is_root, dropped);
                }
            }
        }
        _ => {}
    }
}

/// Fills in the defaults of the schema, also inside of defaults.
pub(crate) fn default(value: &mut Value, schema: &Value) {
    match value {
        Value::Object(map) => {
            for (field, schema) in schema["properties"].as_object().into_iter().flatten() {
                let given = map.get(field);
                // A null where none may stand counts as not given.
                let is_missing = given.is_none_or(|given| given.is_null() && schema["nullable"] != true);
                if is_missing && let Some(default) = schema.get("default") {
                    map.insert(field.clone(), default.clone());
                }
            }
            for (field, value) in map.iter_mut() {
                let properties = schema["properties"].get(field);
                if let Some(schema) = properties.or_else(|| schema.get("additionalProperties")) {
                    default(value, schema);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| default(item, &schema["items"])),
        _ => {}
    }
}

/// What is wrong with an object, in the words of the server's schema check.
pub(crate) fn check(object: &Value, schema: &Value, found: &mut Vec<FieldError>) {
    check_at(object, schema, "", found);
}

fn check_at(value: &Value, schema: &Value, path: &str, found: &mut Vec<FieldError>) {
    if value.is_null() && schema["nullable"] == true {
        return;
    }
    let wanted = schema["type"].as_str().unwrap_or_default();
    let is_right = match wanted {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|n| n.fract() == 0.0),
        "number" => value.is_number(),
        _ if schema["x-kubernetes-int-or-string"] == true => value.is_i64() || value.is_string(),
        _ => true,
    };
    if !is_right {
        let why = format!("{path} in body must be of type {wanted}: {:?}", type_of(value));
        found.push(FieldError::type_invalid(path, type_of(value), &why));
        return;
    }
    if let Some(allowed) = schema["enum"].as_array().filter(|allowed| !allowed.contains(value)) {
        let words: Vec<_> = allowed.iter().map(printed).collect();
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        found.push(FieldError::not_supported(path, &printed(value), &words));
    }
    let mut bad =
        |why: String| found.push(FieldError::invalid(path, value, &format!("{path} in body {why}")));
    if let Some(number) = value.as_f64() {
        if let Some(least) = schema["minimum"].as_f64().filter(|least| number < *least) {
            bad(format!("should be greater than or equal to {least}"));
        }
        if let Some(most) = schema["maximum"].as_f64().filter(|most| number > *most) {
            bad(format!("should be less than or equal to {most}"));
        }
    }
    if let Some(text) = value.as_str() {
        let length = text.chars().count() as u64;
        if let Some(least) = schema["minLength"].as_u64().filter(|least| length < *least) {
            bad(format!("should be at least {least} chars long"));
        }
        if let Some(most) = schema["maxLength"].as_u64().filter(|most| length > *most) {
            bad(format!("should be at most {most} chars long"));
        }
    }
    if let Some(items) = value.as_array() {
        let length = items.len() as u64;
        if let Some(least) = schema["minItems"].as_u64().filter(|least| length < *least) {
            bad(format!("should have at least {least} items"));
        }
        if let Some(most) = schema["maxItems"].as_u64().filter(|most| length > *most) {
            bad(format!("should have at most {most} items"));
        }
        for (index, item) in items.iter().enumerate() {
            check_at(item, &schema["items"], &format!("{path}[{index}]"), found);
        }
    }
    if let Some(map) = value.as_object() {
        for field in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if !map.contains_key(field) {
                found.push(FieldError::required(child(path, field), ""));
            }
        }
        for (field, value) in map {
            let known = schema["properties"].get(field);
            if let Some(schema) = known.or_else(|| schema.get("additionalProperties")) {
                check_at(value, schema, &child(path, field), found);
            }
        }
    }
}

fn child(path: &str, field: &str) -> String {
    if path.is_empty() { field.to_owned() } else { format!("{path}.{field}") }
}

fn printed(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
