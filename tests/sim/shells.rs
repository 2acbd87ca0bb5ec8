//! The same server and the same faults, but the shells: a shared informer, its listeners, a work queue, on one thread under
//! a paused clock. What the cores do is checked elsewhere; here it is what waits, wakes and is dropped.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
#[expect(clippy::disallowed_types, reason = "the source and the writer share one server")]
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

use apimachinery::{ApiError, BrokenKind, ListOptions, ListWatch, ObjectKey, Page, StatusError, WatchEvent};
use futures_core::Stream;
use shared_informer::{Deleted, Notification, SharedInformer};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout};
use workqueue::Queue;

use crate::dice::Dice;
use crate::ledger;
use crate::server::Server;
use crate::thing::{Thing, version};

/// In the paused clock's time.
const LIMIT: Duration = Duration::from_hours(6);

struct Shared {
    #[expect(clippy::disallowed_types, reason = "see above")]
    server: Mutex<(Server, Dice, Instant)>,
    changed: Notify,
    is_calm: AtomicBool,
    streams: AtomicU64,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, (Server, Dice, Instant)> {
        let mut inner = self.server.lock().unwrap_or_else(PoisonError::into_inner);
        let (now, then) = (Instant::now(), inner.2);
        inner.2 = now;
        inner.0.advance(now - then);
        inner
    }

    fn is_calm(&self) -> bool {
        self.is_calm.load(Ordering::SeqCst)
    }

    fn roll(&self, n: u64) -> bool {
        !self.is_calm() && self.lock().1.once_in(n)
    }

    async fn latency(&self) {
        let takes = self.lock().1.millis(0, 50);
        sleep(takes).await;
    }

    fn fault(&self) -> Option<ApiError> {
        let at = self.roll(7).then(|| self.lock().1.below(4))?;
        Some(match at {
            0 => StatusError::too_many_requests("busy", 1).into(),
            1 => StatusError::expired("gone").into(),
            2 => ApiError::Broken { during: "asking", kind: BrokenKind::Reset, source: "cut".into() },
            _ => StatusError::bad_request("no").into(),
        })
    }
}

#[derive(Clone)]
struct Source(Arc<Shared>);

/// Closes the server's side when it is dropped.
struct OpenWatch {
    shared: Arc<Shared>,
    id: test_apiserver::core::WatchId,
}

impl Drop for OpenWatch {
    fn drop(&mut self) {
        self.shared.lock().0.stop(self.id);
        self.shared.streams.fetch_sub(1, Ordering::SeqCst);
    }
}

type Events = Pin<Box<dyn Stream<Item = Result<WatchEvent<Thing>, ApiError>> + Send>>;

impl ListWatch<Thing> for Source {
    type Events = Events;

    async fn list(&self, options: &ListOptions) -> Result<Page<Thing>, ApiError> {
        self.0.latency().await;
        if let Some(error) = self.0.fault() {
            return Err(error);
        }
        let mut inner = self.0.lock();
        let (server, dice, _) = &mut *inner;
        server.list(options, dice)
    }

    async fn watch(&self, options: &ListOptions) -> Result<Events, ApiError> {
        self.0.latency().await;
        if let Some(error) = self.0.fault() {
            return Err(error);
        }
        let id = self.0.lock().0.watch(options)?;
        self.0.streams.fetch_add(1, Ordering::SeqCst);
        let watch = OpenWatch { shared: Arc::clone(&self.0), id };
        Ok(Box::pin(futures_util::stream::unfold(Some(watch), |watch| async {
            let watch = watch?;
            match next(&watch).await {
                Some(Ok(event)) => Some((Ok(event), Some(watch))),
                Some(Err(error)) => Some((Err(error), None)),
                None => None,
            }
        })))
    }

    fn supports_watch_list(&self) -> bool {
        self.0.lock().0.habits.watch_list
    }

    fn describe(&self) -> String {
        "things".to_owned()
    }
}

async fn next(watch: &OpenWatch) -> Option<Result<WatchEvent<Thing>, ApiError>> {
    let shared = &watch.shared;
    loop {
        let changed = shared.changed.notified();
        if shared.roll(40) {
            return None;
        }
        if shared.roll(80) {
            return Some(Err(StatusError::expired("gone").into()));
        }
        if let Some(frame) = shared.lock().0.poll(watch.id) {
            return frame;
        }
        let wait = shared
            .lock()
            .0
            .next_in()
            .unwrap_or(LIMIT)
            .clamp(Duration::from_millis(1), Duration::from_secs(5));
        tokio::select! { () = changed => {}, () = sleep(wait) => {} }
    }
}

/// Believes what it is told.
#[derive(Default)]
struct Believer {
    believes: BTreeMap<String, u64>,
    newest: BTreeMap<String, u64>,
}

impl Believer {
    fn hear(&mut self, notification: &Notification<Thing>) {
        let key = notification.key().to_string();
        match notification {
            Notification::Added { object, .. } => {
                assert!(!self.believes.contains_key(&key), "{key} is added, and was there");
                self.see(&key, version(object));
                self.believes.insert(key, version(object));
            }
            Notification::Updated { old, new } => {
                assert_eq!(
                    self.believes.get(&key),
                    Some(&version(old)),
                    "{key}: what it was is what was told last"
                );
                self.see(&key, version(new));
                self.believes.insert(key, version(new));
            }
            Notification::Deleted(deleted) => {
                if let Deleted::Observed(last) = deleted {
                    self.see(&key, version(last));
                }
                self.believes.remove(&key);
            }
        }
    }

    fn see(&mut self, key: &str, version: u64) {
        let newest = self.newest.entry(key.to_owned()).or_default();
        assert!(version >= *newest, "{key} goes back in time, from {newest} to {version}");
        *newest = version;
    }
}

#[expect(clippy::disallowed_types, reason = "the test looks at what a listener believes")]
type Shelf<T> = Arc<Mutex<T>>;

fn open<T>(shelf: &Shelf<T>) -> MutexGuard<'_, T> {
    // A listener that panicked is a failed check.
    shelf.lock().expect("the listener's checks hold")
}

/// Plays one world; says how many events the reflector saw.
pub(crate) fn play(seed: u64) -> u64 {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.expect("a runtime").block_on(world(seed))
}

async fn world(seed: u64) -> u64 {
    let mut dice = Dice::new(seed);
    let server = Server::new(&mut dice);
    #[expect(clippy::disallowed_types, reason = "see above")]
    let server = Mutex::new((server, dice.fork(), Instant::now()));
    let shared = Arc::new(Shared {
        server,
        changed: Notify::new(),
        is_calm: AtomicBool::new(false),
        streams: AtomicU64::new(0),
    });
    let informer = SharedInformer::new(Source(Arc::clone(&shared)));
    let queue: Queue<ObjectKey> = Queue::new();

    let inline: Shelf<Believer> = Arc::default();
    let heard = Arc::clone(&inline);
    let keys = queue.clone();
    let inline_registration = informer.add_handler(move |notification: &Notification<Thing>| {
        open(&heard).hear(notification);
        keys.add(notification.key());
    });

    let mut subscription = informer.subscribe();
    let slow: Shelf<Believer> = Arc::default();
    let slow_heard = Arc::clone(&slow);
    let mut naps = dice.fork();
    let slow_task = tokio::spawn(async move {
        while let Some(notification) = subscription.next().await {
            open(&slow_heard).hear(&notification);
            if naps.once_in(3) {
                sleep(naps.millis(0, 3_000)).await;
            }
        }
    });

    let at_work: Shelf<BTreeSet<String>> = Arc::default();
    let workers: Vec<_> = (0..3)
        .map(|_| {
            let (queue, at_work, mut dice) = (queue.clone(), Arc::clone(&at_work), dice.fork());
            tokio::spawn(async move {
                while let Some(work) = queue.get().await {
                    let key = work.key().to_string();
                    assert!(open(&at_work).insert(key.clone()), "{key} is worked on twice at once");
                    sleep(dice.millis(0, 1_000)).await;
                    assert!(open(&at_work).remove(&key));
                    if dice.once_in(5) {
                        work.requeue_after(dice.millis(0, 2_000));
                    }
                }
            })
        })
        .collect();

    let driver = tokio::spawn(informer.run(std::future::pending()));
    for _ in 0..dice.between(10, 80) {
        sleep(dice.millis(0, 2_000)).await;
        {
            let mut inner = shared.lock();
            let (server, dice, _) = &mut *inner;
            match dice.below(30) {
                0 => server.compact(dice),
                _ => server.write(dice),
            }
        }
        shared.changed.notify_waiters();
    }
    shared.is_calm.store(true, Ordering::SeqCst);

    let lister = informer.lister();
    let became = async {
        loop {
            // A poisoned object may stay at an older state, so what is waited for is the version of the collection.
            let is_there =
                shared.lock().0.content().iter().all(|(key, (version, is_readable))| {
                    let cached = ledger::cached(&lister);
                    !is_readable || cached.get(key) == Some(version)
                }) && ledger::cached(&lister).keys().all(|key| shared.lock().0.content().contains_key(key));
            let listeners_know =
                [&inline, &slow].iter().all(|shelf| open(shelf).believes == ledger::cached(&lister));
            let counts = queue.counts();
            let is_idle = counts.queued + counts.waiting + counts.processing == 0;
            if is_there && listeners_know && is_idle {
                return;
            }
            sleep(Duration::from_secs(1)).await;
        }
    };
    timeout(LIMIT, became).await.expect("it comes to rest");
    ledger::assert_became(&shared.lock().0.content(), &ledger::cached(&lister));
    assert!(informer.is_synced() && inline_registration.is_synced());
    let events = informer.status().reflector.events;

    // Stopped, it leaves nothing behind.
    driver.abort();
    assert!(driver.await.is_err_and(|error| error.is_cancelled()));
    timeout(LIMIT, slow_task).await.expect("a subscription ends with its informer").expect("its checks hold");
    assert_eq!(shared.streams.load(Ordering::SeqCst), 0);
    assert_eq!(shared.lock().0.open_watches(), 0);
    queue.shutdown();
    for worker in workers {
        timeout(LIMIT, worker).await.expect("a worker ends with its queue").expect("its checks hold");
    }
    events
}
