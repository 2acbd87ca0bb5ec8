//! Watches that are cut: what is asked afterwards, and what is not.

use k8s_openapi::api::core::v1::ConfigMap;
use steersman::Object;
use test_apiserver::faults::{After, End, Fault, Verb};

use crate::mirror::Mirror;
use crate::world::{WIRES, Wire, World, on_watch, paged, quick, until};

// CACHE-R-48, CACHE-R-58, REST-WA-06
#[tokio::test]
async fn a_mere_cut_is_followed_by_a_watch_and_by_nothing_else() {
    for wire in WIRES {
        for config in [quick(), paged()] {
            let watch_list = config.watch_list;
            let world = World::start(wire).await;
            world.maps(3);
            let mut mirror = Mirror::<ConfigMap>::start(&world.client, config);
            mirror.agrees_with(&world.server, "at first").await;
            world.watches(1).await;
            let (lists, watches) = (world.asked(Verb::List), world.asked(Verb::Watch));
            assert_eq!((lists, watches), (usize::from(!watch_list), 1), "{wire:?}");
            // Each watch gets an event and is then cut: in order, broken off, in the middle of a frame, with its connection.
            let cuts = [
                Fault::end_after_frames(1),
                Fault::cut_after_frames(1),
                Fault::cut_after_bytes(700),
                Fault::Cut { after: After::Bytes(700), end: End::Clean },
                Fault::Cut { after: After::Frames(1), end: End::Reset },
            ];
            for (at, cut) in cuts.iter().enumerate() {
                world.plan(on_watch(), cut.clone());
                world.end_watches();
                until("the planned watch is open", || world.server.faults().left() == 0).await;
                for more in ["x", "y"] {
                    world.map(&format!("{more}-{at}"));
                }
                mirror.agrees_with(&world.server, &format!("{wire:?} {cut:?}")).await;
            }
            world.watches(1).await;
            assert_eq!(world.asked(Verb::List), lists, "{wire:?} {watch_list}: nothing is listed again");
            let again = world.asked(Verb::Watch) - watches;
            assert!(
                again <= 3 * cuts.len(),
                "{wire:?} {watch_list}: {again} watches for {} cuts",
                cuts.len()
            );
            for request in &world.requests(Verb::Watch)[1..] {
                assert_eq!(request.parameter("sendInitialEvents"), None, "{wire:?}: {request:?}");
                assert!(request.parameter("resourceVersion").is_some_and(|v| v != "0"), "{request:?}");
            }
            assert_eq!(mirror.informer.status().reflector.fallbacks, 0, "{wire:?}");
        }
    }
}

// REST-TL-14, CACHE +R3
#[tokio::test]
async fn a_connection_that_has_fallen_silent_is_left_and_the_watch_goes_on_over_another() {
    let options = test_apiserver::Options::default();
    let world = World::start_with(Wire::Http2, options, |config| {
        config.connections.http2_read_idle = Some(std::time::Duration::from_millis(100));
        config.connections.http2_ping_timeout = std::time::Duration::from_millis(100);
    })
    .await;
    world.maps(2);
    let mut mirror = Mirror::<ConfigMap>::start(&world.client, quick());
    mirror.agrees_with(&world.server, "at first").await;
    let first = world.requests(Verb::Watch)[0].connection;
    // The whole connection goes dead under the second watch; nobody tells.
    world.plan(on_watch(), Fault::Silence);
    world.end_watches();
    until("the silent watch is asked for", || world.server.faults().left() == 0).await;
    world.map("unseen-at-first");
    mirror.agrees_with(&world.server, "after the silence").await;
    let last = world.requests(Verb::Watch).last().expect("asked").connection;
    assert_ne!(last, first, "another connection");
    assert_eq!(world.asked(Verb::List), 0, "nothing is listed");
}

// CACHE-R-02, CACHE +R3
#[tokio::test]
async fn a_watch_that_neither_speaks_nor_ends_is_opened_again_when_its_time_is_over() {
    for wire in WIRES {
        let world = World::start(wire).await;
        world.maps(2);
        let mut mirror = Mirror::<ConfigMap>::start(&world.client, quick());
        mirror.agrees_with(&world.server, "at first").await;
        world.plan(on_watch(), Fault::stall_after_frames(0));
        world.end_watches();
        until("the silent watch is asked for", || world.server.faults().left() == 0).await;
        world.map("unseen-at-first");
        let phase = || mirror.informer.status().phase;
        until("the watch is open", || phase() == steersman::reflector::Phase::Watching).await;
        assert_eq!(mirror.lister.len(), 3, "{wire:?}: nothing has come");
        // The clock is moved by hand; sockets do not notice.
        tokio::time::pause();
        tokio::time::advance(std::time::Duration::from_mins(11)).await;
        tokio::time::resume();
        mirror.agrees_with(&world.server, "after its time").await;
        assert_eq!(world.asked(Verb::List), 0, "{wire:?}: nothing is listed");
    }
}

// CACHE-R-35, REST-WA-12
#[tokio::test]
async fn a_deletion_is_told_with_the_version_of_the_deletion() {
    let world = World::start(Wire::Http2).await;
    let made = world.map("a");
    let maps = world.client.namespaced::<ConfigMap>("default");
    let (informer, _running) = crate::world::run(maps.clone(), quick());
    let mut told = informer.subscribe();
    informer.synced().await.expect("synced");
    told.next().await.expect("added");
    maps.delete(&steersman::ObjectKey::new("default", "a"), &steersman::DeleteOptions::default())
        .await
        .expect("deleted");
    let Some(steersman::Notification::Deleted(steersman::Deleted::Observed(last))) = told.next().await else {
        panic!("a deletion that was seen")
    };
    let version = |text: &str| text.parse::<u64>().expect("a number");
    let made = version(made["metadata"]["resourceVersion"].as_str().expect("text"));
    assert!(version(last.resource_version()) > made);
}
