//! The shell: the queue behind one lock, an end that waits for room and an end that waits for deltas.

use std::fmt;
use std::future::poll_fn;
use std::num::NonZeroUsize;
#[expect(
    clippy::disallowed_types,
    reason = "this shell's one lock; it is never held across a wake or a drop"
)]
use std::sync::Mutex;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use apimachinery::Object;

use crate::queue::Entry;
use crate::{Batch, Delta, DeltaFifo};

/// A queue of up to `capacity` deltas between one producer and one consumer.
pub fn channel<T: Object>(capacity: NonZeroUsize) -> (Sender<T>, Receiver<T>) {
    let shared = Arc::new(Shared {
        #[expect(clippy::disallowed_types, reason = "see above")]
        state: Mutex::new(State {
            queue: DeltaFifo::new(capacity),
            sender: None,
            receiver: None,
            sender_gone: false,
            receiver_gone: false,
        }),
    });
    (Sender { shared: Arc::clone(&shared), unannounced: false }, Receiver { shared })
}

/// The producer's end. Dropped, it lets the consumer drain what is queued.
///
/// Not `Clone`: one producer, or there would be no order to keep.
pub struct Sender<T> {
    shared: Arc<Shared<T>>,
    /// Whether something was fed of which the consumer was not told.
    unannounced: bool,
}

/// The consumer's end. Dropped, it throws away what is queued, and every later send fails.
///
/// Not `Clone`: one consumer, by ownership.
pub struct Receiver<T> {
    shared: Arc<Shared<T>>,
}

/// A delta that could not be queued; it comes back.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum SendError<T> {
    /// The consumer is gone: nobody will ever read this.
    #[error("the receiver of the deltas is gone")]
    Closed(Delta<T>),
    /// There is no room now.
    #[error("the queue of deltas is full")]
    Full(Delta<T>),
}

impl<T: Object> Sender<T> {
    /// Queues a delta and tells the consumer; waits while the queue is full.
    ///
    /// # Errors
    /// [`SendError::Closed`] when the consumer is gone.
    ///
    /// # Cancel safety
    /// Dropped before it is done, nothing was queued and the delta is dropped with the future. Whoever must not lose it
    /// awaits [`Sender::ready`] instead and then calls [`Sender::feed`], which does not wait.
    pub async fn send(&mut self, delta: Delta<T>) -> Result<(), SendError<T>> {
        // Closed is told by `feed`, together with the delta.
        self.ready().await;
        let result = self.feed(delta);
        self.flush();
        result
    }

    /// Queues a delta without telling the consumer: [`Sender::flush`] does so, for many at once.
    ///
    /// # Errors
    /// [`SendError::Full`] when there is no room, [`SendError::Closed`] when the consumer is gone.
    pub fn feed(&mut self, delta: Delta<T>) -> Result<(), SendError<T>> {
        // The key is the user's code: not under the lock.
        let entry = Entry::new(delta);
        let mut state = self.shared.lock();
        if state.receiver_gone {
            drop(state);
            return Err(SendError::Closed(entry.into_delta()));
        }
        if state.queue.is_full() {
            drop(state);
            return Err(SendError::Full(entry.into_delta()));
        }
        state.queue.push_entry(entry);
        self.unannounced = true;
        Ok(())
    }

    /// Tells the consumer of everything fed since the last flush. Cheap when there is nothing to tell.
    pub fn flush(&mut self) {
        if std::mem::take(&mut self.unannounced) {
            let waker = self.shared.lock().receiver.take();
            if let Some(waker) = waker {
                waker.wake();
            }
        }
    }

    /// Waits until there is room or the consumer is gone: then [`Sender::feed`] will not say [`SendError::Full`].
    ///
    /// Tells the consumer of everything fed before it waits. Cancel safe: nothing happens in it.
    pub async fn ready(&mut self) {
        poll_fn(|cx| self.poll_ready(cx)).await;
    }

    /// [`Sender::ready`], as a poll.
    pub fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.shared.lock();
        if state.receiver_gone || !state.queue.is_full() {
            return Poll::Ready(());
        }
        let old = state.sender.replace(cx.waker().clone());
        drop(state);
        drop(old);
        self.flush();
        Poll::Pending
    }
}

impl<T> Sender<T> {
    /// Whether the consumer is gone.
    pub fn is_closed(&self) -> bool {
        self.shared.lock().receiver_gone
    }

    /// Waits until the consumer is gone. Cancel safe; uses the place in which [`Sender::ready`] waits.
    pub async fn closed(&mut self) {
        poll_fn(|cx| self.poll_closed(cx)).await;
    }

    /// [`Sender::closed`], as a poll.
    pub fn poll_closed(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.shared.lock();
        if state.receiver_gone {
            return Poll::Ready(());
        }
        let old = state.sender.replace(cx.waker().clone());
        drop(state);
        drop(old);
        Poll::Pending
    }

    /// How many deltas are queued.
    pub fn len(&self) -> usize {
        self.shared.lock().queue.len()
    }

    /// Whether none is queued.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T: Object> Receiver<T> {
    /// The next batch. `None`: the producer is gone and everything was taken.
    ///
    /// Cancel safe: a batch is taken only by the poll that returns it.
    pub async fn recv_batch(&mut self) -> Option<Batch<T>> {
        poll_fn(|cx| self.poll_batch(cx)).await
    }

    /// [`Receiver::recv_batch`], as a poll.
    pub fn poll_batch(&mut self, cx: &mut Context<'_>) -> Poll<Option<Batch<T>>> {
        let mut state = self.shared.lock();
        if let Some(batch) = state.queue.pop_batch() {
            let waker = state.sender.take();
            drop(state);
            if let Some(waker) = waker {
                waker.wake();
            }
            return Poll::Ready(Some(batch));
        }
        if state.sender_gone {
            return Poll::Ready(None);
        }
        let old = state.receiver.replace(cx.waker().clone());
        drop(state);
        drop(old);
        Poll::Pending
    }
}

impl<T> Receiver<T> {
    /// How many deltas are queued.
    pub fn len(&self) -> usize {
        self.shared.lock().queue.len()
    }

    /// Whether none is queued.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

struct Shared<T> {
    #[expect(clippy::disallowed_types, reason = "see above")]
    state: Mutex<State<T>>,
}

/// Wakers live under the same lock as the queue: there is no order in which a wake-up can be missed.
struct State<T> {
    queue: DeltaFifo<T>,
    sender: Option<Waker>,
    receiver: Option<Waker>,
    sender_gone: bool,
    receiver_gone: bool,
}

impl<T> Shared<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        // No code but our own runs under the lock, and no step of it leaves the state half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.sender_gone = true;
        let waker = state.receiver.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.receiver_gone = true;
        let capacity = NonZeroUsize::MIN;
        let left = std::mem::replace(&mut state.queue, DeltaFifo::empty(capacity));
        let waker = state.sender.take();
        drop(state);
        drop(left); // the objects: their drop is not ours, so not under the lock
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").field("len", &self.len()).finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").field("len", &self.len()).finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed(delta) => f.debug_tuple("Closed").field(delta).finish(),
            Self::Full(delta) => f.debug_tuple("Full").field(delta).finish(),
        }
    }
}
