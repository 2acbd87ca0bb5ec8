//! Start, sync and stop, on a paused clock.

mod common;

use std::convert::Infallible;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use apimachinery::{ApiResource, ObjectKey, Scope, StatusError};
use common::{Cluster, LIMIT, MS, config_map, key, pod, until};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use steersman_controller::{Action, Controller, ControllerError, Reconciler, reconcile_fn};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

/// A controller on a task of its own, and the word that stops it.
struct Running {
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<(), ControllerError>>,
}

impl Running {
    fn start(controller: Controller, reconciler: impl Reconciler) -> Self {
        let (stop, stopped) = oneshot::channel();
        let run = controller.run(reconciler, async {
            stopped.await.unwrap_or(());
        });
        Self { stop, task: tokio::spawn(run) }
    }

    async fn stop(self) -> Result<(), ControllerError> {
        self.stop.send(()).expect("it runs");
        timeout(LIMIT, self.task).await.expect("it stops").expect("it does not panic")
    }

    async fn end(self) -> Result<(), ControllerError> {
        timeout(LIMIT, self.task).await.expect("it ends").expect("it does not panic")
    }
}

/// Counts its calls.
fn counting() -> (Arc<AtomicUsize>, impl Reconciler) {
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = calls.clone();
    let reconciler = reconcile_fn(move |_key| {
        counter.fetch_add(1, Ordering::SeqCst);
        async { Ok::<_, Infallible>(Action::AwaitChange) }
    });
    (calls, reconciler)
}

fn forbidden() -> StatusError {
    let pods = ApiResource::new("v1", "Pod", "pods", Scope::Namespaced);
    StatusError::forbidden(&pods, "", "no list of pods for this account")
}

// CTRL-03, CTRL-22, CT-03
#[tokio::test(start_paused = true)]
async fn no_reconcile_before_every_source_is_synced() {
    let (maps, pods) = (Cluster::new(), Cluster::<Pod>::new());
    for n in 0..100 {
        maps.put(config_map(&format!("default/map-{n}")));
    }
    pods.silence(true);
    let (calls, reconciler) = counting();
    let controller =
        Controller::new("test").watches(maps.informer()).watches_mapped(pods.informer(), |_| None);
    let handle = controller.handle();
    let running = Running::start(controller, reconciler);
    until("the first source is fed", || handle.queue().queued == 100).await;
    tokio::time::sleep(Duration::from_mins(1)).await;
    assert_eq!(calls.load(Ordering::SeqCst), 0);
    pods.silence(false);
    until("all are reconciled", || calls.load(Ordering::SeqCst) == 100).await;
    running.stop().await.unwrap();
}

// CTRL-04, DEP-08
#[tokio::test(start_paused = true)]
async fn a_source_that_does_not_sync_is_named_with_its_reason() {
    let (maps, pods) = (Cluster::new(), Cluster::<Pod>::new());
    maps.put(config_map("default/a"));
    pods.refuse(forbidden());
    let (calls, reconciler) = counting();
    let controller =
        Controller::new("test").watches(maps.informer()).watches_mapped(pods.informer(), |_| None);
    let before = Instant::now();
    let error = Running::start(controller, reconciler).end().await.unwrap_err();
    assert_eq!(before.elapsed(), Duration::from_mins(2));
    let ControllerError::NotSynced { controller, sources } = &error else { panic!("{error}") };
    assert_eq!((&**controller, sources.len()), ("test", 1));
    assert_eq!(sources[0].what, "pods");
    assert!(!sources[0].is_cached);
    let text = error.to_string();
    for word in ["pods", "forbidden", "no list of pods for this account"] {
        assert!(text.contains(word), "{word} is missing in: {text}");
    }
    let refused = sources[0].last_error.as_deref().and_then(|error| StatusError::find(error));
    assert_eq!(refused.map(StatusError::code), Some(403));
    assert_eq!(calls.load(Ordering::SeqCst), 0);
}

// CTRL-04
#[tokio::test(start_paused = true)]
async fn a_refusal_that_heals_in_time_is_no_error() {
    let maps = Cluster::new();
    maps.put(config_map("default/a"));
    maps.refuse(forbidden());
    let (calls, reconciler) = counting();
    let running = Running::start(Controller::new("test").watches(maps.informer()), reconciler);
    until("it was refused", || maps.lists() > 1).await;
    maps.refuse(None);
    until("it is reconciled", || calls.load(Ordering::SeqCst) == 1).await;
    running.stop().await.unwrap();
}

// CTRL-04, DEP-01
#[tokio::test(start_paused = true)]
async fn a_shutdown_while_waiting_for_sync_is_no_error_and_takes_no_time() {
    let maps = Cluster::<ConfigMap>::new();
    maps.silence(true);
    let (calls, reconciler) = counting();
    let running = Running::start(Controller::new("test").watches(maps.informer()), reconciler);
    tokio::time::sleep(MS(10)).await;
    let before = Instant::now();
    running.stop().await.unwrap();
    assert!(before.elapsed() < Duration::from_secs(1));
    assert_eq!(calls.load(Ordering::SeqCst), 0);
}

// CTRL-19, DEP-03, CT-05
#[tokio::test(start_paused = true)]
async fn at_shutdown_what_is_in_flight_is_finished_and_what_waits_is_dropped() {
    let maps = Cluster::new();
    for n in 0..10 {
        maps.put(config_map(&format!("default/map-{n}")));
    }
    let informer = maps.informer();
    let lister = informer.lister();
    let started = Arc::new(AtomicUsize::new(0));
    let (finished, cached) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
    let counters = (started.clone(), finished.clone(), cached.clone());
    let watches = maps.clone();
    let reconciler = reconcile_fn(move |key: ObjectKey| {
        let ((started, finished, cached), lister) = (counters.clone(), lister.clone());
        let watches = watches.clone();
        async move {
            started.fetch_add(1, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_secs(10)).await;
            cached.store(lister.get(&key).is_some() && watches.watches() == 1, Ordering::SeqCst);
            finished.fetch_add(1, Ordering::SeqCst);
            Ok::<_, Infallible>(Action::AwaitChange)
        }
    });
    let running = Running::start(Controller::new("test").watches(informer).workers(2), reconciler);
    until("two are in flight", || started.load(Ordering::SeqCst) == 2).await;
    let before = Instant::now();
    running.stop().await.unwrap();
    assert!(before.elapsed() >= Duration::from_secs(9), "they were waited for");
    assert_eq!((started.load(Ordering::SeqCst), finished.load(Ordering::SeqCst)), (2, 2));
    assert!(cached.load(Ordering::SeqCst), "the cache lives as long as the reconciles");
    assert_eq!(maps.watches(), 0, "and no longer");
}

// CT-05, GN-06
#[tokio::test(start_paused = true)]
async fn after_the_grace_period_reconciles_are_aborted_and_named() {
    let maps = Cluster::new();
    maps.put(config_map("default/stuck"));
    let held = Arc::new(());
    let holder = held.clone();
    let reconciler = reconcile_fn(move |_key| {
        let held = holder.clone();
        async move {
            let never = pending::<Result<Action, Infallible>>().await;
            drop(held);
            never
        }
    });
    let controller = Controller::new("test").watches(maps.informer()).grace_period(Duration::from_secs(5));
    let handle = controller.handle();
    let running = Running::start(controller, reconciler);
    until("it is stuck", || handle.stats().active == 1).await;
    let before = Instant::now();
    let error = running.stop().await.unwrap_err();
    assert_eq!(before.elapsed(), Duration::from_secs(5));
    let ControllerError::Aborted { keys, .. } = &error else { panic!("{error}") };
    assert_eq!(keys, &[key("default/stuck")]);
    assert_eq!(Arc::strong_count(&held), 1, "its future is gone, and the reconciler, too");
    assert_eq!(handle.stats().active, 0);
    assert_eq!(tokio::runtime::Handle::current().metrics().num_alive_tasks(), 0);
}

// GN-06
#[tokio::test(start_paused = true)]
async fn dropping_the_future_leaves_nothing_behind() {
    let maps = Cluster::new();
    maps.put(config_map("default/a"));
    let (calls, reconciler) = counting();
    let run = Controller::new("test").watches(maps.informer()).workers(8).run(reconciler, pending());
    assert!(timeout(Duration::from_secs(1), run).await.is_err());
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    until("its tasks are gone", || tokio::runtime::Handle::current().metrics().num_alive_tasks() == 0).await;
    assert_eq!(maps.watches(), 0);
}

#[tokio::test(start_paused = true)]
async fn an_informer_that_two_controllers_share_is_run_once() {
    let maps = Cluster::new();
    maps.put(config_map("default/a"));
    let informer = maps.informer();
    let ((one, first), (two, second)) = (counting(), counting());
    let first = Running::start(Controller::new("one").watches(informer.clone()), first);
    let second = Running::start(Controller::new("two").watches(informer), second);
    until("both reconcile", || one.load(Ordering::SeqCst) == 1 && two.load(Ordering::SeqCst) == 1).await;
    assert_eq!((maps.lists(), maps.watches()), (1, 1));
    second.stop().await.unwrap();
    maps.put(config_map("default/b"));
    until("the first goes on", || one.load(Ordering::SeqCst) == 2).await;
    assert_eq!(two.load(Ordering::SeqCst), 1, "the second's handler is gone");
    first.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_controller_whose_informer_stops_says_so() {
    let maps = Cluster::new();
    maps.put(config_map("default/a"));
    let informer = maps.informer();
    let (stop, stopped) = oneshot::channel::<()>();
    let driver = tokio::spawn(informer.run(async {
        stopped.await.unwrap_or(());
    }));
    let (calls, reconciler) = counting();
    let running = Running::start(Controller::new("test").watches(informer), reconciler);
    until("it runs", || calls.load(Ordering::SeqCst) == 1).await;
    drop(stop);
    let error = running.end().await.unwrap_err();
    assert_eq!(error.to_string(), "controller test: the informer of configmaps has stopped");
    driver.await.unwrap();
}

// CTRL-21, BLD-01
#[tokio::test(start_paused = true)]
async fn what_cannot_work_is_said_before_anything_runs() {
    let pods = Cluster::<Pod>::new();
    let cases = [
        (Controller::new("").watches(pods.informer()), "name"),
        (Controller::new("test"), "watch"),
        (Controller::new("test").owns(pods.informer()), "`watches` before `owns`"),
    ];
    for (controller, word) in cases {
        let error = controller.run(counting().1, pending()).await.unwrap_err();
        assert!(matches!(error, ControllerError::Misuse(_)));
        assert!(error.to_string().contains(word), "{error}");
    }
    assert_eq!(pods.lists(), 0);
    pods.put(pod("default/a"));
}
