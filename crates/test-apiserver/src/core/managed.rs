//! Field ownership: who set which field last, kept in `metadata.managedFields` as the API prints it.
//!
//! A field is named by the steps that lead to it, in the words of `FieldsV1`: `f:spec`, `k:{"name":"web"}`, `v:"a"`. Only
//! leaves are owned, and items of keyed lists as such.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::lists::{ListKind, Place};
use super::registry::ResourceInfo;
use super::write::{metadata, stamp};

/// The steps to a field.
pub(crate) type Path = Vec<String>;

/// Fields, in order.
pub(crate) type Fields = BTreeSet<Path>;

/// One entry of `metadata.managedFields`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) manager: String,
    pub(crate) operation: String,
    pub(crate) subresource: String,
    pub(crate) api_version: String,
    pub(crate) time: String,
    pub(crate) fields: Fields,
}

impl Entry {
    pub(crate) fn is_of(&self, manager: &str, operation: &str, subresource: &str) -> bool {
        self.manager == manager && self.operation == operation && self.subresource == subresource
    }
}

/// The entries that an object carries. What cannot be read is dropped: then nobody owns it.
pub(crate) fn entries(object: &Value) -> Vec<Entry> {
    let list = object["metadata"]["managedFields"].as_array().into_iter().flatten();
    list.map(|entry| {
        let text = |field: &str| entry[field].as_str().unwrap_or_default().to_owned();
        let mut fields = Fields::new();
        read_fields(&entry["fieldsV1"], &mut Vec::new(), &mut fields);
        Entry {
            manager: text("manager"),
            operation: text("operation"),
            subresource: text("subresource"),
            api_version: text("apiVersion"),
            time: text("time"),
            fields,
        }
    })
    .collect()
}

/// Writes the entries into the object.
pub(crate) fn set_entries(object: &mut Value, mut entries: Vec<Entry>) {
    entries.retain(|entry| !entry.fields.is_empty());
    // Appliers come first, then the oldest.
    entries.sort_by(|a, b| {
        let order = |entry: &Entry| (entry.operation != "Apply", entry.time.clone(), entry.manager.clone());
        order(a).cmp(&order(b))
    });
    if entries.is_empty() {
        metadata(object).remove("managedFields");
        return;
    }
    object["metadata"]["managedFields"] = entries
        .iter()
        .map(|entry| {
            let mut json = json!({
                "manager": entry.manager, "operation": entry.operation, "apiVersion": entry.api_version,
                "time": entry.time, "fieldsType": "FieldsV1", "fieldsV1": print_fields(&entry.fields),
            });
            if !entry.subresource.is_empty() {
                json["subresource"] = Value::String(entry.subresource.clone());
            }
            json
        })
        .collect();
}

fn read_fields(value: &Value, path: &mut Path, fields: &mut Fields) {
    let Some(map) = value.as_object() else { return };
    if map.is_empty() && !path.is_empty() {
        fields.insert(path.clone());
    }
    for (step, inner) in map {
        if step == "." {
            fields.insert(path.clone());
        } else {
            path.push(step.clone());
            read_fields(inner, path, fields);
            path.pop();
        }
    }
}

fn print_fields(fields: &Fields) -> Value {
    let mut root = Map::new();
    for path in fields {
        let inside = fields.range(path.clone()..).nth(1).is_some_and(|next| next.starts_with(path));
        // A field that is owned itself and also in part says so with a dot.
        if let Some(map) = walk(&mut root, path).filter(|_| inside) {
            map.insert(".".to_owned(), json!({}));
        }
    }
    Value::Object(root)
}

/// Where a path leads, made on the way.
fn walk<'a>(at: &'a mut Map<String, Value>, path: &[String]) -> Option<&'a mut Map<String, Value>> {
    match path {
        [] => Some(at),
        [step, rest @ ..] => walk(at.entry(step.clone()).or_insert_with(|| json!({})).as_object_mut()?, rest),
    }
}

/// Metadata that is the server's own.
const SYSTEM: [&str; 10] = [
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "managedFields",
    "selfLink",
];

/// Every field of an object that somebody can own, and its value.
pub(crate) fn leaves<'a>(resource: &'a ResourceInfo, object: &'a Value) -> BTreeMap<Path, &'a Value> {
    let mut found = BTreeMap::new();
    for (field, value) in object.as_object().into_iter().flatten() {
        if matches!(field.as_str(), "apiVersion" | "kind") {
            continue;
        }
        let mut path = vec![format!("f:{field}")];
        if field != "metadata" {
            collect(Place::root(resource).field(field), value, &mut path, &mut found);
            continue;
        }
        for (field, value) in value.as_object().into_iter().flatten() {
            if !SYSTEM.contains(&field.as_str()) {
                path.push(format!("f:{field}"));
                collect(Place::root(resource).field("metadata").field(field), value, &mut path, &mut found);
                path.pop();
            }
        }
    }
    found
}

fn collect<'a>(place: Place<'a>, value: &'a Value, path: &mut Path, found: &mut BTreeMap<Path, &'a Value>) {
    match value {
        Value::Object(map) if !map.is_empty() && !place.is_atomic_map() => {
            for (field, value) in map {
                path.push(format!("f:{field}"));
                collect(place.field(field), value, path, found);
                path.pop();
            }
        }
        Value::Array(items) if !items.is_empty() => match place.list() {
            ListKind::Atomic => {
                found.insert(path.clone(), value);
            }
            ListKind::Set => {
                for item in items {
                    path.push(format!("v:{item}"));
                    found.insert(path.clone(), item);
                    path.pop();
                }
            }
            ListKind::Map(keys) => {
                for item in items {
                    path.push(item_step(item, &keys));
                    found.insert(path.clone(), &Value::Null);
                    for (field, value) in item.as_object().into_iter().flatten() {
                        path.push(format!("f:{field}"));
                        collect(place.item().field(field), value, path, found);
                        path.pop();
                    }
                    path.pop();
                }
            }
        },
        _ => {
            found.insert(path.clone(), value);
        }
    }
}

/// `k:{"name":"web"}`: an item by its keys.
pub(crate) fn item_step(item: &Value, keys: &[String]) -> String {
    let mut named = Map::new();
    for key in keys {
        match item.get(key) {
            Some(value) => {
                named.insert(key.clone(), value.clone());
            }
            // The default of the one key that is often left out.
            None if key == "protocol" => {
                named.insert(key.clone(), json!("TCP"));
            }
            None => {}
        }
    }
    format!("k:{}", Value::Object(named))
}

/// An ordinary write: what changed belongs to the writer, what is gone to nobody.
pub(crate) fn record_update(
    resource: &ResourceInfo,
    before: Option<&Value>,
    object: &mut Value,
    manager: &str,
    subresource: &str,
    now: Timestamp,
) {
    let mut list = match before {
        // The caller's own list is taken if it gives one: clearing it is how ownership is given up.
        Some(before) if object["metadata"]["managedFields"].is_null() => entries(before),
        _ => entries(object),
    };
    let empty = json!({});
    let past = leaves(resource, before.unwrap_or(&empty));
    let present = leaves(resource, object);
    // A write of the object does not own its status, which was put there or kept by the server.
    let is_written = |path: &Path| {
        let is_status = path.first().is_some_and(|step| step == "f:status");
        !(is_status && subresource.is_empty() && resource.has("status"))
    };
    let changed = present.iter().filter(|(path, value)| is_written(path) && past.get(*path) != Some(value));
    let changed: Fields = changed.map(|(path, _)| path.clone()).collect();
    for entry in &mut list {
        let is_writer = entry.is_of(manager, "Update", subresource);
        entry.fields.retain(|path| present.contains_key(path) && (is_writer || !changed.contains(path)));
    }
    if !changed.is_empty() {
        let api_version = resource.api_version();
        let at = list.iter().position(|entry| entry.is_of(manager, "Update", subresource));
        let at = at.unwrap_or_else(|| {
            list.push(Entry {
                manager: manager.to_owned(),
                operation: "Update".to_owned(),
                subresource: subresource.to_owned(),
                api_version: String::new(),
                time: String::new(),
                fields: Fields::new(),
            });
            list.len() - 1
        });
        let entry = &mut list[at];
        entry.fields.extend(changed);
        entry.time = stamp(now);
        entry.api_version = api_version;
    }
    set_entries(object, list);
}

/// A field as a message shows it: `.spec.containers[name="web"].image`.
pub(crate) fn printed(path: &Path) -> String {
    path.iter()
        .map(|step| match step.split_once(':') {
            Some(("f", field)) => format!(".{field}"),
            Some(("k", keys)) => {
                let keys: Map<String, Value> = serde_json::from_str(keys).unwrap_or_default();
                let keys: Vec<_> = keys.iter().map(|(key, value)| format!("{key}={value}")).collect();
                format!("[{}]", keys.join(","))
            }
            Some((_, value)) => format!("[={value}]"),
            None => step.clone(),
        })
        .collect()
}
