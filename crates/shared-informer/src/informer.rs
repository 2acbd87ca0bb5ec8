//! [`SharedInformer`]: the handle.

use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::sync::{Arc, PoisonError, Weak};
#[expect(
    clippy::disallowed_types,
    reason = "who comes and goes; held to push and to take, never to call"
)]
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use apimachinery::{BoxError, ListWatch, Object, ResourceVersion};
use indexer::{Index, Lister, Writer};
use std::hash::Hash;

use crate::builder::Builder;
use crate::driver::Driver;
use crate::error::Why;
use crate::hub::Hub;
use crate::listener::{Listener, ListenerState, Sink};
use crate::registration::Home;
use crate::status::{ListenerStatus, State, Status};
use crate::subscription::Queue;
use crate::{EventHandler, HandlerOptions, NotSynced, Registration, Subscription};

/// One watch, one cache, many listeners. Cheap to clone; all clones are the same informer.
///
/// Nothing happens until it is run, and it is run once: [`run`](Self::run), or the [`Driver`] that
/// [`driver`](Self::driver) gives to the first who asks. Listeners and indices may be added at any time before it stops.
pub struct SharedInformer<T: Object> {
    pub(crate) inner: Arc<Inner<T>>,
}

pub(crate) struct Inner<T: Object> {
    pub(crate) hub: Arc<Hub>,
    pub(crate) lister: Lister<T>,
    #[expect(clippy::disallowed_types, reason = "see above")]
    lobby: Mutex<Lobby<T>>,
}

/// What the handles leave for the driver.
pub(crate) struct Lobby<T: Object> {
    pub(crate) parts: Option<Parts<T>>,
    pub(crate) arrivals: Vec<Arrival<T>>,
    is_stopped: bool,
    /// Every listener that may still be told of something, for [`Status`].
    known: Vec<(Weak<ListenerState>, Weak<Queue<T>>)>,
    pub(crate) stale_events: u64,
}

/// What it takes to run the informer.
pub(crate) struct Parts<T: Object> {
    pub(crate) writer: Writer<T>,
    pub(crate) reflect: Reflect<T>,
    pub(crate) resync: Duration,
}

/// The reflector, without the type of its source.
pub(crate) type Reflect<T> =
    Box<dyn FnOnce(deltafifo::Sender<T>) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send>;

/// A listener on its way to the driver.
pub(crate) struct Arrival<T: Object> {
    pub(crate) listener: Listener<T>,
    pub(crate) resync: Option<Duration>,
    pub(crate) at: Instant,
}

impl<T: Object> SharedInformer<T> {
    /// An informer over `source`, without resync. To set more, use [`builder`](Self::builder).
    pub fn new(source: impl ListWatch<T>) -> Self
    where
        T: 'static,
    {
        Self::builder(source).build()
    }

    /// An informer over `source` with something set. What can be set there cannot be set later (CACHE-I-06).
    pub fn builder(source: impl ListWatch<T>) -> Builder<T> {
        Builder::new(source)
    }

    /// An informer that keeps what `transform` makes of each object of `source`. It may change the type; it runs once for
    /// each object that the server sends, before the object is shared. An object that it refuses fails a list, and is
    /// skipped when it comes as an event.
    pub fn transforming<In: Object>(
        source: impl ListWatch<In>,
        transform: impl FnMut(In) -> Result<T, BoxError> + Send + 'static,
    ) -> Builder<T> {
        Builder::transforming(source, transform)
    }

    pub(crate) fn assemble(hub: Arc<Hub>, reflect: Reflect<T>, resync: Duration) -> Self {
        let (writer, lister) = indexer::new();
        let lobby = Lobby {
            parts: Some(Parts { writer, reflect, resync }),
            arrivals: Vec::new(),
            is_stopped: false,
            known: Vec::new(),
            stale_events: 0,
        };
        #[expect(clippy::disallowed_types, reason = "see above")]
        let lobby = Mutex::new(lobby);
        Self { inner: Arc::new(Inner { hub, lister, lobby }) }
    }

    /// Reads the cache.
    pub fn lister(&self) -> Lister<T> {
        self.inner.lister.clone()
    }

    /// Adds an index over the cache; see [`Lister::index`].
    #[track_caller]
    pub fn index<I, V>(&self, function: impl Fn(&T) -> I + Send + 'static) -> Index<T, V>
    where
        I: IntoIterator<Item = V> + 'static,
        V: Hash + Eq + Clone + Send + Sync + 'static,
    {
        self.inner.lister.index(function)
    }

    /// Adds a handler, called on the informer's own task. It is told of every object that is there as `Added` with
    /// `is_in_initial_list`, then of everything that happens: nothing is missed and nothing told twice (CACHE-I-26).
    ///
    /// To an informer that stopped nothing can be added (CACHE-Z-10): the registration is not
    /// [active](Registration::is_active), and its `synced` says so.
    #[track_caller]
    pub fn add_handler(&self, handler: impl EventHandler<T>) -> Registration {
        self.add_handler_with(handler, HandlerOptions::default())
    }

    /// As [`add_handler`](Self::add_handler), with a name or a resync period.
    #[track_caller]
    pub fn add_handler_with(&self, handler: impl EventHandler<T>, options: HandlerOptions) -> Registration {
        self.add(Sink::Handler(Box::new(handler)), Weak::new(), options, Location::caller()).1
    }

    /// Adds a consumer that takes its notifications on a task of its own, as a stream.
    #[track_caller]
    pub fn subscribe(&self) -> Subscription<T> {
        self.subscribe_with(HandlerOptions::default())
    }

    /// As [`subscribe`](Self::subscribe), with a name or a resync period.
    #[track_caller]
    pub fn subscribe_with(&self, options: HandlerOptions) -> Subscription<T> {
        let queue = Arc::new(Queue::new());
        let (state, registration) =
            self.add(Sink::Queue(queue.clone()), Arc::downgrade(&queue), options, Location::caller());
        Subscription::new(queue, state, registration)
    }

    fn add(
        &self,
        sink: Sink<T>,
        queue: Weak<Queue<T>>,
        options: HandlerOptions,
        added_at: &Location<'_>,
    ) -> (Arc<ListenerState>, Registration) {
        let name = options.name.unwrap_or_else(|| added_at.to_string());
        let state = Arc::new(ListenerState::new(&name));
        let listener = Listener::new(state.clone(), sink, self.inner.hub.clone());
        let arrival =
            Arrival { listener, resync: options.resync, at: tokio::time::Instant::now().into_std() };
        let mut lobby = self.inner.lobby();
        if lobby.is_stopped {
            drop(lobby);
            tracing::warn!(informer = %self.inner.hub.what, handler = %name, "added to an informer that has stopped");
            drop(arrival);
        } else {
            lobby
                .known
                .retain(|(state, _)| state.upgrade().is_some_and(|state| !state.progress.borrow().is_gone));
            lobby.known.push((Arc::downgrade(&state), queue));
            lobby.arrivals.push(arrival);
            drop(lobby);
            self.inner.hub.wake.notify_one();
        }
        let home = Arc::downgrade(&self.inner);
        (state.clone(), Registration::new(home, self.inner.hub.clone(), state))
    }

    /// Waits until the cache is filled (CACHE-I-05), or says why it cannot be: an answer such as 401, 403 or 404 does
    /// not heal by itself and is given to whoever waits, while the informer goes on trying. Whoever calls again hears of
    /// the next attempt. Failures that may pass, such as a server that is down, are waited through: see
    /// [`synced_within`](Self::synced_within) and [`status`](Self::status).
    ///
    /// Handlers may be behind: [`Registration::synced`] is another fact (CACHE-Z-09). The future is independent of the
    /// informer's handle, and cancel safe.
    pub fn synced(&self) -> impl Future<Output = Result<(), NotSynced>> + Send + use<T> {
        self.inner.hub.synced()
    }

    /// As [`synced`](Self::synced), and gives up after `limit` with what went wrong last.
    pub fn synced_within(
        &self,
        limit: Duration,
    ) -> impl Future<Output = Result<(), NotSynced>> + Send + use<T> {
        let hub = self.inner.hub.clone();
        async move {
            match tokio::time::timeout(limit, hub.synced()).await {
                Ok(result) => result,
                Err(_) => Err(hub.not_synced(Why::TimedOut(limit))),
            }
        }
    }

    /// Whether the cache was filled.
    pub fn is_synced(&self) -> bool {
        self.inner.hub.progress().is_synced
    }

    /// Whether it stopped, and so will never change again.
    pub fn is_stopped(&self) -> bool {
        self.inner.hub.progress().is_stopped
    }

    /// Waits until it stopped.
    pub fn stopped(&self) -> impl Future<Output = ()> + Send + use<T> {
        let hub = self.inner.hub.clone();
        async move {
            let mut progress = hub.progress.subscribe();
            // An error cannot be: the hub keeps the sender.
            let _ = progress.wait_for(|now| now.is_stopped).await;
        }
    }

    /// The version up to which the source was read; empty before the first list (CACHE-I-07).
    pub fn last_resource_version(&self) -> ResourceVersion {
        self.inner.hub.monitor.last_resource_version()
    }

    /// What is cached, as the source describes it.
    pub fn describe(&self) -> &str {
        &self.inner.hub.what
    }

    /// What runs the informer. The first who asks gets it, and with it the duty to run it; everybody else gets `None`.
    pub fn driver(&self) -> Option<Driver<T>> {
        let parts = self.inner.lobby().parts.take()?;
        Some(Driver::new(self.inner.clone(), parts))
    }

    /// Runs the informer until `shutdown` is done. If somebody else runs it, or ran it, warns and returns at once
    /// (CACHE-I-02). Dropping the future stops the informer.
    pub fn run<S>(&self, shutdown: S) -> impl Future<Output = ()> + Send + use<T, S>
    where
        S: Future<Output = ()> + Send,
    {
        let driver = self.driver();
        let what = self.inner.hub.what.clone();
        async move {
            match driver {
                Some(driver) => driver.run(shutdown).await,
                None => {
                    tracing::warn!(informer = %what, "somebody else runs this informer, or ran it; returning");
                }
            }
        }
    }

    /// How it is.
    pub fn status(&self) -> Status {
        let hub = &self.inner.hub;
        let reflector = hub.monitor.status();
        let progress = hub.progress();
        let lobby = self.inner.lobby();
        let stale_events = lobby.stale_events;
        let known: Vec<_> =
            lobby.known.iter().filter_map(|(state, queue)| Some((state.upgrade()?, queue.clone()))).collect();
        drop(lobby);
        let listeners = known
            .into_iter()
            .filter(|(state, _)| !state.is_removed() && !state.progress.borrow().is_gone)
            .map(|(state, queue)| ListenerStatus {
                name: state.name.clone(),
                is_synced: state.progress.borrow().is_synced,
                told: state.told.load(std::sync::atomic::Ordering::Relaxed),
                backlog: queue.upgrade().map_or(0, |queue| queue.len()),
                panics: state.panics.load(std::sync::atomic::Ordering::Relaxed),
            })
            .collect();
        Status {
            what: hub.what.clone(),
            state: match progress {
                _ if progress.is_stopped => State::Stopped,
                _ if progress.is_started => State::Running,
                _ => State::Created,
            },
            is_synced: progress.is_synced,
            phase: reflector.phase,
            objects: self.inner.lister.len(),
            resource_version: self.inner.lister.resource_version(),
            last_error: reflector.last_error,
            failures: reflector.failures,
            reflector: hub.monitor.counters(),
            index_failures: self.inner.lister.index_failures(),
            stale_events,
            listeners,
        }
    }
}

impl<T: Object> Inner<T> {
    pub(crate) fn lobby(&self) -> MutexGuard<'_, Lobby<T>> {
        self.lobby.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// No listener is taken any more; those on their way are gone (CACHE-Z-10).
    pub(crate) fn stop(&self) {
        let mut lobby = self.lobby();
        lobby.is_stopped = true;
        let arrivals = std::mem::take(&mut lobby.arrivals);
        drop(lobby);
        self.hub.progress.send_modify(|now| now.is_stopped = true);
        drop(arrivals);
    }
}

/// Nobody is left who could run it.
impl<T: Object> Drop for Inner<T> {
    fn drop(&mut self) {
        self.hub.progress.send_modify(|now| now.is_stopped = true);
    }
}

impl<T: Object> Home for Inner<T> {
    fn handle_removal(&self) {
        let mut lobby = self.lobby();
        let (removed, stay) = std::mem::take(&mut lobby.arrivals)
            .into_iter()
            .partition::<Vec<_>, _>(|arrival| arrival.listener.state.is_removed());
        lobby.arrivals = stay;
        drop(lobby);
        drop(removed);
        self.hub.wake.notify_one();
    }
}

impl<T: Object> Clone for SharedInformer<T> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone() }
    }
}

impl<T: Object> std::fmt::Debug for SharedInformer<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SharedInformer").field("what", &self.describe()).finish_non_exhaustive()
    }
}
