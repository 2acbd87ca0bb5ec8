//! [`EventHandler`]: who is told, on the informer's own task.

use std::time::Duration;

use apimachinery::Object;

use crate::{Deleted, Notification};

/// Hears every notification, one at a time and in order (CACHE-Z-04).
///
/// It is called on the informer's task: it enqueues or counts, and returns. What it spends, every other listener and
/// the cache itself wait for; whatever takes longer belongs into a [`Subscription`](crate::Subscription). If it panics,
/// that notification counts as handled, the panic is logged and counted, and nobody else notices (CACHE-I-45, I-46).
///
/// Any `Fn(&Notification<T>)` is one.
pub trait EventHandler<T>: Send + 'static {
    /// Something happened.
    fn handle(&self, notification: &Notification<T>);
}

impl<T, F: Fn(&Notification<T>) + Send + 'static> EventHandler<T> for F {
    fn handle(&self, notification: &Notification<T>) {
        self(notification);
    }
}

/// How a handler or a subscription wants to be served.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HandlerOptions {
    /// What it is called in logs and errors; by default where it was added.
    pub name: Option<String>,
    /// How often it wants to be told every object again. `None`: as the informer's default; zero: never; anything below
    /// a second counts as a second (CACHE-I-35).
    pub resync: Option<Duration>,
}

impl HandlerOptions {
    /// Called `name`.
    pub fn named(name: &str) -> Self {
        Self { name: Some(name.to_owned()), ..Self::default() }
    }

    /// Told every object again, this often.
    #[must_use]
    pub fn resync_every(mut self, period: Duration) -> Self {
        self.resync = Some(period);
        self
    }
}

/// Hands on what `passes`, and to `handler` the world looks as if nothing else existed (CACHE-H-03): an object that
/// comes to pass is added, one that no longer does is deleted.
///
/// A deletion of which no state at all is known is handed on (CACHE-H-04).
pub fn filtered<T: Object>(
    passes: impl Fn(&T) -> bool + Send + 'static,
    handler: impl EventHandler<T>,
) -> impl EventHandler<T> {
    move |notification: &Notification<T>| match notification {
        Notification::Added { object, .. } => {
            if passes(object) {
                handler.handle(notification);
            }
        }
        Notification::Updated { old, new } => match (passes(old), passes(new)) {
            (true, true) => handler.handle(notification),
            (false, true) => {
                handler.handle(&Notification::Added { object: new.clone(), is_in_initial_list: false });
            }
            (true, false) => handler.handle(&Notification::Deleted(Deleted::Observed(old.clone()))),
            (false, false) => {}
        },
        Notification::Deleted(deleted) => {
            if deleted.last_state().is_none_or(|object| passes(object)) {
                handler.handle(notification);
            }
        }
    }
}
