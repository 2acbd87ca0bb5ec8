//! `Stored`: an object as the server keeps it: bytes for the wire, and the few words that decisions need.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde_json::Value;

use super::ResourceInfo;

/// One object at one version. Cheap to hand around inside an `Arc`; the JSON tree is made only when asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    bytes: Bytes,
    api_version: Box<str>,
    name: Box<str>,
    namespace: Box<str>,
    uid: Box<str>,
    resource_version: u64,
    labels: BTreeMap<String, String>,
    selectable: Box<[String]>,
    owners: Box<[String]>,
    deleting: bool,
}

impl Stored {
    pub(crate) fn new(resource: &ResourceInfo, value: &Value) -> Self {
        let meta = &value["metadata"];
        let text = |field: &str| meta[field].as_str().unwrap_or_default();
        let labels = meta["labels"].as_object().into_iter().flatten();
        let owners = meta["ownerReferences"].as_array().into_iter().flatten();
        Self {
            bytes: Bytes::from(value.to_string()),
            api_version: value["apiVersion"].as_str().unwrap_or_default().into(),
            name: text("name").into(),
            namespace: text("namespace").into(),
            uid: text("uid").into(),
            resource_version: text("resourceVersion").parse().unwrap_or(0),
            labels: labels
                .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
                .collect(),
            selectable: resource.selectable.iter().map(|path| text_at(value, path)).collect(),
            owners: owners.filter_map(|owner| owner["uid"].as_str().map(str::to_owned)).collect(),
            deleting: meta["deletionTimestamp"].is_string(),
        }
    }

    /// The object as JSON.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The object as a tree, parsed now. Costs some 6 µs a KB: list and watch do not need it.
    pub fn value(&self) -> Value {
        serde_json::from_slice(&self.bytes).unwrap_or(Value::Null)
    }

    pub(crate) fn api_version(&self) -> &str {
        &self.api_version
    }

    /// `metadata.name`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// `metadata.namespace`; empty for an object of the cluster.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// `metadata.uid`.
    pub fn uid(&self) -> &str {
        &self.uid
    }

    /// `metadata.resourceVersion`, as a number.
    pub fn resource_version(&self) -> u64 {
        self.resource_version
    }

    /// `metadata.labels`.
    pub fn labels(&self) -> &BTreeMap<String, String> {
        &self.labels
    }

    /// Whether `metadata.deletionTimestamp` is set.
    pub fn is_deleting(&self) -> bool {
        self.deleting
    }

    /// The uids in `metadata.ownerReferences`.
    pub fn owners(&self) -> &[String] {
        &self.owners
    }

    /// Where the object stands in its collection: `namespace/name`, or `name`; lists are in the order of these texts.
    pub fn key(&self) -> String {
        key(&self.namespace, &self.name)
    }

    pub(crate) fn field(&self, resource: &ResourceInfo, path: &str) -> Option<&str> {
        match path {
            "metadata.name" => Some(&self.name),
            "metadata.namespace" if resource.is_namespaced() => Some(&self.namespace),
            _ => {
                let index = resource.selectable.iter().position(|known| known == path)?;
                self.selectable.get(index).map(String::as_str)
            }
        }
    }
}

pub(crate) fn key(namespace: &str, name: &str) -> String {
    if namespace.is_empty() { name.to_owned() } else { format!("{namespace}/{name}") }
}

/// The text of a scalar at a dotted path; what is not there is empty, as in a Go struct.
fn text_at(value: &Value, path: &str) -> String {
    let mut at = value;
    for word in path.trim_start_matches('.').split('.') {
        at = &at[word];
    }
    match at {
        Value::String(text) => text.clone(),
        Value::Null => {
            // Numbers and flags of Go structs print as their zero.
            match path {
                "spec.hostNetwork" | "spec.unschedulable" => "false".to_owned(),
                "status.successful" | "status.replicas" => "0".to_owned(),
                _ => String::new(),
            }
        }
        other => other.to_string(),
    }
}
