//! Listeners that come late, leave early, lag, panic, or look at a part.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::{Mirror, Record, Server, Thing, at, cached, run, settled, thing, until, within};
use futures_util::{FutureExt, StreamExt};
use shared_informer::{
    Deleted, EventHandler, HandlerOptions, Notification, Registration, SharedInformer, filtered,
};
use steersman_shared_informer as shared_informer;

// CACHE-I-26, CACHE-I-28: T-I-4.
#[tokio::test(start_paused = true)]
async fn a_late_listener_is_caught_up_and_then_told_what_happens() {
    let server = Server::with(&["a", "b"]);
    let informer = SharedInformer::new(server.clone());
    let _running = run(&informer);
    settled(&informer, &server).await;
    server.put("a");
    settled(&informer, &server).await;
    let record = Record::default();
    let registration = informer.add_handler(record.handler());
    let mut subscription = informer.subscribe();
    within(registration.synced()).await.unwrap();
    let mut told = record.take();
    told.sort();
    assert_eq!(told, ["Added(a@4, initial)", "Added(b@3, initial)"]);
    server.put("c");
    server.delete("b");
    settled(&informer, &server).await;
    assert_eq!(record.take(), ["Added(c@5)", "Deleted(b@6)"]);
    // b came and went before the subscription looked.
    let mut told = Vec::new();
    while let Some(Some(notification)) = subscription.next().now_or_never() {
        told.push(format!("{notification:?}"));
    }
    assert_eq!(told, ["Added(a@4, initial)", "Added(c@5)"]);
}

// CACHE-I-26: nothing missed, nothing doubled, however the registration falls between the changes.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn listeners_that_come_in_a_storm_end_with_the_same_mirror() {
    let server = Server::with(&["seed"]);
    let informer = SharedInformer::new(server.clone());
    let running = run(&informer);
    settled(&informer, &server).await;
    let storm = {
        let server = server.clone();
        tokio::spawn(async move {
            for round in 0..20_000u32 {
                let name = format!("o{}", round % 50);
                if round % 7 == 6 && server.content().iter().any(|at| at.starts_with(&format!("{name}@"))) {
                    server.delete(&name);
                } else {
                    server.put(&name);
                }
                if round % 100 == 0 {
                    tokio::time::sleep(std::time::Duration::from_millis(1)).await;
                }
            }
        })
    };
    let mut mirrors = Vec::new();
    while !storm.is_finished() && mirrors.len() < 200 {
        let mirror = Mirror::default();
        mirrors.push((informer.add_handler(mirror.handler()), mirror));
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
    within(storm).await.unwrap();
    settled(&informer, &server).await;
    assert!(mirrors.len() > 3, "the storm was too short to test anything");
    for (registration, mirror) in &mirrors {
        within(registration.synced()).await.unwrap();
        until("the mirror is the cache", || mirror.content() == server.content()).await;
    }
    running.abort();
}

// CACHE-I-27, CACHE-I-29: T-I-5.
#[tokio::test(start_paused = true)]
async fn registrations_are_independent_and_end_when_they_are_dropped() {
    let server = Server::with(&["a"]);
    let informer = SharedInformer::new(server.clone());
    let (record, other) = (Record::default(), Record::default());
    // The same handler twice.
    let (first, second) = (informer.add_handler(record.handler()), informer.add_handler(record.handler()));
    let never = informer.add_handler(other.handler());
    drop(never);
    let _running = run(&informer);
    settled(&informer, &server).await;
    assert_eq!(record.take(), ["Added(a@2, initial)", "Added(a@2, initial)"]);
    first.remove();
    server.put("a");
    settled(&informer, &server).await;
    assert_eq!(record.take(), ["Updated(a@2 -> 3)"]);
    within(second.shutdown()).await;
    server.put("a");
    settled(&informer, &server).await;
    assert_eq!((record.len(), other.len()), (0, 0));
    assert!(informer.status().listeners.is_empty());
}

// CACHE-I-29: T-I-9.
#[tokio::test(start_paused = true)]
async fn a_handler_may_remove_itself_and_add_others_from_within() {
    let server = Server::with(&["a", "b"]);
    let informer = SharedInformer::new(server.clone());
    let record = Record::default();
    let (hand_over, handed) = std::sync::mpsc::channel::<Registration>();
    let (seen, handle) = (record.clone(), informer.clone());
    let registration = informer.add_handler(move |notification: &Notification<Thing>| {
        seen.push(format!("{notification:?}"));
        if let Ok(myself) = handed.try_recv() {
            myself.remove();
            let seen = seen.clone();
            let named = HandlerOptions::named("successor");
            handle
                .add_handler_with(
                    move |n: &Notification<Thing>| seen.push(format!("successor: {n:?}")),
                    named,
                )
                .detach();
        }
    });
    hand_over.send(registration).unwrap();
    let running = run(&informer);
    settled(&informer, &server).await;
    server.put("c");
    settled(&informer, &server).await;
    // Not even the rest of the batch in which it left.
    let told = record.take();
    assert_eq!(told[0], "Added(a@2, initial)");
    let successor = ["Added(a@2, initial)", "Added(b@3, initial)", "Added(c@4)"];
    assert_eq!(told[1..], successor.map(|told| format!("successor: {told}")));
    assert_eq!(informer.status().listeners[0].name.as_ref(), "successor");
    running.abort();
}

// CACHE-I-45, CACHE-I-46: T-I-11, Appendix 2 #9.
#[tokio::test(start_paused = true)]
async fn a_handler_that_panics_harms_nobody_and_is_synced() {
    let server = Server::with(&["a", "bomb", "c"]);
    let informer = SharedInformer::new(server.clone());
    let (before, fragile, after) = (Record::of(&informer), Record::default(), Record::default());
    let seen = fragile.clone();
    let registration = informer.add_handler_with(
        move |notification: &Notification<Thing>| {
            assert!(notification.key().name() != "bomb", "boom");
            seen.push(format!("{notification:?}"));
        },
        HandlerOptions::named("fragile"),
    );
    informer.add_handler(after.handler()).detach();
    let _running = run(&informer);
    within(registration.synced()).await.unwrap();
    settled(&informer, &server).await;
    server.put("bomb");
    server.put("c");
    settled(&informer, &server).await;
    assert_eq!(fragile.take(), ["Added(a@2, initial)", "Added(c@4, initial)", "Updated(c@4 -> 6)"]);
    let all = before.take();
    assert_eq!(all.len(), 5);
    assert_eq!(after.take(), all);
    let status = informer.status();
    let fragile = status.listeners.iter().find(|listener| &*listener.name == "fragile").unwrap();
    assert_eq!((fragile.panics, fragile.told, fragile.is_synced), (2, 5, true));
}

// CACHE-I-45: a panic while a late listener is caught up, and while a handler is dropped.
#[tokio::test(start_paused = true)]
async fn a_panic_outside_of_the_stream_of_changes_is_caught_too() {
    struct Sore;
    impl EventHandler<Thing> for Sore {
        fn handle(&self, _: &Notification<Thing>) {
            panic!("boom");
        }
    }
    impl Drop for Sore {
        fn drop(&mut self) {
            panic!("boom again");
        }
    }
    let server = Server::with(&["a"]);
    let informer = SharedInformer::new(server.clone());
    let record = Record::of(&informer);
    let _running = run(&informer);
    settled(&informer, &server).await;
    let late = informer.add_handler(Sore);
    within(late.synced()).await.unwrap();
    within(late.shutdown()).await;
    server.put("a");
    settled(&informer, &server).await;
    assert_eq!(record.take(), ["Added(a@2, initial)", "Updated(a@2 -> 3)"]);
}

// CACHE-I-21, CACHE-Z-04: nobody waits for a subscription, and what it costs does not grow with its nap.
#[tokio::test(start_paused = true)]
async fn a_subscription_that_lags_keeps_one_notification_for_each_object() {
    let server = Server::with(&["a", "b", "gone"]);
    let informer = SharedInformer::new(server.clone());
    let record = Record::of(&informer);
    let mut subscription = informer.subscribe_with(HandlerOptions::named("sleeper"));
    let _running = run(&informer);
    settled(&informer, &server).await;
    for _ in 0..3 {
        within(subscription.next()).await.unwrap();
    }
    for _ in 0..100 {
        server.put("a");
        server.put("flash");
        server.delete("flash");
    }
    server.put("b");
    server.delete("gone");
    server.put("new");
    settled(&informer, &server).await;
    assert_eq!(record.len(), 3 + 300 + 3, "others are told everything");
    assert_eq!(subscription.backlog(), 4);
    let status = informer.status();
    let sleeper = status.listeners.iter().find(|listener| &*listener.name == "sleeper").unwrap();
    assert_eq!(sleeper.backlog, 4);
    let mut told = Vec::new();
    while let Some(Some(notification)) = subscription.next().now_or_never() {
        told.push(format!("{notification:?}"));
    }
    assert_eq!(told, ["Updated(a@2 -> 302)", "Updated(b@3 -> 305)", "Deleted(gone@306)", "Added(new@307)"]);
}

#[tokio::test(start_paused = true)]
async fn a_subscription_is_a_stream_that_ends_with_its_informer() {
    let server = Server::with(&["a"]);
    let informer = SharedInformer::new(server.clone());
    let subscription = informer.subscribe();
    let consumer = tokio::spawn(subscription.map(|n| format!("{n:?}")).collect::<Vec<_>>());
    let running = run(&informer);
    settled(&informer, &server).await;
    server.put("a");
    settled(&informer, &server).await;
    // The consumer takes it before the end does.
    until("it was taken", || informer.status().listeners.iter().all(|listener| listener.backlog == 0)).await;
    running.abort();
    assert_eq!(within(consumer).await.unwrap(), ["Added(a@2, initial)", "Updated(a@2 -> 3)"]);
}

// Cancel safety: a `next` that is dropped loses nothing.
#[tokio::test(start_paused = true)]
async fn a_cancelled_next_loses_nothing() {
    let server = Server::new();
    let informer = SharedInformer::new(server.clone());
    let mut subscription = informer.subscribe();
    let _running = run(&informer);
    settled(&informer, &server).await;
    for round in 0..20 {
        assert!(subscription.next().now_or_never().is_none());
        let name = format!("o{round}");
        let version = server.put(&name);
        assert_eq!(
            format!("{:?}", within(subscription.next()).await.unwrap()),
            format!("Added({name}@{version})")
        );
    }
}

// CACHE-H-03, CACHE-H-04: T-H-2.
#[test]
fn a_filtered_handler_sees_the_world_as_if_nothing_else_existed() {
    let record = Record::default();
    let seen = record.clone();
    let even = |thing: &Thing| at(thing).ends_with(['0', '2', '4', '6', '8']);
    let handler = filtered(even, move |n: &Notification<Thing>| seen.push(format!("{n:?}")));
    let state = |version| Arc::new(thing("a", version, "u"));
    let added = |version| Notification::Added { object: state(version), is_in_initial_list: true };
    let updated = |old, new| Notification::Updated { old: state(old), new: state(new) };
    let missed = |last_seen: Option<u64>| {
        let last_seen = last_seen.map(state);
        Notification::Deleted(Deleted::FinalStateUnknown { key: common::key("a"), last_seen })
    };
    let table = [
        (added(2), Some("Added(a@2, initial)")),
        (added(1), None),
        (updated(2, 4), Some("Updated(a@2 -> 4)")),
        (updated(1, 2), Some("Added(a@2)")),
        (updated(2, 3), Some("Deleted(a@2)")),
        (updated(1, 3), None),
        (Notification::Deleted(Deleted::Observed(state(2))), Some("Deleted(a@2)")),
        (Notification::Deleted(Deleted::Observed(state(1))), None),
        (missed(Some(2)), Some("Deleted(a, final state unknown, last seen 2)")),
        (missed(Some(1)), None),
        (missed(None), Some("Deleted(a, final state unknown, last seen nothing)")),
    ];
    for (notification, expected) in table {
        handler.handle(&notification);
        assert_eq!(record.take().first().map(String::as_str), expected, "{notification:?}");
    }
}

// CACHE-I-29, CACHE-I-30: T-I-10.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn listeners_that_come_and_go_under_load_leave_nothing_behind() {
    let server = Server::with(&["a"]);
    let informer = SharedInformer::new(server.clone());
    let running = run(&informer);
    settled(&informer, &server).await;
    let calls = Arc::new(AtomicUsize::new(0));
    let workers: Vec<_> = (0..50)
        .map(|worker| {
            let (informer, calls) = (informer.clone(), calls.clone());
            tokio::spawn(async move {
                for round in 0..20 {
                    let counted = calls.clone();
                    let registration = informer.add_handler(move |_: &Notification<Thing>| {
                        counted.fetch_add(1, Ordering::Relaxed);
                    });
                    match (worker + round) % 5 {
                        0 => registration.remove(),
                        1 => registration.shutdown().await,
                        2 => registration.synced().await.unwrap(),
                        3 => drop((registration, informer.subscribe())),
                        _ => assert!(informer.subscribe().next().await.is_some()),
                    }
                }
            })
        })
        .collect();
    let writer = {
        let server = server.clone();
        tokio::spawn(async move {
            for round in 0..5000u32 {
                server.put(&format!("o{}", round % 20));
                if round % 50 == 0 {
                    tokio::task::yield_now().await;
                }
            }
        })
    };
    for worker in workers {
        within(worker).await.unwrap();
    }
    within(writer).await.unwrap();
    settled(&informer, &server).await;
    until("all of them are gone", || informer.status().listeners.is_empty()).await;
    assert!(calls.load(Ordering::Relaxed) > 0);
    running.abort();
    within(informer.stopped()).await;
    until("the handlers are dropped", || Arc::strong_count(&calls) == 1).await;
    assert_eq!(cached(&informer), server.content());
}
