//! [`Notification`]: what a listener is told.

use std::sync::Arc;

use apimachinery::{Object, ObjectKey};

/// What happened to one object, told after the cache and its indices changed (CACHE-Z-03).
///
/// Objects are shared with the cache: to change one, clone it.
pub enum Notification<T> {
    /// The listener sees this object for the first time.
    Added {
        /// The object.
        object: Arc<T>,
        /// Whether it was there before the listener: part of the first list, or of what a late listener is caught up with.
        is_in_initial_list: bool,
    },
    /// The object changed. It may have been deleted and made again unseen: then the uids differ (CACHE-Z-05). A resync
    /// tells the same object twice (CACHE-Z-08).
    Updated {
        /// What it was.
        old: Arc<T>,
        /// What it is.
        new: Arc<T>,
    },
    /// The object is gone. Nobody hears this of an object that was never cached.
    Deleted(Deleted<T>),
}

/// How much is known of a deletion: client-go's object or `DeletedFinalStateUnknown` (CACHE-H-01).
pub enum Deleted<T> {
    /// The server told the final state; its version is that of the deletion (CACHE-H-05).
    Observed(Arc<T>),
    /// The deletion was missed: a list did not have the object any more, or its last state could not be decoded.
    FinalStateUnknown {
        /// Which object.
        key: ObjectKey,
        /// The last state that was cached; it may be stale.
        last_seen: Option<Arc<T>>,
    },
}

impl<T: Object> Notification<T> {
    /// The key of the object.
    pub fn key(&self) -> ObjectKey {
        match self {
            Self::Added { object, .. } | Self::Updated { new: object, .. } => object.key(),
            Self::Deleted(deleted) => deleted.key(),
        }
    }

    /// The newest state that is told of: for a deletion the last one known, if any is.
    pub fn object(&self) -> Option<&Arc<T>> {
        match self {
            Self::Added { object, .. } | Self::Updated { new: object, .. } => Some(object),
            Self::Deleted(deleted) => deleted.last_state(),
        }
    }
}

impl<T: Object> Deleted<T> {
    /// The key of the object.
    pub fn key(&self) -> ObjectKey {
        match self {
            Self::Observed(object) => object.key(),
            Self::FinalStateUnknown { key, .. } => key.clone(),
        }
    }
}

impl<T> Deleted<T> {
    /// The final state if it was observed, else the last one that was cached, if any.
    pub fn last_state(&self) -> Option<&Arc<T>> {
        match self {
            Self::Observed(object) => Some(object),
            Self::FinalStateUnknown { last_seen, .. } => last_seen.as_ref(),
        }
    }
}

// By hand, because the derives would ask the same of `T`.

impl<T> Clone for Notification<T> {
    fn clone(&self) -> Self {
        match self {
            Self::Added { object, is_in_initial_list } => {
                Self::Added { object: object.clone(), is_in_initial_list: *is_in_initial_list }
            }
            Self::Updated { old, new } => Self::Updated { old: old.clone(), new: new.clone() },
            Self::Deleted(deleted) => Self::Deleted(deleted.clone()),
        }
    }
}

impl<T> Clone for Deleted<T> {
    fn clone(&self) -> Self {
        match self {
            Self::Observed(object) => Self::Observed(object.clone()),
            Self::FinalStateUnknown { key, last_seen } => {
                Self::FinalStateUnknown { key: key.clone(), last_seen: last_seen.clone() }
            }
        }
    }
}

impl<T: Object> std::fmt::Debug for Notification<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let at = |object: &Arc<T>| format!("{}@{}", object.key(), object.resource_version());
        match self {
            Self::Added { object, is_in_initial_list: true } => write!(f, "Added({}, initial)", at(object)),
            Self::Added { object, .. } => write!(f, "Added({})", at(object)),
            Self::Updated { old, new } => write!(f, "Updated({} -> {})", at(old), new.resource_version()),
            Self::Deleted(Deleted::Observed(object)) => write!(f, "Deleted({})", at(object)),
            Self::Deleted(Deleted::FinalStateUnknown { key, last_seen }) => {
                let seen = last_seen.as_ref().map_or("nothing", |object| object.resource_version());
                write!(f, "Deleted({key}, final state unknown, last seen {seen})")
            }
        }
    }
}

impl<T: Object> std::fmt::Debug for Deleted<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        Notification::Deleted(self.clone()).fmt(f)
    }
}
