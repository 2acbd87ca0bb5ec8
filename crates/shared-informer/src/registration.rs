//! [`Registration`]: the guard of a handler.

use std::future::Future;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use crate::NotSynced;
use crate::error::Why;
use crate::hub::Hub;
use crate::listener::ListenerState;

/// What a registration may ask of its informer.
pub(crate) trait Home: Send + Sync {
    /// A listener was marked as removed.
    fn handle_removal(&self);
}

/// A handler's place at an informer. Dropping it removes the handler; [`detach`](Self::detach) lets it stay.
#[must_use = "dropping the registration removes the handler; `detach` lets it stay as long as the informer"]
pub struct Registration {
    /// Weak: a guard alone does not keep an informer that nobody can run any more.
    home: Weak<dyn Home>,
    hub: Arc<Hub>,
    state: Arc<ListenerState>,
    is_detached: bool,
}

impl Registration {
    pub(crate) fn new(home: Weak<dyn Home>, hub: Arc<Hub>, state: Arc<ListenerState>) -> Self {
        Self { home, hub, state, is_detached: false }
    }

    /// What the handler is called in logs.
    pub fn name(&self) -> &str {
        &self.state.name
    }

    /// Waits until the informer is synced **and** the handler has been given every object that was there at first
    /// (CACHE-I-28). Errors as [`SharedInformer::synced`](crate::SharedInformer::synced) does. The future is
    /// independent of the registration, and cancel safe.
    pub fn synced(&self) -> impl Future<Output = Result<(), NotSynced>> + Send + use<> {
        let hub = self.hub.clone();
        let state = self.state.clone();
        async move {
            let mut progress = state.progress.subscribe();
            if let Some(result) = outcome(&hub, &state) {
                return result;
            }
            let informer = hub.synced();
            tokio::pin!(informer);
            let mut informer_is_synced = false;
            loop {
                tokio::select! {
                    biased;
                    result = &mut informer, if !informer_is_synced => {
                        result?;
                        informer_is_synced = true;
                    }
                    _ = progress.changed() => {}
                }
                if let Some(result) = outcome(&hub, &state) {
                    return result;
                }
            }
        }
    }

    /// Whether the handler has been given every object that was there at first.
    pub fn is_synced(&self) -> bool {
        self.state.progress.borrow().is_synced
    }

    /// Whether the handler is still told of what happens: neither removed nor the informer stopped.
    pub fn is_active(&self) -> bool {
        !self.state.is_removed() && !self.state.progress.borrow().is_gone
    }

    /// Removes the handler. A call that is running may still finish; no other begins (CACHE-I-29).
    pub fn remove(self) {
        drop(self);
    }

    /// Removes the handler and waits until it is gone, its closure dropped (CACHE-I-30). Cancel safe: it is removed
    /// whether or not the wait is over.
    pub async fn shutdown(self) {
        let mut progress = self.state.progress.subscribe();
        drop(self);
        // An error is an end, too: nobody is left to call it.
        let _ = progress.wait_for(|now| now.is_gone).await;
    }

    /// Lets the handler stay as long as the informer runs.
    pub fn detach(mut self) {
        self.is_detached = true;
    }
}

fn outcome(hub: &Hub, state: &ListenerState) -> Option<Result<(), NotSynced>> {
    let now = *state.progress.borrow();
    if now.is_synced {
        Some(Ok(()))
    } else if state.is_removed() {
        Some(Err(hub.not_synced(Why::Removed)))
    } else if now.is_gone {
        Some(Err(hub.not_synced(Why::Stopped)))
    } else {
        None
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        if !self.is_detached
            && !self.state.is_removed.swap(true, Ordering::AcqRel)
            && let Some(home) = self.home.upgrade()
        {
            home.handle_removal();
        }
    }
}

impl std::fmt::Debug for Registration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Registration").field("name", &self.name()).finish_non_exhaustive()
    }
}
