//! `WatchEvent`: what a watch says, one frame at a time.

use crate::{DecodeError, ResourceVersion};

/// One event of a watch.
///
/// An ERROR frame is not an event: it ends the stream as [`ApiError::Status`](crate::ApiError::Status).
#[derive(Debug, Clone, PartialEq)]
pub enum WatchEvent<T> {
    /// The object came to be, or came to match the selector, or was there when the watch began.
    Added(T),
    /// The object changed.
    Modified(T),
    /// The object is gone, or no longer matches; this is its last state, with the version of the deletion.
    Deleted(T),
    /// Nothing changed up to this version.
    Bookmark(Bookmark),
    /// An object that the kept form could not be made of. The stream goes on.
    Undecodable {
        /// What the frame said of the object.
        kind: EventKind,
        /// Which object, at which version, and why it could not be decoded.
        error: DecodeError,
    },
}

/// What a frame says of its object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// ADDED.
    Added,
    /// MODIFIED.
    Modified,
    /// DELETED.
    Deleted,
}

/// The server's word that the watch has seen everything up to a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bookmark {
    /// Up to here.
    pub resource_version: ResourceVersion,
    /// Whether this ends the initial events: the annotation `k8s.io/initial-events-end` is exactly `"true"`.
    pub initial_events_end: bool,
}
