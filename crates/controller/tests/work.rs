//! What becomes of a key, on a paused clock.

mod common;

use std::collections::VecDeque;
use std::convert::Infallible;
use std::error::Error;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use apimachinery::{ApiError, ApiResource, BoxError, ObjectKey, Scope, StatusError};
use common::{Cluster, LIMIT, MS, config_map, key, until};
use k8s_openapi::api::core::v1::ConfigMap;
use steersman_controller::{
    Action, Controller, ControllerError, Handle, Reconciler, Terminal, reconcile_fn, reconcile_object,
};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout};

/// What a call of the scripted reconciler does.
enum Does {
    Succeed,
    Fail,
    FailForGood,
    Conflict,
    Panic,
    RequeueAfter(Duration),
    Hang,
}
use Does::{Conflict, Fail, FailForGood, Hang, Panic, RequeueAfter, Succeed};

/// Answers as told, then succeeds; tells when it was called.
struct Scripted {
    #[allow(clippy::disallowed_types, reason = "a script, in a test")]
    script: std::sync::Mutex<VecDeque<Does>>,
    calls: mpsc::UnboundedSender<(ObjectKey, Instant)>,
}

impl Reconciler for Scripted {
    type Error = BoxError;

    async fn reconcile(&self, key: &ObjectKey) -> Result<Action, BoxError> {
        self.calls.send((key.clone(), Instant::now())).expect("the test listens");
        let next = self.script.lock().unwrap().pop_front();
        match next.unwrap_or(Succeed) {
            Succeed => Ok(Action::AwaitChange),
            Fail => Err("it failed".into()),
            FailForGood => Err(Box::new(Wrapped(Terminal::new("bad spec")))),
            Conflict => {
                let maps = ApiResource::new("v1", "ConfigMap", "configmaps", Scope::Namespaced);
                Err(ApiError::Status(StatusError::conflict(&maps, "a", "it was modified")).into())
            }
            Panic => panic!("a bug in {key}"),
            RequeueAfter(delay) => Ok(Action::RequeueAfter(delay)),
            Hang => pending().await,
        }
    }
}

/// An error around another one.
#[derive(Debug)]
struct Wrapped(Terminal);

impl std::fmt::Display for Wrapped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("wrapped")
    }
}

impl Error for Wrapped {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}

/// One controller over config maps, with `default/a` in it, that does as the script says.
struct World {
    maps: Cluster<ConfigMap>,
    handle: Handle,
    calls: mpsc::UnboundedReceiver<(ObjectKey, Instant)>,
    stop: oneshot::Sender<()>,
    task: tokio::task::JoinHandle<Result<(), ControllerError>>,
}

impl World {
    fn new(script: impl IntoIterator<Item = Does>) -> Self {
        Self::with(script, |controller| controller)
    }

    fn with(script: impl IntoIterator<Item = Does>, set: impl FnOnce(Controller) -> Controller) -> Self {
        let maps = Cluster::new();
        maps.put(config_map("default/a"));
        let (sender, calls) = mpsc::unbounded_channel();
        #[allow(clippy::disallowed_types, reason = "a script, in a test")]
        let script = std::sync::Mutex::new(script.into_iter().collect());
        let controller = set(Controller::new("test").watches(maps.informer()));
        let handle = controller.handle();
        let (stop, stopped) = oneshot::channel();
        let run = controller.run(Scripted { script, calls: sender }, async {
            stopped.await.unwrap_or(());
        });
        Self { maps, handle, calls, stop, task: tokio::spawn(run) }
    }

    /// When the next call of `default/a` comes.
    async fn call(&mut self) -> Instant {
        let (called, at) = timeout(LIMIT, self.calls.recv()).await.expect("a call").expect("it lives");
        assert_eq!(called, key("default/a"));
        at
    }

    /// The times between the next calls.
    async fn gaps<const N: usize>(&mut self) -> [Duration; N] {
        let mut last = self.call().await;
        let mut gaps = [Duration::ZERO; N];
        for gap in &mut gaps {
            let next = self.call().await;
            *gap = next - std::mem::replace(&mut last, next);
        }
        gaps
    }

    /// No call comes by itself, however long one waits.
    async fn is_at_rest(&mut self) {
        assert!(timeout(Duration::from_hours(5), self.calls.recv()).await.is_err(), "no call comes");
        let queue = self.handle.queue();
        assert_eq!((queue.queued, queue.waiting, queue.processing), (0, 0, 0));
    }

    async fn stop(self) {
        self.stop.send(()).unwrap();
        timeout(LIMIT, self.task).await.expect("it stops").unwrap().unwrap();
    }
}

// CTRL-06, CTRL-10, CTRL-12, CT-06, RL-10
#[tokio::test(start_paused = true)]
async fn failures_back_off_by_5_10_20_ms_and_success_starts_again() {
    let mut world = World::new([Fail, Fail, Fail, Succeed, Fail]);
    assert_eq!(world.gaps().await, [5, 10, 20].map(MS));
    assert_eq!(world.handle.failures(&key("default/a")), 0);
    world.maps.put(config_map("default/a"));
    assert_eq!(world.gaps().await, [MS(5)]);
    world.is_at_rest().await;
    let stats = world.handle.stats();
    assert_eq!((stats.succeeded, stats.failed, stats.active), (2, 4, 0));
    world.stop().await;
}

// CTRL-08
#[tokio::test(start_paused = true)]
async fn a_requested_delay_is_not_rate_limited_and_forgets_failures() {
    let hour = Duration::from_hours(1);
    let mut world = World::new([Fail, Fail, RequeueAfter(hour), RequeueAfter(hour), Fail]);
    assert_eq!(world.gaps().await, [MS(5), MS(10), hour, hour, MS(5)]);
    world.is_at_rest().await;
    assert_eq!(world.handle.stats().requeued, 2);
    world.stop().await;
}

// CTRL-08: a change is not held back by a delay.
#[tokio::test(start_paused = true)]
async fn a_change_comes_before_the_delay_that_was_asked_for() {
    let mut world = World::new([RequeueAfter(Duration::from_hours(1))]);
    let first = world.call().await;
    world.maps.put(config_map("default/a"));
    assert!(world.call().await - first < Duration::from_secs(1));
    assert_eq!(world.call().await - first, Duration::from_hours(1));
    world.stop().await;
}

// CTRL-07
#[tokio::test(start_paused = true)]
async fn a_terminal_error_is_not_tried_again_and_forgets_nothing() {
    let mut world = World::new([Fail, Fail, FailForGood, Fail]);
    assert_eq!(world.gaps().await, [MS(5), MS(10)]);
    world.is_at_rest().await;
    assert_eq!(world.handle.failures(&key("default/a")), 2);
    let stats = world.handle.stats();
    assert_eq!((stats.terminal, stats.failed), (1, 3));
    world.maps.put(config_map("default/a"));
    assert_eq!(world.gaps().await, [MS(20)], "the third step, not the first");
    world.stop().await;
}

// DEP-12
#[tokio::test(start_paused = true)]
async fn a_write_conflict_is_tried_again_and_counted_apart() {
    let mut world = World::new([Conflict]);
    assert_eq!(world.gaps().await, [MS(5)]);
    world.is_at_rest().await;
    let stats = world.handle.stats();
    assert_eq!((stats.conflicts, stats.failed, stats.succeeded), (1, 1, 1));
    world.stop().await;
}

// CTRL-13, CTRL-16, GN-04
#[tokio::test(start_paused = true)]
async fn a_panic_is_an_error_of_its_key_and_the_worker_lives() {
    let mut world = World::new([Panic, Panic]);
    assert_eq!(world.gaps().await, [MS(5), MS(10)]);
    world.is_at_rest().await;
    let stats = world.handle.stats();
    assert_eq!((stats.panicked, stats.failed, stats.active), (2, 2, 0));
    world.maps.put(config_map("default/a"));
    world.call().await;
    world.stop().await;
}

// CTRL-13
#[tokio::test(start_paused = true)]
async fn a_panic_ends_the_controller_if_it_may_not_be_recovered_from() {
    let world = World::with([Panic], |controller| controller.recover_panics(false));
    let error = timeout(LIMIT, world.task).await.unwrap().unwrap().unwrap_err();
    let ControllerError::Panicked { key: what, message, .. } = &error else { panic!("{error}") };
    assert_eq!((what, message.as_str()), (&key("default/a"), "a bug in default/a"));
    assert_eq!(world.handle.stats().panicked, 1);
}

// CTRL-13: also one that comes before the reconciler gives its future.
#[tokio::test(start_paused = true)]
async fn a_panic_before_the_first_await_is_caught() {
    let maps = Cluster::new();
    maps.put(config_map("default/a"));
    let controller = Controller::new("test").watches(maps.informer());
    let handle = controller.handle();
    let run = controller.run(
        reconcile_fn(|key: ObjectKey| {
            assert_ne!(key.name(), "a", "a bug");
            async { Ok::<_, Infallible>(Action::AwaitChange) }
        }),
        tokio::time::sleep(Duration::from_secs(1)),
    );
    run.await.unwrap();
    assert!(handle.stats().panicked > 1);
}

// CTRL-14
#[tokio::test(start_paused = true)]
async fn a_reconcile_that_takes_too_long_is_an_error() {
    let limit = Duration::from_secs(30);
    let mut world = World::with([Hang, Succeed], |controller| controller.reconcile_timeout(limit));
    assert_eq!(world.gaps().await, [limit + MS(5)]);
    world.is_at_rest().await;
    assert_eq!((world.handle.stats().timed_out, world.handle.stats().failed), (1, 1));
    world.stop().await;
}

// CTRL-01
#[tokio::test(start_paused = true)]
async fn one_key_is_never_reconciled_twice_at_once_and_no_change_is_missed() {
    let maps = Cluster::new();
    maps.put(config_map("default/hot"));
    let informer = maps.informer();
    let lister = informer.lister();
    let (running, most, seen) =
        (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)), mpsc::unbounded_channel());
    let (sender, mut seen) = seen;
    let counters = (running.clone(), most.clone());
    let reconciler = reconcile_object(lister, move |map: Arc<ConfigMap>| {
        let ((running, most), sender) = (counters.clone(), sender.clone());
        async move {
            most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            tokio::time::sleep(MS(7)).await;
            running.fetch_sub(1, Ordering::SeqCst);
            sender.send(map.metadata.resource_version.clone()).expect("the test listens");
            Ok::<_, Infallible>(Action::AwaitChange)
        }
    });
    let (stop, stopped) = oneshot::channel::<()>();
    let task = tokio::spawn(Controller::new("test").watches(informer).workers(4).run(reconciler, async {
        stopped.await.unwrap_or(());
    }));
    let mut last = None;
    for _ in 0..100 {
        last = maps.put(config_map("default/hot")).metadata.resource_version;
        tokio::time::sleep(MS(3)).await;
    }
    let caught_up = async { while seen.recv().await.expect("it lives") != last {} };
    timeout(LIMIT, caught_up).await.expect("the last change is seen");
    assert_eq!(most.load(Ordering::SeqCst), 1);
    drop(stop);
    task.await.unwrap().unwrap();
}

// CTRL-02
#[tokio::test(start_paused = true)]
async fn workers_are_one_unless_told_and_never_none() {
    for (workers, expected) in [(None, 1), (Some(0), 1), (Some(3), 3)] {
        let maps = Cluster::new();
        for n in 0..10 {
            maps.put(config_map(&format!("default/map-{n}")));
        }
        let mut controller = Controller::new("test").watches(maps.informer());
        if let Some(workers) = workers {
            controller = controller.workers(workers);
        }
        let handle = controller.handle();
        let reconciler = reconcile_fn(|_key| pending::<Result<Action, Infallible>>());
        let task = tokio::spawn(controller.run(reconciler, pending()));
        until("all workers work", || handle.stats().active == expected).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(handle.stats().active, expected);
        assert_eq!(handle.queue().queued, 10 - expected);
        task.abort();
    }
}

// CTRL-20, CT-04
#[tokio::test(start_paused = true)]
async fn an_object_that_is_gone_is_success_without_a_call() {
    let maps = Cluster::new();
    maps.put(config_map("default/a"));
    let informer = maps.informer();
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = calls.clone();
    let reconciler = reconcile_object(informer.lister(), move |map: Arc<ConfigMap>| {
        counter.fetch_add(1, Ordering::SeqCst);
        async move {
            assert_eq!(map.metadata.name.as_deref(), Some("a"));
            Ok::<_, Infallible>(Action::AwaitChange)
        }
    });
    let controller = Controller::new("test").watches(informer);
    let handle = controller.handle();
    let task = tokio::spawn(controller.run(reconciler, pending()));
    until("it is called", || handle.stats().succeeded == 1).await;
    handle.trigger(key("default/never-was"));
    maps.delete("default/a");
    until("both keys were worked on", || handle.stats().succeeded == 3).await;
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    assert_eq!(handle.stats().failed, 0);
    task.abort();
}
