//! [`Controller`]: what it watches, and how it works.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use apimachinery::{ApiResource, Kind, Object, ObjectKey};
use shared_informer::SharedInformer;
use workqueue::{Queue, RateLimiter};

use crate::handle::{Counters, Handle};
use crate::run;
use crate::source::{Owners, Source, mapped, own_key, owner_key, source};
use crate::{ControllerError, Reconciler};

/// One reconciler, the informers whose notifications become its keys, and the workers that call it.
///
/// Client-go: the loop that sample-controller writes by hand; controller-runtime: `builder` and `internal/controller`.
#[must_use = "a controller does nothing until it is run"]
pub struct Controller {
    pub(crate) name: Arc<str>,
    pub(crate) sources: Vec<Source>,
    pub(crate) queue: Queue<ObjectKey>,
    pub(crate) counters: Arc<Counters>,
    /// What owned objects belong to: what was watched first.
    owners: Option<Owners>,
    pub(crate) misuse: Option<&'static str>,
    pub(crate) settings: Settings,
}

/// How it works.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) workers: usize,
    pub(crate) sync_timeout: Duration,
    pub(crate) grace: Duration,
    pub(crate) reconcile_timeout: Option<Duration>,
    pub(crate) recovers_panics: bool,
}

impl Controller {
    /// Watches nothing yet. `name` stands in logs and errors; it may not be empty (CTRL-21).
    ///
    /// One worker (CTRL-02), client-go's limiter (5 ms doubling to 1000 s a key, 10 a second overall in bursts of 100),
    /// two minutes to sync (CTRL-04), half a minute of grace.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.into(),
            sources: Vec::new(),
            queue: Queue::new(),
            counters: Arc::default(),
            owners: None,
            misuse: name.is_empty().then_some("a controller needs a name"),
            settings: Settings {
                workers: 1,
                sync_timeout: Duration::from_mins(2),
                grace: Duration::from_secs(30),
                reconcile_timeout: None,
                recovers_panics: true,
            },
        }
    }

    /// Each object of `informer` is reconciled when it comes, changes and goes. What is watched first is what
    /// [`owns`](Self::owns) looks for in owner references.
    ///
    /// The controller runs the informer, unless somebody else does; so an informer that several controllers share is run
    /// once, by the one that is started first. When that one ends, its informers stop, and the others end with
    /// [`ControllerError::SourceStopped`]: run shared informers by themselves if controllers come and go.
    pub fn watches<T: Object + Kind>(self, informer: SharedInformer<T>) -> Self {
        self.watches_resource(informer, T::resource())
    }

    /// [`watches`](Self::watches) for objects whose kind is known at run time.
    pub fn watches_resource<T: Object>(mut self, informer: SharedInformer<T>, resource: ApiResource) -> Self {
        let lister = informer.lister();
        self.owners.get_or_insert_with(|| Owners {
            resource,
            is_known: Arc::new(move |key, uid| lister.get(key).is_some_and(|object| object.uid() == uid)),
        });
        self.sources.push(source(informer, own_key));
        self
    }

    /// When an object of `informer` comes, changes or goes, the object that controls it is reconciled: the owner
    /// reference with `controller: true`, if it names the group and kind of what is watched first, whatever the version,
    /// and an object that is there with that uid. Before and after an update, both are.
    ///
    /// Call [`watches`](Self::watches) before.
    pub fn owns<T: Object>(mut self, informer: SharedInformer<T>) -> Self {
        match self.owners.clone() {
            Some(owners) => self.sources.push(source(informer, move |queue| owner_key(queue, owners))),
            None => self.misuse = Some("what is owned has an owner: call `watches` before `owns`"),
        }
        self
    }

    /// When an object of `informer` comes, changes or goes, the keys that `map` makes of it are reconciled; of an
    /// update, those of before and after. `map` runs in the informer: it reads a lister at most.
    pub fn watches_mapped<T, I>(
        mut self,
        informer: SharedInformer<T>,
        map: impl Fn(&T) -> I + Send + 'static,
    ) -> Self
    where
        T: Object,
        I: IntoIterator<Item = ObjectKey>,
    {
        self.sources.push(source(informer, move |queue| mapped(queue, map)));
        self
    }

    /// How many reconciles may run at once, of different keys; 0 counts as 1 (CTRL-02).
    pub fn workers(mut self, workers: usize) -> Self {
        self.settings.workers = workers.max(1);
        self
    }

    /// How long a key waits after a failure.
    pub fn rate_limiter(self, limiter: impl RateLimiter<ObjectKey> + 'static) -> Self {
        self.queue.set_limiter(limiter);
        self
    }

    /// How long the sources may take until they are synced and their handlers were given the initial list.
    pub fn sync_timeout(mut self, timeout: Duration) -> Self {
        self.settings.sync_timeout = timeout;
        self
    }

    /// How long reconciles in flight are waited for at shutdown, before they are aborted.
    pub fn grace_period(mut self, grace: Duration) -> Self {
        self.settings.grace = grace;
        self
    }

    /// How long one reconcile may take; then its future is dropped, and that is an error. No limit by default (CTRL-14).
    pub fn reconcile_timeout(mut self, timeout: Duration) -> Self {
        self.settings.reconcile_timeout = Some(timeout);
        self
    }

    /// Whether a panic of the reconciler is an error of that key (the default), or the end of the controller (CTRL-13).
    pub fn recover_panics(mut self, recovers: bool) -> Self {
        self.settings.recovers_panics = recovers;
        self
    }

    /// To look at the controller while it runs.
    pub fn handle(&self) -> Handle {
        Handle { queue: self.queue.clone(), counters: Arc::clone(&self.counters) }
    }

    /// Runs until `shutdown` is done: handlers are added, informers run, every source synced, then workers started
    /// (CTRL-03, CT-03). At shutdown keys that wait are dropped, reconciles in flight are waited for, then aborted
    /// (CTRL-19, CT-05); that is `Ok` unless some had to be aborted. A shutdown during the start is `Ok`, too.
    ///
    /// Dropping the future aborts everything at once. It needs a tokio runtime with its timer.
    pub fn run<R, S>(
        self,
        reconciler: R,
        shutdown: S,
    ) -> impl Future<Output = Result<(), ControllerError>> + Send + use<R, S>
    where
        R: Reconciler,
        S: Future<Output = ()> + Send,
    {
        run::run(self, reconciler, shutdown)
    }
}

impl fmt::Debug for Controller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Controller")
            .field("name", &self.name)
            .field("sources", &self.sources.len())
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}
