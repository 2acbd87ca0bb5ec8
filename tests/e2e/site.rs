//! A custom resource, as kube's derive makes it, and its definition.

use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use test_apiserver::TestApiServer;

#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(group = "example.com", version = "v1", kind = "Site", namespaced, status = "SiteStatus")]
#[kube(crates(kube_core = "::kube_core"))]
pub(crate) struct SiteSpec {
    pub(crate) title: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct SiteStatus {
    pub(crate) ready: bool,
}

steersman::object!(Site, "example.com/v1", "Site", "sites", Namespaced);

/// The server serves sites from now on.
pub(crate) fn define(server: &TestApiServer) {
    let schema = json!({ "openAPIV3Schema": {
        "type": "object",
        "properties": {
            "spec": { "type": "object", "properties": { "title": { "type": "string" } } },
            "status": { "type": "object", "properties": { "ready": { "type": "boolean" } } },
        },
    } });
    let version = json!({
        "name": "v1", "served": true, "storage": true, "schema": schema, "subresources": { "status": {} },
    });
    server
        .create(json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": { "name": "sites.example.com" },
            "spec": {
                "group": "example.com", "scope": "Namespaced", "versions": [version],
                "names": { "plural": "sites", "singular": "site", "kind": "Site", "listKind": "SiteList" },
            },
        }))
        .expect("defined");
}

pub(crate) fn site(name: &str, title: &str) -> Value {
    json!({
        "apiVersion": "example.com/v1", "kind": "Site",
        "metadata": { "name": name, "namespace": "default" }, "spec": { "title": title },
    })
}
