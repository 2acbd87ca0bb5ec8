//! Where keys come from: a handler at an informer, and what the controller needs to know of that informer.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use apimachinery::{ApiResource, Object, ObjectKey, Scope};
use shared_informer::{
    EventHandler, HandlerOptions, Notification, ReflectorError, Registration, SharedInformer,
};
use tokio_util::sync::CancellationToken;
use workqueue::Queue;

pub(crate) type BoxFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Adds the handler, and takes the duty to run the informer if nobody has it yet.
pub(crate) type Source = Box<dyn FnOnce(&str, &Queue<ObjectKey>, &CancellationToken) -> Started + Send>;

/// A source whose handler is at its informer.
pub(crate) struct Started {
    pub(crate) source: Listening,
    /// Runs the informer until the token is cancelled; `None` if somebody else does.
    pub(crate) driver: Option<BoxFuture>,
    /// Done when the informer has stopped.
    pub(crate) stopped: BoxFuture,
}

/// A handler at its informer; dropping it takes the handler away.
pub(crate) struct Listening {
    pub(crate) what: String,
    pub(crate) registration: Registration,
    pub(crate) state: Box<dyn Fn() -> SourceState + Send + Sync>,
}

pub(crate) struct SourceState {
    pub(crate) is_cached: bool,
    pub(crate) last_error: Option<Arc<ReflectorError>>,
}

/// A source over `informer`; `handler` is made once the queue is known.
pub(crate) fn source<T, H>(
    informer: SharedInformer<T>,
    handler: impl FnOnce(Queue<ObjectKey>) -> H + Send + 'static,
) -> Source
where
    T: Object,
    H: EventHandler<T>,
{
    Box::new(move |controller, queue, stop| {
        let options = HandlerOptions::named(controller);
        let registration = informer.add_handler_with(handler(queue.clone()), options);
        let stop = stop.clone();
        let driver =
            informer.driver().map(|driver| Box::pin(driver.run(stop.cancelled_owned())) as BoxFuture);
        let stopped = Box::pin(informer.stopped());
        let what = informer.describe().to_owned();
        let state = Box::new(move || {
            let status = informer.status();
            SourceState { is_cached: status.is_synced, last_error: status.last_error }
        });
        Started { source: Listening { what, registration, state }, driver, stopped }
    })
}

/// The object's own key (HDL-01).
pub(crate) fn own_key<T: Object>(queue: Queue<ObjectKey>) -> impl EventHandler<T> {
    move |notification: &Notification<T>| queue.add(notification.key())
}

/// The keys that `map` makes of an object; of an update, those of before and after, in one add (HDL-03).
pub(crate) fn mapped<T, F, I>(queue: Queue<ObjectKey>, map: F) -> impl EventHandler<T>
where
    T: Object,
    F: Fn(&T) -> I + Send + 'static,
    I: IntoIterator<Item = ObjectKey>,
{
    move |notification: &Notification<T>| match notification {
        Notification::Added { object, .. } => queue.add_all(map(object)),
        Notification::Updated { old, new } => queue.add_all(map(old).into_iter().chain(map(new))),
        Notification::Deleted(deleted) => {
            if let Some(last) = deleted.last_state() {
                queue.add_all(map(last));
            }
        }
    }
}

/// Whether the object of this key is cached and has this uid.
pub(crate) type IsKnown = Arc<dyn Fn(&ObjectKey, &str) -> bool + Send + Sync>;

/// What owned objects belong to: the resource of the controller's own objects, and the cache that says which are there.
#[derive(Clone)]
pub(crate) struct Owners {
    pub(crate) resource: ApiResource,
    pub(crate) is_known: IsKnown,
}

impl Owners {
    /// The key of the object that controls `object`, if it is one of ours (HDL-02, BLD-02): group and kind match,
    /// whatever the version; and the cache has it under the same uid (CT-02). An owner that is not cached yet is queued
    /// when it comes.
    pub(crate) fn key_of<T: Object>(&self, object: &T) -> Option<ObjectKey> {
        let owner = object.meta().owner_references().controller()?;
        let (group, _version) = apimachinery::parse_api_version(owner.api_version)?;
        if group != self.resource.group || owner.kind != self.resource.kind {
            return None;
        }
        let namespace = match self.resource.scope {
            Scope::Namespaced => object.namespace(),
            Scope::Cluster => "",
        };
        let key = ObjectKey::new(namespace, owner.name);
        (self.is_known)(&key, owner.uid).then_some(key)
    }
}

/// The key of the owner; of an update, the owners of before and after. A resync changes nothing that its owner's own
/// resync does not say, and is skipped (CT-01).
pub(crate) fn owner_key<T: Object>(queue: Queue<ObjectKey>, owners: Owners) -> impl EventHandler<T> {
    move |notification: &Notification<T>| match notification {
        Notification::Added { object, .. } => queue.add_all(owners.key_of(&**object)),
        Notification::Updated { old, new }
            if old.resource_version() == new.resource_version() && !new.resource_version().is_empty() => {}
        Notification::Updated { old, new } => {
            queue.add_all(owners.key_of(&**old).into_iter().chain(owners.key_of(&**new)));
        }
        Notification::Deleted(deleted) => {
            queue.add_all(deleted.last_state().and_then(|last| owners.key_of(&**last)));
        }
    }
}
