//! Keys that wait for a moment, on a paused clock.
#![cfg(not(loom))]

mod common;

use std::pin::pin;
use std::time::Duration;

use common::{LIMIT, MS, Sleeper, got};
use steersman_workqueue::Queue;
use tokio::task::JoinSet;
use tokio::time::{Instant, advance, timeout};

// DQ-12, DQ-13, GN-06
#[tokio::test(start_paused = true)]
async fn shutdown_discards_what_waits_and_leaves_no_task() {
    for drain in [false, true] {
        let queue = Queue::new();
        queue.add_after(1, MS(10));
        let waiting = queue.clone();
        let waiter = tokio::spawn(async move { waiting.get().await.is_none() });
        tokio::task::yield_now().await;
        if drain {
            assert_eq!(queue.shutdown_with_drain().await, Ok(()));
        } else {
            queue.shutdown();
        }
        let before = Instant::now();
        assert!(waiter.await.unwrap());
        assert_eq!(before.elapsed(), Duration::ZERO, "no timer was waited for");
        assert_eq!(queue.counts().waiting, 0);
        queue.add_after(2, MS(1));
        advance(Duration::from_secs(10)).await;
        assert!(queue.is_empty());
        assert_eq!(tokio::runtime::Handle::current().metrics().num_alive_tasks(), 0);
    }
}

// DQ-04, DQ-07
#[tokio::test(start_paused = true)]
async fn a_delayed_key_comes_once_at_its_time() {
    let queue = Queue::new();
    queue.add_after("foo", MS(50));
    assert_eq!(queue.len(), 0, "waiting is not ready");
    advance(MS(60)).await;
    assert_eq!(queue.len(), 1);
    drop(got(&queue).await);
    advance(Duration::from_secs(10)).await;
    assert_eq!(queue.len(), 0);
}

// DQ-05
#[tokio::test(start_paused = true)]
async fn the_earlier_of_two_moments_counts() {
    for (first, second) in [(50, 70), (50, 30)] {
        let queue = Queue::new();
        queue.add_after("foo", MS(first));
        queue.add_after("foo", MS(second));
        let before = Instant::now();
        drop(got(&queue).await);
        assert_eq!(before.elapsed(), MS(first.min(second)));
        advance(Duration::from_secs(1)).await;
        assert!(queue.is_empty(), "nothing at the later one");
    }
}

// DQ-06, DQ-11
#[tokio::test(start_paused = true)]
async fn a_sooner_delay_does_not_wait_for_the_timer_that_runs() {
    let queue = Queue::new();
    queue.add_after("foo", Duration::from_secs(1));
    let waiting = queue.clone();
    let waiter = tokio::spawn(async move {
        let before = Instant::now();
        let mut order = Vec::new();
        for _ in 0..3 {
            let key = waiting.get().await.unwrap();
            order.push((*key, before.elapsed()));
        }
        order
    });
    tokio::task::yield_now().await;
    queue.add_after("bar", MS(50));
    queue.add_after("baz", Duration::from_secs(2));
    let order = timeout(LIMIT, waiter).await.unwrap().unwrap();
    assert_eq!(order, [("bar", MS(50)), ("foo", MS(1000)), ("baz", MS(2000))]);
}

// DQ-06
#[tokio::test(start_paused = true)]
async fn keys_due_together_come_in_the_order_of_their_moments() {
    let queue = Queue::new();
    for ms in [1000, 500, 250] {
        queue.add_after(ms, MS(ms));
    }
    advance(Duration::from_secs(2)).await;
    let mut order = Vec::new();
    for _ in 0..3 {
        order.push(*got(&queue).await);
    }
    assert_eq!(order, [250, 500, 1000]);
}

// DQ-08
#[tokio::test(start_paused = true)]
async fn a_delay_that_ends_while_the_key_is_held_is_one_more_round() {
    let queue = Queue::new();
    queue.add_after("a", MS(50));
    queue.add("a");
    let held = got(&queue).await;
    advance(MS(60)).await;
    assert_eq!(queue.len(), 0, "its holder is not done");
    drop(held);
    drop(got(&queue).await);
    assert_eq!(queue.counts().waiting, 0);
}

// DQ-08
#[tokio::test(start_paused = true)]
async fn a_delay_can_be_cancelled() {
    let queue = Queue::new();
    queue.add_after("a", MS(50));
    assert!(queue.cancel_after(&"a"));
    assert!(!queue.cancel_after(&"a"));
    advance(MS(60)).await;
    assert!(queue.is_empty());
}

// DQ-14
#[tokio::test(start_paused = true)]
async fn delays_are_never_waited_for_by_who_adds_them() {
    let queue = Queue::new();
    // Nobody waits in `get`; a call that blocked would hang here.
    for key in 0..10_000 {
        queue.add_after(key, MS(10));
    }
    assert_eq!(queue.counts().waiting, 10_000);
    advance(MS(20)).await;
    assert_eq!(queue.len(), 10_000);
}

// The baton: whoever keeps the time may leave at any moment, and the delays still end.
#[tokio::test(start_paused = true)]
async fn the_time_is_kept_whoever_leaves() {
    let queue = Queue::new();
    let mut workers = JoinSet::new();
    for _ in 0..3 {
        let queue = queue.clone();
        workers.spawn(async move { queue.get().await.map(|key| *key) });
    }
    tokio::task::yield_now().await;
    queue.add_after("late", Duration::from_mins(1));
    tokio::task::yield_now().await;
    // A key now: one worker leaves with it, perhaps the one that sleeps.
    queue.add("now");
    assert_eq!(workers.join_next().await.unwrap().unwrap(), Some("now"));
    // Another is cancelled, perhaps the one that sleeps.
    let mut cancelled = pin!(queue.get());
    assert!(timeout(MS(10), &mut cancelled).await.is_err());
    let before = Instant::now();
    assert_eq!(timeout(LIMIT, workers.join_next()).await.unwrap().unwrap().unwrap(), Some("late"));
    assert!(before.elapsed() <= Duration::from_mins(1));
    queue.shutdown();
}

// The baton, when it is the keeper of the time that goes away.
#[tokio::test(start_paused = true)]
async fn dropping_the_keeper_of_the_time_makes_another_one() {
    let queue = Queue::new();
    queue.add_after(1, Duration::from_secs(5));
    let (one, other) = (Sleeper::new(), Sleeper::new());
    let mut first = Box::pin(queue.get());
    assert!(one.poll(first.as_mut()).is_pending());
    let mut second = pin!(queue.get());
    assert!(other.poll(second.as_mut()).is_pending());
    assert_eq!(other.woken(), 0);
    drop(first);
    assert_eq!(other.woken(), 1, "somebody keeps the time");
    let before = Instant::now();
    assert!(timeout(LIMIT, second).await.unwrap().is_some());
    assert_eq!(before.elapsed(), Duration::from_secs(5));
}

// PF-02: an idle queue has nothing that runs.
#[tokio::test(start_paused = true)]
async fn an_idle_queue_is_never_woken() {
    let queue = Queue::<u8>::new();
    let sleeper = Sleeper::new();
    let mut get = pin!(queue.get());
    assert!(sleeper.poll(get.as_mut()).is_pending());
    advance(Duration::from_hours(24)).await;
    assert_eq!(sleeper.woken(), 0);
}

// RL-01, RL-02
#[tokio::test(start_paused = true)]
async fn rate_limited_adds_wait_longer_each_time_until_forgotten() {
    let queue = Queue::with_limiter(steersman_workqueue::ItemExponential::default());
    assert_eq!(queue.add_rate_limited("a"), MS(1));
    drop(got(&queue).await);
    assert_eq!(queue.add_rate_limited("a"), MS(2));
    assert_eq!(queue.requeues(&"a"), 2);
    queue.forget(&"a");
    assert_eq!(queue.counts().waiting, 1, "forgetting takes it out of no set");
    drop(got(&queue).await);
    assert_eq!(queue.add_rate_limited("a"), MS(1));
    queue.shutdown();
    assert_eq!(queue.add_rate_limited("a"), MS(2), "the limiter is asked even then");
    assert_eq!(queue.counts().waiting, 0);
}
