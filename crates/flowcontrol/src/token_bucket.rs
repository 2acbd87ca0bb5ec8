//! A token bucket, kept as the one moment at which it would be full again.

use std::time::{Duration, Instant};

/// `qps` tokens a second, at most `burst` at once (FC-01, RL-07).
///
/// Reservations are a queue: each takes its token now and learns how long until that token exists. The state is one
/// number, the moment at which the bucket is full again if nobody asks (GCRA), in whole nanoseconds, so nothing drifts
/// (FC-03). A clock that goes backwards makes callers wait longer, never grants more.
#[derive(Clone, Debug)]
pub struct TokenBucket {
    qps: f32,
    burst: u32,
    /// Nanoseconds a token.
    interval: u64,
    origin: Option<Instant>,
    /// When the bucket is full again, in nanoseconds since `origin`.
    full_at: u128,
}

impl TokenBucket {
    /// A full bucket. A rate that is no positive number makes no tokens after the first `burst`; an infinite one never
    /// makes anybody wait. A burst of 0 with a finite rate lets nobody through.
    pub fn new(qps: f32, burst: u32) -> Self {
        Self { qps, burst, interval: interval_nanos(qps), origin: None, full_at: 0 }
    }

    /// Takes a token, now or in debt, and says how long until it exists: zero when there is one.
    /// [`Duration::MAX`] when there will never be one; then nothing was taken.
    pub fn reserve(&mut self, now: Instant) -> Duration {
        self.reserve_within(now, Duration::MAX).unwrap_or(Duration::MAX)
    }

    /// Takes a token if it exists within `limit`; `None` takes nothing (FC-02).
    pub fn reserve_within(&mut self, now: Instant, limit: Duration) -> Option<Duration> {
        if self.interval == 0 {
            return Some(Duration::ZERO);
        }
        if self.burst == 0 {
            return None;
        }
        let now = self.nanos(now);
        let full_at = self.full_at.max(now) + u128::from(self.interval);
        let ready_at = full_at.saturating_sub(u128::from(self.interval) * u128::from(self.burst));
        let delay = match ready_at.saturating_sub(now) {
            0 => Duration::ZERO,
            // With a rate of zero the token after the last never comes.
            _ if self.interval == u64::MAX => return None,
            nanos => u64::try_from(nanos).map(Duration::from_nanos).ok()?,
        };
        if delay > limit {
            return None;
        }
        self.full_at = full_at;
        Some(delay)
    }

    /// Takes a token if there is one now.
    pub fn try_accept(&mut self, now: Instant) -> bool {
        self.reserve_within(now, Duration::ZERO).is_some()
    }

    /// Returns the token of a reservation that will not be used.
    pub fn give_back(&mut self) {
        self.full_at = self.full_at.saturating_sub(u128::from(self.interval));
    }

    /// How long the next caller would wait; takes nothing.
    pub fn debt(&self, now: Instant) -> Duration {
        self.clone().reserve(now)
    }

    /// The rate, as given.
    pub fn qps(&self) -> f32 {
        self.qps
    }

    /// The most tokens at once.
    pub fn burst(&self) -> u32 {
        self.burst
    }

    fn nanos(&mut self, now: Instant) -> u128 {
        let origin = *self.origin.get_or_insert(now);
        now.saturating_duration_since(origin).as_nanos()
    }
}

/// Nanoseconds a token: 0 for an infinite rate, `u64::MAX` for none.
fn interval_nanos(qps: f32) -> u64 {
    if qps == f32::INFINITY {
        return 0;
    }
    if qps.is_nan() || qps <= 0.0 {
        return u64::MAX;
    }
    let nanos = 1e9 / f64::from(qps);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "positive, and a float cast saturates"
    )]
    let nanos = nanos.ceil() as u64;
    nanos.max(1)
}
