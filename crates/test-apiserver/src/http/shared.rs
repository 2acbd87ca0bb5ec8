//! The core behind one lock, and the wakers of those who wait for it.

#![expect(clippy::disallowed_types, reason = "a shell: one lock around one core")]

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::task::{Poll, Waker};
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::Notify;

use crate::core::{Core, Polled, WatchFrame, WatchId};

/// The clock looks at the core no more often than this: a burst of writes is one look.
const LOOK: Duration = Duration::from_millis(5);

#[derive(Debug)]
struct State {
    core: Core,
    wakers: HashMap<WatchId, Waker>,
}

/// One core, shared by every connection.
#[derive(Debug)]
pub(crate) struct Shared {
    state: Mutex<State>,
    changed: Notify,
}

impl Shared {
    pub(crate) fn new(core: Core) -> Self {
        let state = Mutex::new(State { core, wakers: HashMap::new() });
        Self { state, changed: Notify::new() }
    }

    /// Runs `operation` on the core, then wakes the watches that it gave something new.
    pub(crate) fn with<R>(&self, operation: impl FnOnce(&mut Core) -> R) -> R {
        let (outcome, woken) = {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            let outcome = operation(&mut state.core);
            let mut woken = Vec::new();
            while let Some(id) = state.core.poll_ready() {
                woken.extend(state.wakers.remove(&id));
            }
            (outcome, woken)
        };
        woken.into_iter().for_each(Waker::wake);
        self.changed.notify_one();
        outcome
    }

    /// Reads without waking anybody.
    pub(crate) fn read<R>(&self, operation: impl FnOnce(&Core) -> R) -> R {
        operation(&self.state.lock().unwrap_or_else(PoisonError::into_inner).core)
    }

    /// What a watch has next; none at its end. `waker` is kept while there is nothing.
    pub(crate) fn poll_watch(&self, id: WatchId, waker: &Waker) -> Poll<Option<WatchFrame>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match state.core.poll_event(id) {
            Polled::Frame(frame) => Poll::Ready(Some(frame)),
            Polled::Ended => Poll::Ready(None),
            Polled::Pending => {
                state
                    .wakers
                    .entry(id)
                    .and_modify(|kept| kept.clone_from(waker))
                    .or_insert_with(|| waker.clone());
                Poll::Pending
            }
        }
    }

    /// Ends a watch that nobody reads any more.
    pub(crate) fn stop_watch(&self, id: WatchId) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.core.stop_watch(id);
        state.wakers.remove(&id);
    }

    /// Keeps the core's time: bookmarks, timeouts, graceful deletions. Never returns.
    pub(crate) async fn keep_time(&self) {
        loop {
            let due = self.read(Core::poll_timeout);
            let wait = due.map(|due| {
                let left = due.duration_since(Timestamp::now());
                Duration::try_from(left).unwrap_or(Duration::ZERO)
            });
            let changed = async {
                self.changed.notified().await;
                tokio::time::sleep(LOOK).await;
            };
            match wait {
                None => changed.await,
                Some(wait) => {
                    tokio::select! {
                        () = tokio::time::sleep(wait.max(Duration::from_millis(1))) => {
                            self.with(|core| core.handle_timeout(Timestamp::now()));
                        }
                        () = changed => {}
                    }
                }
            }
        }
    }
}
