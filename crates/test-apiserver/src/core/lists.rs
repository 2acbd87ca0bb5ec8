//! Which lists are maps or sets: what patches merge item by item.

use apimachinery::Scope;
use serde_json::Value;

use super::registry::ResourceInfo;

/// How the items of a list are told apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ListKind {
    /// Not at all: the list is one value.
    Atomic,
    /// By the item itself.
    Set,
    /// By some of its fields; the first is the key of a strategic merge patch.
    Map(Vec<String>),
}

/// Where in an object a value stands: what kind of list it would be is known from there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    resource: &'a ResourceInfo,
    /// The schema at this place, of a custom resource.
    schema: Option<&'a Value>,
    field: &'a str,
    parent: &'a str,
    depth: usize,
}

impl<'a> Place<'a> {
    pub(crate) fn root(resource: &'a ResourceInfo) -> Self {
        Self { resource, schema: resource.schema.as_deref(), field: "", parent: "", depth: 0 }
    }

    /// The field of an object that stands here.
    pub(crate) fn field(self, name: &'a str) -> Self {
        let schema = self
            .schema
            .and_then(|schema| schema["properties"].get(name).or_else(|| schema.get("additionalProperties")));
        Self { schema, field: name, parent: self.field, depth: self.depth + 1, ..self }
    }

    /// An item of a list that stands here.
    pub(crate) fn item(self) -> Self {
        Self { schema: self.schema.and_then(|schema| schema.get("items")), ..self }
    }

    /// Whether an object here is one value.
    pub(crate) fn is_atomic_map(self) -> bool {
        match self.schema {
            Some(schema) => schema["x-kubernetes-map-type"] == "atomic",
            None if self.resource.custom => false,
            None => self.parent == "spec" && self.field == "selector" && !self.resource.group.is_empty(),
        }
    }

    pub(crate) fn list(self) -> ListKind {
        let by = |keys: &[&str]| ListKind::Map(keys.iter().map(|&key| key.to_owned()).collect());
        match (self.parent, self.field) {
            ("metadata", "ownerReferences") => return by(&["uid"]),
            ("metadata", "finalizers") => return ListKind::Set,
            _ => {}
        }
        if self.resource.custom {
            return self.list_of_schema();
        }
        match self.field {
            "containers"
            | "initContainers"
            | "ephemeralContainers"
            | "volumes"
            | "env"
            | "imagePullSecrets"
            | "schedulingGates"
            | "resourceClaims" => by(&["name"]),
            "secrets" if self.resource.is("", "serviceaccounts") => by(&["name"]),
            "volumeMounts" => by(&["mountPath"]),
            "volumeDevices" => by(&["devicePath"]),
            "hostAliases" | "podIPs" | "hostIPs" => by(&["ip"]),
            "topologySpreadConstraints" => by(&["topologyKey", "whenUnsatisfiable"]),
            "conditions" => by(&["type"]),
            "addresses" if self.resource.is("", "nodes") => by(&["type"]),
            "ports" if matches!(self.parent, "containers" | "initContainers" | "ephemeralContainers") => {
                by(&["containerPort", "protocol"])
            }
            "ports" if self.resource.is("", "services") => by(&["port", "protocol"]),
            "finalizers" if self.resource.scope == Scope::Cluster && self.parent == "spec" => ListKind::Set,
            _ => ListKind::Atomic,
        }
    }

    fn list_of_schema(self) -> ListKind {
        let Some(schema) = self.schema else { return ListKind::Atomic };
        match schema["x-kubernetes-list-type"].as_str() {
            Some("set") => ListKind::Set,
            Some("map") => {
                let keys = schema["x-kubernetes-list-map-keys"].as_array().into_iter().flatten();
                ListKind::Map(keys.filter_map(|key| key.as_str().map(str::to_owned)).collect())
            }
            _ => ListKind::Atomic,
        }
    }
}
