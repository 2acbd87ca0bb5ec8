//! Groups, versions and resources, and the documents that are made of them.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use http::HeaderValue;
use serde_json::{Value, json};

use crate::core::{Core, ResourceInfo};
use crate::http::{Answer, Content, REVIEWS};

/// One group, its preferred version first.
pub(super) struct Group {
    pub(super) name: String,
    pub(super) versions: Vec<Version>,
}

/// One version of a group.
pub(super) struct Version {
    pub(super) name: String,
    pub(super) resources: Vec<Resource>,
}

/// One resource as discovery tells of it.
pub(super) struct Resource {
    pub(super) plural: String,
    pub(super) singular: String,
    pub(super) kind: String,
    pub(super) is_namespaced: bool,
    pub(super) verbs: Vec<String>,
    short_names: Vec<String>,
    categories: Vec<String>,
    subresources: Vec<Subresource>,
}

/// A part of an object with a path of its own; its kind may be of another group.
struct Subresource {
    name: String,
    group: String,
    version: String,
    kind: String,
    verbs: &'static [&'static str],
}

/// Everything that is served now: the core group first, then by name.
pub(super) fn groups(core: &Core) -> Vec<Group> {
    let mut groups: BTreeMap<String, BTreeMap<String, Vec<Resource>>> = BTreeMap::new();
    let mut add = |group: &str, version: &str, resource: Resource| {
        groups.entry(group.to_owned()).or_default().entry(version.to_owned()).or_default().push(resource);
    };
    for info in core.resources() {
        let resource = Resource {
            plural: info.plural.clone(),
            singular: info.singular.clone(),
            kind: info.kind.clone(),
            is_namespaced: info.is_namespaced(),
            verbs: info.verbs.clone(),
            short_names: info.short_names.clone(),
            categories: info.categories.clone(),
            subresources: subresources(info),
        };
        add(&info.group, &info.version, resource);
    }
    for (group, version, kind, plural, is_namespaced) in REVIEWS {
        let resource = Resource {
            plural: plural.to_owned(),
            singular: kind.to_lowercase(),
            kind: kind.to_owned(),
            is_namespaced,
            verbs: vec!["create".to_owned()],
            short_names: Vec::new(),
            categories: Vec::new(),
            subresources: Vec::new(),
        };
        add(group, version, resource);
    }
    let by_preference = |(name, versions): (String, BTreeMap<String, Vec<Resource>>)| {
        let mut versions: Vec<_> =
            versions.into_iter().map(|(name, resources)| Version { name, resources }).collect();
        versions.sort_by(|a, b| preference(&a.name, &b.name));
        Group { name, versions }
    };
    groups.into_iter().map(by_preference).collect()
}

fn subresources(info: &ResourceInfo) -> Vec<Subresource> {
    let part = |name: &str, (group, version, kind): (&str, &str, &str), verbs| Subresource {
        name: name.to_owned(),
        group: group.to_owned(),
        version: version.to_owned(),
        kind: kind.to_owned(),
        verbs,
    };
    let mut parts = Vec::new();
    if info.group.is_empty() && info.plural == "pods" {
        parts.push(part("binding", ("", "v1", "Binding"), &["create"]));
        parts.push(part("eviction", ("policy", "v1", "Eviction"), &["create"]));
    }
    parts.extend(info.subresources.iter().map(|name| {
        let kind = match name.as_str() {
            "scale" => ("autoscaling", "v1", "Scale"),
            _ => (info.group.as_str(), info.version.as_str(), info.kind.as_str()),
        };
        part(name, kind, &["get", "patch", "update"])
    }));
    parts
}

/// The better version first: `v2`, `v1`, `v1beta1`, `v1alpha1`, then anything else by name.
fn preference(a: &str, b: &str) -> Ordering {
    match (rank(a), rank(b)) {
        (Some(a), Some(b)) => b.cmp(&a),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => a.cmp(b),
    }
}

/// Stability, major number, minor number; none for a name that is not of that kind.
fn rank(version: &str) -> Option<(u8, u32, u32)> {
    let rest = version.strip_prefix('v')?;
    for (stability, word) in [(1, "beta"), (0, "alpha")] {
        if let Some((major, minor)) = rest.split_once(word) {
            return Some((stability, major.parse().ok()?, minor.parse().ok()?));
        }
    }
    Some((2, rest.parse().ok()?, 0))
}

/// `APIVersions` of `/api`.
pub(super) fn core_versions() -> Value {
    json!({ "kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": [] })
}

/// `APIGroupList` of `/apis`.
pub(super) fn group_list(groups: &[Group]) -> Value {
    let named = groups.iter().filter(|group| !group.name.is_empty());
    let documents: Vec<Value> = named.map(|group| group.document(false)).collect();
    json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": documents })
}

/// `APIGroupDiscoveryList` in `version` of it.
pub(super) fn aggregated<'a>(groups: impl Iterator<Item = &'a Group>, version: &str) -> Answer {
    let items: Vec<Value> = groups.map(Group::aggregated).collect();
    let document = json!({
        "kind": "APIGroupDiscoveryList",
        "apiVersion": format!("apidiscovery.k8s.io/{version}"),
        "metadata": {},
        "items": items,
    });
    let content_type = match version {
        "v2" => "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
        _ => "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList",
    };
    let body = Content::Whole(document.to_string().into());
    Answer::new(200, HeaderValue::from_static(content_type), body)
}

impl Group {
    /// `APIGroup`; alone it says what it is.
    pub(super) fn document(&self, is_alone: bool) -> Value {
        let version =
            |name: &str| json!({ "groupVersion": format!("{}/{name}", self.name), "version": name });
        let versions: Vec<Value> = self.versions.iter().map(|known| version(&known.name)).collect();
        let mut document = json!({
            "name": self.name,
            "versions": versions,
            "preferredVersion": versions.first(),
        });
        if is_alone {
            document["kind"] = json!("APIGroup");
            document["apiVersion"] = json!("v1");
        }
        document
    }

    fn aggregated(&self) -> Value {
        let versions = self.versions.iter().map(|version| {
            let resources: Vec<Value> = version
                .resources
                .iter()
                .map(|resource| resource.aggregated(&self.name, &version.name))
                .collect();
            json!({ "version": version.name, "resources": resources, "freshness": "Current" })
        });
        json!({
            "metadata": { "name": self.name, "creationTimestamp": null },
            "versions": versions.collect::<Vec<_>>(),
        })
    }
}

impl Version {
    /// `APIResourceList`.
    pub(super) fn resource_list(&self, group: &str) -> Value {
        let group_version =
            if group.is_empty() { self.name.clone() } else { format!("{group}/{}", self.name) };
        let mut resources = Vec::new();
        for resource in &self.resources {
            resources.push(resource.document());
            let parts = resource.subresources.iter();
            resources.extend(parts.map(|part| resource.subresource(part, group, &self.name)));
        }
        let mut document =
            json!({ "kind": "APIResourceList", "groupVersion": group_version, "resources": resources });
        if !group.is_empty() {
            document["apiVersion"] = json!("v1");
        }
        document
    }
}

impl Resource {
    fn document(&self) -> Value {
        let mut document = json!({
            "name": self.plural,
            "singularName": self.singular,
            "namespaced": self.is_namespaced,
            "kind": self.kind,
            "verbs": self.verbs,
        });
        for (field, words) in [("shortNames", &self.short_names), ("categories", &self.categories)] {
            if !words.is_empty() {
                document[field] = json!(words);
            }
        }
        document
    }

    fn subresource(&self, part: &Subresource, group: &str, version: &str) -> Value {
        let mut document = json!({
            "name": format!("{}/{}", self.plural, part.name),
            "singularName": "",
            "namespaced": self.is_namespaced,
            "kind": part.kind,
            "verbs": part.verbs,
        });
        if (part.group.as_str(), part.version.as_str()) != (group, version) {
            document["group"] = json!(part.group);
            document["version"] = json!(part.version);
        }
        document
    }

    fn aggregated(&self, group: &str, version: &str) -> Value {
        let subresources = self.subresources.iter().map(|part| {
            let kind = json!({ "group": part.group, "version": part.version, "kind": part.kind });
            json!({ "subresource": part.name, "responseKind": kind, "verbs": part.verbs })
        });
        let subresources: Vec<_> = subresources.collect();
        let mut document = json!({
            "resource": self.plural,
            "responseKind": { "group": group, "version": version, "kind": self.kind },
            "scope": if self.is_namespaced { "Namespaced" } else { "Cluster" },
            "singularResource": self.singular,
            "verbs": self.verbs,
        });
        for (field, words) in [("shortNames", &self.short_names), ("categories", &self.categories)] {
            if !words.is_empty() {
                document[field] = json!(words);
            }
        }
        if !subresources.is_empty() {
            document["subresources"] = json!(subresources);
        }
        document
    }
}

#[cfg(test)]
mod tests {
    use super::preference;

    #[test]
    fn the_most_stable_and_newest_version_is_preferred() {
        let mut versions = ["v1alpha1", "v10", "foo", "v1beta2", "v2", "v1beta10", "bar", "v1"];
        versions.sort_by(|a, b| preference(a, b));
        assert_eq!(versions, ["v10", "v2", "v1", "v1beta10", "v1beta2", "v1alpha1", "bar", "foo"]);
    }
}
