//! A small kept form, and how to make one.
#![allow(dead_code, reason = "each test binary uses a part")]

use std::sync::Arc;

use apimachinery::{Head, Object};
use indexer::{Change, Lister};
use serde_json::json;
use steersman_indexer as indexer;

/// Metadata, and what the indices of the tests read.
#[derive(Debug, serde::Deserialize)]
pub(crate) struct Thing {
    metadata: Head,
    #[serde(default)]
    pub(crate) tags: Vec<String>,
}
apimachinery::object!(Thing, "example.com/v1", "Thing", "things", Namespaced);

/// A thing without anything but a key and a version.
pub(crate) fn thing(key: &str, version: &str) -> Arc<Thing> {
    tagged(key, version, &[])
}

pub(crate) fn tagged(key: &str, version: &str, tags: &[&str]) -> Arc<Thing> {
    made(key, version, "", tags)
}

pub(crate) fn made(key: &str, version: &str, uid: &str, tags: &[&str]) -> Arc<Thing> {
    let (namespace, name) = key.split_once('/').unwrap_or(("", key));
    let labels: serde_json::Map<String, serde_json::Value> =
        tags.iter().map(|tag| ((*tag).to_owned(), json!("yes"))).collect();
    let metadata = json!({
        "namespace": namespace, "name": name, "uid": uid, "resourceVersion": version, "labels": labels,
    });
    Arc::new(serde_json::from_value(json!({ "metadata": metadata, "tags": tags })).unwrap())
}

/// What is in the cache, sorted: `key@version`.
pub(crate) fn content(lister: &Lister<Thing>) -> Vec<String> {
    let mut all: Vec<String> = lister.list().iter().map(at).collect();
    all.sort();
    all
}

pub(crate) fn at(thing: &Arc<Thing>) -> String {
    format!("{}@{}", thing.key(), thing.resource_version())
}

/// A change as text: `+a@1`, `a@1>2`, `-a@3` with `(a@2)` behind it if that was there, `-a` if the final state is not known.
pub(crate) fn told(change: &Change<Thing>) -> String {
    match change {
        Change::Added(object) => format!("+{}", at(object)),
        Change::Updated { old, new } => format!("{}>{}", at(old), new.resource_version()),
        Change::Removed { key, old, last } => {
            let old = old.as_ref().map(|old| format!(" ({})", at(old))).unwrap_or_default();
            match last {
                Some(last) => format!("-{}{old}", at(last)),
                None => format!("-{key}{old}"),
            }
        }
    }
}

pub(crate) fn all_told(changes: &[Change<Thing>]) -> Vec<String> {
    changes.iter().map(told).collect()
}
