//! `Delta`: what happened to the collection, and `Batch`: how it is handed on.

use std::fmt;
use std::sync::Arc;

use apimachinery::{ObjectKey, ResourceVersion, Unreadable};

/// One thing that happened to the collection, in the server's order.
pub enum Delta<T> {
    /// The server said ADDED.
    Added(Arc<T>),
    /// The server said MODIFIED.
    Updated(Arc<T>),
    /// The server said DELETED; this is the last state.
    Deleted(Arc<T>),
    /// The server said DELETED of an object that could not be decoded; only its key could be read.
    DeletedKey(ObjectKey),
    /// The whole collection, as of a version: a list, or the initial events of a watch.
    Replaced {
        /// The objects.
        items: Vec<Arc<T>>,
        /// Objects that exist and could not be decoded: of them no deletion may be told.
        unreadable: Unreadable,
        /// The version of the whole.
        resource_version: ResourceVersion,
    },
    /// Nothing changed up to this version.
    Bookmark(ResourceVersion),
}

/// What happened to one object.
pub enum ObjectDelta<T> {
    /// It came to be, or came to match the selector.
    Added(Arc<T>),
    /// It changed.
    Updated(Arc<T>),
    /// It is gone. `None`: its last state could not be decoded.
    Deleted(Option<Arc<T>>),
}

/// A delta of one object, and the object's key: computed once, when the delta was queued.
pub struct Keyed<T> {
    /// The key.
    pub key: ObjectKey,
    /// What happened.
    pub delta: ObjectDelta<T>,
}

/// What is taken out of the queue at once.
pub enum Batch<T> {
    /// At least one delta and at most [`MAX_BATCH`](crate::MAX_BATCH), in order, of as many different keys.
    Objects(Vec<Keyed<T>>),
    /// A [`Delta::Replaced`], alone.
    Replaced {
        /// The objects.
        items: Vec<Arc<T>>,
        /// Objects that exist and could not be decoded: of them no deletion may be told.
        unreadable: Unreadable,
        /// The version of the whole.
        resource_version: ResourceVersion,
    },
    /// A [`Delta::Bookmark`], alone.
    Bookmark(ResourceVersion),
}

// By hand, because the derives would ask the same of `T`.

impl<T> Clone for Delta<T> {
    fn clone(&self) -> Self {
        match self {
            Self::Added(object) => Self::Added(Arc::clone(object)),
            Self::Updated(object) => Self::Updated(Arc::clone(object)),
            Self::Deleted(object) => Self::Deleted(Arc::clone(object)),
            Self::DeletedKey(key) => Self::DeletedKey(key.clone()),
            Self::Replaced { items, unreadable, resource_version } => Self::Replaced {
                items: items.clone(),
                unreadable: unreadable.clone(),
                resource_version: resource_version.clone(),
            },
            Self::Bookmark(version) => Self::Bookmark(version.clone()),
        }
    }
}

impl<T> fmt::Debug for Delta<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Added(_) => f.write_str("Added"),
            Self::Updated(_) => f.write_str("Updated"),
            Self::Deleted(_) => f.write_str("Deleted"),
            Self::DeletedKey(key) => f.debug_tuple("DeletedKey").field(key).finish(),
            Self::Replaced { items, unreadable, resource_version } => f
                .debug_struct("Replaced")
                .field("items", &items.len())
                .field("unreadable", unreadable)
                .field("resource_version", resource_version)
                .finish(),
            Self::Bookmark(version) => f.debug_tuple("Bookmark").field(version).finish(),
        }
    }
}

impl<T> fmt::Debug for ObjectDelta<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Added(_) => "Added",
            Self::Updated(_) => "Updated",
            Self::Deleted(Some(_)) => "Deleted",
            Self::Deleted(None) => "DeletedKey",
        })
    }
}

impl<T> fmt::Debug for Keyed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}({})", self.delta, self.key)
    }
}

impl<T> fmt::Debug for Batch<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Objects(deltas) => f.debug_list().entries(deltas).finish(),
            Self::Replaced { items, resource_version, .. } => {
                write!(f, "Replaced({} objects at {resource_version})", items.len())
            }
            Self::Bookmark(version) => f.debug_tuple("Bookmark").field(version).finish(),
        }
    }
}
