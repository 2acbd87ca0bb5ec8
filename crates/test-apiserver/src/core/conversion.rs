//! Versions of one object: a custom resource changes its `apiVersion` alone, an event also the names of its fields.

use serde_json::Value;

/// The fields of `v1` Event, and what `events.k8s.io/v1` calls them.
const EVENT: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("reportingComponent", "reportingController"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
];

/// Makes of an object what it is in another version of its API.
pub(crate) fn convert(object: &mut Value, api_version: &str) {
    if object["apiVersion"] == api_version {
        return;
    }
    let is_event = object["kind"] == "Event" && matches!(api_version, "v1" | "events.k8s.io/v1");
    if let Some(map) = object.as_object_mut() {
        for (old, new) in EVENT.into_iter().filter(|_| is_event) {
            let (from, to) = if api_version == "v1" { (new, old) } else { (old, new) };
            if let Some(value) = map.remove(from) {
                map.insert(to.to_owned(), value);
            }
        }
        map.insert("apiVersion".to_owned(), Value::String(api_version.to_owned()));
    }
}
