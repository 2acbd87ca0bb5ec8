//! The façade's factory: one informer a kind, waited for and stopped together.

use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Node};
use steersman::{ApiResource, DynamicObject, Informers, Lazy, Scope};
use test_apiserver::faults::{Fault, Verb, When};

use crate::world::{MAPS, WIRES, Wire, World, until, within};

// CACHE-F-01
#[tokio::test]
async fn a_kind_has_one_informer_and_one_watch_however_often_it_is_asked_for() {
    for wire in WIRES {
        let world = World::start(wire).await;
        world.maps(2);
        let informers = Informers::new(&world.client);
        let (first, second) = (informers.of::<ConfigMap>(), informers.clone().of::<ConfigMap>());
        let running = tokio::spawn(informers.run(std::future::pending()));
        within("synced", informers.synced()).await.expect("synced");
        assert_eq!((first.lister().len(), second.lister().len()), (2, 2), "{wire:?}");
        let third = informers.of::<ConfigMap>();
        world.map("later");
        until("all see it", || [&first, &second, &third].iter().all(|i| i.lister().len() == 3)).await;
        assert_eq!(world.asked(Verb::Watch), 1, "{wire:?}");
        // Another kept form is another informer.
        let lazy = informers.of::<Lazy<ConfigMap>>();
        within("synced", lazy.synced()).await.expect("synced");
        assert_eq!(world.asked(Verb::Watch), 2, "{wire:?}");
        within("they stop", informers.shutdown()).await;
        within("the factory ends", running).await.expect("no panic");
        assert!(first.is_stopped() && lazy.is_stopped());
        world.watches(0).await;
    }
}

// CACHE-F-04, CACHE-I-05
#[tokio::test]
async fn who_waits_for_all_hears_which_are_not_synced_and_why() {
    let world = World::start(Wire::Http2).await;
    world.plan(When::any().path(MAPS).always(), Fault::refuse(403));
    let informers = Informers::new(&world.client);
    let _maps = informers.of::<ConfigMap>();
    let deployments = informers.of::<Deployment>();
    let _nodes = informers.of::<Node>();
    let ghosts = ApiResource::new("example.com/v1", "Ghost", "ghosts", Scope::Namespaced);
    let _ghosts = informers.of_resource::<DynamicObject>(&ghosts);
    let running = tokio::spawn(informers.run(std::future::pending()));
    let why = within("an answer", informers.synced()).await.expect_err("two are not");
    let text = why.to_string();
    assert!(text.contains("configmaps") && text.contains("ghosts.example.com"), "{text}");
    assert!(!text.contains("deployments") && !text.contains("nodes"), "{text}");
    within("the others are", deployments.synced()).await.expect("synced");
    within("they stop", informers.shutdown()).await;
    within("the factory ends", running).await.expect("no panic");
}

// CACHE-F-02
#[tokio::test]
async fn a_factory_of_one_namespace_sees_that_namespace_and_all_of_the_cluster() {
    let world = World::start(Wire::Http2).await;
    world.map("here");
    let mut elsewhere = crate::world::config_map("elsewhere");
    elsewhere["metadata"]["namespace"] = "kube-system".into();
    world.server.create(elsewhere).expect("created");
    let node = serde_json::json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": "n1" } });
    world.server.create(node).expect("created");
    let informers = Informers::with_resync(&world.client, Duration::from_hours(1)).in_namespace("default");
    let (maps, nodes) = (informers.of::<ConfigMap>(), informers.of_with::<Node>(|api| api.labels("!gone")));
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let running = tokio::spawn(informers.run(async move {
        stopped.await.expect("told");
    }));
    within("synced", informers.synced()).await.expect("synced");
    let keys: Vec<_> = maps.lister().keys().iter().map(ToString::to_string).collect();
    assert_eq!(keys, ["default/here"]);
    assert_eq!(nodes.lister().len(), 1);
    stop.send(()).expect("it runs");
    within("the factory ends", running).await.expect("no panic");
    assert!(maps.is_stopped() && nodes.is_stopped());
}

// CACHE-F-01
#[tokio::test]
async fn a_factory_can_be_shut_down_while_its_server_is_down() {
    let world = World::start(Wire::Http1).await;
    let informers = Informers::new(&world.client);
    let maps = informers.of::<ConfigMap>();
    let running = tokio::spawn(informers.run(std::future::pending()));
    within("synced", informers.synced()).await.expect("synced");
    within("the server stops", world.server.stop()).await;
    until("it is missed", || maps.status().last_error.is_some()).await;
    within("they stop", informers.shutdown()).await;
    within("the factory ends", running).await.expect("no panic");
    assert!(maps.is_stopped() && maps.is_synced());
}
