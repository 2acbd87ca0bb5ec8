//! What a queue that is at work asks of the allocator: nothing.
#![cfg(not(loom))]

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use allocation_counter::measure;
use steersman_workqueue::{Core, ItemExponential, Queue};
use tokio::time::Instant;

/// Enough for every table to have found its size, and few enough to be quick.
const ROUNDS: usize = 10_000;

fn keys() -> Vec<Arc<str>> {
    (0..64).map(|number| Arc::from(format!("namespace/name-{number}"))).collect()
}

#[test]
fn a_cycle_of_the_core_allocates_nothing_once_it_has_run() {
    let keys = keys();
    let mut core = Core::new();
    let mut cycles = |rounds: usize| {
        for round in 0..rounds {
            for key in &keys[..=round % keys.len()] {
                core.add(key.clone());
                core.add(key.clone());
            }
            let mut again = round % 3;
            while let Some((ticket, key)) = core.take() {
                if again > 0 {
                    again -= 1;
                    core.add(key);
                }
                core.done(ticket);
            }
        }
        assert!(core.is_empty());
    };
    cycles(3 * keys.len());
    let used = measure(|| cycles(ROUNDS));
    assert_eq!((used.count_total, used.bytes_total), (0, 0));
}

#[test]
fn keys_that_wait_for_their_moment_allocate_nothing_once_as_many_have_waited() {
    let keys = keys();
    let mut core = Core::new();
    let mut now = Instant::now().into_std();
    let mut cycles = |rounds: usize| {
        for _ in 0..rounds {
            for (key, delay) in keys.iter().zip(1..) {
                core.add_after(now, key.clone(), Duration::from_millis(delay * 37 % 64 + 1));
            }
            now += Duration::from_millis(64);
            core.advance(now);
            while let Some((ticket, _)) = core.take() {
                core.done(ticket);
            }
        }
        assert!(core.is_idle());
    };
    cycles(8);
    let used = measure(|| cycles(500));
    assert_eq!((used.count_total, used.bytes_total), (0, 0));
}

#[test]
fn the_queue_around_it_allocates_nothing_either() {
    let keys = keys();
    let queue =
        Queue::with_limiter(ItemExponential::new(Duration::from_millis(5), Duration::from_secs(1000)));
    let cycles = |rounds: usize| {
        for round in 0..rounds {
            let key = &keys[round % keys.len()];
            queue.add(key.clone());
            let Poll::Ready(Some(taken)) = pin!(queue.get()).poll(&mut Context::from_waker(Waker::noop()))
            else {
                panic!("the key is ready");
            };
            queue.add(taken.key().clone());
            drop(taken);
            drop(queue.try_get().expect("added again while it was held"));
        }
    };
    cycles(keys.len());
    let used = measure(|| cycles(ROUNDS));
    assert_eq!((used.count_total, used.bytes_total), (0, 0));
}
