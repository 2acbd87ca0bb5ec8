//! What goes in and what comes out: [`Write`] and [`Change`].

use std::sync::Arc;

use apimachinery::{Object, ObjectKey};

/// One thing to do to the cache. Adding and updating are the same (CACHE-S-01).
#[derive(Debug)]
pub enum Write<T> {
    /// The object exists, and this is its state.
    Upsert {
        /// Its key, [`Object::key`].
        key: ObjectKey,
        /// Its state.
        object: Arc<T>,
    },
    /// The object is gone.
    Remove {
        /// Which one.
        key: ObjectKey,
        /// Its final state, if the server told it.
        last: Option<Arc<T>>,
    },
}

impl<T: Object> Write<T> {
    /// This is the object's state.
    pub fn upsert(object: Arc<T>) -> Self {
        Self::Upsert { key: object.key(), object }
    }

    /// The object whose final state is `last` is gone.
    pub fn remove(last: Arc<T>) -> Self {
        Self::Remove { key: last.key(), last: Some(last) }
    }
}

/// One thing that a write did to the cache.
#[derive(Debug)]
pub enum Change<T> {
    /// There was no object of that key.
    Added(Arc<T>),
    /// There was one. Its version may be the same (CACHE-C-04), its uid may be another (CACHE-Z-05).
    Updated {
        /// What was there.
        old: Arc<T>,
        /// What is there now.
        new: Arc<T>,
    },
    /// The object is gone; perhaps it was never here (CACHE-C-02).
    Removed {
        /// Which one.
        key: ObjectKey,
        /// What was there, if anything was.
        old: Option<Arc<T>>,
        /// Its final state, if the server told it.
        last: Option<Arc<T>>,
    },
}

impl<T: Object> Change<T> {
    /// The key of the object that changed.
    pub fn key(&self) -> ObjectKey {
        match self {
            Self::Added(object) | Self::Updated { new: object, .. } => object.key(),
            Self::Removed { key, .. } => key.clone(),
        }
    }
}

impl<T> Clone for Change<T> {
    fn clone(&self) -> Self {
        match self {
            Self::Added(object) => Self::Added(object.clone()),
            Self::Updated { old, new } => Self::Updated { old: old.clone(), new: new.clone() },
            Self::Removed { key, old, last } => {
                Self::Removed { key: key.clone(), old: old.clone(), last: last.clone() }
            }
        }
    }
}
