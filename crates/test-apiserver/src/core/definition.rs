//! CustomResourceDefinitions: an object that, once it is written, makes resources.

use std::sync::Arc;

use apimachinery::{DeleteOptions, Scope};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::Core;
use super::collection::Collection;
use super::errors::FieldError;
use super::registry::{CollectionId, ResourceInfo, ScalePaths, VERBS};
use super::stored::Stored;
use super::validation::is_subdomain;
use super::write::stamp;

/// The finalizer that keeps a definition until its objects are gone.
pub(crate) const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// What a definition gets that does not say it.
pub(crate) fn default(object: &mut Value) {
    let spec = &mut object["spec"];
    if !spec.is_object() {
        return;
    }
    if spec["conversion"].is_null() {
        spec["conversion"] = json!({"strategy": "None"});
    }
    let names = &mut spec["names"];
    let kind = names["kind"].as_str().unwrap_or_default().to_owned();
    if !kind.is_empty() {
        if names["singular"].is_null() {
            names["singular"] = Value::String(kind.to_lowercase());
        }
        if names["listKind"].is_null() {
            names["listKind"] = Value::String(format!("{kind}List"));
        }
    }
}

/// The status that a new definition has before anything was accepted.
pub(crate) fn first_status(object: &Value) -> Value {
    json!({
        "conditions": [],
        "acceptedNames": {"plural": "", "kind": ""},
        "storedVersions": storage_version(object).into_iter().collect::<Vec<_>>(),
    })
}

fn versions(object: &Value) -> impl Iterator<Item = &Value> {
    object["spec"]["versions"].as_array().into_iter().flatten()
}

fn storage_version(object: &Value) -> Option<&str> {
    versions(object).find(|version| version["storage"] == true)?["name"].as_str()
}

/// What is wrong with a definition.
pub(crate) fn check(object: &Value, found: &mut Vec<FieldError>) {
    let spec = &object["spec"];
    let names = &spec["names"];
    if !names.is_object() {
        found.push(FieldError::required("spec.names", ""));
        return;
    }
    for (path, value) in [
        ("spec.group", &spec["group"]),
        ("spec.names.plural", &names["plural"]),
        ("spec.names.kind", &names["kind"]),
    ] {
        if value.as_str().is_none_or(str::is_empty) {
            found.push(FieldError::required(path, ""));
        }
    }
    let group = spec["group"].as_str().unwrap_or_default();
    if !(group.is_empty() || is_subdomain(group) && group.contains('.')) {
        let why = "should be a domain with at least one dot";
        found.push(FieldError::invalid("spec.group", &spec["group"], why));
    }
    match spec["scope"].as_str() {
        Some("Cluster" | "Namespaced") => {}
        None | Some("") => found.push(FieldError::required("spec.scope", "")),
        Some(other) => found.push(FieldError::not_supported("spec.scope", other, &["Cluster", "Namespaced"])),
    }
    let expected = format!("{}.{group}", names["plural"].as_str().unwrap_or_default());
    if object["metadata"]["name"] != expected.as_str() {
        let why = "must be spec.names.plural+\".\"+spec.group";
        found.push(FieldError::invalid("metadata.name", &object["metadata"]["name"], why));
    }
    if versions(object).next().is_none() {
        found.push(FieldError::required(
            "spec.versions",
            "must have exactly one version marked as storage version",
        ));
    } else if versions(object).filter(|version| version["storage"] == true).count() != 1 {
        let why = "must have exactly one version marked as storage version";
        found.push(FieldError::invalid("spec.versions", &spec["versions"], why));
    }
    for (index, version) in versions(object).enumerate() {
        if version["name"].as_str().is_none_or(str::is_empty) {
            found.push(FieldError::required(format!("spec.versions[{index}].name"), ""));
        }
        if !version["schema"]["openAPIV3Schema"].is_object() {
            let path = format!("spec.versions[{index}].schema.openAPIV3Schema");
            found.push(FieldError::required(path, "schemas are required"));
        }
    }
}

impl Core {
    /// Serves what a definition says, and writes the definition's status the way the server's own controllers do.
    pub(crate) fn establish(
        &mut self,
        resource: &Arc<ResourceInfo>,
        definition: &Arc<Stored>,
        now: Timestamp,
    ) {
        let object = definition.value();
        let Some(storage) = storage_version(&object).map(str::to_owned) else { return };
        let group = object["spec"]["group"].as_str().unwrap_or_default().to_owned();
        let plural = object["spec"]["names"]["plural"].as_str().unwrap_or_default().to_owned();
        let api_version = format!("{group}/{storage}");
        let known = self.registry.any_version(&group, &plural).map(|known| known.collection);
        let collection = known.unwrap_or_else(|| {
            let made = Collection::new(api_version.clone(), self.options.history, self.version);
            self.collections.push(made);
            CollectionId(self.collections.len() - 1)
        });
        self.collections[collection.0].api_version = api_version;
        self.registry.remove(&group, &plural);
        for info in resources(&object, collection) {
            self.registry.insert(info);
        }
        let mut wanted = object.clone();
        wanted["status"]["acceptedNames"] = object["spec"]["names"].clone();
        let stored = &mut wanted["status"]["storedVersions"];
        match stored.as_array_mut() {
            Some(list) if list.iter().any(|version| *version == storage) => {}
            Some(list) => list.push(Value::String(storage)),
            None => *stored = json!([storage]),
        }
        if wanted["status"]["conditions"].as_array().is_none_or(Vec::is_empty) {
            let at = stamp(now);
            wanted["status"]["conditions"] = json!([
                {"type": "NamesAccepted", "status": "True", "lastTransitionTime": at, "reason": "NoConflicts",
                 "message": "no conflicts found"},
                {"type": "Established", "status": "True", "lastTransitionTime": at, "reason": "InitialNamesAccepted",
                 "message": "the initial names have been accepted"},
            ]);
        }
        let finalizers = &mut wanted["metadata"]["finalizers"];
        match finalizers.as_array_mut() {
            Some(list) if list.iter().any(|name| name == CLEANUP) => {}
            Some(list) => list.push(json!(CLEANUP)),
            None => *finalizers = json!([CLEANUP]),
        }
        if wanted != object {
            self.commit(resource, wanted);
            // What was written just now needs no second look.
            self.chores.settle(resource.collection, definition.name());
        }
    }

    /// Deletes the objects of a definition that goes; once none is left its resources are no longer served.
    pub(crate) fn empty_definition(&mut self, definition: &Stored, now: Timestamp) -> bool {
        let object = definition.value();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (group, plural) = (text(&object["spec"]["group"]), text(&object["spec"]["names"]["plural"]));
        let Some(resource) = self.registry.any_version(&group, &plural).cloned() else { return true };
        let instances: Vec<_> =
            self.collections[resource.collection.0].iter().map(|(_, object)| object.clone()).collect();
        for instance in instances.iter().filter(|instance| !instance.is_deleting()) {
            let done = self.delete_stored(&resource, instance, &DeleteOptions::default(), now);
            debug_assert!(done.is_ok(), "{done:?}");
        }
        if self.collections[resource.collection.0].len() > 0 {
            return false;
        }
        self.end_watches(Some(&resource));
        self.registry.remove(&group, &plural);
        true
    }
}

/// The resources that a definition makes: one for each served version.
fn resources(object: &Value, collection: CollectionId) -> Vec<ResourceInfo> {
    let spec = &object["spec"];
    let names = &spec["names"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let texts = |value: &Value| -> Vec<String> {
        value.as_array().into_iter().flatten().filter_map(|text| text.as_str().map(str::to_owned)).collect()
    };
    // Objects are kept once for all versions: what one version selects by, all do.
    let mut selectable: Vec<String> = versions(object)
        .flat_map(|version| version["selectableFields"].as_array().into_iter().flatten())
        .map(|field| text(&field["jsonPath"]).trim_start_matches('.').to_owned())
        .collect();
    selectable.sort();
    selectable.dedup();
    versions(object)
        .filter(|version| version["served"] == true)
        .map(|version| {
            let scale = &version["subresources"]["scale"];
            let scale = scale.is_object().then(|| ScalePaths {
                spec_replicas: text(&scale["specReplicasPath"]),
                status_replicas: text(&scale["statusReplicasPath"]),
                selector: scale["labelSelectorPath"].as_str().map(str::to_owned),
            });
            let mut subresources = Vec::new();
            if scale.is_some() {
                subresources.push("scale".to_owned());
            }
            if version["subresources"]["status"].is_object() {
                subresources.push("status".to_owned());
            }
            ResourceInfo {
                group: text(&spec["group"]),
                version: text(&version["name"]),
                kind: text(&names["kind"]),
                list_kind: text(&names["listKind"]),
                plural: text(&names["plural"]),
                singular: text(&names["singular"]),
                short_names: texts(&names["shortNames"]),
                categories: texts(&names["categories"]),
                scope: if spec["scope"] == "Namespaced" { Scope::Namespaced } else { Scope::Cluster },
                subresources,
                verbs: VERBS.iter().map(|&verb| verb.to_owned()).collect(),
                custom: true,
                printer_columns: version["additionalPrinterColumns"].as_array().cloned().unwrap_or_default(),
                collection,
                selectable: selectable.clone(),
                schema: Some(Arc::new(version["schema"]["openAPIV3Schema"].clone())),
                scale,
            }
        })
        .collect()
}
