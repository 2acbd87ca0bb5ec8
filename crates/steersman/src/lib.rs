//! client-go for Rust: kubeconfig in, cached and watched objects, keys in a queue, reconciles out.
//!
//! ```text
//! socket ─► frame ─► event ─┃─► delta ─► change ─► notification ─► key ─► reconcile
//!           rest     rest   ┃ reflector  indexer  shared-informer  work-  controller
//!                           ┃ deltafifo                            queue
//!         network half  ListWatch             cache half
//! ```
//!
//! This crate is the door: it re-exports the paved path and wires the two halves together. Each part is a crate of its
//! own and can be had alone; the modules named after them have everything that is not on the path.

mod informers;
mod signal;

pub use {
    apimachinery, controller, deltafifo, flowcontrol, indexer, reflector, rest, shared_informer, workqueue,
};

pub use apimachinery::{
    ApiError, ApiResource, BrokenKind, ConnectKind, CreateOptions, Decode, DecodeError, DeleteOptions,
    DynamicObject, FieldSelector, GetOptions, Head, Kind, LabelSelector, Lazy, ListOptions, ListWatch, Meta,
    Object, ObjectKey, Objects, PartialObjectMetadata, Patch, PatchOptions, Preconditions, PropagationPolicy,
    ResourceVersion, Scope, Status, StatusError, UpdateOptions, WatchEvent, object,
};
pub use indexer::{Index, Lister};
pub use informers::Informers;
pub use rest::{Api, Client, ClientConfig, ConfigError};
pub use shared_informer::{
    Deleted, EventHandler, NotSynced, Notification, Registration, SharedInformer, Subscription,
};
pub use signal::shutdown_signal;

/// The README's controller compiles.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
mod readme {}
