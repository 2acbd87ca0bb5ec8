//! What the tests of the queue share.
#![allow(dead_code, reason = "each test file uses its part")]

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use steersman_workqueue::{InFlight, Queue};
use tokio::time::timeout;

pub(crate) const MS: fn(u64) -> Duration = Duration::from_millis;

/// Longer than anything here takes, on a clock that is paused.
pub(crate) const LIMIT: Duration = Duration::from_hours(1);

pub(crate) async fn got<K: Eq + std::hash::Hash + Clone>(queue: &Queue<K>) -> InFlight<K> {
    timeout(LIMIT, queue.get()).await.expect("a key within the limit").expect("a queue that is open")
}

#[derive(Default)]
pub(crate) struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// A task that is never run, and counts how often it was woken.
pub(crate) struct Sleeper {
    count: Arc<Count>,
    waker: Waker,
}

impl Sleeper {
    pub(crate) fn new() -> Self {
        let count = Arc::new(Count::default());
        Self { waker: Waker::from(Arc::clone(&count)), count }
    }

    pub(crate) fn woken(&self) -> usize {
        self.count.0.load(Ordering::SeqCst)
    }

    pub(crate) fn poll<F: Future>(&self, future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
        future.poll(&mut Context::from_waker(&self.waker))
    }
}
