//! The shell: waiting, waking, cancelling, ending.

use std::num::NonZeroUsize;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use apimachinery::Object;
use deltafifo::{Batch, Delta, ObjectDelta, Receiver, SendError, Sender, channel};
use k8s_openapi::api::core::v1::ConfigMap;
use steersman_deltafifo as deltafifo;

fn named(name: &str) -> Delta<ConfigMap> {
    let mut object = ConfigMap::default();
    object.metadata.name = Some(name.to_owned());
    Delta::Added(Arc::new(object))
}

fn pair(capacity: usize) -> (Sender<ConfigMap>, Receiver<ConfigMap>) {
    channel(NonZeroUsize::new(capacity).expect("a capacity"))
}

fn names(batch: Option<Batch<ConfigMap>>) -> Vec<String> {
    let Some(Batch::Objects(deltas)) = batch else { panic!("not a batch of objects: {batch:?}") };
    deltas
        .into_iter()
        .map(|keyed| match keyed.delta {
            ObjectDelta::Added(object) => object.name().to_owned(),
            other => panic!("{other:?}"),
        })
        .collect()
}

/// Counts wake-ups.
#[derive(Default)]
struct Bell(AtomicUsize);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Bell {
    fn rung(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

fn bell() -> (Arc<Bell>, Waker) {
    let bell = Arc::new(Bell::default());
    let waker = Waker::from(Arc::clone(&bell));
    (bell, waker)
}

fn poll_once<F: Future>(future: F, waker: &Waker) -> Poll<F::Output> {
    pin!(future).poll(&mut Context::from_waker(waker))
}

// CACHE-Q-23
#[tokio::test]
async fn send_waits_for_room_and_goes_on_when_a_batch_is_taken() {
    let (mut sender, mut receiver) = pair(2);
    let (bell, waker) = bell();
    sender.send(named("a")).await.expect("a receiver");
    sender.send(named("b")).await.expect("a receiver");
    {
        let mut third = pin!(sender.send(named("c")));
        assert!(third.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        assert_eq!(names(receiver.recv_batch().await), ["a", "b"]);
        assert_eq!(bell.rung(), 1, "room is told");
        assert!(third.as_mut().poll(&mut Context::from_waker(&waker)).is_ready());
    }
    assert_eq!(names(receiver.recv_batch().await), ["c"]);
}

#[tokio::test]
async fn a_cancelled_send_queues_nothing_and_loses_no_place() {
    let (mut sender, mut receiver) = pair(1);
    let (_, waker) = bell();
    sender.send(named("a")).await.expect("a receiver");
    assert!(poll_once(sender.send(named("cancelled")), &waker).is_pending());
    assert_eq!(names(receiver.recv_batch().await), ["a"]);
    sender.send(named("b")).await.expect("a receiver");
    assert_eq!(names(receiver.recv_batch().await), ["b"]);
}

#[tokio::test]
async fn after_a_cancelled_send_the_next_one_is_still_woken() {
    let (mut sender, mut receiver) = pair(1);
    let ((old, old_waker), (new, new_waker)) = (bell(), bell());
    sender.send(named("a")).await.expect("a receiver");
    assert!(poll_once(sender.send(named("b")), &old_waker).is_pending());
    let mut next = pin!(sender.send(named("c")));
    assert!(next.as_mut().poll(&mut Context::from_waker(&new_waker)).is_pending());
    receiver.recv_batch().await;
    assert_eq!((old.rung(), new.rung()), (0, 1));
}

#[tokio::test]
async fn a_cancelled_receive_loses_no_delta() {
    let (mut sender, mut receiver) = pair(4);
    let ((old, old_waker), (new, new_waker)) = (bell(), bell());
    assert!(poll_once(receiver.recv_batch(), &old_waker).is_pending());
    let mut again = pin!(receiver.recv_batch());
    assert!(again.as_mut().poll(&mut Context::from_waker(&new_waker)).is_pending());
    sender.send(named("a")).await.expect("a receiver");
    assert_eq!((old.rung(), new.rung()), (0, 1), "the one that waits is woken");
    assert_eq!(names(again.await), ["a"]);
}

#[tokio::test]
async fn a_receive_that_is_cancelled_after_its_wake_up_leaves_the_delta_to_the_next() {
    let (mut sender, mut receiver) = pair(4);
    let (bell, waker) = bell();
    {
        let mut woken = pin!(receiver.recv_batch());
        assert!(woken.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        sender.send(named("a")).await.expect("a receiver");
        assert_eq!(bell.rung(), 1);
    }
    assert_eq!(names(receiver.recv_batch().await), ["a"]);
}

// CACHE-Q-08
#[tokio::test]
async fn without_a_sender_what_is_queued_comes_first_then_the_end() {
    let (mut sender, mut receiver) = pair(4);
    sender.send(named("a")).await.expect("a receiver");
    drop(sender);
    assert_eq!(names(receiver.recv_batch().await), ["a"]);
    assert!(receiver.recv_batch().await.is_none());
    assert!(receiver.recv_batch().await.is_none(), "and again");
}

// CACHE-Q-08
#[tokio::test]
async fn a_waiting_receiver_is_woken_by_the_end_of_the_sender() {
    let (sender, mut receiver) = pair(4);
    let (bell, waker) = bell();
    let mut waiting = pin!(receiver.recv_batch());
    assert!(waiting.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    drop(sender);
    assert_eq!(bell.rung(), 1);
    assert!(waiting.await.is_none());
}

#[tokio::test]
async fn without_a_receiver_a_send_fails_and_gives_the_delta_back() {
    let (mut sender, receiver) = pair(4);
    drop(receiver);
    assert!(sender.is_closed());
    let Err(SendError::Closed(Delta::Added(back))) = sender.send(named("a")).await else {
        panic!("it was sent");
    };
    assert_eq!(back.name(), "a");
}

#[tokio::test]
async fn a_waiting_send_is_woken_by_the_end_of_the_receiver() {
    let (mut sender, receiver) = pair(1);
    let (bell, waker) = bell();
    sender.send(named("a")).await.expect("a receiver");
    let mut waiting = pin!(sender.send(named("b")));
    assert!(waiting.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    drop(receiver);
    assert_eq!(bell.rung(), 1);
    assert!(matches!(waiting.await, Err(SendError::Closed(_))));
}

#[tokio::test]
async fn the_end_of_the_receiver_drops_what_is_queued() {
    let (mut sender, receiver) = pair(4);
    let object = Arc::new(ConfigMap::default());
    let weak = Arc::downgrade(&object);
    sender.send(Delta::Added(object)).await.expect("a receiver");
    drop(receiver);
    assert!(weak.upgrade().is_none(), "though the sender lives on");
}

#[tokio::test]
async fn many_fed_deltas_wake_the_receiver_once_at_the_flush() {
    let (mut sender, mut receiver) = pair(100);
    let (bell, waker) = bell();
    let mut waiting = pin!(receiver.recv_batch());
    assert!(waiting.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    for name in ["a", "b", "c"] {
        sender.feed(named(name)).expect("room");
    }
    assert_eq!(bell.rung(), 0);
    sender.flush();
    sender.flush();
    assert_eq!(bell.rung(), 1);
    assert_eq!(names(waiting.await), ["a", "b", "c"]);
}

#[tokio::test]
async fn whoever_waits_for_room_has_told_what_it_fed() {
    let (mut sender, mut receiver) = pair(1);
    let ((bell, waker), (_, sender_waker)) = (bell(), bell());
    let mut waiting = pin!(receiver.recv_batch());
    assert!(waiting.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    sender.feed(named("a")).expect("room");
    assert!(poll_once(sender.ready(), &sender_waker).is_pending());
    assert_eq!(bell.rung(), 1, "else both would wait for ever");
}

#[tokio::test]
async fn feeding_a_full_queue_gives_the_delta_back() {
    let (mut sender, _receiver) = pair(1);
    sender.feed(named("a")).expect("room");
    let Err(SendError::Full(Delta::Added(back))) = sender.feed(named("b")) else { panic!("there was room") };
    assert_eq!(back.name(), "b");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn across_threads_everything_arrives_once_and_in_order() {
    let (mut sender, mut receiver) = pair(7);
    let producer = tokio::spawn(async move {
        for number in 0..5000 {
            sender.send(named(&number.to_string())).await.expect("a receiver");
        }
    });
    let mut seen = Vec::new();
    let all = tokio::time::timeout(Duration::from_mins(1), async {
        while let Some(batch) = receiver.recv_batch().await {
            seen.extend(names(Some(batch)));
        }
    });
    all.await.expect("no wake-up is lost");
    producer.await.expect("the producer ends");
    assert!(seen.iter().map(String::as_str).eq((0..5000).map(|n| n.to_string()).collect::<Vec<_>>().iter()));
}
