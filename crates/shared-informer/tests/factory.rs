//! One informer a type, started, waited for and stopped together.

mod common;

use std::time::Duration;

use apimachinery::{ApiResource, Scope, StatusError};
use common::{Record, Server, Thing, cached, settled, until, within};
use shared_informer::{Informers, Notification, SharedInformer, State, Why};
use steersman_shared_informer as shared_informer;

fn resource(plural: &str) -> ApiResource {
    ApiResource::dynamic("example.com/v1", "Any", plural, Scope::Namespaced)
}

// CACHE-F-01, CACHE-N-01: T-F-1.
#[test]
fn a_type_or_a_resource_has_one_informer() {
    let informers = Informers::new();
    let calls = Record::default();
    let make = |what: &str| {
        calls.push(what.to_owned());
        SharedInformer::builder(Server::new())
    };
    let first: SharedInformer<Thing> = informers.of(|| make("type"));
    let again = informers.of(|| make("type again"));
    let (gadgets, widgets) = (resource("gadgets"), resource("widgets"));
    let gadget = informers.of_resource::<Thing>(&gadgets, || make("gadgets"));
    let same = informers.of_resource::<Thing>(&gadgets, || make("gadgets again"));
    let widget = informers.clone().of_resource::<Thing>(&widgets, || make("widgets"));
    assert_eq!(calls.told(), ["type", "gadgets", "widgets"]);
    // The driver goes to the first who asks of one informer, whatever the handle.
    assert!(first.driver().is_some() && again.driver().is_none());
    assert!(same.driver().is_some() && gadget.driver().is_none());
    assert!(widget.driver().is_some());
}

// CACHE-F-01
#[test]
fn a_factory_may_be_asked_while_an_informer_is_made() {
    let informers = Informers::new();
    let made = Record::default();
    let (asked, told) = (informers.clone(), made.clone());
    let (done, outcome) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let outer: SharedInformer<Thing> = asked.of_resource(&resource("outer"), || {
            let other: SharedInformer<Thing> = asked.of(|| SharedInformer::builder(Server::new()));
            // Even the one that is being made: the first that is ready is everybody's.
            let same: SharedInformer<Thing> = asked.of_resource(&resource("outer"), || {
                told.push("inner".to_owned());
                SharedInformer::builder(Server::new())
            });
            assert!(other.driver().is_some() && same.driver().is_some());
            told.push("outer".to_owned());
            SharedInformer::builder(Server::new())
        });
        let _ = done.send(outer.driver().is_none());
    });
    let is_the_inner = outcome.recv_timeout(Duration::from_secs(20)).expect("no deadlock, no panic");
    assert!(is_the_inner, "the driver was taken of the inner one, so the outer request got the same");
    assert_eq!(made.told(), ["inner", "outer"]);
    assert_eq!(informers.status().len(), 1, "both describe their source alike");
}

// CACHE-F-02
#[tokio::test(start_paused = true)]
async fn the_default_resync_counts_where_none_was_set() {
    let (plain, own) = (Server::with(&["a"]), Server::with(&["a"]));
    let informers = Informers::with_resync(Duration::from_secs(1));
    let defaulted: SharedInformer<Thing> = informers.of(|| SharedInformer::builder(plain.clone()));
    let custom = informers.of_resource::<Thing>(&resource("own"), || {
        SharedInformer::builder(own.clone()).resync_every(Duration::from_secs(3))
    });
    let (often, seldom) = (Record::of(&defaulted), Record::of(&custom));
    let _running = tokio::spawn(informers.run(std::future::pending()));
    within(informers.synced()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(6500)).await;
    assert_eq!((often.len(), seldom.len()), (1 + 6, 1 + 2));
}

// CACHE-F-08, CACHE-Z-09
#[tokio::test(start_paused = true)]
async fn a_listener_may_be_behind_when_the_factory_is_synced() {
    let informers = Informers::new();
    let server = Server::with(&["a", "b"]);
    let informer: SharedInformer<Thing> = informers.of(|| SharedInformer::builder(server.clone()));
    let mut slow = informer.subscribe();
    let _running = tokio::spawn(informers.run(std::future::pending()));
    within(informers.synced()).await.unwrap();
    assert!(!slow.is_synced());
    for _ in 0..2 {
        within(slow.next()).await.unwrap();
    }
    // Who asks for the next one has done with the last.
    let synced = slow.synced();
    tokio::select! {
        outcome = within(synced) => outcome.unwrap(),
        more = slow.next() => panic!("there is no more: {more:?}"),
    }
}

// CACHE-F-05, CACHE-F-07: T-F-2. A late request is started, and each runs once.
#[tokio::test(start_paused = true)]
async fn late_requests_are_started_too() {
    let informers = Informers::new();
    within(informers.synced()).await.unwrap();
    let servers = [Server::with(&["a"]), Server::with(&["b"])];
    let early: SharedInformer<Thing> = informers.of(|| SharedInformer::builder(servers[0].clone()));
    let running = tokio::spawn(informers.run(std::future::pending()));
    settled(&early, &servers[0]).await;
    let late =
        informers.of_resource::<Thing>(&resource("late"), || SharedInformer::builder(servers[1].clone()));
    settled(&late, &servers[1]).await;
    within(informers.synced()).await.unwrap();
    // A second run has no effect.
    within(informers.run(std::future::pending())).await;
    assert_eq!((servers[0].requests(), servers[1].requests()), ((1, 1), (1, 1)));
    assert!(!running.is_finished());
    assert_eq!((early.status().state, late.status().state), (State::Running, State::Running));
}

// CACHE-F-07: T-F-3.
#[tokio::test(start_paused = true)]
async fn those_that_are_not_synced_are_named_with_their_causes() {
    let informers = Informers::new();
    let (fine, refused) = (Server::with(&["a"]), Server::new());
    refused.refuse(Some(StatusError::not_found(&resource("gadgets"), "")));
    let _fine: SharedInformer<Thing> = informers.of(|| SharedInformer::builder(fine));
    for plural in ["widgets", "gadgets", "tools"] {
        let source = refused.clone().described(plural);
        informers.of_resource::<Thing>(&resource(plural), || SharedInformer::builder(source));
    }
    let _running = tokio::spawn(informers.run(std::future::pending()));
    let error = within(informers.synced()).await.unwrap_err();
    assert_eq!(error.to_string(), "not synced: gadgets, tools, widgets");
    assert!(error.failed().iter().all(|failed| failed.why() == Why::Refused));
    assert!(StatusError::find(&error).unwrap().is_not_found());
    let status: Vec<(String, bool)> =
        informers.status().into_iter().map(|(what, is_synced)| (what.to_string(), is_synced)).collect();
    let expected = [("gadgets", false), ("things", true), ("tools", false), ("widgets", false)];
    assert_eq!(status, expected.map(|(what, is_synced)| (what.to_owned(), is_synced)));
}

// CACHE-F-06, CACHE-F-09: T-F-4.
#[tokio::test(start_paused = true)]
async fn a_shutdown_stops_all_and_everybody_who_asks_waits_for_it() {
    let informers = Informers::new();
    let server = Server::with(&["a"]);
    let informer: SharedInformer<Thing> = informers.of(|| SharedInformer::builder(server.clone()));
    let running = tokio::spawn(informers.run(std::future::pending()));
    settled(&informer, &server).await;
    within(async { tokio::join!(informers.shutdown(), informers.shutdown()) }).await;
    assert!(informer.is_stopped());
    within(running).await.unwrap();
    within(informers.shutdown()).await;
    // Nothing is started afterwards.
    let requests = server.requests();
    let late = informers.of_resource::<Thing>(&resource("late"), || SharedInformer::builder(server.clone()));
    within(informers.run(std::future::pending())).await;
    assert_eq!((late.status().state, server.requests()), (State::Stopped, requests));
    assert_eq!(cached(&informer), ["a@2"]);

    // Never run: at once.
    let idle = Informers::new();
    within(idle.shutdown()).await;
}

// CACHE-F-09
#[tokio::test(start_paused = true)]
async fn a_factory_ends_with_its_shutdown_future_or_with_its_run() {
    let informers = Informers::new();
    let server = Server::with(&["a"]);
    let informer: SharedInformer<Thing> = informers.of(|| SharedInformer::builder(server.clone()));
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let running = tokio::spawn(informers.run(async move { drop(stopped.await) }));
    settled(&informer, &server).await;
    drop(stop);
    within(running).await.unwrap();
    assert!(informer.is_stopped());

    let informers = Informers::new();
    let informer: SharedInformer<Thing> = informers.of(|| SharedInformer::builder(server.clone()));
    let running = tokio::spawn(informers.run(std::future::pending()));
    settled(&informer, &server).await;
    running.abort();
    within(informer.stopped()).await;
    within(informers.shutdown()).await;
    until("the watch is let go", || !server.has_watch()).await;
}

// An informer that somebody else runs is left to them, and waited for all the same.
#[tokio::test(start_paused = true)]
async fn an_informer_that_runs_elsewhere_is_used_as_it_is() {
    let informers = Informers::new();
    let server = Server::with(&["a"]);
    let informer: SharedInformer<Thing> = informers.of(|| SharedInformer::builder(server.clone()));
    let elsewhere = common::run(&informer);
    let registration = informer.add_handler(|_: &Notification<Thing>| {});
    let _running = tokio::spawn(informers.run(std::future::pending()));
    within(informers.synced()).await.unwrap();
    within(registration.synced()).await.unwrap();
    within(informers.shutdown()).await;
    assert!(!informer.is_stopped());
    elsewhere.abort();
    within(informer.stopped()).await;
}

// CACHE-F-05, CACHE-F-07, CACHE-F-09, CACHE-Z-10
#[tokio::test(start_paused = true)]
async fn nobody_waits_for_what_is_not_started_any_more() {
    let informers = Informers::new();
    let never_run: SharedInformer<Thing> = informers.of(|| SharedInformer::builder(Server::with(&["a"])));
    let waiting = tokio::spawn(informers.synced());
    tokio::task::yield_now().await;
    within(informers.shutdown()).await;
    assert_eq!(within(waiting).await.unwrap().unwrap_err().failed()[0].why(), Why::Stopped);
    assert!(never_run.is_stopped());
    let late =
        informers.of_resource::<Thing>(&resource("late"), || SharedInformer::builder(Server::with(&["b"])));
    assert_eq!(within(late.synced()).await.unwrap_err().why(), Why::Stopped);
    assert_eq!(within(informers.synced()).await.unwrap_err().failed().len(), 2);
    let registration = late.add_handler(|_: &Notification<Thing>| panic!("nothing happens any more"));
    assert!(!registration.is_active());
}

// CACHE-F-09: what somebody else runs is left to them.
#[tokio::test(start_paused = true)]
async fn an_informer_that_somebody_else_runs_outlives_its_factory() {
    let informers = Informers::new();
    let server = Server::with(&["a"]);
    let informer: SharedInformer<Thing> = informers.of(|| SharedInformer::builder(server.clone()));
    let _running = tokio::spawn(informer.run(std::future::pending()));
    settled(&informer, &server).await;
    within(informers.shutdown()).await;
    assert_eq!(informer.status().state, State::Running);
}
