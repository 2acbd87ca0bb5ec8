//! [`quiet`]: a future that wakes itself while it is polled is polled again, and not scheduled again.
//!
//! Inside an informer's one task things wake each other all the time: a queue tells its reader, a chunk tells the
//! connection that there is room. Each such wake-up asks the runtime to run a task that is running already: when the
//! poll is over it is queued once more, a second thread is woken to look for work, and may take the task over. That
//! costs more than the poll, and a task that moves leaves the memory that it frees to the thread that it came from.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicU8, Ordering};
#[expect(clippy::disallowed_types, reason = "this shell's one lock, held for the copy of a waker")]
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use tokio::runtime::{Handle, RuntimeFlavor};

/// How often it is polled in one go. What then still has to do lets other tasks have their turn.
const ROUNDS: u32 = 32;

/// Nobody polls it: a wake-up is the runtime's business.
const IDLE: u8 = 0;
/// It is being polled, and nothing has happened.
const POLLED: u8 = 1;
/// It is being polled and must be polled again, or waits for its next turn.
const AGAIN: u8 = 2;

/// `future`, with the wake-ups that come while it is polled kept inside. Those that come from elsewhere meanwhile are
/// kept, too: it is polled again before this rests.
///
/// It takes its turn as tokio's tasks do: when their budget is used up it rests, and so it does after 32 rounds.
pub(crate) async fn quiet<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let inside = Arc::new(Inside {
        state: AtomicU8::new(IDLE),
        #[expect(clippy::disallowed_types, reason = "see above")]
        outside: Mutex::new(Waker::noop().clone()),
    });
    let waker = Waker::from(inside.clone());
    poll_fn(move |outer| {
        inside.begin(outer.waker());
        for _ in 0..ROUNDS {
            if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
                return Poll::Ready(output);
            }
            // Who ran out of budget is woken by the runtime, but later, so `rest` would not know of it.
            if !tokio::task::coop::has_budget_remaining() {
                break;
            }
            if inside.rest() {
                return Poll::Pending;
            }
        }
        // Until its next turn nobody else wakes it: whoever notices on another thread that there is something to read
        // would take it over.
        inside.state.store(AGAIN, Ordering::SeqCst);
        if is_only_thread() && pin!(tokio::task::yield_now()).poll(outer).is_pending() {
            return Poll::Pending;
        }
        outer.waker().wake_by_ref();
        Poll::Pending
    })
    .await
}

/// Whether all tasks of the runtime wait for this thread. Then `yield_now` lets every one of them, sockets and timers
/// have their turn first. Where there are other threads they have it anyway, and `yield_now` would only invite one of
/// them to take this task over.
fn is_only_thread() -> bool {
    Handle::try_current().is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::CurrentThread)
}

struct Inside {
    state: AtomicU8,
    /// The task that polls it.
    #[expect(clippy::disallowed_types, reason = "see above")]
    outside: Mutex<Waker>,
}

impl Inside {
    /// A poll begins, on the task of that waker.
    fn begin(&self, waker: &Waker) {
        let mut outside = self.outside.lock().unwrap_or_else(PoisonError::into_inner);
        if !outside.will_wake(waker) {
            outside.clone_from(waker);
        }
        drop(outside);
        // Before the poll: what happened until now it will see for itself.
        self.state.store(POLLED, Ordering::SeqCst);
    }

    /// A round is over. True: nothing happened meanwhile, and from here on wake-ups go to the task.
    fn rest(&self) -> bool {
        let rests = self.state.compare_exchange(POLLED, IDLE, Ordering::SeqCst, Ordering::SeqCst).is_ok();
        if !rests {
            self.state.store(POLLED, Ordering::SeqCst);
        }
        rests
    }
}

impl Wake for Inside {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let polled = self.state.compare_exchange(POLLED, AGAIN, Ordering::SeqCst, Ordering::SeqCst);
        if let Err(IDLE) = polled {
            let outside = self.outside.lock().unwrap_or_else(PoisonError::into_inner).clone();
            outside.wake();
        }
    }
}

#[cfg(test)]
mod tests;
