//! Resync: local, to those who are due, at the periods that they asked for.

mod common;

use std::time::Duration;

use common::{Record, Server, Thing, run, settled};
use shared_informer::{HandlerOptions, SharedInformer};
use steersman_shared_informer as shared_informer;

const SECOND: Duration = Duration::from_secs(1);

fn every(informer: &SharedInformer<Thing>, seconds: u32) -> Record {
    let record = Record::default();
    let options = HandlerOptions::default().resync_every(seconds * SECOND);
    informer.add_handler_with(record.handler(), options).detach();
    record
}

// CACHE-Z-08, CACHE-C-05, CACHE-I-35, CACHE-I-38, CACHE-I-39: T-I-1. Appendix 2 #13.
#[tokio::test(start_paused = true)]
async fn each_handler_is_told_again_at_its_own_period_and_the_server_is_not_asked() {
    let server = Server::with(&["a"]);
    let informer = SharedInformer::builder(server.clone()).resync_every(SECOND).build();
    let (never, two, three, default) =
        (every(&informer, 0), every(&informer, 2), every(&informer, 3), Record::of(&informer));
    let mut subscription =
        informer.subscribe_with(HandlerOptions::named("subscription").resync_every(2 * SECOND));
    let _running = run(&informer);
    settled(&informer, &server).await;
    for record in [&never, &two, &three, &default] {
        assert_eq!(record.take(), ["Added(a@2, initial)"]);
    }
    assert_eq!(format!("{:?}", subscription.next().await.unwrap()), "Added(a@2, initial)");
    let requests = server.requests();
    tokio::time::sleep(6 * SECOND + SECOND / 2).await;
    let again = |times| vec!["Updated(a@2 -> 2)"; times];
    assert_eq!(never.take(), again(0));
    assert_eq!(two.take(), again(3));
    assert_eq!(three.take(), again(2));
    assert_eq!(default.take(), again(6));
    assert_eq!(format!("{:?}", subscription.next().await.unwrap()), "Updated(a@2 -> 2)");
    assert_eq!(server.requests(), requests);
}

// CACHE-I-22, CACHE-I-23: T-I-3. What changed goes to everybody, what did not to those who resync.
#[tokio::test(start_paused = true)]
async fn a_list_after_a_gap_tells_changes_to_all_and_the_rest_to_those_who_resync() {
    let server = Server::with(&["same", "changed", "gone"]);
    let informer = SharedInformer::builder(server.clone()).resync_every(SECOND).build();
    let (never, resyncing) = (every(&informer, 0), every(&informer, 1));
    let _running = run(&informer);
    settled(&informer, &server).await;
    tokio::time::sleep(SECOND + SECOND / 2).await;
    never.take();
    resyncing.take();
    server.gap(|server| {
        server.put("changed");
        server.put("new");
        server.delete("gone");
    });
    settled(&informer, &server).await;
    let changes =
        ["Deleted(gone, final state unknown, last seen 4)", "Updated(changed@3 -> 5)", "Added(new@6)"];
    assert_eq!(never.take(), changes);
    let told = resyncing.take();
    assert!(changes.iter().all(|change| told.iter().any(|told| told == change)), "{told:?}");
    assert!(told.iter().any(|told| told == "Updated(same@2 -> 2)"), "{told:?}");
}

// CACHE-I-36, CACHE-I-37
#[tokio::test(start_paused = true)]
async fn a_running_informer_keeps_its_period_and_one_without_never_resyncs() {
    let server = Server::with(&["a"]);
    let informer = SharedInformer::builder(server.clone()).resync_every(10 * SECOND).build();
    let _running = run(&informer);
    settled(&informer, &server).await;
    let late = every(&informer, 3);
    tokio::time::sleep(25 * SECOND).await;
    assert_eq!(
        late.take(),
        ["Added(a@2, initial)", "Updated(a@2 -> 2)"],
        "due at 10 s after it came, seen at 20 s"
    );

    let silent = SharedInformer::new(server.clone());
    let wants = every(&silent, 3);
    let _also = run(&silent);
    settled(&silent, &server).await;
    tokio::time::sleep(60 * SECOND).await;
    assert_eq!(wants.take(), ["Added(a@2, initial)"]);
}
