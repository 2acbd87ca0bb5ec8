//! One listener as the driver holds it, and what the rest of the world sees of it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use apimachinery::Object;
use tokio::sync::watch;

use crate::distribution::{Member, Routed};
use crate::hub::Hub;
use crate::subscription::Queue;
use crate::{EventHandler, Notification};

/// How far a listener got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ListenerProgress {
    pub(crate) is_synced: bool,
    /// It will never be called again.
    pub(crate) is_gone: bool,
}

/// What is seen of a listener from outside.
pub(crate) struct ListenerState {
    pub(crate) name: Arc<str>,
    pub(crate) is_removed: AtomicBool,
    pub(crate) told: AtomicU64,
    pub(crate) panics: AtomicU64,
    pub(crate) progress: watch::Sender<ListenerProgress>,
}

impl ListenerState {
    pub(crate) fn new(name: &str) -> Self {
        Self {
            name: name.into(),
            is_removed: AtomicBool::new(false),
            told: AtomicU64::new(0),
            panics: AtomicU64::new(0),
            progress: watch::Sender::new(ListenerProgress::default()),
        }
    }

    pub(crate) fn mark_synced(&self) {
        self.progress.send_if_modified(|now| !std::mem::replace(&mut now.is_synced, true));
    }

    pub(crate) fn is_removed(&self) -> bool {
        self.is_removed.load(Ordering::Acquire)
    }
}

/// Where notifications go.
pub(crate) enum Sink<T> {
    /// Called on the driver's task.
    Handler(Box<dyn EventHandler<T>>),
    /// Taken by a consumer of its own.
    Queue(Arc<Queue<T>>),
}

/// A listener. When it is dropped, it is gone for good, and those who wait for that are told.
pub(crate) struct Listener<T: Object> {
    pub(crate) state: Arc<ListenerState>,
    sink: Option<Sink<T>>,
    hub: Arc<Hub>,
}

impl<T: Object> Listener<T> {
    pub(crate) fn new(state: Arc<ListenerState>, sink: Sink<T>, hub: Arc<Hub>) -> Self {
        Self { state, sink: Some(sink), hub }
    }

    /// Tells one thing.
    pub(crate) fn tell(&self, routed: &Routed<T>) {
        if self.state.is_removed() {
            return;
        }
        match &self.sink {
            Some(Sink::Handler(handler)) => self.call(&**handler, &routed.notification),
            Some(Sink::Queue(queue)) => queue.push(routed, &self.hub.what, &self.state.name),
            None => {}
        }
        self.state.told.fetch_add(1, Ordering::Relaxed);
    }

    /// A panic of the handler ends here (CACHE-I-45; no pause, because everybody else would wait with it), and the
    /// notification counts as handled (CACHE-I-46).
    fn call(&self, handler: &dyn EventHandler<T>, notification: &Notification<T>) {
        if catch_unwind(AssertUnwindSafe(|| handler.handle(notification))).is_err() {
            self.state.panics.fetch_add(1, Ordering::Relaxed);
            tracing::error!(
                informer = %self.hub.what, handler = %self.state.name, key = %notification.key(),
                "a handler panicked; the notification counts as handled"
            );
        }
    }

    /// All that there is at first has been told.
    pub(crate) fn end_of_initial_list(&self) {
        match &self.sink {
            Some(Sink::Queue(queue)) => queue.end_of_initial_list(&self.state),
            _ => self.state.mark_synced(),
        }
    }
}

impl<T: Object> Member<Listener<T>> {
    /// Tells the part of `batch` that this listener wants. A handler that holds everybody up is named (CACHE-I-47).
    pub(crate) fn tell(&self, batch: &[Routed<T>]) {
        let begin = clock();
        for routed in batch.iter().filter(|routed| self.wants(routed.is_sync)) {
            self.listener.tell(routed);
        }
        let took = clock().duration_since(begin);
        if took > SLOW {
            tracing::warn!(
                informer = %self.listener.hub.what, handler = %self.listener.state.name,
                notifications = batch.len(), took_ms = took.as_millis(),
                "a slow handler holds up the cache; a subscription would not"
            );
        }
    }
}

const SLOW: std::time::Duration = std::time::Duration::from_millis(100);

#[expect(clippy::disallowed_methods, reason = "a shell: measures what user code took, for a log line")]
fn clock() -> Instant {
    Instant::now()
}

impl<T: Object> Drop for Listener<T> {
    fn drop(&mut self) {
        // The handler first: whoever waits for its end may free what it used (CACHE-I-30).
        match self.sink.take() {
            Some(Sink::Queue(queue)) => queue.close(),
            Some(Sink::Handler(handler)) => {
                let dropped = catch_unwind(AssertUnwindSafe(move || drop(handler)));
                if dropped.is_err() {
                    tracing::error!(handler = %self.state.name, "a handler panicked while it was dropped");
                }
            }
            None => {}
        }
        self.state.progress.send_modify(|now| now.is_gone = true);
    }
}
