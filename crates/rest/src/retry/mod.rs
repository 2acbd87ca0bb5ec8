//! `Retry`: is there a second attempt, and when? A core: outcomes in, waits out; the clock and the dice are given.

mod conflict;
#[cfg(test)]
mod tests;

use std::time::Duration;

use apimachinery::{ApiError, BrokenKind};
use flowcontrol::Jitter;

pub use conflict::{ConflictRetry, retry_on_conflict};

/// How requests are tried again.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct RetryPolicy {
    /// Attempts after the first: 10; 0 for none (REST-RT-01).
    pub max_retries: u32,
    /// How much longer than asked for a wait may be, as a fraction of it: 0.1 (REST-RT-17); 0 for exact waits.
    pub jitter: f64,
    /// The longest wait that a server can ask for; more is cut to it. None by default (REST-RT-16).
    pub max_wait: Option<Duration>,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { max_retries: 10, jitter: 0.1, max_wait: None }
    }
}

/// What kind of a request it is, as far as trying again goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// A GET whose whole answer is read.
    Read,
    /// Anything that may change something: an attempt that broke may have been carried out.
    Write,
    /// A watch.
    Watch,
}

/// How an attempt went.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Outcome<'a> {
    /// An answer came, with this code and this Retry-After.
    Answer { code: u16, retry_after: Option<i64> },
    /// None came.
    Failed(&'a ApiError),
}

/// What follows from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// The outcome stands.
    Take,
    /// The outcome stands, although one like it would be tried again: there have been enough attempts.
    GiveUp,
    /// Try again after this long.
    After(Duration),
}

/// The attempts of one request.
#[derive(Debug)]
pub(crate) struct Retry {
    policy: RetryPolicy,
    class: Class,
    retries: u32,
}

/// What a broken connection waits, as if the server had said so (REST-RT-06).
const BROKEN_WAIT: Duration = Duration::from_secs(1);

impl Retry {
    pub(crate) fn new(policy: RetryPolicy, class: Class) -> Self {
        Self { policy, class, retries: 0 }
    }

    /// An attempt is over. What now?
    pub(crate) fn handle(&mut self, outcome: Outcome<'_>, jitter: &mut dyn Jitter) -> Next {
        let wait = match outcome {
            Outcome::Answer { code: 429 | 500.., retry_after: Some(seconds) } => {
                Duration::from_secs(u64::try_from(seconds).unwrap_or(0))
            }
            Outcome::Failed(error) if self.is_worth_it(error) => BROKEN_WAIT,
            Outcome::Answer { .. } | Outcome::Failed(_) => return Next::Take,
        };
        if self.retries >= self.policy.max_retries {
            return Next::GiveUp;
        }
        self.retries += 1;
        let wait = self.policy.max_wait.map_or(wait, |most| wait.min(most));
        Next::After(flowcontrol::stretch(wait, self.policy.jitter, jitter))
    }

    /// How often it was tried again.
    pub(crate) fn retries(&self) -> u32 {
        self.retries
    }

    /// Whether a request that got no answer may be sent again (REST-RT-04, REST-RT-05). What the server provably never
    /// saw may always be.
    fn is_worth_it(&self, error: &ApiError) -> bool {
        if matches!(error, ApiError::Broken { kind: BrokenKind::GoAway, .. }) {
            return true;
        }
        match self.class {
            Class::Read => error.is_probable_eof() || error.is_connection_lost(),
            Class::Watch => error.is_probable_eof() || error.is_network_timeout(),
            Class::Write => false,
        }
    }
}
