//! What every connection shares: the core, who may come in, the plan of faults, the log of requests.

#![expect(clippy::disallowed_types, reason = "a shell: connections share the plan and the log")]

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

use crate::faults::Script;
use crate::http::{Authenticator, Log, Shared};

/// The plan of faults and the log of requests: what tests hold in their hands.
#[derive(Debug, Default)]
pub(crate) struct Bench {
    pub(crate) script: Script,
    pub(crate) log: Log,
}

/// Everything that a request meets.
pub(crate) struct Service {
    pub(crate) shared: Arc<Shared>,
    pub(crate) auth: Authenticator,
    pub(crate) bench: Mutex<Bench>,
    /// Told at each request, once it stands in the log.
    pub(crate) arrived: Notify,
    /// Told to every connection that it ends now.
    pub(crate) cut: Arc<Notify>,
}

impl Service {
    pub(crate) fn new(shared: Arc<Shared>, auth: Authenticator) -> Self {
        Self { shared, auth, bench: Mutex::default(), arrived: Notify::new(), cut: Arc::default() }
    }

    pub(crate) fn bench<R>(&self, operation: impl FnOnce(&mut Bench) -> R) -> R {
        operation(&mut self.bench.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
