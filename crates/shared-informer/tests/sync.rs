//! When a cache is filled, when a listener is, and why they are not.

mod common;

use std::error::Error;
use std::time::Duration;

use apimachinery::{ApiError, ApiResource, ListOptions, ListWatch, Page, Scope, StatusError};
use common::{Record, Server, Thing, cached, run, settled, until, within};
use shared_informer::{Notification, ReflectorError, SharedInformer, Why};
use steersman_shared_informer as shared_informer;

fn forbidden() -> StatusError {
    let things = ApiResource::new("v1", "Thing", "things", Scope::Namespaced);
    StatusError::forbidden(&things, "", "user \"ann\" may not list")
}

// CACHE-I-05, CACHE-Z-09, CACHE-I-28
#[tokio::test(start_paused = true)]
async fn a_cache_and_its_listeners_are_synced_separately() {
    let server = Server::with(&["a", "b"]);
    let informer = SharedInformer::new(server.clone());
    let handler = informer.add_handler(|_: &Notification<Thing>| {});
    let mut subscription = informer.subscribe();
    assert!(!informer.is_synced() && !handler.is_synced() && !subscription.is_synced());
    let synced = tokio::spawn(subscription.synced());
    let _running = run(&informer);
    within(informer.synced()).await.unwrap();
    within(handler.synced()).await.unwrap();
    assert!(informer.is_synced() && handler.is_synced());

    // The subscription has taken nothing yet.
    assert!(!subscription.is_synced());
    within(subscription.next()).await.unwrap();
    within(subscription.next()).await.unwrap();
    // It has the last object in its hands.
    assert!(!subscription.is_synced() && !synced.is_finished());
    server.put("c");
    within(subscription.next()).await.unwrap();
    assert!(subscription.is_synced());
    within(synced).await.unwrap().unwrap();
}

// CACHE-I-28, CACHE-Q-22
#[tokio::test(start_paused = true)]
async fn an_empty_list_syncs_everybody() {
    let informer = SharedInformer::new(Server::new());
    let (handler, subscription) = (informer.add_handler(|_: &Notification<Thing>| {}), informer.subscribe());
    let _running = run(&informer);
    within(informer.synced()).await.unwrap();
    within(handler.synced()).await.unwrap();
    within(subscription.synced()).await.unwrap();
    let (late, late_subscription) =
        (informer.add_handler(|_: &Notification<Thing>| {}), informer.subscribe());
    within(late.synced()).await.unwrap();
    within(late_subscription.synced()).await.unwrap();
}

// CACHE-I-28: what an initial object became counts for it.
#[tokio::test(start_paused = true)]
async fn a_subscription_whose_initial_objects_are_gone_is_synced() {
    let server = Server::with(&["a"]);
    let informer = SharedInformer::new(server.clone());
    let mut subscription = informer.subscribe();
    let _running = run(&informer);
    settled(&informer, &server).await;
    server.delete("a");
    settled(&informer, &server).await;
    assert_eq!(subscription.backlog(), 0, "it came and went unseen");
    assert!(futures_util::FutureExt::now_or_never(subscription.next()).is_none());
    within(subscription.synced()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_told_with_the_servers_words_while_the_informer_goes_on() {
    let server = Server::with(&["a"]);
    server.refuse(Some(forbidden()));
    let informer = SharedInformer::new(server.clone());
    let registration = informer.add_handler(|_: &Notification<Thing>| {});
    let handler_synced = tokio::spawn(registration.synced());
    let _running = run(&informer);
    let error = within(informer.synced()).await.unwrap_err();
    assert_eq!((error.why(), error.what()), (Why::Refused, "things"));
    assert_eq!(error.to_string(), "things cannot be synced: the server answers 403");
    let refusal = StatusError::find(&error).expect("the server's answer");
    assert!(refusal.is_forbidden());
    assert!(refusal.message().contains("user \"ann\" may not list"), "{refusal}");
    assert!(error.source().is_some() && error.api_error().is_some());
    assert_eq!(within(handler_synced).await.unwrap().unwrap_err().why(), Why::Refused);

    // Whoever asks again hears of another attempt, not of the same.
    let lists = server.requests().0;
    assert_eq!(within(informer.synced()).await.unwrap_err().why(), Why::Refused);
    assert!(server.requests().0 > lists);
    assert!(informer.status().failures >= 2);

    // It heals.
    server.refuse(None);
    while let Err(error) = within(informer.synced()).await {
        assert_eq!(error.why(), Why::Refused);
    }
    settled(&informer, &server).await;
    assert_eq!(cached(&informer), ["a@2"]);
    let status = informer.status();
    assert!(status.last_error.is_none() && status.failures == 0);
}

#[tokio::test(start_paused = true)]
async fn what_does_not_heal_by_itself_is_told_and_weather_is_waited_through() {
    let things = ApiResource::new("v1", "Thing", "things", Scope::Namespaced);
    let table = [
        (StatusError::unauthorized("who are you"), true),
        (forbidden(), true),
        (StatusError::not_found(&things, ""), true),
        (StatusError::method_not_supported(&things, "list"), true),
        (StatusError::bad_request("what is this"), true),
        (StatusError::too_many_requests("later", 1), false),
        (StatusError::service_unavailable("starting"), false),
        (StatusError::internal_error("oops"), false),
        (StatusError::timeout("list", 1), false),
    ];
    for (refusal, is_told) in table {
        let server = Server::new();
        server.refuse(Some(refusal.clone()));
        let informer = SharedInformer::new(server.clone());
        let running = run(&informer);
        let limit = Duration::from_secs(20);
        let error = within(informer.synced_within(limit)).await.unwrap_err();
        let expected = if is_told { Why::Refused } else { Why::TimedOut(limit) };
        assert_eq!(error.why(), expected, "{refusal}");
        assert_eq!(StatusError::find(&error), Some(&refusal), "the cause is told either way");
        running.abort();
    }
}

// A server that refuses after the cache was filled: the cache stays, and its status says that it is stale.
#[tokio::test(start_paused = true)]
async fn a_cache_that_was_filled_says_when_it_is_not_live_any_more() {
    use shared_informer::Phase;
    let server = Server::with(&["a"]);
    let informer = SharedInformer::new(server.clone());
    let _running = run(&informer);
    settled(&informer, &server).await;
    until("it watches", || informer.status().phase == Phase::Watching).await;
    server.refuse(Some(forbidden()));
    server.gap(|server| {
        server.put("b");
    });
    until("it fails", || informer.status().last_error.is_some()).await;
    let status = informer.status();
    assert!(status.is_synced && status.phase != Phase::Watching);
    assert_eq!(status.objects, 1);
    within(informer.synced()).await.unwrap();
    server.refuse(None);
    settled(&informer, &server).await;
    until("it watches again", || informer.status().phase == Phase::Watching).await;
    assert!(informer.status().last_error.is_none());
}

// CACHE-R-61, Appendix 2 #4.
#[tokio::test(start_paused = true)]
async fn a_transform_that_refuses_is_told() {
    let server = Server::with(&["a"]);
    let informer: SharedInformer<Thing> =
        SharedInformer::transforming(server, |_: Thing| Err("no such thing".into())).build();
    let _running = run(&informer);
    let error = within(informer.synced()).await.unwrap_err();
    assert_eq!(error.why(), Why::Refused);
    assert!(error.api_error().is_none());
    let reflector = error.source().expect("what was going on");
    assert_eq!(reflector.source().expect("what the transform said").to_string(), "no such thing");
}

// CACHE-I-06: T-I-12.
#[tokio::test(start_paused = true)]
async fn the_error_handler_hears_of_each_failure() {
    let server = Server::with(&["a"]);
    server.refuse(Some(forbidden()));
    let errors = Record::default();
    let (told, replaced) = (errors.clone(), errors.clone());
    let informer = SharedInformer::builder(server.clone())
        .on_error(move |_| replaced.push("replaced by the last one set".to_owned()))
        .on_error(move |error| told.push(error.to_string()))
        .build();
    let _running = run(&informer);
    until("it was told twice", || errors.len() == 2).await;
    assert_eq!(errors.take(), ["could not list things", "could not list things"]);
}

// F-10, CACHE-R-36
#[tokio::test(start_paused = true)]
async fn an_object_that_cannot_be_read_is_told_by_its_key_to_who_wants_to_hear_it() {
    let server = Server::with(&["a", "b"]);
    server.spoil("b");
    let errors = Record::default();
    let (told, failed) = (errors.clone(), errors.clone());
    let informer = SharedInformer::builder(server.clone())
        .on_error(move |error| failed.push(format!("it is no failed cycle: {error}")))
        .on_handled(move |error| match &**error {
            ReflectorError::Undecodable { source, .. } => {
                told.push(source.key.as_ref().map_or("?".to_owned(), ToString::to_string));
            }
            other => told.push(other.to_string()),
        })
        .build();
    let _running = run(&informer);
    within(informer.synced()).await.unwrap();
    until("it was told", || errors.len() == 1).await;
    assert_eq!(errors.take(), ["b"]);
    server.put("b");
    until("the new version of it was told", || errors.len() == 1).await;
    assert_eq!(errors.take(), ["b"]);
}

/// A server that does not know `sendInitialEvents`.
struct WithoutWatchList(Server);

impl ListWatch<Thing> for WithoutWatchList {
    type Events = <Server as ListWatch<Thing>>::Events;

    async fn list(&self, options: &ListOptions) -> Result<Page<Thing>, ApiError> {
        // Long enough for whoever waits to look at what went wrong.
        tokio::time::sleep(Duration::from_secs(1)).await;
        self.0.list(options).await
    }

    async fn watch(&self, options: &ListOptions) -> Result<Self::Events, ApiError> {
        if options.send_initial_events.is_some() {
            return Err(StatusError::bad_request("unknown option sendInitialEvents").into());
        }
        self.0.watch(options).await
    }

    fn describe(&self) -> String {
        "things".to_owned()
    }
}

// F-08, CACHE-I-05
#[tokio::test(start_paused = true)]
async fn who_waits_for_the_cache_waits_for_the_list_that_stands_in_for_a_refused_stream() {
    let informer = SharedInformer::new(WithoutWatchList(Server::with(&["a"])));
    let _running = run(&informer);
    let waiting = informer.synced();
    until("the refusal is in the status", || informer.status().last_error.is_some()).await;
    assert!(!informer.is_synced());
    within(waiting).await.unwrap();
    assert_eq!(cached(&informer).len(), 1);
    assert!(informer.status().last_error.is_none());
}
