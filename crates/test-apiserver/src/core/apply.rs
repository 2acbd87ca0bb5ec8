//! Server-side apply: the applier says all that it wants; what it no longer says goes, unless somebody else owns it.

use std::collections::BTreeMap;

use apimachinery::{StatusCause, StatusError};
use jiff::Timestamp;
use serde_json::{Map, Value};

use super::errors;
use super::lists::{ListKind, Place};
use super::managed::{self, Entry, Fields, Path, entries, item_step, leaves};
use super::registry::ResourceInfo;
use super::write::stamp;

/// Who applies, and how.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Applier<'a> {
    pub(crate) manager: &'a str,
    pub(crate) subresource: &'a str,
    pub(crate) force: bool,
    pub(crate) now: Timestamp,
}

/// The state after an apply, ownership included; `live` is none if the object is not there.
pub(crate) fn apply(
    resource: &ResourceInfo,
    live: Option<&Value>,
    wanted: &Value,
    applier: Applier<'_>,
) -> Result<Value, StatusError> {
    let empty = Value::Object(Map::new());
    let base = live.unwrap_or(&empty);
    let mut list = entries(base);
    let asked = leaves(resource, wanted);
    let fields: Fields = asked.keys().cloned().collect();
    let is_mine = |entry: &Entry| entry.is_of(applier.manager, "Apply", applier.subresource);
    refuse_conflicts(resource, base, &asked, &mut list, &is_mine, applier)?;

    let mut object = base.clone();
    merge(Place::root(resource), &mut object, wanted);
    let mine = list.iter().position(is_mine);
    let dropped: Vec<Path> = mine.map_or_else(Vec::new, |at| {
        let others = |path: &Path| {
            list.iter().enumerate().any(|(index, other)| {
                index != at
                    && other.fields.range(path.clone()..).next().is_some_and(|it| it.starts_with(path))
            })
        };
        let gone = list[at].fields.difference(&fields);
        gone.filter(|path| !others(path)).cloned().collect()
    });
    for path in &dropped {
        // With an item goes all that is in it.
        let is_inside = dropped.iter().any(|outer| outer.len() < path.len() && path.starts_with(outer));
        if !is_inside {
            remove(&mut object, path);
        }
    }
    match mine {
        Some(at) if list[at].fields == fields => {}
        Some(at) => {
            list[at].fields = fields;
            list[at].time = stamp(applier.now);
        }
        None => list.push(Entry {
            manager: applier.manager.to_owned(),
            operation: "Apply".to_owned(),
            subresource: applier.subresource.to_owned(),
            api_version: resource.api_version(),
            time: stamp(applier.now),
            fields,
        }),
    }
    managed::set_entries(&mut object, list);
    Ok(object)
}

/// A field that another manager set to something else is a conflict; force takes it over.
fn refuse_conflicts(
    resource: &ResourceInfo,
    base: &Value,
    asked: &BTreeMap<Path, &Value>,
    list: &mut [Entry],
    is_mine: &dyn Fn(&Entry) -> bool,
    applier: Applier<'_>,
) -> Result<(), StatusError> {
    let live = leaves(resource, base);
    let differs =
        |path: &Path| live.get(path).is_some_and(|value| asked.get(path).is_some_and(|it| it != value));
    let mut conflicts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for entry in list.iter_mut().filter(|entry| !is_mine(entry)) {
        let taken: Vec<Path> = entry.fields.iter().filter(|path| differs(path)).cloned().collect();
        if applier.force {
            entry.fields.retain(|path| !taken.contains(path));
        } else if !taken.is_empty() {
            let subresource = match entry.subresource.as_str() {
                "" => String::new(),
                name => format!(" with subresource {name:?}"),
            };
            let who = format!("{:?}{subresource} using {}", entry.manager, entry.api_version);
            conflicts.entry(who).or_default().extend(taken.iter().map(managed::printed));
        }
    }
    if conflicts.is_empty() {
        return Ok(());
    }
    let causes: Vec<StatusCause> = conflicts
        .iter()
        .flat_map(|(who, fields)| fields.iter().map(move |field| (who, field)))
        .map(|(who, field)| StatusCause {
            reason: Some("FieldManagerConflict".to_owned()),
            message: Some(format!("conflict with {who}")),
            field: Some(field.clone()),
        })
        .collect();
    let count = causes.len();
    let message = if let (1, Some((who, fields))) = (count, conflicts.iter().next()) {
        format!("Apply failed with 1 conflict: conflict with {who}: {}", fields[0])
    } else {
        let blocks: Vec<_> = conflicts
            .iter()
            .map(|(who, fields)| {
                let word = if fields.len() == 1 { "conflict" } else { "conflicts" };
                let lines: Vec<_> = fields.iter().map(|field| format!("- {field}")).collect();
                format!("{word} with {who}:\n{}", lines.join("\n"))
            })
            .collect();
        format!("Apply failed with {count} conflicts: {}", blocks.join("\n"))
    };
    let details = apimachinery::StatusDetails { causes, ..Default::default() };
    Err(errors::status(409, "Conflict", message, Some(details)))
}

/// Puts what is wanted over what is there.
fn merge(place: Place<'_>, object: &mut Value, wanted: &Value) {
    match wanted {
        Value::Object(fields) if !place.is_atomic_map() && (object.is_object() || object.is_null()) => {
            if object.is_null() {
                *object = Value::Object(Map::new());
            }
            for (field, value) in fields {
                merge(place.field(field), &mut object[field], value);
            }
        }
        Value::Array(items) => match place.list() {
            ListKind::Atomic => *object = wanted.clone(),
            ListKind::Set => {
                let mut present = object.as_array().cloned().unwrap_or_default();
                for item in items {
                    if !present.contains(item) {
                        present.push(item.clone());
                    }
                }
                *object = Value::Array(present);
            }
            ListKind::Map(keys) => {
                let mut present = object.as_array().cloned().unwrap_or_default();
                for item in items {
                    let step = item_step(item, &keys);
                    match present.iter_mut().find(|it| item_step(it, &keys) == step) {
                        Some(found) => merge(place.item(), found, item),
                        None => present.push(item.clone()),
                    }
                }
                *object = Value::Array(present);
            }
        },
        scalar => *object = scalar.clone(),
    }
}

/// Takes a field or an item out; parents that are empty then go too.
fn remove(object: &mut Value, path: &[String]) {
    let [step, rest @ ..] = path else { return };
    match (step.split_once(':'), &mut *object) {
        (Some(("f", field)), Value::Object(map)) => {
            if !rest.is_empty()
                && let Some(inner) = map.get_mut(field)
            {
                remove(inner, rest);
            }
            let is_emptied = map.get(field).is_some_and(|inner| match inner {
                Value::Object(map) => map.is_empty(),
                Value::Array(list) => list.is_empty(),
                _ => false,
            });
            if rest.is_empty() || is_emptied {
                map.remove(field);
            }
        }
        (Some(("k", keys)), Value::Array(items)) => {
            let Ok(Value::Object(wanted)) = serde_json::from_str(keys) else { return };
            let keys: Vec<String> = wanted.keys().cloned().collect();
            let at = items.iter().position(|item| item_step(item, &keys) == *step);
            match (at, rest) {
                (Some(at), []) => {
                    items.remove(at);
                }
                (Some(at), rest) => remove(&mut items[at], rest),
                (None, _) => {}
            }
        }
        (Some(("v", value)), Value::Array(items)) => {
            let Ok(gone) = serde_json::from_str::<Value>(value) else { return };
            items.retain(|item| *item != gone);
        }
        _ => {}
    }
}
