//! Strategic merge patches: as merge patches, but lists with a merge key are merged item by item, and directives say more.

use serde_json::{Map, Value};

use super::lists::{ListKind, Place};

const PATCH: &str = "$patch";
const RETAIN: &str = "$retainKeys";
const DELETE_ITEMS: &str = "$deleteFromPrimitiveList/";
const ORDER: &str = "$setElementOrder/";

/// Merges `patch` into `object`; an error says what cannot be understood.
pub(crate) fn merge(place: Place<'_>, object: &mut Value, patch: &Map<String, Value>) -> Result<(), String> {
    match patch.get(PATCH).map(|directive| directive.as_str()) {
        Some(Some("replace")) => {
            *object = Value::Object(without_directives(patch));
            return Ok(());
        }
        Some(Some("delete")) => {
            *object = Value::Object(Map::new());
            return Ok(());
        }
        None | Some(Some("merge")) => {}
        Some(other) => return Err(format!("unknown patch type: {}", other.unwrap_or("not a string"))),
    }
    if !object.is_object() {
        *object = Value::Object(Map::new());
    }
    let Some(target) = object.as_object_mut() else { return Ok(()) };
    if let Some(keep) = patch.get(RETAIN) {
        let keep = keep.as_array().ok_or("$retainKeys must be a list")?;
        target.retain(|field, _| keep.iter().any(|name| name == field));
    }
    for (field, value) in patch {
        if let Some(list) = field.strip_prefix(DELETE_ITEMS) {
            let gone = value.as_array().ok_or("$deleteFromPrimitiveList must be a list")?;
            if let Some(items) = target.get_mut(list).and_then(Value::as_array_mut) {
                items.retain(|item| !gone.contains(item));
            }
        } else if !field.starts_with('$') {
            merge_field(place.field(field), target, field, value)?;
        }
    }
    for (field, value) in patch {
        if let Some(list) = field.strip_prefix(ORDER) {
            let order = value.as_array().ok_or("$setElementOrder must be a list")?;
            let kind = place.field(list).list();
            if let Some(items) = target.get_mut(list).and_then(Value::as_array_mut) {
                sort(items, order, &kind);
            }
        }
    }
    Ok(())
}

fn merge_field(
    place: Place<'_>,
    target: &mut Map<String, Value>,
    field: &str,
    value: &Value,
) -> Result<(), String> {
    match value {
        Value::Null => {
            target.remove(field);
        }
        Value::Object(patch) => {
            if patch.get(PATCH).is_some_and(|directive| directive == "delete") {
                target.remove(field);
                return Ok(());
            }
            merge(place, target.entry(field).or_insert(Value::Null), patch)?;
        }
        Value::Array(items) => {
            let present = target.get(field).and_then(Value::as_array).cloned().unwrap_or_default();
            let merged = match place.list() {
                ListKind::Atomic => items.clone(),
                ListKind::Set => {
                    let added: Vec<_> =
                        items.iter().filter(|item| !present.contains(item)).cloned().collect();
                    present.into_iter().chain(added).collect()
                }
                ListKind::Map(keys) => merge_items(place, present, items, &keys[0])?,
            };
            target.insert(field.to_owned(), Value::Array(merged));
        }
        scalar => {
            target.insert(field.to_owned(), scalar.clone());
        }
    }
    Ok(())
}

fn merge_items(
    place: Place<'_>,
    mut present: Vec<Value>,
    items: &[Value],
    key: &str,
) -> Result<Vec<Value>, String> {
    let directive = |item: &Value| item.get(PATCH).and_then(Value::as_str).map(str::to_owned);
    if items.iter().any(|item| directive(item).as_deref() == Some("replace") && item.get(key).is_none()) {
        let rest = items.iter().filter(|item| directive(item).is_none());
        return Ok(rest.cloned().collect());
    }
    for item in items {
        let patch = item.as_object().ok_or("an item of a merged list must be an object")?;
        let Some(name) = patch.get(key) else {
            return Err(format!("map: {item} does not contain declared merge key: {key}"));
        };
        let at = present.iter().position(|it| it.get(key) == Some(name));
        match (at, directive(item).as_deref()) {
            (Some(_), Some("delete")) => present.retain(|it| it.get(key) != Some(name)),
            (None, Some("delete")) => {}
            (Some(at), _) => merge(place.item(), &mut present[at], patch)?,
            (None, _) => {
                let mut made = Value::Object(Map::new());
                merge(place.item(), &mut made, patch)?;
                present.push(made);
            }
        }
    }
    Ok(present)
}

fn without_directives(patch: &Map<String, Value>) -> Map<String, Value> {
    patch.iter().filter(|(field, _)| !field.starts_with('$')).map(|(f, v)| (f.clone(), v.clone())).collect()
}

/// Items that `order` names come in its order, where the first of them stands; the rest keep their places before.
fn sort(items: &mut [Value], order: &[Value], kind: &ListKind) {
    let rank = |item: &Value| {
        order.iter().position(|wanted| match kind {
            ListKind::Map(keys) => keys.first().is_some_and(|key| item.get(key) == wanted.get(key)),
            _ => item == wanted,
        })
    };
    items.sort_by_key(|item| rank(item).map_or(0, |rank| rank + 1));
}
