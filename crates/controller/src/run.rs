//! The life of a controller: start, sync, work, stop.

use std::future::{Future, poll_fn};
use std::panic::resume_unwind;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use apimachinery::ObjectKey;
use shared_informer::{NotSynced, Why};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};
use workqueue::Queue;

use crate::builder::Controller;
use crate::outcome::one_line;
use crate::source::{BoxFuture, Listening, Started};
use crate::worker::{Fatal, Work};
use crate::{ControllerError, Reconciler, Unsynced};

/// An aborted task is gone at its next await; one that never comes to an await is not waited for longer than this.
const ABORT_LIMIT: Duration = Duration::from_secs(1);

pub(crate) async fn run<R: Reconciler>(
    controller: Controller,
    reconciler: R,
    shutdown: impl Future<Output = ()> + Send,
) -> Result<(), ControllerError> {
    if let Some(misuse) = controller.misuse {
        return Err(ControllerError::Misuse(misuse));
    }
    if controller.sources.is_empty() {
        return Err(ControllerError::Misuse("a controller needs something to watch"));
    }
    let Controller { name, sources, queue, counters, settings, .. } = controller;
    let stop_informers = CancellationToken::new();
    // Handlers before drivers, so that nobody has to be caught up.
    let started: Vec<Started> =
        sources.into_iter().map(|source| source(&name, &queue, &stop_informers)).collect();
    let mut informers = JoinSet::new();
    let (mut listening, mut endings) = (Vec::new(), Vec::new());
    for Started { source, driver, stopped } in started {
        if let Some(driver) = driver {
            informers.spawn(driver);
        }
        endings.push((source.what.clone(), stopped));
        listening.push(source);
    }
    let work = Arc::new(Work {
        controller: Arc::clone(&name),
        reconciler,
        queue: queue.clone(),
        counters,
        settings: settings.clone(),
        stop: CancellationToken::new(),
    });
    let mut workers = JoinSet::new();

    let end = {
        let mut shutdown = pin!(shutdown);
        info!(controller = %name, sources = listening.len(), "waiting for caches to sync");
        let synced = tokio::select! {
            // First: a shutdown while we wait is no error (CTRL-04, DEP-01).
            biased;
            () = &mut shutdown => None,
            synced = all_synced(&name, &listening, settings.sync_timeout) => Some(synced),
        };
        match synced {
            None => Ok(()),
            Some(Err(error)) => Err(error),
            Some(Ok(())) => {
                info!(controller = %name, workers = settings.workers, "synced; starting workers");
                for _ in 0..settings.workers {
                    workers.spawn(Arc::clone(&work).run());
                }
                tokio::select! {
                    biased;
                    () = &mut shutdown => Ok(()),
                    fatal = first_fatal(&mut workers) => Err(panicked(&name, fatal)),
                    what = first_stopped(&mut endings) => Err(source_stopped(&name, what)),
                }
            }
        }
    };

    debug!(controller = %name, "stopping");
    // No key comes any more; then none is taken; then those in hand are finished, with the caches still alive.
    drop(listening);
    queue.shutdown();
    work.stop.cancel();
    let stopped = join_workers(&name, &mut workers, settings.grace, &queue).await;
    stop_informers.cancel();
    join_informers(&name, &mut informers, settings.grace).await;
    info!(controller = %name, "stopped");
    end.and(stopped)
}

/// Waits until every source is synced and its handler was given the whole initial list; all at once, one deadline.
async fn all_synced(name: &Arc<str>, sources: &[Listening], limit: Duration) -> Result<(), ControllerError> {
    let mut waits: Vec<_> = sources.iter().map(|source| Some(Box::pin(synced(name, source)))).collect();
    let all = poll_fn(|cx| {
        for wait in &mut waits {
            match wait.as_mut().map(|wait| wait.as_mut().poll(cx)) {
                Some(Poll::Ready(Ok(()))) => *wait = None,
                Some(Poll::Ready(Err(stopped))) => return Poll::Ready(Err(stopped)),
                Some(Poll::Pending) | None => {}
            }
        }
        if waits.iter().all(Option::is_none) { Poll::Ready(Ok(())) } else { Poll::Pending }
    });
    match timeout(limit, all).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(stopped)) => Err(source_stopped(name, stopped.what().to_owned())),
        Err(_elapsed) => {
            let late = sources.iter().filter(|source| !source.registration.is_synced());
            let sources = late.map(|source| unsynced(source, limit)).collect();
            Err(ControllerError::NotSynced { controller: Arc::clone(name), sources })
        }
    }
}

/// Waits for one source. What the server refuses may be granted later (a role, a kind that is not installed yet), so a
/// refusal is told once per change and waited through; the error is the end of the informer.
async fn synced(name: &str, source: &Listening) -> Result<(), NotSynced> {
    let mut told = String::new();
    loop {
        let error = match source.registration.synced().await {
            Err(error) if error.why() == Why::Refused => error,
            ended => return ended,
        };
        let why = one_line(&error);
        if why != told {
            warn!(controller = name, source = source.what, error = why, "cannot sync yet");
            told = why;
        }
    }
}

fn unsynced(source: &Listening, waited: Duration) -> Unsynced {
    let state = (source.state)();
    Unsynced {
        what: source.what.clone(),
        waited,
        is_cached: state.is_cached,
        last_error: state.last_error.filter(|_| !state.is_cached),
    }
}

/// Waits until some informer has stopped.
async fn first_stopped(endings: &mut [(String, BoxFuture)]) -> String {
    poll_fn(|cx: &mut Context<'_>| {
        let stopped = endings.iter_mut().find_map(|(what, stopped)| {
            let is_over = stopped.as_mut().poll(cx).is_ready();
            is_over.then(|| std::mem::take(what))
        });
        stopped.map_or(Poll::Pending, Poll::Ready)
    })
    .await
}

/// Waits for a panic that ends the controller. While it is not told to stop, a worker ends in no other way.
async fn first_fatal(workers: &mut JoinSet<Result<(), Fatal>>) -> Fatal {
    while let Some(ended) = workers.join_next().await {
        match ended {
            Ok(Ok(())) => {}
            Ok(Err(fatal)) => return fatal,
            Err(error) => rethrow(error),
        }
    }
    std::future::pending().await
}

async fn join_workers(
    name: &Arc<str>,
    workers: &mut JoinSet<Result<(), Fatal>>,
    grace: Duration,
    queue: &Queue<ObjectKey>,
) -> Result<(), ControllerError> {
    let mut first = None;
    let all = async {
        while let Some(ended) = workers.join_next().await {
            match ended {
                Ok(Ok(())) => {}
                Ok(Err(fatal)) => first = first.take().or(Some(fatal)),
                Err(error) => rethrow(error),
            }
        }
    };
    if timeout(grace, all).await.is_err() {
        let keys = queue.processing();
        warn!(controller = %name, ?keys, ?grace, "aborting reconciles that did not end");
        if timeout(ABORT_LIMIT, workers.shutdown()).await.is_err() {
            warn!(controller = %name, ?keys, "a reconcile blocks its thread; leaving it behind");
        }
        return Err(ControllerError::Aborted { controller: Arc::clone(name), grace, keys });
    }
    first.map_or(Ok(()), |fatal| Err(panicked(name, fatal)))
}

async fn join_informers(name: &str, informers: &mut JoinSet<()>, grace: Duration) {
    let all = async {
        while let Some(ended) = informers.join_next().await {
            if let Err(error) = ended {
                rethrow(error);
            }
        }
    };
    if timeout(grace, all).await.is_err() {
        warn!(controller = name, "aborting informers that did not stop");
        // Aborted when the set is dropped, at the latest.
        let _ = timeout(ABORT_LIMIT, informers.shutdown()).await;
    }
}

/// A panic outside of the reconciler is a bug, ours or that of a limiter: it is not hidden. A cancelled task is the end
/// of the runtime.
fn rethrow(error: tokio::task::JoinError) {
    if let Ok(payload) = error.try_into_panic() {
        resume_unwind(payload);
    }
}

fn panicked(name: &Arc<str>, fatal: Fatal) -> ControllerError {
    ControllerError::Panicked { controller: Arc::clone(name), key: fatal.key, message: fatal.message }
}

fn source_stopped(name: &Arc<str>, what: String) -> ControllerError {
    ControllerError::SourceStopped { controller: Arc::clone(name), what }
}
