//! What a controller calls for each key, and what may come of it.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use apimachinery::{BoxError, Object, ObjectKey};
use shared_informer::Lister;

/// Makes the world as an object says, given only its key: read the object from a lister, act, say what comes next.
///
/// The key may be of an object that is gone; that is success (CT-04). The same key is never given to two calls at once;
/// a key that changed meanwhile is given again afterwards. Events are not passed: whatever happened, look at what is.
///
/// An implementation may simply write `async fn reconcile(&self, key: &ObjectKey) -> Result<Action, Self::Error>`.
pub trait Reconciler: Send + Sync + 'static {
    /// Why a call failed. Any `std::error::Error` will do, and so will a [`BoxError`].
    type Error: Into<BoxError> + Send;

    /// Brings the object of `key` one step closer. An error is tried again with backoff, a [`Terminal`] one is not; a
    /// panic counts as an error.
    fn reconcile(&self, key: &ObjectKey) -> impl Future<Output = Result<Action, Self::Error>> + Send;
}

/// What comes after a reconcile that succeeded. Either way the key's failures are forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Nothing until something changes.
    AwaitChange,
    /// Again after this time, without rate limit; zero is at once. Something that changes earlier is seen earlier.
    RequeueAfter(Duration),
}

/// An error that trying again will not heal: a specification that makes no sense. The key is not queued again until
/// something changes; its failures are not forgotten (CTRL-07). Found anywhere in the chain of sources.
#[derive(Debug)]
pub struct Terminal(BoxError);

impl Terminal {
    /// `error`, not to be tried again.
    pub fn new(error: impl Into<BoxError>) -> Self {
        Self(error.into())
    }
}

impl fmt::Display for Terminal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not to be tried again")
    }
}

impl Error for Terminal {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.0)
    }
}

/// A closure as a [`Reconciler`]. The key is given by value: it is cheap to clone.
pub fn reconcile_fn<F, R, E>(function: F) -> ReconcileFn<F>
where
    F: Fn(ObjectKey) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Action, E>> + Send,
    E: Into<BoxError> + Send,
{
    ReconcileFn(function)
}

/// See [`reconcile_fn`].
#[derive(Clone, Debug)]
pub struct ReconcileFn<F>(F);

impl<F, R, E> Reconciler for ReconcileFn<F>
where
    F: Fn(ObjectKey) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Action, E>> + Send,
    E: Into<BoxError> + Send,
{
    type Error = E;

    fn reconcile(&self, key: &ObjectKey) -> impl Future<Output = Result<Action, E>> + Send {
        (self.0)(key.clone())
    }
}

/// A closure over objects as a [`Reconciler`]: it is given what `lister` has for the key, and is not called if that is
/// nothing (CTRL-20).
pub fn reconcile_object<T, F, R, E>(lister: Lister<T>, function: F) -> ReconcileObject<T, F>
where
    T: Object,
    F: Fn(Arc<T>) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Action, E>> + Send,
    E: Into<BoxError> + Send,
{
    ReconcileObject { lister, function }
}

/// See [`reconcile_object`].
pub struct ReconcileObject<T: Object, F> {
    lister: Lister<T>,
    function: F,
}

impl<T: Object, F> fmt::Debug for ReconcileObject<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReconcileObject").finish_non_exhaustive()
    }
}

impl<T, F, R, E> Reconciler for ReconcileObject<T, F>
where
    T: Object,
    F: Fn(Arc<T>) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Action, E>> + Send,
    E: Into<BoxError> + Send,
{
    type Error = E;

    async fn reconcile(&self, key: &ObjectKey) -> Result<Action, E> {
        match self.lister.get(key) {
            Some(object) => (self.function)(object).await,
            None => Ok(Action::AwaitChange),
        }
    }
}
