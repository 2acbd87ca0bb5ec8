//! [`Informers`]: one informer a type, started and waited for together.

use std::any::{Any, TypeId};
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::{Arc, PoisonError};
#[expect(clippy::disallowed_types, reason = "the registry of informers; no user code runs under it")]
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use apimachinery::{ApiResource, Object};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;

use crate::{Builder, NotSynced, SharedInformer};

/// One informer for each type, or for each resource of a type that serves many: client-go's `SharedInformerFactory`.
/// Cheap to clone; all clones are the same registry.
///
/// ```no_run
/// # use steersman_shared_informer as shared_informer;
/// # use apimachinery::{ListWatch, Object};
/// # use shared_informer::{Informers, SharedInformer};
/// # async fn example<T: Object>(pods: impl ListWatch<T>) -> Result<(), Box<dyn std::error::Error>> {
/// let informers = Informers::new();
/// let lister = informers.of::<T>(|| SharedInformer::builder(pods)).lister();
/// let running = tokio::spawn(informers.run(std::future::pending()));
/// informers.synced().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Informers {
    shared: Arc<Shared>,
}

struct Shared {
    default_resync: Duration,
    #[expect(clippy::disallowed_types, reason = "see above")]
    registry: Mutex<Registry>,
    /// An informer was requested.
    requested: Notify,
    end: watch::Sender<End>,
}

/// The type, and the resource where a type serves many.
type InformerKey = (TypeId, Option<ApiResource>);

#[derive(Default)]
struct Registry {
    informers: HashMap<InformerKey, Entry>,
    is_running: bool,
    is_shut_down: bool,
}

struct Entry {
    /// A `SharedInformer<T>` of the key's type.
    informer: Box<dyn Any + Send + Sync>,
    what: Arc<str>,
    /// What runs it, until it is started.
    start: Option<Start>,
    synced: Box<dyn Fn() -> Waiting + Send + Sync>,
    is_synced: Box<dyn Fn() -> bool + Send + Sync>,
}

type Start = Box<dyn FnOnce(watch::Receiver<End>) -> Option<Running> + Send>;
type Running = Pin<Box<dyn Future<Output = ()> + Send>>;
type Waiting = Pin<Box<dyn Future<Output = Result<(), NotSynced>> + Send>>;

/// How far the end of a factory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum End {
    #[default]
    NotYet,
    /// Informers are to stop.
    Stopping,
    /// All of them did.
    Stopped,
}

impl Registry {
    fn known<T: Object>(&self, key: &InformerKey) -> Option<SharedInformer<T>> {
        self.informers.get(key)?.informer.downcast_ref::<SharedInformer<T>>().cloned()
    }
}

impl Informers {
    /// No informers yet; those that are made do not resync unless they say so.
    pub fn new() -> Self {
        Self::with_resync(Duration::ZERO)
    }

    /// No informers yet; those that are made resync this often unless they say otherwise (CACHE-F-02).
    pub fn with_resync(default: Duration) -> Self {
        #[expect(clippy::disallowed_types, reason = "see above")]
        let registry = Mutex::new(Registry::default());
        let shared = Shared {
            default_resync: default,
            registry,
            requested: Notify::new(),
            end: watch::Sender::new(End::NotYet),
        };
        Self { shared: Arc::new(shared) }
    }

    /// The informer of `T`: made on the first request, the same ever after (CACHE-F-01). If the factory runs already,
    /// it is started at once.
    ///
    /// `make` may ask this factory for informers. Of two first requests at once both make one, and both get that of
    /// the first who was ready: the other was never started and is dropped.
    pub fn of<T: Object>(&self, make: impl FnOnce() -> Builder<T>) -> SharedInformer<T> {
        self.get_or_make(None, make)
    }

    /// The informer of one resource, for a `T` that serves many, such as `DynamicObject` (CACHE-N-01).
    pub fn of_resource<T: Object>(
        &self,
        resource: &ApiResource,
        make: impl FnOnce() -> Builder<T>,
    ) -> SharedInformer<T> {
        self.get_or_make(Some(resource.clone()), make)
    }

    fn get_or_make<T: Object>(
        &self,
        resource: Option<ApiResource>,
        make: impl FnOnce() -> Builder<T>,
    ) -> SharedInformer<T> {
        let key = (TypeId::of::<T>(), resource);
        if let Some(known) = self.shared.registry().known(&key) {
            return known;
        }
        // Not under the lock: it is the user's code.
        let informer = make().or_resync_every(self.shared.default_resync).build();
        let (starts, waits, asks) = (informer.clone(), informer.clone(), informer.clone());
        let entry = Entry {
            informer: Box::new(informer.clone()),
            what: informer.describe().into(),
            start: Some(Box::new(move |mut end| {
                let driver = starts.driver()?;
                Some(Box::pin(driver.run(async move {
                    // An error is the end of the factory, and so an end, too.
                    let _ = end.wait_for(|end| *end != End::NotYet).await;
                })))
            })),
            synced: Box::new(move || Box::pin(waits.synced())),
            is_synced: Box::new(move || asks.is_synced()),
        };
        let mut registry = self.shared.registry();
        if let Some(known) = registry.known(&key) {
            // What is dropped is the user's, too.
            drop(registry);
            return known;
        }
        registry.informers.insert(key, entry);
        let is_shut_down = registry.is_shut_down;
        drop(registry);
        if is_shut_down {
            self.shared.close();
        } else {
            self.shared.requested.notify_one();
        }
        informer
    }

    /// Runs the informers that were requested and those that will be, each on a task of its own, until `shutdown` is
    /// done or [`shutdown`](Self::shutdown) is called; returns when all of them have stopped. An informer that somebody
    /// else runs is left to them. A second run warns and returns at once.
    ///
    /// Dropping the future aborts the tasks.
    pub fn run<S>(&self, shutdown: S) -> impl Future<Output = ()> + Send + use<S>
    where
        S: Future<Output = ()> + Send,
    {
        let shared = self.shared.clone();
        async move {
            {
                let mut registry = shared.registry();
                if registry.is_running || registry.is_shut_down {
                    tracing::warn!("these informers run already, or ran; returning");
                    return;
                }
                registry.is_running = true;
            }
            let over = Over(shared.clone());
            let mut tasks = JoinSet::new();
            let mut shutdown = pin!(shutdown);
            let mut end = shared.end.subscribe();
            loop {
                let starts: Vec<_> =
                    shared.registry().informers.values_mut().filter_map(|entry| entry.start.take()).collect();
                for running in starts.into_iter().filter_map(|start| start(shared.end.subscribe())) {
                    tasks.spawn(running);
                }
                tokio::select! {
                    biased;
                    () = &mut shutdown => break,
                    _ = end.wait_for(|end| *end != End::NotYet) => break,
                    () = shared.requested.notified() => {}
                    Some(ended) = tasks.join_next() => report(ended),
                }
            }
            shared.close();
            shared.end.send_replace(End::Stopping);
            while let Some(ended) = tasks.join_next().await {
                report(ended);
            }
            drop(over);
        }
    }

    /// Waits until every informer that was requested so far is synced; says which are not, and why (CACHE-F-07). None:
    /// at once. Their handlers may be behind (CACHE-F-08).
    pub fn synced(&self) -> impl Future<Output = Result<(), NotAllSynced>> + Send + use<> {
        let waits: Vec<_> = {
            let registry = self.shared.registry();
            registry.informers.values().map(|entry| (entry.what.clone(), (entry.synced)())).collect()
        };
        async move {
            let mut failed = Vec::new();
            // One after the other: each goes on whether or not it is looked at.
            for (what, wait) in waits {
                if let Err(why) = wait.await {
                    failed.push((what, why));
                }
            }
            failed.sort_by(|(a, _), (b, _)| a.cmp(b));
            if failed.is_empty() {
                Ok(())
            } else {
                Err(NotAllSynced { failed: failed.into_iter().map(|(_, why)| why).collect() })
            }
        }
    }

    /// Which informers were requested, as their sources describe them, and whether each is synced.
    pub fn status(&self) -> BTreeMap<Arc<str>, bool> {
        let registry = self.shared.registry();
        registry.informers.values().map(|entry| (entry.what.clone(), (entry.is_synced)())).collect()
    }

    /// Stops the informers and waits until they have (CACHE-F-09). May be called by many; nothing is started afterwards: an
    /// informer that is requested then has stopped already.
    pub async fn shutdown(&self) {
        self.shared.close();
        let is_running = self.shared.registry().is_running;
        let mut end = self.shared.end.subscribe();
        self.shared.end.send_if_modified(|end| {
            let begins = *end == End::NotYet;
            if begins {
                *end = End::Stopping;
            }
            begins
        });
        if is_running {
            // The sender lives in `self`.
            let _ = end.wait_for(|end| *end == End::Stopped).await;
        }
    }
}

fn report(ended: Result<(), tokio::task::JoinError>) {
    if let Err(error) = ended {
        tracing::error!(%error, "an informer's task died");
    }
}

/// The run is over, whichever way.
struct Over(Arc<Shared>);

impl Drop for Over {
    fn drop(&mut self) {
        self.0.close();
        self.0.end.send_replace(End::Stopped);
    }
}

impl Shared {
    /// Nothing is started any more (CACHE-F-05). What was requested and nobody runs is stopped, for otherwise whoever waits
    /// for it would wait for ever.
    fn close(&self) {
        let mut registry = self.registry();
        registry.is_shut_down = true;
        let starts: Vec<_> = registry.informers.values_mut().filter_map(|entry| entry.start.take()).collect();
        drop(registry);
        for start in starts {
            drop(start(self.end.subscribe()));
        }
    }

    fn registry(&self) -> MutexGuard<'_, Registry> {
        self.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Informers {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Informers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Informers").field("synced", &self.status()).finish()
    }
}

/// Which informers are not synced, and why: sorted by what they cache.
#[derive(Debug, Clone)]
pub struct NotAllSynced {
    failed: Vec<NotSynced>,
}

impl NotAllSynced {
    /// Those that are not.
    pub fn failed(&self) -> &[NotSynced] {
        &self.failed
    }
}

impl fmt::Display for NotAllSynced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not synced: ")?;
        for (at, failed) in self.failed.iter().enumerate() {
            if at > 0 {
                f.write_str(", ")?;
            }
            f.write_str(failed.what())?;
        }
        Ok(())
    }
}

impl std::error::Error for NotAllSynced {
    /// Why the first is not.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.failed.first().map(|failed| failed as &(dyn std::error::Error + 'static))
    }
}
