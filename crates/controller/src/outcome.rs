//! What a reconcile came to, and what becomes of its key: the controller's one decision.

use std::error::Error;
use std::time::Duration;

use apimachinery::{BoxError, StatusError};

use crate::{Action, Terminal};

/// What a call of the reconciler came to.
#[derive(Debug)]
pub(crate) enum Outcome {
    Done(Action),
    Failed(BoxError),
    /// It took longer than it may.
    TimedOut(Duration),
    /// With the panic's message.
    Panicked(String),
}

/// What becomes of the key. Whatever it is, the hand-out ends after it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Its failures are forgotten (CTRL-10).
    Forget,
    /// Its failures are forgotten, and it comes again after this (CTRL-08).
    ForgetAndAfter(Duration),
    /// It comes again after its backoff (CTRL-06).
    RateLimited,
    /// It does not come again by itself; its failures stay (CTRL-07).
    Leave,
}

impl Outcome {
    pub(crate) fn next(&self) -> Next {
        match self {
            Self::Done(Action::AwaitChange) => Next::Forget,
            Self::Done(Action::RequeueAfter(delay)) => Next::ForgetAndAfter(*delay),
            Self::Failed(error) if is_terminal(&**error) => Next::Leave,
            Self::Failed(_) | Self::TimedOut(_) | Self::Panicked(_) => Next::RateLimited,
        }
    }

    /// Whether somebody else wrote first: an error like any other, but no news (DEP-12).
    pub(crate) fn is_conflict(&self) -> bool {
        let Self::Failed(error) = self else { return false };
        StatusError::find(&**error).is_some_and(StatusError::is_conflict)
    }
}

fn is_terminal(error: &(dyn Error + 'static)) -> bool {
    chain(error).any(<dyn Error>::is::<Terminal>)
}

fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    let sources = std::iter::successors(Some(error), |&error: &&'a (dyn Error + 'static)| error.source());
    // A longer chain is a ring.
    sources.take(64)
}

/// An error and its sources, on one line.
pub(crate) fn one_line(error: &(dyn Error + 'static)) -> String {
    let mut line = String::new();
    for error in chain(error) {
        if !line.is_empty() {
            line.push_str(": ");
        }
        line.push_str(&error.to_string());
    }
    line
}
