//! The queue as its users see it, on a paused clock.
#![cfg(not(loom))]

mod common;

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use common::{LIMIT, MS, Sleeper, got};
use steersman_workqueue::{Queue, RateLimiter};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

// WQ-03, WQ-10
#[test]
fn folded_adds_are_one_key() {
    let queue = Queue::new();
    for key in ["a", "b", "a"] {
        queue.add(key);
    }
    assert_eq!(queue.len(), 2);
}

// WQ-08, WQ-09, WQ-20
#[tokio::test(start_paused = true)]
async fn re_add_while_in_flight_is_not_lost() {
    let queue = Queue::new();
    queue.add("a");
    let first = got(&queue).await;
    queue.add("a");
    queue.add("a");
    queue.add("b");
    assert_eq!(queue.len(), 1, "a waits for its holder");
    assert_eq!(*got(&queue).await, "b");
    assert!(timeout(MS(50), queue.get()).await.is_err(), "nobody else gets a");
    drop(first);
    let second = got(&queue).await;
    assert_eq!(*second, "a");
    drop(second);
    assert_eq!(queue.len(), 0);
    assert!(timeout(MS(50), queue.get()).await.is_err(), "once more, not twice");
}

// WQ-20, GN-04
#[tokio::test(start_paused = true)]
async fn a_panic_while_holding_a_key_gives_it_to_another_worker() {
    let queue = Queue::new();
    queue.add(1);
    let worker = queue.clone();
    let died = tokio::spawn(async move {
        let key = worker.get().await.unwrap();
        worker.add(*key);
        assert_ne!(*key, 1, "the worker dies here");
    });
    assert!(died.await.unwrap_err().is_panic());
    assert_eq!(*got(&queue).await, 1);
}

// WQ-20
#[tokio::test(start_paused = true)]
async fn an_aborted_worker_is_done_with_its_key() {
    let queue = Queue::new();
    queue.add(1);
    let worker = queue.clone();
    let task = tokio::spawn(async move {
        let _key = worker.get().await;
        std::future::pending::<()>().await;
    });
    while queue.counts().processing == 0 {
        tokio::task::yield_now().await;
    }
    task.abort();
    assert!(task.await.unwrap_err().is_cancelled());
    assert_eq!(queue.counts().processing, 0);
}

// WQ-20
#[tokio::test(start_paused = true)]
async fn a_guard_says_what_comes_next() {
    let queue = Queue::new();
    queue.add(1);
    got(&queue).await.requeue();
    assert_eq!((queue.counts().queued, queue.counts().processing), (1, 0));
    got(&queue).await.requeue_after(MS(100));
    assert_eq!((queue.counts().waiting, queue.counts().processing), (1, 0));
    let before = Instant::now();
    let key = got(&queue).await;
    assert!(before.elapsed() >= MS(100));
    assert_eq!(key.requeue_rate_limited(), MS(5));
    let key = got(&queue).await;
    assert_eq!(queue.requeues(&1), 1);
    key.forget();
    assert_eq!(queue.requeues(&1), 0);
    key.done();
    assert_eq!(queue.counts().processing, 0);
}

// WQ-21, GN-08
#[tokio::test(start_paused = true)]
async fn a_get_dropped_after_its_wake_up_passes_it_on() {
    let queue = Queue::new();
    let (one, other) = (Sleeper::new(), Sleeper::new());
    let mut first = Box::pin(queue.get());
    let mut second = pin!(queue.get());
    assert!(one.poll(first.as_mut()).is_pending());
    assert!(other.poll(second.as_mut()).is_pending());
    queue.add(1);
    assert_eq!(one.woken(), 1, "the one that waits longest is told");
    assert_eq!(other.woken(), 0, "and only that one");
    drop(first);
    assert_eq!(other.woken(), 1);
    assert!(other.poll(second.as_mut()).is_ready());
}

// WQ-22
#[tokio::test(start_paused = true)]
async fn a_batch_wakes_as_many_as_it_has_keys_for() {
    let queue = Queue::new();
    let mut gets: Vec<_> = (0..5).map(|_| (Sleeper::new(), Box::pin(queue.get()))).collect();
    for (sleeper, get) in &mut gets {
        assert!(sleeper.poll(get.as_mut()).is_pending());
    }
    queue.add_all([1, 2, 2, 1, 3]);
    assert_eq!(gets.iter().filter(|(sleeper, _)| sleeper.woken() == 1).count(), 3);
}

// WQ-06, WQ-11, WQ-16
#[tokio::test(start_paused = true)]
async fn shutdown_wakes_everybody_and_hands_out_what_is_queued() {
    let queue = Queue::<u8>::new();
    let mut waiting = JoinSet::new();
    for _ in 0..16 {
        let queue = queue.clone();
        waiting.spawn(async move { queue.get().await.is_none() });
    }
    tokio::task::yield_now().await;
    queue.shutdown();
    queue.shutdown();
    let all = timeout(LIMIT, waiting.join_all()).await.expect("nobody is left waiting");
    assert!(all.into_iter().all(|closed| closed));

    let queue = Queue::new();
    queue.add(1);
    queue.shutdown();
    queue.add(2);
    queue.add_after(3, MS(0));
    queue.add_all([4]);
    assert!(queue.is_shutting_down());
    assert_eq!(*got(&queue).await, 1);
    assert!(queue.get().await.is_none());
    assert_eq!(queue.counts().adds, 1);
}

// WQ-07, WQ-12
#[tokio::test(start_paused = true)]
async fn a_held_key_that_was_re_added_is_still_handed_out_during_a_drain() {
    let queue = Queue::new();
    queue.add(1);
    let held = got(&queue).await;
    queue.add(1);
    let mut drain = pin!(queue.shutdown_with_drain());
    assert!(timeout(MS(1), &mut drain).await.is_err());
    drop(held);
    let again = got(&queue).await;
    assert_eq!(*again, 1);
    assert!(timeout(MS(1), &mut drain).await.is_err(), "it is still in flight");
    drop(again);
    assert!(queue.get().await.is_none());
    assert_eq!(drain.await, Ok(()));
}

// WQ-12
#[tokio::test(start_paused = true)]
async fn a_plain_shutdown_releases_a_drain() {
    let queue = Queue::new();
    queue.add_all([1, 2, 3]);
    let _held = got(&queue).await;
    let (drain, same) = (queue.shutdown_with_drain(), queue.clone());
    let drain = tokio::spawn(drain);
    tokio::task::yield_now().await;
    same.shutdown();
    let left = timeout(LIMIT, drain).await.expect("released").unwrap().unwrap_err();
    assert_eq!(left.processing, [1]);
    let mut queued = left.queued.clone();
    queued.sort_unstable();
    assert_eq!(queued, [2, 3]);
    assert_eq!(left.to_string(), "the queue was not drained: 2 keys queued, 1 keys in flight");
}

// WQ-13
#[tokio::test(start_paused = true)]
async fn every_drain_caller_returns() {
    let queue = Queue::new();
    queue.add(1);
    let held = got(&queue).await;
    let drains: Vec<_> = (0..3).map(|_| tokio::spawn(queue.shutdown_with_drain())).collect();
    tokio::task::yield_now().await;
    drop(held);
    for drain in drains {
        assert_eq!(timeout(LIMIT, drain).await.expect("it returns").unwrap(), Ok(()));
    }
}

// WQ-14, WQ-16
#[tokio::test(start_paused = true)]
async fn a_drain_waits_for_what_is_queued() {
    let queue = Queue::new();
    queue.add_all([1, 2]);
    let mut drain = pin!(queue.shutdown_with_drain());
    assert!(queue.is_shutting_down(), "from the call on");
    assert!(timeout(MS(1), &mut drain).await.is_err(), "nothing is in flight, but two are queued");
    drop(got(&queue).await);
    drop(got(&queue).await);
    assert_eq!(drain.await, Ok(()));
}

// WQ-14
#[tokio::test(start_paused = true)]
async fn a_drain_with_a_limit_names_the_key_that_is_stuck() {
    let queue = Queue::new();
    queue.add_all(["stuck", "free"]);
    let _stuck = got(&queue).await;
    let worker = queue.clone();
    tokio::spawn(async move { while worker.get().await.is_some() {} });
    let before = Instant::now();
    let left = queue.shutdown_with_drain_within(Duration::from_secs(1)).await.unwrap_err();
    assert_eq!(before.elapsed(), Duration::from_secs(1));
    assert_eq!((left.processing, left.queued), (vec!["stuck"], vec![]));
}

// WQ-17
#[tokio::test(start_paused = true)]
async fn a_queue_keeps_no_key_that_is_done() {
    let key = Arc::new(7);
    let queue = Queue::new();
    for _ in 0..3 {
        queue.add(Arc::clone(&key));
        queue.add(Arc::clone(&key));
        got(&queue).await.done();
    }
    queue.add_after(Arc::clone(&key), MS(1));
    got(&queue).await.done();
    assert_eq!(Arc::strong_count(&key), 1);
    queue.add_after(Arc::clone(&key), MS(1));
    queue.shutdown();
    assert_eq!(Arc::strong_count(&key), 1);
}

// GN-07: whoever is called by the queue may call it.
#[tokio::test(start_paused = true)]
async fn no_foreign_code_runs_under_the_lock() {
    struct Asking(Queue<u8>);
    impl RateLimiter<u8> for Asking {
        fn when(&mut self, _now: std::time::Instant, _key: &u8) -> Duration {
            MS(self.0.len() as u64)
        }
        fn forget(&mut self, _key: &u8) {
            self.0.add(9);
        }
        fn requeues(&self, _key: &u8) -> u32 {
            u32::from(self.0.is_empty())
        }
    }
    struct Adding(Queue<u8>);
    impl std::task::Wake for Adding {
        fn wake(self: Arc<Self>) {
            self.0.add(2);
        }
    }
    let queue = Queue::new();
    queue.set_limiter(Asking(queue.clone()));
    let mut get = pin!(queue.get());
    let waker = Waker::from(Arc::new(Adding(queue.clone())));
    assert!(get.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    queue.add(1);
    assert_eq!(queue.len(), 2, "the waker added one");
    assert_eq!(queue.add_rate_limited(3), MS(2));
    queue.forget(&3);
    assert_eq!((queue.len(), queue.requeues(&3)), (3, 0));
}

// GN-04: the key's own code panics under the lock, and the queue goes on for the others.
#[tokio::test(start_paused = true)]
async fn a_key_that_panics_closes_the_queue_to_nobody() {
    #[derive(Clone, PartialEq, Eq, Debug)]
    struct Key(u8);
    impl std::hash::Hash for Key {
        fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
            assert_ne!(self.0, 13, "a key with a bug");
            self.0.hash(state);
        }
    }
    let queue = Queue::new();
    queue.add(Key(1));
    let panicked = std::panic::catch_unwind(AssertUnwindSafe(|| queue.add(Key(13))));
    assert!(panicked.is_err());
    queue.add(Key(2));
    assert_eq!(got(&queue).await.0, 1);
    assert_eq!(got(&queue).await.0, 2);
}

// A worker whose keys are always ready yields to its neighbours.
#[tokio::test]
async fn a_busy_worker_lets_others_run() {
    let queue = Queue::new();
    queue.add(1);
    let worker = queue.clone();
    let busy = tokio::spawn(async move {
        while let Some(key) = worker.get().await {
            key.requeue();
        }
    });
    // On one thread this is only reached if the worker gives way.
    tokio::task::yield_now().await;
    queue.shutdown();
    busy.await.unwrap();
}

#[test]
fn poll_types_are_send_and_static_where_they_can_be() {
    fn send<T: Send>(_: &T) {}
    fn is_static<T: 'static>(_: &T) {}
    let queue = Queue::<String>::new();
    send(&queue.get());
    let drain = queue.shutdown_with_drain();
    send(&drain);
    is_static(&drain);
    let mut get = pin!(queue.get());
    assert!(matches!(get.as_mut().poll(&mut Context::from_waker(Waker::noop())), Poll::Ready(None)));
}
