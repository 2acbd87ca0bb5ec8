//! Many workers on real threads: what may not happen, does not.
#![cfg(not(loom))]

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use common::MS;
use steersman_workqueue::Queue;
use tokio::task::JoinSet;
use tokio::time::timeout;

// WQ-02, WQ-08, WQ-11, WQ-12: both kinds of shutdown, from the contract's table.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn producers_and_workers_leave_nothing_behind() {
    for drain in [false, true] {
        let queue = Queue::new();
        let mut workers = JoinSet::new();
        for _ in 0..10 {
            let queue = queue.clone();
            workers.spawn(async move {
                let mut handled = 0;
                while let Some(key) = queue.get().await {
                    assert_ne!(*key, "added after shutdown!");
                    handled += 1;
                    tokio::task::yield_now().await;
                }
                handled
            });
        }
        let mut producers = JoinSet::new();
        for _ in 0..50 {
            let queue = queue.clone();
            producers.spawn(async move {
                for n in 0..50 {
                    queue.add(["a", "b", "c", "d", "e"][n % 5]);
                    tokio::task::yield_now().await;
                }
            });
        }
        producers.join_all().await;
        if drain {
            queue.shutdown_with_drain_within(Duration::from_secs(30)).await.unwrap();
        } else {
            queue.shutdown();
        }
        queue.add("added after shutdown!");
        let handled: usize = workers.join_all().await.into_iter().sum();
        assert!((5..=2500).contains(&handled));
        let counts = queue.counts();
        assert_eq!((counts.queued, counts.processing, counts.processing_dirty), (0, 0, 0));
        assert_eq!(counts.stray_dones, 0);
    }
}

// WQ-05, WQ-08, WQ-14: sixteen workers, ten thousand keys, re-adds while they are held, delays, a panic, a drain.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_key_is_lost_and_none_runs_twice_at_once() {
    const KEYS: usize = 10_000;
    let queue = Queue::<usize>::new();
    let running: Arc<Vec<AtomicUsize>> = Arc::new((0..KEYS).map(|_| AtomicUsize::new(0)).collect());
    // What each key still owes: an add sets it, a hand-out clears it.
    let owed: Arc<Vec<AtomicUsize>> = Arc::new((0..KEYS).map(|_| AtomicUsize::new(0)).collect());
    let mut workers = JoinSet::new();
    for worker in 0..16 {
        let (queue, running, owed) = (queue.clone(), Arc::clone(&running), Arc::clone(&owed));
        workers.spawn(async move {
            let mut n = worker;
            while let Some(key) = queue.get().await {
                assert_eq!(running[*key].fetch_add(1, Ordering::SeqCst), 0, "key {} twice at once", *key);
                owed[*key].store(0, Ordering::SeqCst);
                n += 1;
                if n % 3 == 0 {
                    tokio::task::yield_now().await;
                }
                if n % 7 == 0 && !queue.is_shutting_down() {
                    owed[*key].store(1, Ordering::SeqCst);
                    queue.add(*key);
                    if queue.is_shutting_down() {
                        owed[*key].store(0, Ordering::SeqCst); // The add may have been refused.
                    }
                }
                assert_eq!(running[*key].fetch_sub(1, Ordering::SeqCst), 1);
                assert!(worker != 3 || n < 200, "one worker dies holding a key");
            }
        });
    }
    for key in 0..KEYS {
        owed[key].store(1, Ordering::SeqCst);
        if key % 2 == 0 {
            queue.add(key);
        } else {
            queue.add_after(key, Duration::from_micros(key as u64));
        }
        if key % 64 == 0 {
            tokio::task::yield_now().await;
        }
    }
    // The delays end before the drain, which would discard them.
    timeout(Duration::from_secs(30), async {
        while queue.counts().waiting > 0 {
            tokio::time::sleep(MS(1)).await;
        }
    })
    .await
    .expect("the delays end");
    assert_eq!(queue.shutdown_with_drain_within(Duration::from_secs(30)).await, Ok(()));
    let mut panics = 0;
    while let Some(worker) = workers.join_next().await {
        panics += usize::from(worker.is_err_and(|e| e.is_panic()));
    }
    assert_eq!(panics, 1);
    let lost = owed.iter().filter(|owed| owed.load(Ordering::SeqCst) != 0).count();
    assert_eq!(lost, 0);
}
