//! The shell under a paused clock: what it sends, what it drops, and when it stands still.

mod script;

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use apimachinery::{ApiError, ConnectKind, Object, Reason, Status, StatusError, WatchEvent};
use deltafifo::{Batch, ObjectDelta, Receiver};
use flowcontrol::NoJitter;
use k8s_openapi::api::core::v1::ConfigMap;
use script::{Answer, Scripted, bookmark, object, page};
use steersman_reflector::{Config, Monitor, Phase, Reflector};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

struct Running {
    source: Scripted,
    receiver: Receiver<ConfigMap>,
    monitor: Monitor,
    task: JoinHandle<()>,
}

/// How long anything may take, in the paused clock's time.
const LIMIT: Duration = Duration::from_hours(1);

fn start(source: &Scripted, capacity: usize) -> Running {
    start_with(source, capacity, |reflector| reflector)
}

fn start_with(
    source: &Scripted,
    capacity: usize,
    set_up: impl FnOnce(Reflector<Scripted, ConfigMap>) -> Reflector<Scripted, ConfigMap>,
) -> Running {
    let (sender, receiver) = deltafifo::channel(NonZeroUsize::new(capacity).expect("a capacity"));
    let reflector = set_up(Reflector::new(source.clone(), Config::default()).jitter(NoJitter));
    let monitor = reflector.monitor();
    let task = tokio::spawn(reflector.run(sender));
    Running { source: source.clone(), receiver, monitor, task }
}

impl Running {
    async fn batch(&mut self) -> Vec<String> {
        let batch = timeout(LIMIT, self.receiver.recv_batch()).await.expect("a batch in time");
        match batch.expect("the reflector runs") {
            Batch::Objects(deltas) => deltas
                .into_iter()
                .map(|keyed| match keyed.delta {
                    ObjectDelta::Added(object) => {
                        format!("added {}@{}", keyed.key, object.resource_version())
                    }
                    ObjectDelta::Updated(object) => {
                        format!("updated {}@{}", keyed.key, object.resource_version())
                    }
                    ObjectDelta::Deleted(_) => format!("deleted {}", keyed.key),
                })
                .collect(),
            Batch::Replaced { items, resource_version, .. } => {
                vec![format!("replaced {} at {resource_version}", items.len())]
            }
            Batch::Bookmark(version) => vec![format!("bookmark {version}")],
        }
    }

    async fn phase(&self, phase: Phase) {
        let mut changes = self.monitor.changes();
        let reached = changes.wait_for(|status| status.phase == phase);
        timeout(LIMIT, reached).await.expect("in time").expect("the reflector runs");
    }

    fn asked(&self) -> Vec<String> {
        self.source.script.asked()
    }
}

/// Lets everything that can run do so, without letting time pass.
async fn settle() {
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
}

fn refused() -> ApiError {
    ApiError::Connect { host: "server".to_owned(), kind: ConnectKind::Refused, source: "no".into() }
}

fn forbidden() -> ApiError {
    StatusError::new(Status { code: Some(403), reason: Some("Forbidden".to_owned()), ..Status::default() })
        .into()
}

// CACHE-R-10, CACHE-R-14, CACHE-R-40, CACHE-R-45
#[tokio::test(start_paused = true)]
async fn it_lists_watches_and_hands_on_and_publishes_the_version_after_that() {
    let source = Scripted::default();
    source.script.then(page(&["a", "b"], "10"));
    let events = source.script.then_stream();
    let mut running = start(&source, 100);
    assert_eq!(running.batch().await, ["replaced 2 at 10"]);
    running.phase(Phase::Watching).await;
    events.send(Ok(WatchEvent::Added(object("c", 11)))).expect("it reads");
    events.send(Ok(bookmark("12", false))).expect("it reads");
    assert_eq!(running.batch().await, ["added c@11"]);
    assert_eq!(running.batch().await, ["bookmark 12"]);
    settle().await;
    assert_eq!(running.monitor.last_resource_version(), "12");
    assert_eq!(running.asked(), ["list 0", "watch 10"]);
    assert!(running.monitor.status().synced_once);
    let counters = running.monitor.counters();
    assert_eq!((counters.lists, counters.listed, counters.events), (1, 2, 2));
}

// CACHE-R-58
#[tokio::test(start_paused = true)]
async fn the_stream_of_the_initial_events_goes_on_as_the_watch() {
    let source = Scripted { watch_list: true, ..Scripted::default() };
    let events = source.script.then_stream();
    let mut running = start(&source, 100);
    events.send(Ok(WatchEvent::Added(object("a", 1)))).expect("it reads");
    events.send(Ok(bookmark("10", true))).expect("it reads");
    assert_eq!(running.batch().await, ["replaced 1 at 10"]);
    events.send(Ok(WatchEvent::Modified(object("a", 11)))).expect("it reads");
    assert_eq!(running.batch().await, ["updated a@11"]);
    assert_eq!(running.asked(), ["stream "]);
    assert_eq!(source.script.open(), 1);
}

// CACHE-R-62
#[tokio::test(start_paused = true)]
async fn a_stream_that_is_silent_or_never_opens_is_dropped_for_a_list() {
    for opens in [true, false] {
        let source = Scripted { watch_list: true, ..Scripted::default() };
        let events = if opens { Some(source.script.then_stream()) } else { None };
        if !opens {
            source.script.then(Answer::Hang);
        }
        source.script.then(page(&["a"], "10"));
        let began = Instant::now();
        let mut running = start(&source, 100);
        assert_eq!(running.batch().await, ["replaced 1 at 10"]);
        assert_eq!(began.elapsed().as_secs(), 20);
        assert_eq!(running.asked()[..2], ["stream ", "list 0"]);
        if let Some(events) = events {
            assert!(events.is_closed(), "the old stream is dropped");
        }
    }
}

// CACHE-R-03, CACHE-R-47
#[tokio::test(start_paused = true)]
async fn it_rests_between_refusals_and_does_not_list_again() {
    let source = Scripted::default();
    source.script.then(page(&["a"], "10"));
    for _ in 0..5 {
        source.script.then(Answer::Refuse(refused()));
    }
    let _events = source.script.then_stream();
    let began = Instant::now();
    let running = start(&source, 100);
    running.phase(Phase::Watching).await;
    let rested: u64 = [800, 1600, 3200, 6400, 12_800].iter().sum();
    assert_eq!(began.elapsed().as_millis(), u128::from(rested));
    assert_eq!(running.asked().len(), 7);
    assert_eq!(running.asked()[1..], vec!["watch 10"; 6]);
}

// CACHE-R-48
#[tokio::test(start_paused = true)]
async fn a_cut_takes_no_time_and_no_list() {
    let source = Scripted::default();
    source.script.then(page(&[], "10"));
    let first = source.script.then_stream();
    let _second = source.script.then_stream();
    let mut running = start(&source, 100);
    running.batch().await;
    running.phase(Phase::Watching).await;
    first.send(Ok(WatchEvent::Added(object("a", 11)))).expect("it reads");
    drop(first);
    let began = Instant::now();
    assert_eq!(running.batch().await, ["added a@11"]);
    while running.asked().len() < 3 {
        tokio::task::yield_now().await;
    }
    assert_eq!(running.asked(), ["list 0", "watch 10", "watch 11"]);
    assert_eq!(began.elapsed(), Duration::ZERO);
}

// CACHE-R-11
#[tokio::test(start_paused = true)]
async fn failed_cycles_are_told_to_one_handler_and_everything_else_to_the_other() {
    let source = Scripted::default();
    source.script.then(Answer::Refuse(forbidden())); // list
    source.script.then(page(&[], "10"));
    source.script.then(Answer::Refuse(forbidden())); // open
    source.script.then(page(&[], "11"));
    let events = source.script.then_stream();
    events.send(Err(StatusError::expired("gone").into())).expect("it reads");
    source.script.then(page(&[], "12"));
    let (failed, handled) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (count_failed, count_handled) = (Arc::clone(&failed), Arc::clone(&handled));
    let mut running = start_with(&source, 100, |reflector| {
        reflector
            .on_error(move |error| {
                assert_eq!(
                    error.api_error().and_then(ApiError::status).map(StatusError::reason),
                    Some(Reason::Forbidden)
                );
                count_failed.fetch_add(1, Ordering::SeqCst);
            })
            .on_handled(move |_| {
                count_handled.fetch_add(1, Ordering::SeqCst);
            })
    });
    for version in ["10", "11", "12"] {
        assert_eq!(running.batch().await, [format!("replaced 0 at {version}")]);
    }
    assert_eq!((failed.load(Ordering::SeqCst), handled.load(Ordering::SeqCst)), (2, 1));
}

// CACHE-R-11
#[tokio::test(start_paused = true)]
async fn handlers_of_errors_that_panic_stop_nothing_and_are_told_of_the_next_one() {
    let source = Scripted::default();
    source.script.then(Answer::Refuse(forbidden())); // list
    source.script.then(Answer::Refuse(forbidden())); // list
    source.script.then(page(&[], "10"));
    for version in ["11", "12"] {
        let events = source.script.then_stream();
        events.send(Err(StatusError::expired("gone").into())).expect("it reads");
        source.script.then(page(&[], version));
    }
    let (failed, handled) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (count_failed, count_handled) = (Arc::clone(&failed), Arc::clone(&handled));
    let mut running = start_with(&source, 100, |reflector| {
        reflector
            .on_error(move |_| {
                count_failed.fetch_add(1, Ordering::SeqCst);
                panic!("on purpose: a failed cycle");
            })
            .on_handled(move |_| {
                count_handled.fetch_add(1, Ordering::SeqCst);
                panic!("on purpose: a handled error");
            })
    });
    for version in ["10", "11", "12"] {
        assert_eq!(running.batch().await, [format!("replaced 0 at {version}")]);
    }
    assert_eq!((failed.load(Ordering::SeqCst), handled.load(Ordering::SeqCst)), (2, 2));
    assert!(!running.task.is_finished());
}

// CACHE-R-13, CACHE-R-44, CACHE-R-46, CACHE-W-03, CACHE-W-07
#[tokio::test(start_paused = true)]
async fn without_a_receiver_it_ends_whatever_it_waits_for_and_leaves_nothing_open() {
    // In a list, in a rest, in a watch that does not open, in a watch.
    for waits_in in 0..4 {
        let source = Scripted::default();
        match waits_in {
            0 => {
                source.script.then(Answer::Hang);
            }
            1 => {
                source.script.then(Answer::Refuse(refused()));
            }
            2 => {
                source.script.then(page(&[], "10")).then(Answer::Hang);
            }
            _ => {
                source.script.then(page(&[], "10"));
            }
        }
        let _events = (waits_in == 3).then(|| source.script.then_stream());
        let running = start(&source, 100);
        settle().await;
        let asked = running.asked();
        let began = Instant::now();
        drop(running.receiver);
        timeout(LIMIT, running.task).await.expect("it ends").expect("without a panic");
        assert_eq!(began.elapsed(), Duration::ZERO, "at once ({waits_in})");
        assert_eq!(source.script.open(), 0, "{waits_in}");
        assert_eq!(source.script.asked(), asked, "no more requests ({waits_in})");
    }
}

// CACHE-R-13, CACHE-W-03, CACHE-W-07
#[tokio::test(start_paused = true)]
async fn dropped_at_any_moment_it_leaves_nothing_open_and_the_queue_ends_after_what_it_has() {
    for turns in 0..40 {
        let source = Scripted::default();
        source.script.then(page(&["a"], "10"));
        let events = source.script.then_stream();
        events.send(Ok(WatchEvent::Added(object("b", 11)))).expect("it reads");
        let mut running = start(&source, 100);
        for _ in 0..turns {
            tokio::task::yield_now().await;
        }
        running.task.abort();
        let mut batches = 0;
        while let Some(_batch) = timeout(LIMIT, running.receiver.recv_batch()).await.expect("it ends") {
            batches += 1;
        }
        assert!(batches <= 2);
        assert!(
            timeout(LIMIT, running.task).await.expect("it ends").is_err_and(|error| error.is_cancelled())
        );
        assert_eq!(source.script.open(), 0);
    }
}

// CACHE-Q-23
#[tokio::test(start_paused = true)]
async fn while_the_queue_is_full_nothing_is_read_and_the_version_does_not_run_ahead() {
    let source = Scripted::default();
    source.script.then(page(&[], "10"));
    let events = source.script.then_stream();
    let mut running = start(&source, 4);
    running.batch().await;
    for version in 11..1011 {
        events.send(Ok(WatchEvent::Modified(object(&version.to_string(), version)))).expect("it reads");
    }
    settle().await;
    assert_eq!(running.receiver.len(), 4);
    assert_eq!(source.script.read(), 5, "one more than there was room for");
    assert_eq!(running.monitor.last_resource_version(), "10", "not published before all of it is queued");
    let mut seen = Vec::new();
    while seen.len() < 1000 {
        seen.extend(running.batch().await);
    }
    assert!(seen.iter().enumerate().all(|(n, word)| *word == format!("updated {v}@{v}", v = n + 11)));
    settle().await;
    assert_eq!(running.monitor.last_resource_version(), "1010");
}

#[tokio::test(start_paused = true)]
async fn what_is_ready_is_read_in_one_go_and_makes_one_batch() {
    let source = Scripted::default();
    source.script.then(page(&[], "10"));
    let events = source.script.then_stream();
    let mut running = start(&source, 1000);
    running.batch().await;
    running.phase(Phase::Watching).await;
    for version in 11..111 {
        events.send(Ok(WatchEvent::Modified(object(&version.to_string(), version)))).expect("it reads");
    }
    // tokio's own budget may cut it once.
    assert!(running.batch().await.len() >= 64);
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_is_always_ready_leaves_other_tasks_their_turn() {
    let source = Scripted::default();
    source.script.then(page(&[], "10"));
    let events = source.script.then_stream();
    for version in 11..10_011 {
        events.send(Ok(WatchEvent::Modified(object("a", version)))).expect("it reads");
    }
    let running = start(&source, 100_000);
    let mut turns = 0;
    while source.script.read() < 10_000 {
        tokio::task::yield_now().await;
        turns += 1;
    }
    assert!(turns > 20, "{turns} turns");
    assert_eq!(running.receiver.len(), 10_001);
}

#[tokio::test(start_paused = true)]
async fn the_status_is_not_sent_for_events() {
    let source = Scripted::default();
    source.script.then(page(&[], "10"));
    let events = source.script.then_stream();
    let mut running = start(&source, 1000);
    running.batch().await;
    running.phase(Phase::Watching).await;
    let mut changes = running.monitor.changes();
    changes.mark_unchanged();
    events.send(Ok(WatchEvent::Modified(object("a", 11)))).expect("it reads");
    running.batch().await;
    settle().await;
    assert!(!changes.has_changed().expect("the reflector runs"));
}

#[tokio::test(start_paused = true)]
async fn why_it_cannot_sync_is_in_the_status() {
    let source = Scripted::default();
    source.script.then(Answer::Refuse(forbidden()));
    let running = start(&source, 100);
    running.phase(Phase::Resting).await;
    let status = running.monitor.status();
    let error = status.last_error.expect("a reason");
    assert_eq!(error.to_string(), "could not list things");
    assert!(error.api_error().is_some_and(ApiError::is_forbidden));
    assert!(!status.synced_once);
}

// CACHE-R-34
#[tokio::test(start_paused = true)]
async fn a_panic_of_the_source_is_the_callers() {
    let source = Scripted::default();
    source.script.then(Answer::Panic);
    let running = start(&source, 100);
    assert!(timeout(LIMIT, running.task).await.expect("it ends").is_err_and(|error| error.is_panic()));
}
