//! `Limiter`: one token bucket for all requests of a client, and the wait for a token.

#[expect(
    clippy::disallowed_types,
    reason = "the shell around one bucket; held for a few arithmetic operations"
)]
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use apimachinery::ApiError;
use flowcontrol::TokenBucket;

use super::invalid;

/// One token bucket for all requests of a client.
#[derive(Debug)]
#[expect(clippy::disallowed_types, reason = "as above")]
pub(crate) struct Limiter(Option<Mutex<TokenBucket>>);

impl Limiter {
    /// `qps` requests a second after the first `burst`; no limit if `qps` is zero or less.
    #[expect(clippy::disallowed_types, reason = "as above")]
    pub(crate) fn new(qps: f32, burst: u32) -> Self {
        Self((qps > 0.0).then(|| Mutex::new(TokenBucket::new(qps, burst))))
    }

    /// Waits for a token. Dropped while it waits, it gives its token back.
    pub(crate) async fn acquire(&self) -> Result<(), ApiError> {
        let wait = self.with(|bucket| bucket.reserve(now())).unwrap_or(Duration::ZERO);
        match wait {
            Duration::ZERO => Ok(()),
            Duration::MAX => Err(invalid("the client's rate limit lets no request through".to_owned())),
            wait => {
                if wait > Duration::from_secs(1) {
                    tracing::debug!(
                        ?wait,
                        "a request waits for the client's own rate limit, not for the server"
                    );
                }
                let reservation = Reservation { limiter: self };
                tokio::time::sleep(wait).await;
                std::mem::forget(reservation);
                Ok(())
            }
        }
    }

    fn with<R>(&self, use_it: impl FnOnce(&mut TokenBucket) -> R) -> Option<R> {
        let bucket = self.0.as_ref()?;
        Some(use_it(&mut bucket.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

/// A token that was taken and not used yet.
struct Reservation<'a> {
    limiter: &'a Limiter,
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        self.limiter.with(TokenBucket::give_back);
    }
}

/// The runtime's clock, so that a test may hold it.
fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}
