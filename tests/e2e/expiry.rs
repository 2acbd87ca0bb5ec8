//! Versions that are too old, in each shape in which servers say it, and servers without WatchList.

use k8s_openapi::api::core::v1::ConfigMap;
use steersman::StatusError;
use steersman::apimachinery::Status;
use test_apiserver::faults::{Expired, Fault, NoWatchList, Verb};

use crate::mirror::Mirror;
use crate::world::{WIRES, Wire, World, on_list, on_watch, paged, quick, until};

// CACHE-R-22, CACHE-R-23, CACHE-R-51, REST-WA-10
#[tokio::test]
async fn an_expired_version_leads_to_one_list_in_whatever_shape_it_is_said() {
    for wire in WIRES {
        for shape in [Expired::Answer, Expired::AnswerGone, Expired::Event, Expired::EventGone] {
            for config in [quick(), paged()] {
                let watch_list = config.watch_list;
                let world = World::start(wire).await;
                world.maps(3);
                let mut mirror = Mirror::<ConfigMap>::start(&world.client, config);
                mirror.agrees_with(&world.server, "at first").await;
                world.watches(1).await;
                let before = mirror.informer.status().reflector.lists;
                world.plan(on_watch(), Fault::Expire(shape));
                world.end_watches();
                until("the expired watch was asked for", || world.server.faults().left() == 0).await;
                world.map("later");
                mirror.agrees_with(&world.server, &format!("{wire:?} {shape:?} {watch_list}")).await;
                world.watches(1).await;
                let counters = mirror.informer.status().reflector;
                assert_eq!(counters.lists, before + 1, "{wire:?} {shape:?} {watch_list}");
                assert!(counters.watch_requests <= 5, "{wire:?} {shape:?} {watch_list}: {counters:?}");
            }
        }
    }
}

/// A refusal that says only one thing.
fn says(reason: Option<&str>, code: Option<u16>) -> StatusError {
    StatusError::new(Status {
        status: Some("Failure".to_owned()),
        reason: reason.map(str::to_owned),
        code,
        ..Status::default()
    })
}

// CACHE-R-23, CACHE-R-38, REST-ER-04, REST-WA-10
#[tokio::test]
async fn an_error_event_that_has_a_reason_alone_or_a_code_alone_is_expired_as_well() {
    for refusal in [says(Some("Expired"), None), says(Some("Gone"), None), says(None, Some(410))] {
        let world = World::start(Wire::Http2).await;
        world.maps(3);
        let mut mirror = Mirror::<ConfigMap>::start(&world.client, quick());
        mirror.agrees_with(&world.server, "at first").await;
        world.watches(1).await;
        world.server.with_core(|core| core.fail_watches(None, &refusal));
        world.map("later");
        mirror.agrees_with(&world.server, &format!("{refusal:?}")).await;
        let counters = mirror.informer.status().reflector;
        assert_eq!(counters.lists, 2, "{refusal:?}: {counters:?}");
    }
}

// CACHE-R-28, CACHE-R-22
#[tokio::test]
async fn history_that_is_gone_is_made_up_for_by_a_list_and_missed_deletions_are_told() {
    for wire in WIRES {
        for config in [quick(), paged()] {
            let world = World::start(wire).await;
            world.maps(5);
            let mut mirror = Mirror::<ConfigMap>::start(&world.client, config);
            mirror.agrees_with(&world.server, "at first").await;
            world.watches(1).await;
            // While nobody is let in, objects go, and so does the memory of it.
            world.plan(on_watch().always(), Fault::refuse(503));
            world.end_watches();
            let asked = world.asked(Verb::Watch);
            until("it is asked for again", || world.asked(Verb::Watch) > asked).await;
            let maps = world.client.namespaced::<ConfigMap>("default");
            let key = steersman::ObjectKey::new("default", "m-2");
            maps.delete(&key, &steersman::DeleteOptions::default()).await.expect("deleted");
            world.map("new");
            world.server.with_core(|core| core.compact(core.version()));
            world.server.faults().clear();
            mirror.agrees_with(&world.server, &format!("{wire:?}")).await;
            assert!(!mirror.lister.contains("default/m-2"));
        }
    }
}

// CACHE-R-27, REST-PG-05
#[tokio::test]
async fn a_second_page_that_has_expired_does_not_fail_the_sync() {
    for wire in WIRES {
        let world = World::start(wire).await;
        world.maps(12);
        world.plan(on_list().query("continue="), Fault::Expire(Expired::Answer));
        let mut config = paged();
        config.page_size = Some(5);
        config.most_recent_first = true; // a list of version 0 comes in one page
        let mut mirror = Mirror::<ConfigMap>::start(&world.client, config);
        mirror.agrees_with(&world.server, &format!("{wire:?}")).await;
        assert_eq!(world.server.faults().left(), 0, "{wire:?}: there was a second page");
        assert_eq!(world.asked(Verb::List), 3, "{wire:?}");
        assert_eq!(mirror.informer.status().reflector.rests, 0, "{wire:?}");
    }
}

// CACHE-R-14, CACHE-R-59
#[tokio::test]
async fn a_server_that_refuses_watch_list_is_listed_at_once() {
    for wire in WIRES {
        let world = World::start(wire).await;
        world.maps(3);
        world.plan(on_watch().query("sendInitialEvents").always(), Fault::NoWatchList(NoWatchList::Refused));
        let mut mirror = Mirror::<ConfigMap>::start(&world.client, quick());
        mirror.agrees_with(&world.server, &format!("{wire:?}")).await;
        world.watches(1).await;
        let counters = mirror.informer.status().reflector;
        assert_eq!((counters.fallbacks, counters.rests), (1, 0), "{wire:?}: {counters:?}");
        assert_eq!((world.asked(Verb::List), world.asked(Verb::Watch)), (1, 2), "{wire:?}");
    }
}

// CACHE-R-62, CACHE +R2
#[tokio::test]
async fn a_server_that_never_ends_its_initial_events_is_listed() {
    for wire in WIRES {
        for fault in [Fault::NoInitialEventsEnd, Fault::NoWatchList(NoWatchList::Ignored)] {
            let world = World::start(wire).await;
            world.maps(3);
            world.plan(on_watch().query("sendInitialEvents").always(), fault.clone());
            let mut config = quick();
            config.initial_events_silence = std::time::Duration::from_millis(150);
            let mut mirror = Mirror::<ConfigMap>::start(&world.client, config);
            mirror.agrees_with(&world.server, &format!("{wire:?} {fault:?}")).await;
            // And it is not asked for initial events again when the next list is due.
            world.watches(1).await;
            world.server.with_core(test_apiserver::core::Core::expire_watches);
            world.map("later");
            mirror.agrees_with(&world.server, &format!("{wire:?} {fault:?}, later")).await;
            world.watches(1).await;
            let streamed = world.requests(Verb::Watch);
            let streamed = streamed.iter().filter(|r| r.parameter("sendInitialEvents").is_some()).count();
            assert_eq!((streamed, world.asked(Verb::List)), (1, 2), "{wire:?} {fault:?}");
        }
    }
}

// CACHE-R-56, CACHE-R-60
#[tokio::test]
async fn initial_events_that_break_off_leave_nothing_behind() {
    for wire in WIRES {
        for cut in [Fault::cut_after_frames(2), Fault::cut_after_bytes(900), Fault::end_after_frames(2)] {
            let world = World::start(wire).await;
            world.maps(5);
            world.plan(on_watch(), cut.clone());
            let mut mirror = Mirror::<ConfigMap>::start(&world.client, quick());
            mirror.agrees_with(&world.server, &format!("{wire:?} {cut:?}")).await;
            assert_eq!(mirror.count, 5, "{wire:?} {cut:?}: each object is told once");
            assert_eq!(world.asked(Verb::List), 0, "{wire:?} {cut:?}: a second stream is enough");
        }
    }
}
