//! Servers that say no, or say nonsense: what people are told, and how often it is asked.

use std::error::Error;

use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::json;
use steersman::reflector::ReflectorError;
use steersman::shared_informer::Why;
use steersman::{Api, ApiResource, DynamicObject, Scope, SharedInformer};
use test_apiserver::faults::{Fault, Verb, When};
use tokio::sync::mpsc::unbounded_channel;

use crate::mirror::Mirror;
use crate::world::{MAPS, WIRES, Wire, World, chain, config_map, on_watch, paged, quick, run, until, within};

// CACHE-I-05, REST-ER-12
#[tokio::test]
async fn who_waits_for_a_cache_that_may_not_be_read_hears_so_by_name() {
    for wire in WIRES {
        for config in [quick(), paged()] {
            let world = World::start(wire).await;
            world.plan(When::any().path(MAPS).always(), Fault::refuse(403));
            let (informer, _running) = run(world.client.all::<ConfigMap>(), config);
            let why = within("an answer", informer.synced()).await.expect_err("forbidden");
            assert_eq!((why.what(), why.why()), ("configmaps", Why::Refused), "{wire:?}");
            assert!(why.api_error().is_some_and(steersman::ApiError::is_forbidden), "{wire:?}: {why:?}");
            assert!(why.to_string().contains("configmaps") && why.to_string().contains("403"), "{why}");
            assert!(chain(&why).len() > why.to_string().len() && why.source().is_some(), "{}", chain(&why));
            // It goes on trying, and heals.
            world.server.faults().clear();
            world.map("a");
            within("synced", async { while informer.synced().await.is_err() {} }).await;
            until("it is cached", || informer.lister().len() == 1).await;
        }
    }
}

// CACHE-I-05
#[tokio::test]
async fn who_waits_for_a_resource_that_nobody_serves_hears_so_until_it_is_served() {
    for wire in WIRES {
        let world = World::start(wire).await;
        let sites = ApiResource::new("example.com/v1", "Site", "sites", Scope::Namespaced);
        let sites: Api<DynamicObject> = world.client.all_of(sites);
        let (informer, _running) = run(sites, quick());
        let why = within("an answer", informer.synced()).await.expect_err("no such resource");
        assert_eq!((why.what(), why.why()), ("sites.example.com", Why::Refused), "{wire:?}");
        assert!(why.api_error().is_some_and(steersman::ApiError::is_not_found), "{wire:?}: {why:?}");
        crate::site::define(&world.server);
        world.server.create(crate::site::site("blog", "A blog")).expect("created");
        within("synced", async { while informer.synced().await.is_err() {} }).await;
        until("it is cached", || informer.lister().len() == 1).await;
    }
}

// CACHE-R-47, CACHE +R3, CACHE +R4
#[tokio::test]
async fn a_watch_that_is_refused_for_a_while_is_asked_for_again_and_nothing_is_listed() {
    for wire in WIRES {
        for fault in [
            Fault::refuse(429),
            Fault::too_many_requests(1),
            Fault::refuse(503),
            Fault::Refuse { code: 503, retry_after: Some(1) },
            Fault::Html { code: 502 },
            Fault::Close,
        ] {
            let world = World::start(wire).await;
            world.maps(2);
            let mut mirror = Mirror::<ConfigMap>::start(&world.client, paged());
            mirror.agrees_with(&world.server, "at first").await;
            world.watches(1).await;
            world.plan(on_watch().times(4), fault.clone());
            world.end_watches();
            until("all of it was met", || world.server.faults().left() == 0).await;
            world.map("later");
            mirror.agrees_with(&world.server, &format!("{wire:?} {fault:?}")).await;
            assert_eq!(world.asked(Verb::List), 1, "{wire:?} {fault:?}: nothing is listed again");
            let watches = world.asked(Verb::Watch);
            assert!((6..=7).contains(&watches), "{wire:?} {fault:?}: {watches} watches");
        }
    }
}

// REST-WA-06, REST-ER-15, CACHE-R-51
#[tokio::test]
async fn a_frame_of_garbage_ends_the_watch_and_a_list_makes_up_for_it() {
    for wire in WIRES {
        for frame in [
            b"{\"type\":\"ADDED\",\"object\":{]".to_vec(),
            b"<html>".to_vec(),
            b"{\"type\":\"CHANGED\",\"object\":{}}".to_vec(),
            b"{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{}}}".to_vec(),
            b"\xff\xfe\x00".to_vec(),
        ] {
            let world = World::start(wire).await;
            world.maps(2);
            let mut mirror = Mirror::<ConfigMap>::start(&world.client, paged());
            mirror.agrees_with(&world.server, "at first").await;
            world.watches(1).await;
            let shown = String::from_utf8_lossy(&frame).into_owned();
            world.plan(on_watch(), Fault::Garbage { after_frames: 1, frame });
            world.end_watches();
            until("the watch is open", || world.server.faults().left() == 0).await;
            world.map("one");
            world.map("two");
            mirror.agrees_with(&world.server, &format!("{wire:?} {shown}")).await;
            let (lists, watches) = (world.asked(Verb::List), world.asked(Verb::Watch));
            assert!(lists <= 2 && watches <= 4, "{wire:?} {shown}: {lists} lists, {watches} watches");
        }
    }
}

// REST-WA-05
#[tokio::test]
async fn a_frame_above_the_limit_is_not_read_and_the_rest_of_the_collection_is() {
    let mut frame = b"{\"type\":\"ADDED\",\"object\":{\"kind\":\"ConfigMap\",\"data\":{\"v\":\"".to_vec();
    frame.resize(17 * 1024 * 1024, b'x');
    frame.extend_from_slice(b"\"}}}");
    for wire in WIRES {
        let world = World::start(wire).await;
        world.maps(2);
        let mut mirror = Mirror::<ConfigMap>::start(&world.client, paged());
        mirror.agrees_with(&world.server, "at first").await;
        world.watches(1).await;
        world.plan(on_watch(), Fault::Garbage { after_frames: 1, frame: frame.clone() });
        world.end_watches();
        until("the watch is open", || world.server.faults().left() == 0).await;
        world.map("one");
        mirror.agrees_with(&world.server, "before the frame").await;
        until("the frame was met", || world.asked(Verb::Watch) > 2 || world.asked(Verb::List) > 1).await;
        world.map("two");
        mirror.agrees_with(&world.server, &format!("{wire:?}")).await;
        assert!(world.asked(Verb::List) <= 2, "{wire:?}: read again would not make it smaller");
    }
}

// CACHE-R-36, CACHE +R7
#[tokio::test]
async fn one_object_that_cannot_be_read_is_reported_by_name_and_the_999_others_arrive() {
    for wire in WIRES {
        for config in [quick(), paged()] {
            let when = format!("{wire:?} watch_list {}", config.watch_list);
            let world = World::start(wire).await;
            world.maps(999);
            let mut odd = config_map("odd-one");
            odd["data"] = json!({ "v": 5 });
            world.server.create(odd).expect("the server takes it");
            let (tell, mut told) = unbounded_channel();
            let informer = SharedInformer::builder(world.client.all::<ConfigMap>())
                .config(config)
                .on_handled(move |error| tell.send(error.clone()).expect("somebody listens"))
                .build();
            let running = tokio::spawn(informer.run(std::future::pending()));
            within("synced", informer.synced()).await.unwrap_or_else(|why| panic!("{when}: {why}"));
            until("all others are there", || informer.lister().len() == 999).await;
            let error = within("a report", told.recv()).await.expect("told");
            let ReflectorError::Undecodable { source, .. } = &*error else { panic!("{when}: {error:?}") };
            let key = source.key.as_ref().map(steersman::ObjectKey::as_str);
            assert_eq!(key, Some("default/odd-one"), "{when}: {source:?}");
            // It goes on, and does not go round.
            world.map("later");
            until("what comes later arrives", || informer.lister().len() == 1000).await;
            let asked = world.asked(Verb::List) + world.asked(Verb::Watch);
            assert!(asked <= 3, "{when}: {asked} requests");
            assert_eq!(informer.status().reflector.undecodable, 1, "{when}");
            running.abort();
        }
    }
}

// REST-CF-08
#[tokio::test]
async fn html_at_every_door_neither_syncs_nor_hammers() {
    for wire in [Wire::Http2, Wire::Http1] {
        let world = World::start(wire).await;
        world.plan(When::any().path(MAPS).always(), Fault::Html { code: 200 });
        let mut config = quick();
        // Long enough that a loop without a rest would be seen by the number of its requests.
        config.backoff.initial = std::time::Duration::from_hours(1);
        config.backoff.cap = std::time::Duration::from_hours(1);
        let (informer, _running) = run(world.client.all::<ConfigMap>(), config);
        until("it has failed", || informer.status().reflector.rests > 0).await;
        let status = informer.status();
        assert!(!status.is_synced, "{wire:?}");
        let error = status.last_error.expect("told");
        assert!(matches!(error.api_error(), Some(steersman::ApiError::Decode(_))), "{wire:?}: {error:?}");
        let asked = world.server.requests().len();
        assert!(asked <= 3, "{wire:?}: {asked} requests before the first rest");
    }
}
