//! The connections that requests share: HTTP/1.1 one request at a time, HTTP/2 many.

#![expect(
    clippy::disallowed_types,
    reason = "the pool is a shell: one lock, held for a moment, never while waiting"
)]

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use apimachinery::{ApiError, ConnectKind};
use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::{http1, http2};
use hyper::rt::Executor;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use super::connect::{Connected, Signs};
use super::fault;
use crate::ConnectionOptions;

pub(super) type Http1 = http1::SendRequest<Full<Bytes>>;
pub(super) type Http2 = http2::SendRequest<Full<Bytes>>;

/// A used connection is ready again as soon as its task has seen the end of the answer; one that takes longer is left.
const READY_AGAIN: Duration = Duration::from_millis(100);
/// The server says how many streams it takes as soon as it speaks; one that does not is taken at the assumption.
const SETTINGS_WITHIN: Duration = Duration::from_secs(1);
/// How many streams are assumed until then. No round number, so that it is seen when the server has spoken.
const ASSUMED_STREAMS: usize = 97;
/// A request that is given up after this much silence of its connection makes that a suspect.
const SUSPICIOUS: Duration = Duration::from_secs(1);

/// Shared connections to one server, and the tasks that drive them. Dropping it ends them.
#[derive(Debug)]
pub(super) struct Pool {
    options: ConnectionOptions,
    host: String,
    state: Mutex<State>,
    /// What drives connections.
    tasks: Arc<Mutex<JoinSet<()>>>,
    /// What keeps house: closes idle connections, looks at files.
    chores: Mutex<JoinSet<()>>,
    /// Whoever opens a connection that others can use too holds this.
    opening: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct State {
    idle: Vec<Idle>,
    http2: Vec<Many>,
    /// What the last connection spoke.
    speaks_http2: Option<bool>,
    /// How many connections could not be opened: whoever waited for one of them goes on alone.
    failed: u64,
    /// Counts what must not be mixed: connections with an older identity are not used again.
    generation: u64,
    reaping: bool,
    /// Ends of the dedicated connections: dropping one closes it.
    dedicated: Vec<oneshot::Sender<()>>,
}

#[derive(Debug)]
struct Idle {
    sender: Http1,
    since: Instant,
}

#[derive(Debug)]
struct Many {
    shared: Arc<SharedHttp2>,
    in_flight: usize,
    idle_since: Instant,
}

#[derive(Debug)]
pub(super) struct SharedHttp2 {
    sender: Http2,
    signs: Arc<Signs>,
    /// No new requests; those on it go on until it proves dead or alive.
    suspect: AtomicBool,
    /// How many requests the server takes at once.
    max_streams: Arc<AtomicUsize>,
}

/// The use of a shared connection, for one request.
#[derive(Debug)]
pub(super) enum Lease {
    Http1 { sender: Http1, pool: Arc<Pool>, reused: bool, generation: u64 },
    Http2(Http2Lease),
}

#[derive(Debug)]
pub(super) struct Http2Lease {
    shared: Arc<SharedHttp2>,
    pool: Arc<Pool>,
    since: Instant,
    /// Has the server answered?
    answered: bool,
}

impl Pool {
    pub(super) fn new(options: ConnectionOptions, host: String) -> Arc<Self> {
        Arc::new(Pool {
            options,
            host,
            state: Mutex::default(),
            tasks: Arc::default(),
            chores: Mutex::default(),
            opening: tokio::sync::Mutex::default(),
        })
    }

    /// A connection that is there, or the one that `connect` opens. With `fresh`, no HTTP/1.1 connection that has
    /// been used before. Dropping the future leaves nothing behind.
    pub(super) async fn lease<F>(
        self: &Arc<Self>,
        fresh: bool,
        connect: impl Fn() -> F,
    ) -> Result<Lease, ApiError>
    where
        F: Future<Output = Result<Connected, ApiError>>,
    {
        if let Some(lease) = self.existing(fresh).await {
            return Ok(lease);
        }
        let (speaks_http2, failed) = {
            let state = self.state();
            (state.speaks_http2, state.failed)
        };
        if speaks_http2 == Some(false) {
            return self.open(connect().await?).await;
        }
        // One opens, the others wait: they will probably share what comes.
        let opening = self.opening.lock().await;
        if self.state().failed != failed {
            drop(opening);
            return self.open(connect().await?).await;
        }
        if let Some(lease) = self.existing(fresh).await {
            return Ok(lease);
        }
        let opened = match connect().await {
            Ok(connected) => self.open(connected).await,
            Err(error) => Err(error),
        };
        if opened.is_err() {
            self.state().failed += 1;
        }
        drop(opening);
        opened
    }

    async fn existing(self: &Arc<Self>, fresh: bool) -> Option<Lease> {
        loop {
            let (mut idle, generation) = {
                let now = Instant::now();
                let mut state = self.state();
                state.http2.retain(|many| {
                    let usable = !many.shared.sender.is_closed();
                    usable && (many.in_flight > 0 || !many.shared.suspect.load(Ordering::Relaxed))
                });
                let free = state.http2.iter_mut().find(|many| {
                    !many.shared.suspect.load(Ordering::Relaxed)
                        && many.in_flight < many.shared.max_streams.load(Ordering::Relaxed).max(1)
                });
                if let Some(many) = free {
                    many.in_flight += 1;
                    return Some(Lease::Http2(Http2Lease::new(&many.shared, self, now)));
                }
                if fresh {
                    return None;
                }
                let too_old = self.options.idle_timeout;
                state
                    .idle
                    .retain(|idle| !idle.sender.is_closed() && now.duration_since(idle.since) < too_old);
                (state.idle.pop()?, state.generation)
            };
            if let Ok(Ok(())) = timeout(READY_AGAIN, idle.sender.ready()).await {
                let pool = Arc::clone(self);
                return Some(Lease::Http1 { sender: idle.sender, pool, reused: true, generation });
            }
        }
    }

    async fn open(self: &Arc<Self>, connected: Connected) -> Result<Lease, ApiError> {
        let io = TokioIo::new(connected.stream);
        let other = |error: hyper::Error| fault::connect(&self.host, ConnectKind::Other, error);
        if connected.http2 {
            let mut builder = http2::Builder::new(Spawner(Arc::downgrade(&self.tasks)));
            builder
                .timer(TokioTimer::new())
                .initial_stream_window_size(4 << 20)
                .initial_connection_window_size(16 << 20)
                .max_frame_size(1 << 18)
                .initial_max_send_streams(ASSUMED_STREAMS)
                .keep_alive_interval(self.options.http2_read_idle)
                .keep_alive_timeout(self.options.http2_ping_timeout)
                .keep_alive_while_idle(true);
            let (sender, connection) = builder.handshake(io).await.map_err(other)?;
            // A watch beyond the limit would wait behind it for as long as the others live. So whoever waits for this
            // connection waits for the server's word, too, which comes with its first bytes; nobody tells that it did.
            let settled = async {
                let mut pause = Duration::from_millis(1);
                while connection.current_max_send_streams() == ASSUMED_STREAMS && !sender.is_closed() {
                    tokio::time::sleep(pause).await;
                    pause *= 2;
                }
            };
            if timeout(SETTINGS_WITHIN, settled).await.is_err() {
                tracing::debug!(host = self.host, "the server does not say how many streams it takes");
            }
            let max_streams = Arc::new(AtomicUsize::new(connection.current_max_send_streams()));
            let limit = Arc::clone(&max_streams);
            let mut connection = Box::pin(connection);
            spawn(
                &self.tasks,
                std::future::poll_fn(move |cx| {
                    let polled = connection.as_mut().poll(cx);
                    limit.store(connection.current_max_send_streams(), Ordering::Relaxed);
                    polled.map(|done| {
                        if let Err(error) = done {
                            tracing::debug!(%error, "an HTTP/2 connection ended");
                        }
                    })
                }),
            );
            let suspect = AtomicBool::new(false);
            let shared = Arc::new(SharedHttp2 { sender, signs: connected.signs, suspect, max_streams });
            let now = Instant::now();
            let lease = Http2Lease::new(&shared, self, now);
            let mut state = self.state();
            state.speaks_http2 = Some(true);
            state.http2.push(Many { shared, in_flight: 1, idle_since: now });
            return Ok(Lease::Http2(lease));
        }
        let (sender, connection) = http1::Builder::new().handshake(io).await.map_err(other)?;
        spawn(&self.tasks, async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "an HTTP/1.1 connection ended");
            }
        });
        let mut state = self.state();
        state.speaks_http2 = Some(false);
        let generation = state.generation;
        Ok(Lease::Http1 { sender, pool: Arc::clone(self), reused: false, generation })
    }

    /// Runs this until it ends or the pool is dropped.
    pub(super) fn keep_house(&self, task: impl Future<Output = ()> + Send + 'static) {
        spawn(&self.chores, task);
    }

    /// A dedicated connection lives until this resolves.
    pub(super) fn register_dedicated(&self) -> oneshot::Receiver<()> {
        let (end, ended) = oneshot::channel();
        let mut state = self.state();
        if state.dedicated.len() == state.dedicated.capacity() {
            state.dedicated.retain(|end| !end.is_closed());
        }
        state.dedicated.push(end);
        ended
    }

    /// Closes every connection, whatever runs on it: our identity has changed.
    pub(super) fn close_all(&self) {
        {
            let mut state = self.state();
            state.generation += 1;
            state.idle.clear();
            state.http2.clear();
            state.dedicated.clear();
        }
        lock(&self.tasks).abort_all();
    }

    /// Closes the connections that nobody uses; the others are not used again.
    pub(super) fn close_idle(&self) {
        let mut state = self.state();
        state.generation += 1;
        state.idle.clear();
        state.http2.clear();
    }

    fn keep(self: &Arc<Self>, sender: Http1, generation: u64) {
        let mut state = self.state();
        if sender.is_closed() || generation != state.generation || state.idle.len() >= self.options.max_idle {
            return;
        }
        state.idle.push(Idle { sender, since: Instant::now() });
        self.reap_later(&mut state);
    }

    fn give_back(self: &Arc<Self>, shared: &Arc<SharedHttp2>) {
        let mut state = self.state();
        let Some(many) = state.http2.iter_mut().find(|many| Arc::ptr_eq(&many.shared, shared)) else {
            return;
        };
        many.in_flight -= 1;
        many.idle_since = Instant::now();
        self.reap_later(&mut state);
    }

    fn forget(&self, shared: &Arc<SharedHttp2>) {
        self.state().http2.retain(|many| !Arc::ptr_eq(&many.shared, shared));
    }

    /// Sees to it that idle connections do not stay open for ever.
    fn reap_later(self: &Arc<Self>, state: &mut State) {
        // An answer may be dropped outside of the runtime; then whoever uses the pool next sees to it.
        if state.reaping || tokio::runtime::Handle::try_current().is_err() {
            return;
        }
        state.reaping = true;
        let pool: Weak<Pool> = Arc::downgrade(self);
        let every = self.options.idle_timeout;
        self.keep_house(async move {
            loop {
                tokio::time::sleep(every).await;
                let Some(pool) = pool.upgrade() else { return };
                let now = Instant::now();
                let mut state = pool.state();
                state.idle.retain(|idle| now.duration_since(idle.since) < every);
                state.http2.retain(|many| many.in_flight > 0 || now.duration_since(many.idle_since) < every);
                if state.idle.is_empty() && state.http2.iter().all(|many| many.in_flight > 0) {
                    state.reaping = false;
                    return;
                }
            }
        });
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

impl Lease {
    /// The answer is whole: others may use the connection.
    pub(super) fn finish(self) {
        if let Lease::Http1 { sender, pool, generation, .. } = self {
            pool.keep(sender, generation);
        }
    }
}

impl Http2Lease {
    fn new(shared: &Arc<SharedHttp2>, pool: &Arc<Pool>, now: Instant) -> Self {
        Http2Lease { shared: Arc::clone(shared), pool: Arc::clone(pool), since: now, answered: false }
    }

    pub(super) fn sender(&self) -> Http2 {
        self.shared.sender.clone()
    }

    pub(super) fn handle_answer(&mut self) {
        self.answered = true;
    }

    /// Has the server refused our certificate?
    pub(super) fn is_refused(&self) -> bool {
        self.shared.signs.is_refused()
    }

    /// Nobody shall use this connection again.
    pub(super) fn condemn(&mut self) {
        self.pool.forget(&self.shared);
    }
}

impl Drop for Http2Lease {
    fn drop(&mut self) {
        let silence = self.shared.signs.silence().min(self.since.elapsed());
        if !self.answered && silence >= SUSPICIOUS {
            self.shared.suspect.store(true, Ordering::Relaxed);
        }
        self.pool.give_back(&self.shared);
    }
}

/// Runs hyper's tasks as the pool's own.
#[derive(Clone)]
struct Spawner(Weak<Mutex<JoinSet<()>>>);

impl<F> Executor<F> for Spawner
where
    F: Future + Send + 'static,
{
    fn execute(&self, task: F) {
        if let Some(tasks) = self.0.upgrade() {
            spawn(&tasks, async move {
                task.await;
            });
        }
    }
}

fn spawn(tasks: &Mutex<JoinSet<()>>, task: impl Future<Output = ()> + Send + 'static) {
    let mut tasks = lock(tasks);
    while tasks.try_join_next().is_some() {}
    tasks.spawn(task);
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
