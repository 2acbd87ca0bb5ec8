//! [`Subscription`]: a listener that takes its notifications on a task of its own.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, PoisonError};
#[expect(clippy::disallowed_types, reason = "the queue between two tasks; no user code runs under it")]
use std::sync::{Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};

use apimachinery::Object;
use futures_core::Stream;

use crate::distribution::Routed;
use crate::listener::ListenerState;
use crate::pending::Pending;
use crate::{NotSynced, Notification, Registration};

/// A stream of notifications for a consumer on its own task, made by
/// [`SharedInformer::subscribe`](crate::SharedInformer::subscribe).
///
/// A consumer that keeps up sees every notification. For one that lags at most one is kept per object, first old to
/// newest new; what came and went unseen is not told. So a lagging consumer costs memory by the size of the collection,
/// not by the length of its nap. It ends when the informer stops; what waits then is dropped (CACHE-Z-11).
///
/// Dropping it ends the subscription.
pub struct Subscription<T: Object> {
    queue: Arc<Queue<T>>,
    state: Arc<ListenerState>,
    registration: Registration,
}

impl<T: Object> Subscription<T> {
    pub(crate) fn new(queue: Arc<Queue<T>>, state: Arc<ListenerState>, registration: Registration) -> Self {
        Self { queue, state, registration }
    }

    /// The next notification; `None` after the informer stopped. Asking for the next says that the one before is done
    /// with. Cancel safe.
    pub async fn next(&mut self) -> Option<Notification<T>> {
        poll_fn(|cx| self.queue.poll(&self.state, cx)).await
    }

    /// Waits until every object of the initial list was taken and the one after it asked for (CACHE-I-28). The future
    /// is independent of the subscription.
    pub fn synced(&self) -> impl Future<Output = Result<(), NotSynced>> + Send + use<T> {
        self.registration.synced()
    }

    /// Whether every object of the initial list was taken and done with.
    pub fn is_synced(&self) -> bool {
        self.registration.is_synced()
    }

    /// How many objects there is something to tell about.
    pub fn backlog(&self) -> usize {
        self.queue.lock().pending.len()
    }
}

impl<T: Object> Stream for Subscription<T> {
    type Item = Notification<T>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.queue.poll(&self.state, cx)
    }
}

impl<T: Object> std::fmt::Debug for Subscription<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Subscription").field("name", &self.state.name).finish_non_exhaustive()
    }
}

/// What waits between the driver and the consumer.
pub(crate) struct Queue<T> {
    #[expect(clippy::disallowed_types, reason = "see above")]
    inner: Mutex<Inner<T>>,
}

struct Inner<T> {
    pending: Pending<T>,
    consumer: Option<Waker>,
    is_closed: bool,
    /// Whether the consumer has an initial object that it has not come back from.
    has_initial_in_hand: bool,
    lag_is_told: bool,
}

/// Above this many objects that wait, a lagging consumer is named once (CACHE-I-47).
const LAG: usize = 1024;

impl<T: Object> Queue<T> {
    pub(crate) fn new() -> Self {
        let inner = Inner {
            pending: Pending::default(),
            consumer: None,
            is_closed: false,
            has_initial_in_hand: false,
            lag_is_told: false,
        };
        #[expect(clippy::disallowed_types, reason = "see above")]
        let inner = Mutex::new(inner);
        Self { inner }
    }

    pub(crate) fn push(&self, routed: &Routed<T>, informer: &str, name: &str) {
        let mut inner = self.lock();
        if inner.is_closed {
            return;
        }
        // The last of an object may be its user's code, so it goes after the lock.
        let superseded = inner.pending.push(routed.notification.clone(), routed.known.clone());
        let lag = inner.pending.len();
        let tell_lag = lag > LAG && !std::mem::replace(&mut inner.lag_is_told, lag > LAG);
        let consumer = inner.consumer.take();
        drop(inner);
        drop(superseded);
        if let Some(consumer) = consumer {
            consumer.wake();
        }
        if tell_lag {
            tracing::warn!(%informer, subscription = %name, backlog = lag, "a subscription lags; its notifications are merged");
        }
    }

    pub(crate) fn end_of_initial_list(&self, state: &ListenerState) {
        let mut inner = self.lock();
        inner.pending.end_of_initial_list();
        let is_synced = inner.pending.is_caught_up() && !inner.has_initial_in_hand;
        drop(inner);
        if is_synced {
            state.mark_synced();
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.lock().pending.len()
    }

    /// Ends the stream and drops what waits.
    pub(crate) fn close(&self) {
        let mut inner = self.lock();
        inner.is_closed = true;
        let left = inner.pending.clear();
        let consumer = inner.consumer.take();
        drop(inner);
        drop(left);
        if let Some(consumer) = consumer {
            consumer.wake();
        }
    }

    fn poll(&self, state: &ListenerState, cx: &mut Context<'_>) -> Poll<Option<Notification<T>>> {
        let mut inner = self.lock();
        inner.has_initial_in_hand = false;
        let is_synced = inner.pending.is_caught_up();
        let next = inner.pending.pop();
        let mut old = None;
        let answer = match next {
            Some(notification) => {
                inner.has_initial_in_hand =
                    matches!(notification, Notification::Added { is_in_initial_list: true, .. });
                inner.lag_is_told &= inner.pending.len() > 0;
                Poll::Ready(Some(notification))
            }
            None if inner.is_closed => Poll::Ready(None),
            None => {
                old = inner.consumer.replace(cx.waker().clone());
                Poll::Pending
            }
        };
        drop(inner);
        drop(old);
        if is_synced {
            state.mark_synced();
        }
        answer
    }

    fn lock(&self) -> MutexGuard<'_, Inner<T>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
