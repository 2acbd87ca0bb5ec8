//! Types made by kube's derive are kept forms like any other, with kube-core alone: no kube client is needed.

use apimachinery::{Decode, DecodeContext, Kind, Lazy, Object, Scope};
use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(group = "example.com", version = "v1", kind = "Website", namespaced, status = "WebsiteStatus")]
#[kube(crates(kube_core = "::kube_core"))]
struct WebsiteSpec {
    title: String,
    replicas: Option<i32>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
struct WebsiteStatus {
    ready: bool,
}

apimachinery::object!(Website, "example.com/v1", "Website", "websites", Namespaced);

const BODY: &str = r#"{"apiVersion":"example.com/v1","kind":"Website",
    "metadata":{"name":"blog","namespace":"shop","resourceVersion":"7","managedFields":[{"manager":"x"}]},
    "spec":{"title":"A blog","replicas":null},"status":{"ready":true}}"#;

#[test]
fn a_type_made_by_kubes_derive_is_a_kept_form() {
    let context = DecodeContext::default().skipping_managed_fields(true);
    let site = <Website as Decode>::decode(BODY.as_bytes(), context).unwrap();
    assert_eq!((site.key().as_str(), site.resource_version()), ("shop/blog", "7"));
    assert_eq!((site.spec.title.as_str(), site.spec.replicas), ("A blog", None));
    assert_eq!(site.status, Some(WebsiteStatus { ready: true }));
    assert_eq!(site.metadata.managed_fields, None);

    let lazy = <Lazy<Website> as Decode>::decode(BODY.as_bytes(), context).unwrap();
    assert_eq!(lazy.key(), site.key());
    assert_eq!(lazy.decode().unwrap().spec, site.spec);
}

#[test]
fn a_type_made_by_kubes_derive_has_the_resource_that_object_gives_it() {
    let resource = Website::resource();
    assert_eq!(resource.path(Some("shop")), "/apis/example.com/v1/namespaces/shop/websites");
    assert_eq!((&*resource.kind, resource.scope), ("Website", Scope::Namespaced));
    let derived = (
        <Website as kube_core::Resource>::group(&()),
        <Website as kube_core::Resource>::version(&()),
        <Website as kube_core::Resource>::kind(&()),
        <Website as kube_core::Resource>::plural(&()),
    );
    assert_eq!(derived, (resource.group, resource.version, resource.kind, resource.plural));
    assert_eq!(<Lazy<Website> as Kind>::resource(), Website::resource());
}

#[test]
fn a_type_made_by_kubes_derive_is_written_with_its_kind() {
    let mut site = Website::new("blog", WebsiteSpec { title: "A blog".to_owned(), replicas: Some(2) });
    site.metadata.namespace = Some("shop".to_owned());
    let written = serde_json::to_value(&site).unwrap();
    assert_eq!(
        (written["kind"].as_str(), written["apiVersion"].as_str()),
        (Some("Website"), Some("example.com/v1"))
    );
    let read = <Website as Decode>::decode(written.to_string().as_bytes(), DecodeContext::default()).unwrap();
    assert_eq!((read.key(), read.spec), (site.key(), site.spec));
}
