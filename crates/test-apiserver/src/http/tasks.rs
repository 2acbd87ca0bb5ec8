//! Every task of the server, in one place: they all end with it.

use std::future::Future;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Spawns tasks that end when the server ends.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tasks {
    tracker: TaskTracker,
    stop: CancellationToken,
}

impl Tasks {
    /// Runs `future` until it is done or the server stops.
    pub(crate) fn spawn<F>(&self, future: F)
    where
        F: Future + Send + 'static,
        F::Output: Send,
    {
        let stop = self.stop.clone();
        self.tracker.spawn(async move {
            stop.run_until_cancelled_owned(future).await;
        });
    }

    /// Tells every task to end, without waiting for it.
    pub(crate) fn stop(&self) {
        self.tracker.close();
        self.stop.cancel();
    }

    /// Completes when the last task has ended. Cancel safe.
    pub(crate) async fn stopped(&self) {
        self.tracker.wait().await;
    }

    /// Tasks that run now.
    pub(crate) fn len(&self) -> usize {
        self.tracker.len()
    }
}

/// HTTP/2 wants to start a task for each stream.
impl<F> hyper::rt::Executor<F> for Tasks
where
    F: Future + Send + 'static,
    F::Output: Send,
{
    fn execute(&self, future: F) {
        self.spawn(future);
    }
}
