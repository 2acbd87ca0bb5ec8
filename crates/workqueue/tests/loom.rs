//! One race a test, in every interleaving.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p steersman-workqueue --test loom --release`
#![cfg(loom)]

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Waker};
use std::time::Duration;

use loom::future::block_on;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;
use steersman_workqueue::{Bucket, Queue};

fn queue() -> Queue<u8> {
    Queue::with_limiter(Bucket::new(f32::INFINITY, 1))
}

/// Small models are tried whole; the others up to this many forced switches.
fn model(preemptions: usize, check: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(check);
}

fn at_rest(queue: &Queue<u8>) {
    let counts = queue.counts();
    assert_eq!((counts.queued, counts.processing, counts.processing_dirty), (0, 0, 0), "empty sets at rest");
    assert_eq!(counts.stray_dones, 0);
}

// WQ-04, WQ-05: an add that races with a get which parks wakes it.
#[test]
fn an_add_while_a_get_parks_is_seen() {
    loom::model(|| {
        let queue = queue();
        let adding = queue.clone();
        let adder = thread::spawn(move || adding.add(1));
        assert_eq!(block_on(queue.get()).map(|key| *key), Some(1));
        adder.join().unwrap();
        at_rest(&queue);
    });
}

// WQ-21
#[test]
fn a_cancelled_get_keeps_no_wake_up() {
    model(3, || {
        let queue = queue();
        let (cancelling, adding) = (queue.clone(), queue.clone());
        let cancelled = thread::spawn(move || {
            let mut get = pin!(cancelling.get());
            // It parks, or it has the key, which it gives back by being dropped.
            if get.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready() {
                cancelling.add(1);
            }
        });
        let adder = thread::spawn(move || adding.add(1));
        assert_eq!(block_on(queue.get()).map(|key| *key), Some(1));
        adder.join().unwrap();
        cancelled.join().unwrap();
    });
}

// WQ-07, WQ-08
#[test]
fn an_add_that_races_with_a_done_is_one_more_round() {
    loom::model(|| {
        let queue = queue();
        queue.add(1);
        let held = queue.try_get().unwrap();
        let adding = queue.clone();
        let adder = thread::spawn(move || adding.add(1));
        drop(held);
        adder.join().unwrap();
        assert_eq!(queue.try_get().map(|key| *key), Some(1));
        assert!(queue.try_get().is_none());
        at_rest(&queue);
    });
}

// WQ-05, WQ-08
#[test]
fn two_workers_never_hold_one_key() {
    model(3, || {
        let queue = queue();
        let holders = Arc::new(AtomicUsize::new(0));
        let work = |queue: Queue<u8>, holders: Arc<AtomicUsize>| {
            thread::spawn(move || {
                let mut rounds = 0;
                while let Some(key) = block_on(queue.get()) {
                    assert_eq!(holders.fetch_add(1, Ordering::SeqCst), 0, "one holder of {}", *key);
                    holders.fetch_sub(1, Ordering::SeqCst);
                    rounds += 1;
                }
                rounds
            })
        };
        let workers = [work(queue.clone(), holders.clone()), work(queue.clone(), holders.clone())];
        queue.add(1);
        queue.add(1);
        queue.shutdown();
        let rounds: usize = workers.into_iter().map(|worker| worker.join().unwrap()).sum();
        assert!((1..=2).contains(&rounds), "{rounds}");
        at_rest(&queue);
    });
}

// WQ-11
#[test]
fn shutdown_while_gets_park_lets_all_return() {
    model(3, || {
        let queue = queue();
        let waiting: Vec<_> = (0..2)
            .map(|_| {
                let queue = queue.clone();
                thread::spawn(move || block_on(queue.get()).is_none())
            })
            .collect();
        queue.shutdown();
        assert!(waiting.into_iter().all(|waiter| waiter.join().unwrap()));
    });
}

// WQ-04: no two wake-ups become one.
#[test]
fn two_adds_wake_two_gets() {
    model(3, || {
        let queue = queue();
        let waiting: Vec<_> = (0..2)
            .map(|_| {
                let queue = queue.clone();
                // The key is kept until both have theirs: a done would pass for a second wake-up.
                thread::spawn(move || block_on(queue.get()))
            })
            .collect();
        queue.add(1);
        queue.add(2);
        let keys: Vec<_> = waiting.into_iter().map(|waiter| waiter.join().unwrap().unwrap()).collect();
        assert_eq!(keys.iter().map(|key| u32::from(**key)).sum::<u32>(), 3);
    });
}

// WQ-12, WQ-13, WQ-14
#[test]
fn drains_end_with_the_last_done() {
    model(3, || {
        let queue = queue();
        queue.add(1);
        let held = queue.try_get().unwrap();
        let drains: Vec<_> = (0..2)
            .map(|_| {
                let queue = queue.clone();
                thread::spawn(move || block_on(queue.shutdown_with_drain()))
            })
            .collect();
        drop(held);
        for drain in drains {
            assert_eq!(drain.join().unwrap(), Ok(()));
        }
        at_rest(&queue);
    });
}

// WQ-11, WQ-12
#[test]
fn a_plain_shutdown_at_any_point_releases_a_drain() {
    loom::model(|| {
        let queue = queue();
        queue.add(1);
        let _held = queue.try_get().unwrap();
        let drain = queue.shutdown_with_drain();
        let drainer = thread::spawn(move || block_on(drain));
        queue.shutdown();
        assert_eq!(drainer.join().unwrap().unwrap_err().processing, [1]);
    });
}

// WQ-07, WQ-14: what is dirty when a drain begins is still worked on, by whoever is left.
#[test]
fn a_drain_waits_for_a_re_added_key() {
    model(3, || {
        let queue = queue();
        queue.add(1);
        let held = queue.try_get().unwrap();
        queue.add(1);
        let draining = queue.clone();
        let drainer = thread::spawn(move || block_on(draining.shutdown_with_drain()));
        drop(held);
        assert_eq!(block_on(queue.get()).map(|key| *key), Some(1));
        assert_eq!(drainer.join().unwrap(), Ok(()));
        at_rest(&queue);
    });
}

// DQ-02, DQ-12
#[test]
fn a_delay_that_races_with_shutdown_leaves_nothing() {
    loom::model(|| {
        let queue = queue();
        let adding = queue.clone();
        let adder = thread::spawn(move || adding.add_after(1, Duration::from_secs(1)));
        queue.shutdown();
        adder.join().unwrap();
        assert_eq!(queue.counts().waiting, 0);
        assert!(block_on(queue.get()).is_none());
    });
}

// DQ-11: the sleeper is told of a sooner delay, whether it parks before or after it was added.
#[test]
fn a_sooner_delay_reaches_whoever_keeps_the_time() {
    model(3, || {
        let queue = queue();
        queue.add_after(1, Duration::from_secs(10));
        let adding = queue.clone();
        let adder = thread::spawn(move || {
            adding.add_after(2, Duration::from_secs(5));
            adding.add(3);
        });
        // Time stands still here; what must not be missed is the wake-up.
        assert_eq!(block_on(queue.get()).map(|key| *key), Some(3));
        adder.join().unwrap();
        assert_eq!(queue.counts().waiting, 2);
    });
}
