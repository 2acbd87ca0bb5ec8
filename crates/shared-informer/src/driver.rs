//! [`Driver`]: the one future that reads the source, changes the cache and tells the listeners.

use std::future::Future;
use std::num::NonZeroUsize;
use std::pin::pin;
use std::sync::Arc;
use std::time::Instant;

use apimachinery::Object;
use deltafifo::{Batch, ObjectDelta};
use indexer::{Change, Write, Writer};

use crate::distribution::{Distribution, PeriodChange, Routed};
use crate::informer::{Arrival, Inner, Parts};
use crate::listener::Listener;
use crate::quiet::quiet;

/// How many deltas are read before they are applied. Both ends of the queue are this task: a deep queue would absorb no
/// stall. With a short one, what the cache lets go of is still in the processor's cache when the next objects are decoded
/// into the same memory.
const BATCH: NonZeroUsize = NonZeroUsize::new(16).unwrap();

/// How many notifications are told to one listener before the next one hears of them.
const PART: usize = 256;

/// How many deltas are applied and told before other tasks get their turn.
const TURN: usize = 256;

/// What runs an informer: whoever holds it owns the informer's life. Dropping it, run or not, stops the informer.
#[must_use = "an informer does nothing unless its driver runs"]
pub struct Driver<T: Object> {
    parts: Parts<T>,
    stop: Stop<T>,
}

impl<T: Object> Driver<T> {
    pub(crate) fn new(inner: Arc<Inner<T>>, parts: Parts<T>) -> Self {
        Self { parts, stop: Stop { inner } }
    }

    /// Runs the informer until `shutdown` is done, on the task that polls this.
    ///
    /// At the end the source is let go first, then the listeners: none is called after this returned (CACHE-I-03,
    /// CACHE-I-04), and what was read and not applied by then is dropped (CACHE-C-08).
    pub async fn run(self, shutdown: impl Future<Output = ()> + Send) {
        // What wakes what in here is nobody's business but ours.
        quiet(self.drive(shutdown)).await;
    }

    async fn drive(self, shutdown: impl Future<Output = ()> + Send) {
        let Self { parts: Parts { writer, reflect, resync }, stop } = self;
        let inner = stop.inner.clone();
        let hub = inner.hub.clone();
        hub.progress.send_modify(|now| now.is_started = true);
        let (sender, mut receiver) = deltafifo::channel(BATCH);
        // Dropped in the opposite order: the source, what it sent, the listeners; then the informer is stopped. The
        // whole is the same whether `shutdown` came or this future was dropped.
        let mut running = Running { inner: inner.clone(), writer, listeners: Distribution::new(resync) };
        running.admit(now());
        running.listeners.handle_start();
        let mut reflector = reflect(sender);
        let mut shutdown = pin!(shutdown);
        let mut timer = pin!(tokio::time::sleep_until(tokio::time::Instant::now()));
        let mut since_pause = 0;

        loop {
            // The source is ready again as soon as its deltas are taken: a stream without a pause would never leave this
            // loop, and on a runtime of one thread whoever wants to stop it would never be heard.
            if since_pause >= TURN {
                since_pause = 0;
                tokio::task::yield_now().await;
            }
            let alarm = running.listeners.poll_timeout().map(tokio::time::Instant::from_std);
            if let Some(alarm) = alarm
                && timer.deadline() != alarm
            {
                timer.as_mut().reset(alarm);
            }
            // Rare things first, so that a stream without a pause does not starve them. Reading the source before its
            // deltas are taken lets one poll go from the socket to the listeners.
            tokio::select! {
                biased;
                () = &mut shutdown => break,
                () = hub.wake.notified() => running.admit(now()),
                () = &mut timer, if alarm.is_some() => running.handle_timeout(now()),
                () = &mut reflector => {
                    tracing::error!(informer = %hub.what, "the reflector ended by itself; the informer stops");
                    break;
                }
                batch = receiver.recv_batch() => match batch {
                    Some(batch) => {
                        since_pause += weight(&batch);
                        running.handle_batch(batch, now());
                    }
                    None => break,
                },
            }
        }
        drop(reflector);
        drop(receiver);
        drop(running);
        drop(stop);
    }
}

/// Marks the informer as stopped, whichever way its driver goes.
struct Stop<T: Object> {
    inner: Arc<Inner<T>>,
}

impl<T: Object> Drop for Stop<T> {
    fn drop(&mut self) {
        self.inner.stop();
    }
}

/// The cache and its listeners, all changed by one task: between two calls, what was applied was also told.
struct Running<T: Object> {
    inner: Arc<Inner<T>>,
    writer: Writer<T>,
    listeners: Distribution<Listener<T>>,
}

impl<T: Object> Running<T> {
    fn handle_batch(&mut self, batch: Batch<T>, now: Instant) {
        match batch {
            Batch::Objects(deltas) => {
                let writes = deltas.into_iter().map(|keyed| match keyed.delta {
                    ObjectDelta::Added(object) | ObjectDelta::Updated(object) => {
                        Write::Upsert { key: keyed.key, object }
                    }
                    ObjectDelta::Deleted(last) => Write::Remove { key: keyed.key, last },
                });
                let stale = self.writer.stale_writes();
                let changes = self.writer.apply(writes);
                if self.writer.stale_writes() != stale {
                    let stale = self.writer.stale_writes();
                    tracing::warn!(informer = %self.inner.hub.what, stale, "the source sent a state older than the cached one");
                    self.inner.lobby().stale_events = stale;
                }
                self.distribute(changes);
            }
            Batch::Replaced { items, unreadable, resource_version } => {
                let changes = self.writer.replace(items, unreadable, resource_version);
                self.distribute(changes);
                if self.listeners.handle_filled(now) {
                    for member in self.listeners.members() {
                        member.listener.end_of_initial_list();
                    }
                    self.inner.hub.progress.send_modify(|now| now.is_synced = true);
                }
            }
            Batch::Bookmark(resource_version) => self.writer.bookmark(resource_version),
        }
    }

    fn distribute(&self, changes: Vec<Change<T>>) {
        if self.listeners.members().is_empty() {
            return;
        }
        let initial = self.listeners.is_initial();
        let capacity = changes.len().min(PART);
        // Nobody heard of what the cache never had, so nobody hears that it is gone.
        let told = changes.into_iter().filter(|change| !matches!(change, Change::Removed { old: None, .. }));
        let mut told = told.map(|change| Routed::of(change, initial)).peekable();
        // A whole collection in parts: what was told of is let go of before the next is made.
        let mut routed = Vec::with_capacity(capacity);
        while told.peek().is_some() {
            routed.clear();
            routed.extend(told.by_ref().take(PART));
            self.tell(&routed);
        }
    }

    fn tell(&self, routed: &[Routed<T>]) {
        if !routed.is_empty() {
            for member in self.listeners.members() {
                member.tell(routed);
            }
        }
    }

    /// Tells the cached objects again to those who are due (CACHE-C-05).
    fn handle_timeout(&mut self, now: Instant) {
        if self.listeners.handle_timeout(now) {
            let routed: Vec<Routed<T>> = self.inner.lister.list().into_iter().map(Routed::resync).collect();
            self.tell(&routed);
        }
    }

    /// Lets go of listeners that were removed and takes in those that came. They are caught up with the cache as it is
    /// now; nothing is applied meanwhile, because this task is the one that applies.
    fn admit(&mut self, now: Instant) {
        self.listeners.retain(|listener| !listener.state.is_removed());
        let arrivals = std::mem::take(&mut self.inner.lobby().arrivals);
        for Arrival { listener, resync, at } in arrivals {
            let name = listener.state.name.clone();
            let joined = self.listeners.join(listener, resync, at.min(now));
            let what = &self.inner.hub.what;
            match joined.resync {
                None => {}
                Some(PeriodChange::Never) => {
                    tracing::warn!(informer = %what, handler = %name, "wants a resync, but the informer does not resync");
                }
                Some(PeriodChange::Raised { from, to }) => {
                    tracing::warn!(informer = %what, handler = %name, ?from, ?to, "resync period raised to the informer's");
                }
            }
            if joined.replay
                && let Some(member) = self.listeners.members().last()
            {
                for object in self.inner.lister.list() {
                    member.listener.tell(&Routed::added(object, true));
                }
                member.listener.end_of_initial_list();
            }
        }
    }
}

/// How much work a batch is, in deltas.
fn weight<T>(batch: &Batch<T>) -> usize {
    match batch {
        Batch::Objects(deltas) => deltas.len(),
        Batch::Replaced { .. } => TURN,
        Batch::Bookmark(_) => 1,
    }
}

fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}
