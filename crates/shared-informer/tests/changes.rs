//! From what happens on a server to what a listener is told.

mod common;

use common::{Record, Server, Thing, at, cached, run, settled, until, within};
use shared_informer::{Deleted, Notification, SharedInformer};
use steersman_shared_informer as shared_informer;

// CACHE-C-02, CACHE-I-25, CACHE-H-05, CACHE-Z-02
#[tokio::test(start_paused = true)]
async fn a_listener_is_told_what_happens_in_order() {
    let server = Server::with(&["a", "b"]);
    let informer = SharedInformer::new(server.clone());
    let record = Record::of(&informer);
    let _running = run(&informer);
    within(informer.synced()).await.unwrap();
    assert_eq!(record.take(), ["Added(a@2, initial)", "Added(b@3, initial)"]);
    settled(&informer, &server).await;
    server.put("c");
    server.put("a");
    server.delete("b");
    server.put("b");
    settled(&informer, &server).await;
    assert_eq!(record.take(), ["Added(c@4)", "Updated(a@2 -> 5)", "Deleted(b@6)", "Added(b@7)"]);
    assert_eq!(informer.lister().resource_version(), "7");
    server.put("unrelated");
    server.delete("unrelated");
    server.bookmark();
    until("the bookmark came", || informer.lister().resource_version() == "9").await;
}

// F-60, CACHE-D-04
#[tokio::test(start_paused = true)]
async fn nobody_hears_that_an_object_is_gone_that_never_came() {
    let server = Server::with(&["a"]);
    let informer = SharedInformer::new(server.clone());
    let record = Record::of(&informer);
    let _running = run(&informer);
    settled(&informer, &server).await;
    record.take();
    server.spoil("unreadable");
    server.put("unreadable");
    server.delete("unreadable");
    server.delete("a");
    settled(&informer, &server).await;
    assert_eq!(record.take(), ["Deleted(a@5)"]);
    // What was cached and cannot be read any more was there.
    server.put("b");
    settled(&informer, &server).await;
    server.spoil("b");
    server.put("b");
    server.delete("b");
    settled(&informer, &server).await;
    assert_eq!(record.take(), ["Added(b@6)", "Deleted(b, final state unknown, last seen 6)"]);
}

// CACHE-C-03, CACHE-Q-21, CACHE-S-05, CACHE-H-01: T-C-3. Every listener is told of what a list changed.
#[tokio::test(start_paused = true)]
async fn what_a_gap_hid_is_told_once_and_is_not_initial() {
    let server = Server::with(&["changed", "gone", "same"]);
    let informer = SharedInformer::new(server.clone());
    let record = Record::of(&informer);
    let _running = run(&informer);
    settled(&informer, &server).await;
    record.take();
    server.gap(|server| {
        server.put("changed");
        server.put("changed");
        server.delete("gone");
        server.put("new");
        server.put("flash");
        server.delete("flash");
    });
    settled(&informer, &server).await;
    let mut told = record.take();
    assert_eq!(told.remove(0), "Deleted(gone, final state unknown, last seen 3)", "deletions first");
    // Without a resync everybody is told of what did not change, too (CACHE-I-23).
    assert_eq!(told, ["Updated(changed@2 -> 6)", "Added(new@8)", "Updated(same@4 -> 4)"]);
}

// CACHE-Z-05: T-Z-2.
#[tokio::test(start_paused = true)]
async fn an_object_that_was_made_again_unseen_is_one_update_with_another_uid() {
    let server = Server::with(&["a"]);
    let informer = SharedInformer::new(server.clone());
    let record = Record::default();
    let uids = record.clone();
    informer
        .add_handler(move |notification: &Notification<Thing>| {
            uids.push(match notification {
                Notification::Updated { old, new } => {
                    use apimachinery::Object;
                    format!("updated, the same uid: {}", old.uid() == new.uid())
                }
                other => format!("{other:?}"),
            });
        })
        .detach();
    let _running = run(&informer);
    settled(&informer, &server).await;
    server.gap(|server| {
        server.delete("a");
        server.put("a");
    });
    settled(&informer, &server).await;
    assert_eq!(record.take(), ["Added(a@2, initial)", "updated, the same uid: false"]);
}

// CACHE-Z-03: T-Z-3.
#[tokio::test(start_paused = true)]
async fn a_listener_finds_in_the_cache_and_its_indices_what_it_is_told() {
    let server = Server::with(&["a", "b"]);
    let informer = SharedInformer::new(server.clone());
    let (record, lister) = (Record::default(), informer.lister());
    let by_version = informer.index(|thing: &Thing| [at(thing)]);
    let seen = record.clone();
    informer
        .add_handler(move |notification: &Notification<Thing>| {
            let found = lister.get(&notification.key()).map(|object| at(&*object));
            let indexed = notification.object().is_some_and(|object| by_version.count(&at(&**object)) == 1);
            seen.push(format!("{notification:?}: {}, {indexed}", found.unwrap_or_default()));
        })
        .detach();
    let _running = run(&informer);
    settled(&informer, &server).await;
    server.put("a");
    settled(&informer, &server).await;
    server.delete("b");
    settled(&informer, &server).await;
    assert_eq!(
        record.take(),
        [
            "Added(a@2, initial): a@2, true",
            "Added(b@3, initial): b@3, true",
            "Updated(a@2 -> 4): a@4, true",
            "Deleted(b@5): , false",
        ]
    );
}

// CACHE-Z-06: one `Arc` from the source to the cache and every listener.
#[tokio::test(start_paused = true)]
async fn an_object_is_not_copied_on_its_way() {
    let server = Server::with(&["a"]);
    let informer = SharedInformer::new(server.clone());
    let lister = informer.lister();
    let record = Record::default();
    let seen = record.clone();
    informer
        .add_handler(move |notification: &Notification<Thing>| {
            let object = notification.object().expect("an object");
            let found = lister.get(&notification.key()).expect("it is cached");
            seen.push(std::sync::Arc::ptr_eq(object, &found).to_string());
        })
        .detach();
    let _running = run(&informer);
    settled(&informer, &server).await;
    assert_eq!(record.take(), ["true"]);
}

#[tokio::test(start_paused = true)]
async fn an_object_that_cannot_be_read_keeps_its_last_state_until_it_is_gone() {
    let server = Server::with(&["a", "b"]);
    let informer = SharedInformer::new(server.clone());
    let record = Record::of(&informer);
    let _running = run(&informer);
    settled(&informer, &server).await;
    record.take();
    server.spoil("a");
    server.put("a");
    server.put("b");
    until("b came", || cached(&informer) == ["a@2", "b@5"]).await;
    server.gap(|server| {
        server.put("a");
    });
    until("the list came", || server.requests().0 == 2 && server.has_watch()).await;
    assert_eq!(cached(&informer), ["a@2", "b@5"]);
    assert_eq!(record.take(), ["Updated(b@3 -> 5)", "Updated(b@5 -> 5)"], "no deletion");
    // The deletion cannot be read either, but for its key.
    server.delete("a");
    until("a is gone", || cached(&informer) == ["b@5"]).await;
    assert_eq!(record.take(), ["Deleted(a, final state unknown, last seen 2)"]);
}

// CACHE-I-06, CACHE-Q-06: T-I-12. Appendix 2 #3.
#[tokio::test(start_paused = true)]
async fn a_transform_may_change_the_type_and_is_seen_by_everybody() {
    struct Small {
        metadata: apimachinery::Head,
        length: usize,
    }
    apimachinery::object!(Small);
    let server = Server::with(&["short", "longer"]);
    let calls = Record::default();
    let counted = calls.clone();
    let informer: SharedInformer<Small> =
        SharedInformer::transforming(server.clone(), move |thing: Thing| {
            use apimachinery::Object;
            counted.push(at(&thing));
            let head =
                serde_json::json!({ "name": thing.name(), "resourceVersion": thing.resource_version() });
            Ok(Small { metadata: serde_json::from_value(head)?, length: thing.name().len() })
        })
        .build();
    let record = Record::default();
    let seen = record.clone();
    informer
        .add_handler(move |notification: &Notification<Small>| {
            seen.push(format!("{notification:?} {}", notification.object().map_or(0, |small| small.length)));
        })
        .detach();
    let by_length = informer.index(|small: &Small| [small.length]);
    let _running = tokio::spawn(informer.run(std::future::pending()));
    within(informer.synced()).await.unwrap();
    until("the watch is open", || server.has_watch()).await;
    server.put("short");
    until("it changed", || record.len() == 3).await;
    assert_eq!(
        record.take(),
        ["Added(longer@3, initial) 6", "Added(short@2, initial) 5", "Updated(short@2 -> 4) 5"]
    );
    assert_eq!(by_length.count(&6), 1);
    assert_eq!(calls.told().len(), 3, "once for each object that the server sent");
}

// CACHE-H-01, CACHE-K-05, CACHE-K-11: T-H-3.
#[test]
fn a_deletion_always_knows_its_key() {
    let object = std::sync::Arc::new(common::thing("a", 7, "u"));
    let cases = [
        (Deleted::Observed(object.clone()), "a", true),
        (Deleted::FinalStateUnknown { key: common::key("b"), last_seen: Some(object) }, "b", true),
        (Deleted::FinalStateUnknown { key: common::key("c"), last_seen: None }, "c", false),
    ];
    for (deleted, key, has_state) in cases {
        assert_eq!((deleted.key().as_str(), deleted.last_state().is_some()), (key, has_state));
        assert_eq!(Notification::Deleted(deleted).key().as_str(), key);
    }
}
