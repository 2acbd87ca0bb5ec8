//! What is written and read of single objects: typed, dynamic, metadata alone, lazy.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::json;
use steersman::{
    Api, ApiResource, CreateOptions, DeleteOptions, DynamicObject, GetOptions, Kind, Lazy, ListOptions, Meta,
    Object, ObjectKey, PartialObjectMetadata, Patch, PatchOptions, Scope, UpdateOptions,
};

use crate::site::{Site, SiteStatus, define, site};
use crate::world::{WIRES, Wire, World};

fn map(name: &str, value: &str) -> ConfigMap {
    let mut map = ConfigMap::default();
    map.metadata.name = Some(name.to_owned());
    map.data = Some(BTreeMap::from([("v".to_owned(), value.to_owned())]));
    map
}

fn value(map: &ConfigMap, key: &str) -> Option<String> {
    map.data.as_ref().and_then(|data| data.get(key).cloned())
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::new("default", name)
}

fn patching() -> PatchOptions {
    PatchOptions::default()
}

// REST-CL-01, REST-RQ-14, REST-RQ-15, REST-AP-01
#[tokio::test]
async fn a_config_map_goes_through_every_verb_and_every_kind_of_patch() {
    for wire in WIRES {
        let world = World::start(wire).await;
        let maps = world.client.namespaced::<ConfigMap>("default");
        let made = maps.create(&map("a", "1"), &CreateOptions::default()).await.expect("created");
        assert!(!made.uid().is_empty() && !made.resource_version().is_empty(), "{wire:?}");
        assert_eq!(made.namespace(), "default");
        let read = maps.get(&key("a"), &GetOptions::default()).await.expect("there");
        assert_eq!(read, made, "{wire:?}");

        let mut changed = read;
        changed.data = Some(BTreeMap::from([("v".to_owned(), "2".to_owned())]));
        let changed = maps.update(&changed, &UpdateOptions::default()).await.expect("updated");
        assert_eq!(value(&changed, "v").as_deref(), Some("2"));

        let patches = [
            Patch::Json(json!([{ "op": "add", "path": "/data/json", "value": "x" }])),
            Patch::Merge(json!({ "data": { "merge": "x" } })),
            Patch::Strategic(json!({ "data": { "strategic": "x" } })),
            Patch::Apply(json!({ "metadata": { "name": "a" }, "data": { "apply": "x" } })),
        ];
        for patch in &patches {
            let options =
                if matches!(patch, Patch::Apply(_)) { PatchOptions::apply("e2e") } else { patching() };
            maps.patch(&key("a"), None, patch, &options).await.unwrap_or_else(|e| panic!("{patch:?}: {e}"));
        }
        let read = maps.get(&key("a"), &GetOptions::default()).await.expect("there");
        for name in ["json", "merge", "strategic", "apply"] {
            assert_eq!(value(&read, name).as_deref(), Some("x"), "{wire:?} {name}");
        }
        let managers = read.metadata.managed_fields.clone().unwrap_or_default();
        assert!(managers.iter().any(|entry| entry.manager.as_deref() == Some("e2e")), "{managers:?}");

        maps.delete(&key("a"), &DeleteOptions::default()).await.expect("deleted");
        let gone = maps.get(&key("a"), &GetOptions::default()).await.expect_err("gone");
        assert!(gone.is_not_found(), "{gone:?}");
        assert!(gone.to_string().contains("\"a\""), "{gone}");
    }
}

// REST-CL-01
#[tokio::test]
async fn a_made_up_name_is_told_and_two_are_not_the_same() {
    let world = World::start(Wire::Http2).await;
    let maps = world.client.namespaced::<ConfigMap>("default");
    let mut nameless = ConfigMap::default();
    nameless.metadata.generate_name = Some("page-".to_owned());
    let first = maps.create(&nameless, &CreateOptions::default()).await.expect("created");
    let second = maps.create(&nameless, &CreateOptions::default()).await.expect("created");
    assert!(first.name().starts_with("page-") && second.name().starts_with("page-"));
    assert_ne!(first.name(), second.name());
}

// REST-ER-04, REST-ER-05, REST-ER-12
#[tokio::test]
async fn a_stale_update_is_a_conflict_and_a_second_creation_is_told_from_it() {
    for wire in WIRES {
        let world = World::start(wire).await;
        let maps = world.client.namespaced::<ConfigMap>("default");
        let first = maps.create(&map("a", "1"), &CreateOptions::default()).await.expect("created");
        maps.patch(&key("a"), None, &Patch::Merge(json!({ "data": { "v": "2" } })), &patching())
            .await
            .expect("patched");
        let stale = maps.update(&first, &UpdateOptions::default()).await.expect_err("stale");
        assert!(stale.is_conflict() && !stale.is_already_exists(), "{wire:?}: {stale:?}");
        let again = maps.create(&map("a", "1"), &CreateOptions::default()).await.expect_err("there");
        assert!(again.is_already_exists() && !again.is_conflict(), "{wire:?}: {again:?}");
    }
}

// REST-OP-03
#[tokio::test]
async fn a_finalizer_holds_an_object_until_it_is_taken_away() {
    let world = World::start(Wire::Http2).await;
    let maps = world.client.namespaced::<ConfigMap>("default");
    let mut held = map("a", "1");
    held.metadata.finalizers = Some(vec!["example.com/hold".to_owned()]);
    maps.create(&held, &CreateOptions::default()).await.expect("created");
    maps.delete(&key("a"), &DeleteOptions::default()).await.expect("asked");
    let mut held = maps.get(&key("a"), &GetOptions::default()).await.expect("still there");
    assert!(held.meta().deletion_timestamp().is_some());
    assert_eq!(held.metadata.finalizers(), ["example.com/hold"]);
    held.metadata.finalizers = None;
    maps.update(&held, &UpdateOptions::default()).await.expect("let go");
    assert!(maps.get(&key("a"), &GetOptions::default()).await.expect_err("gone").is_not_found());
}

// REST-OP-03
#[tokio::test]
async fn a_precondition_keeps_another_object_of_that_name_alive() {
    let world = World::start(Wire::Http1).await;
    let maps = world.client.namespaced::<ConfigMap>("default");
    maps.create(&map("a", "1"), &CreateOptions::default()).await.expect("created");
    let mut options = DeleteOptions::default();
    options.preconditions =
        Some(steersman::Preconditions { uid: Some("another".to_owned()), resource_version: None });
    let refused = maps.delete(&key("a"), &options).await.expect_err("another object");
    assert!(refused.is_conflict(), "{refused:?}");
    maps.get(&key("a"), &GetOptions::default()).await.expect("still there");
}

// REST-CL-01, REST-OP-04
#[tokio::test]
async fn a_dry_run_answers_and_stores_nothing() {
    let world = World::start(Wire::Http2).await;
    let maps = world.client.namespaced::<ConfigMap>("default");
    let mut dry = CreateOptions::default();
    dry.dry_run = true;
    let answer = maps.create(&map("a", "1"), &dry).await.expect("it would do");
    assert_eq!(value(&answer, "v").as_deref(), Some("1"));
    assert!(maps.get(&key("a"), &GetOptions::default()).await.expect_err("not stored").is_not_found());
}

// REST-CL-01, REST-RQ-14
#[tokio::test]
async fn a_deployment_merges_its_containers_and_keeps_its_status_apart() {
    for wire in WIRES {
        let world = World::start(wire).await;
        let deployments = world.client.namespaced::<Deployment>("default");
        let wanted: Deployment = serde_json::from_value(json!({
            "metadata": { "name": "web" },
            "spec": {
                "replicas": 2,
                "selector": { "matchLabels": { "app": "web" } },
                "template": {
                    "metadata": { "labels": { "app": "web" } },
                    "spec": { "containers": [{ "name": "web", "image": "nginx:1" }] },
                },
            },
        }))
        .expect("a deployment");
        let made = deployments.create(&wanted, &CreateOptions::default()).await.expect("created");
        let sidecar = json!({ "spec": { "template": { "spec": { "containers": [{ "name": "log", "image": "log:1" }] } } } });
        let merged = deployments
            .patch(&key("web"), None, &Patch::Strategic(sidecar), &patching())
            .await
            .expect("patched");
        let containers = merged.spec.template.spec.clone().expect("a pod").containers;
        let mut names: Vec<_> = containers.iter().map(|container| container.name.as_str()).collect();
        names.sort_unstable();
        assert_eq!(names, ["log", "web"], "{wire:?}");
        assert!(merged.metadata.generation > made.metadata.generation);

        let mut reported = merged.clone();
        reported.status = Some(serde_json::from_value(json!({ "readyReplicas": 1 })).expect("a status"));
        reported.spec.replicas = Some(9);
        let reported =
            deployments.update_status(&reported, &UpdateOptions::default()).await.expect("reported");
        assert_eq!(reported.status.as_ref().and_then(|status| status.ready_replicas), Some(1));
        assert_eq!(reported.spec.replicas, Some(2), "{wire:?}: spec stays");
        assert_eq!(reported.metadata.generation, merged.metadata.generation);
        let through_patch = Patch::Merge(json!({ "status": { "readyReplicas": 2 } }));
        let patched = deployments
            .patch(&key("web"), Some("status"), &through_patch, &patching())
            .await
            .expect("patched");
        assert_eq!(patched.status.and_then(|status| status.ready_replicas), Some(2));
    }
}

// REST-DY-01, REST-DY-05, REST-RQ-14, REST-AP-01
#[tokio::test]
async fn a_custom_resource_is_written_and_read_as_json_and_as_its_type() {
    for wire in WIRES {
        let world = World::start(wire).await;
        define(&world.server);
        let sites = ApiResource::new("example.com/v1", "Site", "sites", Scope::Namespaced);
        let dynamic: Api<DynamicObject> = world.client.namespaced_of("default", sites.clone());
        let mut blog = DynamicObject::new("blog", &sites).within("default");
        blog.set("/spec/title", "A blog".into()).expect("set");
        let made = dynamic.create(&blog, &CreateOptions::default()).await.expect("created");
        assert_eq!((made.kind.as_str(), made.api_version.as_str()), ("Site", "example.com/v1"));
        assert_eq!(made.field::<String>("/spec/title").expect("text").as_deref(), Some("A blog"));

        let typed = world.client.namespaced::<Site>("default");
        let mut read = typed.get(&key("blog"), &GetOptions::default()).await.expect("there");
        assert_eq!(read.spec.title, "A blog");
        read.status = Some(SiteStatus { ready: true });
        let reported = typed.update_status(&read, &UpdateOptions::default()).await.expect("reported");
        assert_eq!(reported.status, Some(SiteStatus { ready: true }));
        let merge = Patch::Merge(json!({ "spec": { "title": "Another" } }));
        let patched = dynamic.patch(&key("blog"), None, &merge, &patching()).await.expect("patched");
        assert_eq!(patched.pointer("/status/ready"), Some(&json!(true)), "{wire:?}");
        let apply = Patch::Apply(json!({ "metadata": { "name": "blog" }, "spec": { "title": "Applied" } }));
        let options = PatchOptions::apply("e2e").force();
        let applied = typed.patch(&key("blog"), None, &apply, &options).await.expect("applied");
        assert_eq!(applied.spec.title, "Applied");
        let strategic = Patch::Strategic(json!({ "spec": { "title": "No" } }));
        let refused = dynamic.patch(&key("blog"), None, &strategic, &patching()).await.expect_err("no such");
        assert_eq!(refused.status().map(steersman::StatusError::code), Some(415), "{wire:?}");
        dynamic.delete(&key("blog"), &DeleteOptions::default()).await.expect("deleted");
        assert!(typed.get(&key("blog"), &GetOptions::default()).await.expect_err("gone").is_not_found());
    }
}

// REST-MD-01, REST-DY-06
#[tokio::test]
async fn metadata_alone_is_asked_for_and_given() {
    for wire in WIRES {
        let world = World::start(wire).await;
        world.map("a");
        let metas = world.client.namespaced::<PartialObjectMetadata<ConfigMap>>("default");
        let read = metas.get(&key("a"), &GetOptions::default()).await.expect("there");
        assert_eq!((read.name(), read.namespace()), ("a", "default"));
        let label = Patch::Merge(json!({ "metadata": { "labels": { "x": "y" } } }));
        let patched = metas.patch(&key("a"), None, &label, &patching()).await.expect("patched");
        assert_eq!(patched.meta().labels().get("x"), Some("y"));
        let page = metas.list(&ListOptions::default()).await.expect("a list");
        assert_eq!(page.items.len(), 1);
        for request in world.server.requests() {
            let accept = request.header("accept").unwrap_or_default().to_owned();
            assert!(
                accept.contains("as=PartialObjectMetadata"),
                "{wire:?} {}: {accept}",
                request.verb_text()
            );
        }
    }
}

trait VerbText {
    fn verb_text(&self) -> String;
}

impl VerbText for test_apiserver::Request {
    fn verb_text(&self) -> String {
        format!("{:?} {}", self.verb, self.path)
    }
}

// REST-CL-01
#[tokio::test]
async fn a_lazy_object_keeps_its_bytes_and_can_be_written_back() {
    #[derive(serde::Deserialize)]
    struct View {
        data: BTreeMap<String, String>,
    }
    for wire in WIRES {
        let world = World::start(wire).await;
        world.map("a");
        let lazies = world.client.namespaced::<Lazy<ConfigMap>>("default");
        assert_eq!(<Lazy<ConfigMap> as Kind>::resource(), ConfigMap::resource());
        let read = lazies.get(&key("a"), &GetOptions::default()).await.expect("there");
        assert_eq!(read.view::<View>().expect("a view").data["v"], "0");
        assert_eq!(read.decode().expect("whole").name(), "a");
        let back = lazies.update(&read, &UpdateOptions::default()).await.expect("written back");
        assert_eq!(back.resource_version(), read.resource_version(), "{wire:?}: nothing changed");
        let label = Patch::Merge(json!({ "data": { "v": "1" } }));
        let patched = lazies.patch(&key("a"), None, &label, &patching()).await.expect("patched");
        assert_eq!(patched.view::<View>().expect("a view").data["v"], "1");
        let stale = lazies.update(&read, &UpdateOptions::default()).await.expect_err("stale");
        assert!(stale.is_conflict(), "{wire:?}");
    }
}

// REST-RQ-02
#[tokio::test]
async fn a_name_that_would_leave_the_path_is_refused_before_anything_is_sent() {
    let world = World::start(Wire::Http2).await;
    define(&world.server);
    world.server.create(site("a", "x")).expect("created");
    let sites = world.client.namespaced::<Site>("default");
    for name in ["", "..", ".", "a/status", "a%2fstatus"] {
        let refused = sites.get(&ObjectKey::new("default", name), &GetOptions::default()).await;
        assert!(matches!(refused, Err(steersman::ApiError::InvalidRequest(_))), "{name:?}: {refused:?}");
    }
    assert_eq!(world.server.requests(), []);
}
