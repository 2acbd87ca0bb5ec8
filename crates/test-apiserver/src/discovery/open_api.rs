//! OpenAPI v3, as little of it as kubectl needs: which kinds can be patched, and that `fieldValidation` and `dryRun` are
//! understood. There are no schemas: `kubectl explain` finds nothing.

use serde_json::{Map, Value, json};

use super::documents::{Group, Resource};

/// `/openapi/v3`: where the document of each group and version is.
pub(super) fn root(groups: &[Group]) -> Value {
    let mut paths = Map::new();
    for group in groups {
        for version in &group.versions {
            let path = path(&group.name, &version.name);
            paths.insert(path.clone(), json!({ "serverRelativeURL": format!("/openapi/v3/{path}") }));
        }
    }
    json!({ "paths": paths })
}

/// The document of `api/v1` or `apis/GROUP/VERSION`; none if that is not served.
pub(super) fn document(groups: &[Group], wanted: &str) -> Option<Value> {
    let versions = groups.iter().flat_map(|group| group.versions.iter().map(move |version| (group, version)));
    let (group, version) =
        versions.into_iter().find(|(group, version)| path(&group.name, &version.name) == wanted)?;
    let mut paths = Map::new();
    for resource in
        version.resources.iter().filter(|resource| resource.verbs.iter().any(|verb| verb == "patch"))
    {
        let (path, item) = item(wanted, &group.name, &version.name, resource);
        paths.insert(path, item);
    }
    Some(json!({
        "openapi": "3.0.0",
        "info": { "title": "Kubernetes", "version": format!("v1.{}.0", super::MINOR) },
        "paths": paths,
        "components": {},
    }))
}

fn path(group: &str, version: &str) -> String {
    if group.is_empty() { format!("api/{version}") } else { format!("apis/{group}/{version}") }
}

fn item(prefix: &str, group: &str, version: &str, resource: &Resource) -> (String, Value) {
    let scope = if resource.is_namespaced { "namespaces/{namespace}/" } else { "" };
    let path = format!("/{prefix}/{scope}{}/{{name}}", resource.plural);
    let parameter = |name: &str| json!({ "name": name, "in": "query", "schema": { "type": "string" } });
    let parameters = ["dryRun", "fieldManager", "fieldValidation", "force"].map(parameter);
    let item = json!({
        "patch": {
            "x-kubernetes-action": "patch",
            "x-kubernetes-group-version-kind": { "group": group, "version": version, "kind": resource.kind },
            "parameters": parameters,
            "responses": { "200": { "description": "OK" } },
        },
    });
    (path, item)
}
