//! Informers over less than everything: a namespace, a selector, objects without managed fields; indices over them.

use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::json;
use steersman::{Lazy, Object, ObjectKey, Patch, PatchOptions};
use test_apiserver::faults::Verb;

use crate::mirror::Mirror;
use crate::world::{WIRES, Wire, World, config_map, paged, quick, run, until, within};

// CACHE-F-02, REST-OP-01
#[tokio::test]
async fn an_informer_over_a_selector_sees_objects_come_into_it_and_leave_it() {
    for wire in WIRES {
        for config in [quick(), paged()] {
            let world = World::start(wire).await;
            for (name, app) in [("in", "web"), ("out", "db")] {
                let mut map = config_map(name);
                map["metadata"]["labels"] = json!({ "app": app });
                world.server.create(map).expect("created");
            }
            let maps = world.client.namespaced::<ConfigMap>("default");
            let (informer, _running) = run(maps.clone().labels("app=web"), config);
            within("synced", informer.synced()).await.expect("synced");
            let lister = informer.lister();
            let keys = || lister.keys().iter().map(|key| key.name().to_owned()).collect::<Vec<_>>();
            assert_eq!(keys(), ["in"], "{wire:?}");
            for (name, app) in [("out", "web"), ("in", "db")] {
                let label = Patch::Merge(json!({ "metadata": { "labels": { "app": app } } }));
                let key = ObjectKey::new("default", name);
                maps.patch(&key, None, &label, &PatchOptions::default()).await.expect("patched");
            }
            until("they have changed places", || keys() == ["out"]).await;
            let watch = &world.server.requests();
            let watch = watch.iter().find(|request| request.verb == Verb::Watch).expect("watched");
            assert_eq!(watch.path, "/api/v1/namespaces/default/configmaps");
            assert_eq!(watch.parameter("labelSelector").as_deref(), Some("app=web"), "{wire:?}");
        }
    }
}

// CACHE-I-06
#[tokio::test]
async fn managed_fields_are_skipped_on_the_way_in_and_kept_where_nobody_says_so() {
    for wire in WIRES {
        for config in [quick(), paged()] {
            let world = World::start(wire).await;
            let maps = world.client.namespaced::<ConfigMap>("default");
            for name in ["before", "after"] {
                let apply = Patch::Apply(json!({ "data": { "v": "1" } }));
                let key = ObjectKey::new("default", name);
                let made =
                    maps.patch(&key, None, &apply, &PatchOptions::apply("e2e")).await.expect("applied");
                assert!(made.metadata.managed_fields.is_some_and(|fields| !fields.is_empty()));
                if name == "after" {
                    break;
                }
                let lean = run(world.client.all::<ConfigMap>().without_managed_fields(), config.clone());
                let lazy =
                    run(world.client.all::<Lazy<ConfigMap>>().without_managed_fields(), config.clone());
                let whole = run(world.client.all::<ConfigMap>(), config.clone());
                until("all are synced", || lean.0.is_synced() && lazy.0.is_synced() && whole.0.is_synced())
                    .await;
                let (lean, lazy, whole) =
                    (lean.0.lister().list(), lazy.0.lister().list(), whole.0.lister().list());
                assert!(whole[0].metadata.managed_fields.is_some(), "{wire:?}");
                assert_eq!(lean[0].metadata.managed_fields, None, "{wire:?}");
                let body = std::str::from_utf8(lazy[0].body()).expect("text");
                assert!(!body.contains("managedFields"), "{wire:?}: {body}");
                assert_eq!(lazy[0].decode().expect("still an object").data, whole[0].data);
                assert_eq!(lean[0].resource_version(), whole[0].resource_version());
            }
        }
    }
}

// CACHE-S-20, CACHE-S-21, CACHE-Z-03
#[tokio::test]
async fn an_index_follows_what_the_server_says() {
    let world = World::start(Wire::Http2).await;
    world.maps(3);
    let mut mirror = Mirror::<ConfigMap>::start(&world.client, quick());
    let by_value = mirror.informer.index(|map| map.data.clone().unwrap_or_default().remove("v"));
    mirror.agrees_with(&world.server, "at first").await;
    assert_eq!((by_value.count("0"), by_value.count("1")), (3, 0));
    let maps = world.client.namespaced::<ConfigMap>("default");
    let change = Patch::Merge(json!({ "metadata": { "labels": { "v": "1" } }, "data": { "v": "1" } }));
    maps.patch(&ObjectKey::new("default", "m-1"), None, &change, &PatchOptions::default())
        .await
        .expect("patched");
    mirror.agrees_with(&world.server, "after the change").await;
    let keys: Vec<_> = by_value.keys("1").iter().map(ToString::to_string).collect();
    assert_eq!((by_value.count("0"), keys), (2, vec!["default/m-1".to_owned()]));
}
