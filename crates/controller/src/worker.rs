//! One worker: takes a key, calls the reconciler, says what becomes of the key.

use std::any::Any;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use apimachinery::ObjectKey;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, debug, error, warn};
use workqueue::{InFlight, Queue};

use crate::builder::Settings;
use crate::handle::{Counters, count};
use crate::outcome::{Next, Outcome, one_line};
use crate::{Action, Reconciler};

/// What all workers of a controller share.
pub(crate) struct Work<R> {
    pub(crate) controller: Arc<str>,
    pub(crate) reconciler: R,
    pub(crate) queue: Queue<ObjectKey>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) settings: Settings,
    /// No key is taken any more; the one in hand is finished.
    pub(crate) stop: CancellationToken,
}

/// A panic that ends the controller.
#[derive(Debug)]
pub(crate) struct Fatal {
    pub(crate) key: ObjectKey,
    pub(crate) message: String,
}

impl<R: Reconciler> Work<R> {
    /// Works until told to stop, or until a panic that may not be recovered from.
    pub(crate) async fn run(self: Arc<Self>) -> Result<(), Fatal> {
        loop {
            let key = tokio::select! {
                // First, so that keys which are still queued at shutdown are dropped (CTRL-19).
                biased;
                () = self.stop.cancelled() => return Ok(()),
                key = self.queue.get() => key,
            };
            let Some(key) = key else { return Ok(()) };
            let span = tracing::info_span!(
                "reconcile",
                controller = %self.controller,
                reconcileID = %uuid::Uuid::new_v4(),
                namespace = key.namespace(),
                name = key.name(),
            );
            self.work_on(key).instrument(span).await?;
        }
    }

    async fn work_on(&self, key: InFlight<ObjectKey>) -> Result<(), Fatal> {
        let _active = self.counters.enter();
        let outcome = self.call(&key).await;
        self.account(&outcome, &key);
        match outcome.next() {
            Next::Forget => key.forget(),
            Next::ForgetAndAfter(delay) => {
                key.forget();
                self.queue.add_after(key.clone(), delay);
            }
            Next::RateLimited => {
                let delay = self.queue.add_rate_limited(key.clone());
                debug!(?delay, failures = self.queue.requeues(&key), "again after its backoff");
            }
            Next::Leave => {}
        }
        match outcome {
            Outcome::Panicked(message) if !self.settings.recovers_panics => {
                Err(Fatal { key: key.clone(), message })
            }
            // The guard goes here: done, whatever the outcome (CTRL-16).
            _ => Ok(()),
        }
    }

    async fn call(&self, key: &ObjectKey) -> Outcome {
        // An async block, so that a panic before the first await is caught, too.
        let call = catching(async { self.reconciler.reconcile(key).await });
        let ended = match self.settings.reconcile_timeout {
            None => call.await,
            Some(limit) => match tokio::time::timeout(limit, call).await {
                Ok(ended) => ended,
                Err(_elapsed) => return Outcome::TimedOut(limit),
            },
        };
        match ended {
            Ok(Ok(action)) => Outcome::Done(action),
            Ok(Err(error)) => Outcome::Failed(error.into()),
            Err(payload) => Outcome::Panicked(message_of(&*payload)),
        }
    }

    /// Counts the outcome, and says it once.
    fn account(&self, outcome: &Outcome, key: &ObjectKey) {
        let counters = &self.counters;
        match outcome {
            Outcome::Done(action) => {
                count(&counters.succeeded);
                if let Action::RequeueAfter(delay) = action {
                    count(&counters.requeued);
                    debug!(?delay, "reconciled; again after a delay");
                }
                return;
            }
            Outcome::Failed(error) if outcome.is_conflict() => {
                count(&counters.conflicts);
                debug!(%key, error = one_line(&**error), "somebody else wrote first");
            }
            Outcome::Failed(error) if outcome.next() == Next::Leave => {
                count(&counters.terminal);
                error!(%key, error = one_line(&**error), "the reconcile failed for good");
            }
            Outcome::Failed(error) => warn!(%key, error = one_line(&**error), "the reconcile failed"),
            Outcome::TimedOut(limit) => {
                count(&counters.timed_out);
                warn!(%key, ?limit, "the reconcile took too long");
            }
            Outcome::Panicked(message) => {
                count(&counters.panicked);
                error!(%key, panic = message, "the reconciler panicked");
            }
        }
        count(&counters.failed);
    }
}

/// The future's answer, or what it panicked with.
async fn catching<F: Future>(future: F) -> Result<F::Output, Box<dyn Any + Send>> {
    let mut future = pin!(future);
    poll_fn(move |cx| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
        Ok(Poll::Pending) => Poll::Pending,
        Ok(Poll::Ready(answer)) => Poll::Ready(Ok(answer)),
        Err(payload) => Poll::Ready(Err(payload)),
    })
    .await
}

fn message_of(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic without a message").to_owned()
}
