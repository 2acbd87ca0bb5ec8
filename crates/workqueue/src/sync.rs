//! The shell's lock and reference count: std's, or loom's when every interleaving is tried.
#![cfg_attr(not(loom), expect(clippy::disallowed_types, reason = "the shell's lock, around one core"))]

use std::sync::PoisonError;

#[cfg(loom)]
pub(crate) use loom::sync::Arc;
#[cfg(loom)]
use loom::sync::{Mutex, MutexGuard};
#[cfg(not(loom))]
pub(crate) use std::sync::Arc;
#[cfg(not(loom))]
use std::sync::{Mutex, MutexGuard};

/// A mutex that a panic does not close. A key's own code (`Eq`, `Hash`, `Clone`) may panic under it; the sets are whole
/// between its calls, and one key must not take the queue from the others (GN-04).
pub(crate) struct Lock<T>(Mutex<T>);

impl<T> Lock<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    #[inline]
    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
