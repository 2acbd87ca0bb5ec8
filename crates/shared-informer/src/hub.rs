//! What an informer's handles share whatever `T` is: how far it got, and why it cannot.

use std::future::Future;
#[expect(clippy::disallowed_types, reason = "one error that was already told; held for a pointer copy")]
use std::sync::Mutex;
use std::sync::{Arc, MutexGuard, PoisonError};

use reflector::{Monitor, ReflectorError};
use tokio::sync::{Notify, watch};

use crate::NotSynced;
use crate::error::{Why, will_not_heal};

/// How far an informer got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Progress {
    pub(crate) is_started: bool,
    pub(crate) is_synced: bool,
    pub(crate) is_stopped: bool,
}

pub(crate) struct Hub {
    pub(crate) what: Arc<str>,
    pub(crate) monitor: Monitor,
    pub(crate) progress: watch::Sender<Progress>,
    /// Wakes the driver: listeners came or went.
    pub(crate) wake: Notify,
    /// The error that was last given to somebody who waited.
    #[expect(clippy::disallowed_types, reason = "see above")]
    told: Mutex<Option<Arc<ReflectorError>>>,
}

impl Hub {
    pub(crate) fn new(what: Arc<str>, monitor: Monitor) -> Self {
        Self {
            what,
            monitor,
            progress: watch::Sender::new(Progress::default()),
            wake: Notify::new(),
            #[expect(clippy::disallowed_types, reason = "see above")]
            told: Mutex::new(None),
        }
    }

    pub(crate) fn progress(&self) -> Progress {
        *self.progress.borrow()
    }

    pub(crate) fn not_synced(&self, why: Why) -> NotSynced {
        NotSynced::new(self.what.clone(), why, self.monitor.status().last_error)
    }

    /// Waits until the cache is filled, or until it is known that it cannot be.
    ///
    /// An error is told once: whoever waits again after it hears of the next attempt, and does not spin on this one.
    pub(crate) fn synced(self: &Arc<Self>) -> impl Future<Output = Result<(), NotSynced>> + Send + use<> {
        let hub = self.clone();
        async move {
            let mut progress = hub.progress.subscribe();
            let mut changes = hub.monitor.changes();
            let mut reflector_lives = true;
            let told = hub.told().clone();
            loop {
                let now = *progress.borrow_and_update();
                if now.is_synced {
                    return Ok(());
                }
                let last_error = changes.borrow_and_update().last_error.clone();
                if now.is_stopped {
                    return Err(NotSynced::new(hub.what.clone(), Why::Stopped, last_error));
                }
                if let Some(error) = last_error
                    && will_not_heal(&error)
                    && !told.as_ref().is_some_and(|told| Arc::ptr_eq(told, &error))
                {
                    *hub.told() = Some(error.clone());
                    return Err(NotSynced::new(hub.what.clone(), Why::Refused, Some(error)));
                }
                tokio::select! {
                    // Both senders live in what `hub` keeps alive, but the reflector's: then only the progress is left.
                    _ = progress.changed() => {}
                    heard = changes.changed(), if reflector_lives => reflector_lives = heard.is_ok(),
                }
            }
        }
    }

    fn told(&self) -> MutexGuard<'_, Option<Arc<ReflectorError>>> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
