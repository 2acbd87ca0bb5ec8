//! Start, stop, and everything that is too late.

mod common;

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;

use apimachinery::{ApiError, ListOptions, ListWatch, Page, WatchEvent};
use common::{Record, Server, Thing, cached, run, settled, until, within};
use futures_util::Stream;
use shared_informer::{Notification, SharedInformer, State, Why};
use steersman_shared_informer as shared_informer;
use tokio::sync::oneshot;

fn stoppable(informer: &SharedInformer<Thing>) -> (oneshot::Sender<()>, tokio::task::JoinHandle<()>) {
    let (stop, stopped) = oneshot::channel();
    (stop, tokio::spawn(informer.run(async move { drop(stopped.await) })))
}

// CACHE-I-01, CACHE-I-02, CACHE-I-03, CACHE-Z-10: T-I-6.
#[tokio::test(start_paused = true)]
async fn an_informer_runs_once() {
    let server = Server::with(&["a"]);
    let informer = SharedInformer::new(server.clone());
    assert_eq!(informer.status().state, State::Created);
    let (stop, running) = stoppable(&informer);
    settled(&informer, &server).await;
    assert_eq!(informer.status().state, State::Running);
    // Somebody else runs it: at once, and without an effect.
    within(informer.run(std::future::pending())).await;
    assert!(informer.driver().is_none());
    assert_eq!(informer.status().state, State::Running);
    drop(stop);
    within(running).await.unwrap();
    assert_eq!(informer.status().state, State::Stopped);
    assert!(informer.is_stopped() && informer.is_synced());
    within(informer.stopped()).await;
    within(informer.run(std::future::pending())).await;
    assert_eq!(informer.status().state, State::Stopped);
    assert!(!server.has_watch(), "the watch was let go");
    let requests = server.requests();
    server.put("b");
    tokio::time::sleep(std::time::Duration::from_mins(10)).await;
    assert_eq!(server.requests(), requests);
    assert_eq!(cached(&informer), ["a@2"], "the cache stays as it was");
}

// CACHE-I-02: B-I-5.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_who_run_it_at_once_one_does() {
    for _ in 0..50 {
        let informer = SharedInformer::new(Server::new());
        let drivers = futures_util::future::join_all((0..8).map(|_| {
            let informer = informer.clone();
            tokio::spawn(async move { informer.driver() })
        }));
        let drivers: Vec<_> = within(drivers).await.into_iter().filter_map(Result::unwrap).collect();
        assert_eq!(drivers.len(), 1);
    }
}

// CACHE-I-09, CACHE-Z-10: T-I-5.
#[tokio::test(start_paused = true)]
async fn after_the_stop_nothing_can_be_added_and_everything_removed() {
    let server = Server::with(&["a"]);
    let informer = SharedInformer::new(server.clone());
    let early = Record::default();
    let registration = informer.add_handler(early.handler());
    let (stop, running) = stoppable(&informer);
    settled(&informer, &server).await;
    assert!(registration.is_active());
    drop(stop);
    within(running).await.unwrap();
    assert!(!registration.is_active());
    let record = Record::default();
    let late = informer.add_handler(record.handler());
    assert!(!late.is_active());
    assert_eq!(within(late.synced()).await.unwrap_err().why(), Why::Stopped);
    let mut subscription = informer.subscribe();
    assert!(within(subscription.next()).await.is_none());
    assert_eq!(record.len(), 0);
    within(registration.shutdown()).await;
    late.remove();
    assert!(informer.status().listeners.is_empty());
}

// CACHE-I-04, CACHE-C-08, CACHE-Z-11
#[tokio::test(start_paused = true)]
async fn no_listener_is_called_after_run_returned() {
    let server = Server::with(&["a"]);
    let informer = SharedInformer::new(server.clone());
    let record = Record::of(&informer);
    let mut subscription = informer.subscribe();
    let (stop, running) = stoppable(&informer);
    settled(&informer, &server).await;
    // Both at once: the stop comes first.
    server.put("b");
    drop(stop);
    within(running).await.unwrap();
    let told = record.len();
    server.put("c");
    tokio::task::yield_now().await;
    assert_eq!(record.len(), told);
    assert!(within(subscription.next()).await.is_none(), "what waited is dropped");
}

// CACHE-I-07, CACHE-C-13
#[tokio::test(start_paused = true)]
async fn the_last_version_is_that_of_the_source() {
    let server = Server::with(&["a"]);
    let informer = SharedInformer::new(server.clone());
    assert_eq!(informer.last_resource_version(), "");
    let _running = run(&informer);
    settled(&informer, &server).await;
    assert_eq!(informer.last_resource_version(), "2");
    server.put("a");
    settled(&informer, &server).await;
    assert_eq!(informer.last_resource_version(), "3");
}

// CACHE-I-05
#[tokio::test(start_paused = true)]
async fn whoever_waits_for_an_informer_that_ends_is_told() {
    // Stopped in the middle of the first list.
    let server = Server::new();
    server.hang(true);
    let informer = SharedInformer::new(server.clone());
    let registration = informer.add_handler(|_: &Notification<Thing>| {});
    let (synced, handler_synced) = (tokio::spawn(informer.synced()), tokio::spawn(registration.synced()));
    let running = run(&informer);
    until("the list is asked for", || server.requests().0 == 1).await;
    running.abort();
    let error = within(synced).await.unwrap().unwrap_err();
    assert_eq!((error.why(), error.what()), (Why::Stopped, "things"));
    assert_eq!(within(handler_synced).await.unwrap().unwrap_err().why(), Why::Stopped);
    assert!(informer.is_stopped());

    // The driver was taken and thrown away.
    let informer = SharedInformer::new(Server::new());
    let synced = informer.synced();
    drop(informer.driver());
    assert_eq!(within(synced).await.unwrap_err().why(), Why::Stopped);

    // Nobody is left who could run it.
    let informer = SharedInformer::new(Server::new());
    let registration = informer.add_handler(|_: &Notification<Thing>| {});
    let synced = informer.synced();
    drop(informer);
    assert_eq!(within(synced).await.unwrap_err().why(), Why::Stopped);
    assert_eq!(within(registration.synced()).await.unwrap_err().why(), Why::Stopped);
}

// CACHE-I-30, CACHE-I-31: T-I-7, T-I-8. What a handler holds is free when the informer is gone, or the handler is.
#[tokio::test(start_paused = true)]
async fn a_handler_is_dropped_with_its_registration_or_its_informer() {
    let server = Server::with(&["a"]);
    let informer = SharedInformer::new(server.clone());
    let held: Vec<Arc<()>> = (0..4).map(|_| Arc::new(())).collect();
    let add = |at: usize| {
        let held = held[at].clone();
        informer.add_handler(move |_: &Notification<Thing>| assert!(Arc::strong_count(&held) > 1))
    };
    let count = |at: usize| Arc::strong_count(&held[at]);

    let (before, stays) = (add(0), add(1));
    within(before.shutdown()).await;
    assert_eq!(count(0), 1, "removed before the start");
    let running = run(&informer);
    settled(&informer, &server).await;
    let late = add(2);
    until("it is caught up", || late.is_synced()).await;
    within(late.shutdown()).await;
    assert_eq!(count(2), 1, "added and removed while it runs");
    assert!(stays.is_active());
    add(3).detach();
    until("the detached one is told, too", || informer.status().listeners.len() == 2).await;
    running.abort();
    within(informer.stopped()).await;
    until("the task is gone", || running.is_finished()).await;
    assert_eq!((count(1), count(3)), (1, 1), "gone with the informer");
    within(stays.shutdown()).await;
}

/// A server that sends one change after another and never makes anybody wait; after very many it falls silent.
struct Flood {
    sent: Arc<AtomicU64>,
}

impl ListWatch<Thing> for Flood {
    type Events = Pin<Box<dyn Stream<Item = Result<WatchEvent<Thing>, ApiError>> + Send>>;

    async fn list(&self, _: &ListOptions) -> Result<Page<Thing>, ApiError> {
        Ok(Page {
            items: Vec::new(),
            undecodable: Vec::new(),
            resource_version: "1".into(),
            continue_token: None,
            remaining_item_count: None,
        })
    }

    async fn watch(&self, _: &ListOptions) -> Result<Self::Events, ApiError> {
        let sent = self.sent.clone();
        Ok(Box::pin(futures_util::stream::poll_fn(move |_| {
            let number = sent.fetch_add(1, Ordering::Relaxed);
            if number < 100_000 {
                Poll::Ready(Some(Ok(WatchEvent::Modified(common::thing("a", number + 2, "a")))))
            } else {
                Poll::Pending
            }
        })))
    }

    fn supports_watch_list(&self) -> bool {
        false
    }

    fn describe(&self) -> String {
        "things".to_owned()
    }
}

// CACHE-I-03. The runtime has one thread, and the stream is always ready.
#[tokio::test(flavor = "current_thread")]
async fn a_stream_without_a_pause_leaves_a_turn_to_whoever_stops_it() {
    let sent = Arc::new(AtomicU64::new(0));
    let informer = SharedInformer::new(Flood { sent: sent.clone() });
    let (stop, running) = stoppable(&informer);
    let synced = informer.synced();
    tokio::spawn(async move {
        synced.await.unwrap();
        drop(stop);
    });
    within(running).await.unwrap();
    let sent = sent.load(Ordering::Relaxed);
    assert!(sent < 10_000, "{sent} events were read before anybody else had a turn");
}
