//! Exponential backoff of one activity.

use std::time::{Duration, Instant};

use crate::jitter::{Jitter, scaled, stretch};

/// The numbers of a [`Backoff`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BackoffPolicy {
    /// The first delay, before jitter.
    pub initial: Duration,
    /// What a delay is multiplied by to give the next; below 1 it counts as 1.
    pub factor: f64,
    /// No delay is above this, before jitter.
    pub cap: Duration,
    /// A delay `d` is drawn from `[d, d + jitter·d)`; 0 for none.
    pub jitter: f64,
    /// Start again from `initial` when no step was taken for this long; `None` never does by itself.
    pub reset_after: Option<Duration>,
}

impl BackoffPolicy {
    /// Between lists and watches of a reflector: 800 ms doubling to 30 s, drawn from `[d, 2d)`, afresh after 2 minutes
    /// without a step (CACHE-R-03, CACHE-R-05).
    pub const RELIST: Self = Self {
        initial: Duration::from_millis(800),
        factor: 2.0,
        cap: Duration::from_secs(30),
        jitter: 1.0,
        reset_after: Some(Duration::from_mins(2)),
    };
}

/// How long to wait before trying again: a value, one for everything that hits the same server for the same purpose
/// (CACHE-R-04).
#[derive(Clone, Debug)]
pub struct Backoff {
    policy: BackoffPolicy,
    /// The next delay before jitter.
    next: Duration,
    last_step: Option<Step>,
}

#[derive(Clone, Copy, Debug)]
struct Step {
    at: Instant,
    delay: Duration,
}

impl Backoff {
    /// Nothing has failed yet.
    pub fn new(policy: BackoffPolicy) -> Self {
        Self { policy, next: policy.initial.min(policy.cap), last_step: None }
    }

    /// Something failed at `now`: how long to wait before the next try.
    ///
    /// The quiet time is counted from the last step, not from the last reset (client-go since 2026-02 does the latter,
    /// so a long outage saw-tooths back to the first delay), and is never shorter than twice the delay that step gave: a
    /// policy whose delays are longer than its quiet time still grows.
    pub fn step(&mut self, now: Instant, jitter: &mut dyn Jitter) -> Duration {
        if self.was_quiet(now) {
            self.reset();
        }
        let base = self.next;
        self.next = scaled(base, self.policy.factor).max(base).min(self.policy.cap);
        let delay = stretch(base, self.policy.jitter, jitter);
        self.last_step = Some(Step { at: now, delay });
        delay
    }

    /// The next step gives the first delay again.
    pub fn reset(&mut self) {
        self.next = self.policy.initial.min(self.policy.cap);
        self.last_step = None;
    }

    /// The numbers it was made with.
    pub fn policy(&self) -> &BackoffPolicy {
        &self.policy
    }

    fn was_quiet(&self, now: Instant) -> bool {
        let (Some(step), Some(reset_after)) = (self.last_step, self.policy.reset_after) else {
            return false;
        };
        now.saturating_duration_since(step.at) >= reset_after.max(step.delay.saturating_mul(2))
    }
}
