//! The shell: one future that sends what the core asks for, and hands on what the core makes of the answers.

use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use apimachinery::{BoxError, ListWatch, Object};
use deltafifo::{Delta, SendError, Sender};
use flowcontrol::{Jitter, Random};
use futures_core::Stream;
use tokio::sync::watch;
use tokio::time::Sleep;

use crate::core::Kept;
use crate::status::Progress;
use crate::{Config, Monitor, Note, ReflectorCore, ReflectorError, Request, Status};

/// How many events are read before other tasks get their turn.
const TURN: usize = 256;

/// Keeps a queue in step with one collection of the server: client-go's `Reflector`.
///
/// `In` is what the source gives, `Out` what is kept: the same, unless there is a transform.
pub struct Reflector<S, In, Out = In> {
    source: S,
    config: Config,
    kept: Kept<In, Out>,
    jitter: Box<dyn Jitter + Send>,
    on_error: Option<OnError>,
    on_handled: Option<OnError>,
    status: watch::Sender<Status>,
    progress: Arc<Progress>,
}

type OnError = Box<dyn FnMut(&Arc<ReflectorError>) + Send>;

impl<S: ListWatch<T>, T: Object> Reflector<S, T> {
    /// A reflector of `source`. Nothing is asked before [`Reflector::run`].
    pub fn new(source: S, config: Config) -> Self {
        Self {
            source,
            config,
            kept: Kept::AsIs(std::convert::identity),
            jitter: Box::new(Random::unseeded()),
            on_error: None,
            on_handled: None,
            status: watch::Sender::new(Status::default()),
            progress: Arc::default(),
        }
    }

    /// Keeps what `transform` makes of each object: once for each that the server sends, before it is shared. It may
    /// change the type. An object that it refuses fails a list; of a watch, that event is skipped and told
    /// (CACHE-R-61).
    pub fn transform<Out: Object>(
        self,
        transform: impl FnMut(T) -> Result<Out, BoxError> + Send + 'static,
    ) -> Reflector<S, T, Out> {
        Reflector {
            source: self.source,
            config: self.config,
            kept: Kept::Transformed(Box::new(transform)),
            jitter: self.jitter,
            on_error: self.on_error,
            on_handled: self.on_handled,
            status: self.status,
            progress: self.progress,
        }
    }
}

impl<S: ListWatch<In>, In: Object, Out: Object> Reflector<S, In, Out> {
    /// Where the fractions come from that spread rests and watch timeouts; for tests.
    #[must_use]
    pub fn jitter(mut self, jitter: impl Jitter + Send + 'static) -> Self {
        self.jitter = Box::new(jitter);
        self
    }

    /// Is told of each cycle that failed: a list, a watch that cannot be opened, a collection that cannot be handed on.
    /// Of nothing else (CACHE-R-11). It runs on the reflector's own task: it must be quick, and cannot stop anything:
    /// a panic of it is logged, and it is told of the next failure.
    #[must_use]
    pub fn on_error(mut self, f: impl FnMut(&Arc<ReflectorError>) + Send + 'static) -> Self {
        self.on_error = Some(Box::new(f));
        self
    }

    /// Is told of everything else that went wrong and was dealt with: watches that ended with an error or were refused
    /// for now, objects that were skipped (CACHE +R7). Where it runs and what a panic does: as [`on_error`](Self::on_error).
    #[must_use]
    pub fn on_handled(mut self, f: impl FnMut(&Arc<ReflectorError>) + Send + 'static) -> Self {
        self.on_handled = Some(Box::new(f));
        self
    }

    /// A look at it, from anywhere, before and while it runs and after.
    pub fn monitor(&self) -> Monitor {
        Monitor { status: self.status.subscribe(), progress: Arc::clone(&self.progress) }
    }

    /// Lists, watches and hands on, until the receiver of the deltas is gone.
    ///
    /// It starts no task: decoding, deciding and handing on happen where this future is polled. Cancel safe: dropped, it
    /// drops its request or stream and its timer, and the queue keeps what was handed on. A panic of the source or of
    /// the transform is the caller's (CACHE-R-34).
    #[expect(
        clippy::manual_async_fn,
        reason = "so that a future that cannot be spawned does not compile here"
    )]
    pub fn run(self, sender: Sender<Out>) -> impl Future<Output = ()> + Send {
        async move {
            let what: Arc<str> = self.source.describe().into();
            let watch_list = self.source.supports_watch_list();
            let core = ReflectorCore::keeping(what, self.config, watch_list, self.jitter, self.kept);
            let mut outlet = Outlet {
                core,
                sender,
                held: None,
                status: self.status,
                progress: self.progress,
                on_error: self.on_error,
                on_handled: self.on_handled,
                timer: Timer::default(),
            };
            // Nothing but the end of the receiver ends it.
            let Err(Closed) = run(&self.source, &mut outlet).await;
        }
    }
}

/// The receiver is gone.
struct Closed;

async fn run<S, In, Out>(source: &S, outlet: &mut Outlet<In, Out>) -> Result<std::convert::Infallible, Closed>
where
    S: ListWatch<In>,
    In: Object,
    Out: Object,
{
    loop {
        outlet.hand_on().await?;
        match outlet.core.poll_request(now()) {
            None => outlet.rest().await?,
            Some(Request::List(options)) => {
                outlet.publish();
                let answer = outlet.until_closed(source.list(&options)).await?;
                match answer {
                    Ok(page) => outlet.core.handle_page(now(), page),
                    Err(error) => outlet.core.handle_list_error(now(), error),
                }
            }
            Some(Request::Watch(options)) => {
                outlet.publish();
                // `None`: the core did not want to wait longer; the request is dropped.
                match outlet.while_wanted(source.watch(&options)).await? {
                    Some(Ok(events)) => {
                        outlet.core.handle_opened(now());
                        outlet.publish();
                        outlet.follow(pin!(events)).await?;
                    }
                    Some(Err(error)) => outlet.core.handle_watch_error(now(), error),
                    None => {}
                }
            }
        }
        outlet.publish();
    }
}

/// The core, and everything that what it says goes to.
struct Outlet<In, Out> {
    core: ReflectorCore<In, Out>,
    sender: Sender<Out>,
    /// A delta for which there was no room.
    held: Option<Delta<Out>>,
    status: watch::Sender<Status>,
    progress: Arc<Progress>,
    on_error: Option<OnError>,
    on_handled: Option<OnError>,
    timer: Timer,
}

impl<In: Object, Out: Object> Outlet<In, Out> {
    /// Reads the stream for as long as the core wants it.
    ///
    /// What is ready is read in one go: its deltas are queued one by one, the consumer is woken and the version is
    /// published once at the end. While there is no room, nothing is read.
    async fn follow<E>(&mut self, mut events: Pin<&mut E>) -> Result<(), Closed>
    where
        E: Stream<Item = Result<apimachinery::WatchEvent<In>, apimachinery::ApiError>>,
    {
        poll_fn(|cx| {
            let result = self.poll_follow(cx, events.as_mut());
            self.publish();
            self.sender.flush();
            result
        })
        .await
    }

    fn poll_follow<E>(&mut self, cx: &mut Context<'_>, mut events: Pin<&mut E>) -> Poll<Result<(), Closed>>
    where
        E: Stream<Item = Result<apimachinery::WatchEvent<In>, apimachinery::ApiError>>,
    {
        if self.sender.poll_closed(cx).is_ready() {
            return Poll::Ready(Err(Closed));
        }
        // What waited for room comes first.
        if let Err(Closed) = std::task::ready!(self.poll_hand_on(cx)) {
            return Poll::Ready(Err(Closed));
        }
        let read_at = now();
        for _ in 0..TURN {
            if !self.core.holds_stream() {
                return Poll::Ready(Ok(()));
            }
            match events.as_mut().poll_next(cx) {
                Poll::Ready(Some(Ok(event))) => self.core.handle_event(read_at, event),
                Poll::Ready(Some(Err(error))) => self.core.handle_watch_error(read_at, error),
                Poll::Ready(None) => self.core.handle_watch_end(read_at),
                Poll::Pending => {
                    std::task::ready!(self.timer.poll(cx, self.core.poll_timeout()));
                    self.core.handle_timeout(now());
                }
            }
            if let Err(Closed) = std::task::ready!(self.poll_hand_on(cx)) {
                return Poll::Ready(Err(Closed));
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Waits for an answer, for as long as the core wants it.
    async fn while_wanted<F: Future>(&mut self, future: F) -> Result<Option<F::Output>, Closed> {
        let mut future = pin!(future);
        poll_fn(|cx| {
            if self.sender.poll_closed(cx).is_ready() {
                return Poll::Ready(Err(Closed));
            }
            loop {
                if let Poll::Ready(answer) = future.as_mut().poll(cx) {
                    return Poll::Ready(Ok(Some(answer)));
                }
                if self.timer.poll(cx, self.core.poll_timeout()).is_pending() {
                    return Poll::Pending;
                }
                self.core.handle_timeout(now());
                self.publish();
                if !self.core.holds_stream() {
                    return Poll::Ready(Ok(None));
                }
            }
        })
        .await
    }

    async fn until_closed<F: Future>(&mut self, future: F) -> Result<F::Output, Closed> {
        let mut future = pin!(future);
        poll_fn(|cx| match self.sender.poll_closed(cx) {
            Poll::Ready(()) => Poll::Ready(Err(Closed)),
            Poll::Pending => future.as_mut().poll(cx).map(Ok),
        })
        .await
    }

    /// Waits until the core has something to do.
    async fn rest(&mut self) -> Result<(), Closed> {
        let until = self.core.poll_timeout();
        poll_fn(|cx| {
            if self.sender.poll_closed(cx).is_ready() {
                return Poll::Ready(Err(Closed));
            }
            self.timer.poll(cx, until).map(Ok)
        })
        .await?;
        self.core.handle_timeout(now());
        Ok(())
    }

    async fn hand_on(&mut self) -> Result<(), Closed> {
        poll_fn(|cx| self.poll_hand_on(cx)).await?;
        self.publish();
        self.sender.flush();
        Ok(())
    }

    /// Queues the deltas that are there.
    fn poll_hand_on(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Closed>> {
        while let Some(delta) = self.held.take().or_else(|| self.core.poll_delta()) {
            match self.sender.feed(delta) {
                Ok(()) => {}
                Err(SendError::Full(delta)) => {
                    self.held = Some(delta);
                    if self.sender.poll_ready(cx).is_pending() {
                        return Poll::Pending;
                    }
                }
                Err(_) => return Poll::Ready(Err(Closed)),
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Tells how it is: what was handed on, and what people should know.
    fn publish(&mut self) {
        if self.held.is_none() {
            self.progress.write(self.core.last_resource_version(), self.core.counters());
        }
        while let Some(note) = self.core.poll_note() {
            self.tell(&note);
        }
        if let Some(status) = self.core.poll_status() {
            self.status.send_replace(status);
        }
    }

    fn tell(&mut self, note: &Note) {
        let handler = match note {
            Note::Failed(error) => {
                // What a server says of old versions, or a server that goes away, is daily bread (CACHE-R-12).
                let is_usual = error.api_error().is_some_and(|why| why.is_expired() || why.is_probable_eof());
                if is_usual {
                    tracing::debug!(error = %Chain(error), "the cycle failed");
                } else {
                    tracing::warn!(error = %Chain(error), "the cycle failed");
                }
                Some((&mut self.on_error, error))
            }
            Note::Handled(error) => {
                tracing::debug!(error = %Chain(error), "handled");
                Some((&mut self.on_handled, error))
            }
            Note::WaitingForInitialEvents { silent_for, waited } => {
                tracing::warn!(?silent_for, ?waited, "the initial events of the watch have not ended");
                None
            }
            Note::SlowList { took, objects } => {
                tracing::info!(?took, objects, "a slow list");
                None
            }
        };
        if let Some((Some(handler), error)) = handler
            && catch_unwind(AssertUnwindSafe(|| handler(error))).is_err()
        {
            tracing::error!(error = %Chain(error), "the handler of errors panicked; it is told of the next one");
        }
    }
}

/// One timer, moved only when the deadline moves.
#[derive(Default)]
struct Timer {
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Timer {
    /// Ready when `at` has come; never for `None`.
    fn poll(&mut self, cx: &mut Context<'_>, at: Option<Instant>) -> Poll<()> {
        let Some(at) = at.map(tokio::time::Instant::from_std) else { return Poll::Pending };
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(at)));
        if sleep.deadline() != at {
            sleep.as_mut().reset(at);
        }
        sleep.as_mut().poll(cx)
    }
}

/// The clock, which a test may pause.
fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

/// An error and its causes in one line.
struct Chain<'a>(&'a ReflectorError);

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let mut cause = std::error::Error::source(self.0);
        while let Some(error) = cause {
            write!(f, ": {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}

impl<S, In, Out> fmt::Debug for Reflector<S, In, Out> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reflector").field("config", &self.config).finish_non_exhaustive()
    }
}
