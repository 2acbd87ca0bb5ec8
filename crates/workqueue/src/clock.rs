//! The shell's clock and timer. Under loom there is no runtime: time stands still until a test moves it.

#[cfg(not(loom))]
mod real {
    use std::future::Future;
    use std::pin::Pin;
    use std::task::{Context, Poll};
    use std::time::Instant;

    /// Now, by the runtime's clock: a test that pauses it pauses the queue.
    pub(crate) fn now() -> Instant {
        tokio::time::Instant::now().into_std()
    }

    /// One timer of one waiter; nothing until it is first set.
    #[derive(Debug, Default)]
    pub(crate) struct Timer {
        sleep: Option<Pin<Box<tokio::time::Sleep>>>,
    }

    impl Timer {
        /// Whether `at` has come; else the waker in `cx` is woken when it has.
        pub(crate) fn poll_at(&mut self, cx: &mut Context<'_>, at: Instant) -> Poll<()> {
            let at = tokio::time::Instant::from_std(at);
            let sleep = self.sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(at)));
            if sleep.deadline() != at {
                sleep.as_mut().reset(at);
            }
            sleep.as_mut().poll(cx)
        }

        /// No timer is kept.
        pub(crate) fn stop(&mut self) {
            self.sleep = None;
        }
    }

    /// A worker that always finds a key still lets others run: tokio's budget.
    pub(crate) fn poll_budget(cx: &mut Context<'_>) -> Poll<tokio::task::coop::RestoreOnPending> {
        tokio::task::coop::poll_proceed(cx)
    }
}

#[cfg(loom)]
mod still {
    use std::sync::OnceLock;
    use std::task::{Context, Poll};
    use std::time::Instant;

    pub(crate) fn now() -> Instant {
        static START: OnceLock<Instant> = OnceLock::new();
        #[expect(clippy::disallowed_methods, reason = "some first moment; it never moves")]
        *START.get_or_init(Instant::now)
    }

    #[derive(Debug, Default)]
    pub(crate) struct Timer;

    impl Timer {
        pub(crate) fn poll_at(&mut self, _cx: &mut Context<'_>, at: Instant) -> Poll<()> {
            if at <= now() { Poll::Ready(()) } else { Poll::Pending }
        }

        pub(crate) fn stop(&mut self) {}
    }

    pub(crate) struct Unlimited;

    pub(crate) fn poll_budget(_cx: &mut Context<'_>) -> Poll<Unlimited> {
        Poll::Ready(Unlimited)
    }

    impl Unlimited {
        pub(crate) fn made_progress(&self) {}
    }
}

#[cfg(not(loom))]
pub(crate) use real::{Timer, now, poll_budget};
#[cfg(loom)]
pub(crate) use still::{Timer, now, poll_budget};
