//! The words that both halves of steersman speak, and the seam between the halves.
//!
//! ```text
//! socket ─► frame ─► event ─┃─► delta ─► change ─► notification ─► key ─► reconcile
//!           rest     rest   ┃ reflector  indexer  shared-informer  work-  controller
//!                           ┃ deltafifo                            queue
//!         network half  ListWatch             cache half
//!                     ▲▲▲▲▲▲▲▲▲
//! ```
//!
//! * **In / out.** The bytes of one object in, a kept form out ([`Decode`]); everything else here is a value.
//! * **May touch.** serde, k8s-openapi's metadata types.
//! * **Never touches.** Async runtimes, sockets, clocks, locks: nothing here waits and nothing here is shared state.
//! * **Promises.** A word has one meaning in every crate. Input from a network never panics.
//!
//! The pipeline is generic over what it keeps. A kept form says where its metadata is ([`Object`]) and how it comes
//! out of the bytes of one object ([`Decode`]); a [`Kind`] also knows the URL words of its resource.

mod api_error;
mod api_resource;
mod decode;
mod dynamic;
mod event;
mod head;
mod key;
mod lazy;
mod list_watch;
mod meta;
mod object;
mod objects;
mod options;
mod packed;
mod partial;
mod reason;
mod resource_version;
mod selector;
mod status;
mod status_error;
mod unknown;
mod unreadable;

pub use api_error::{ApiError, BoxError, BrokenKind, ConnectKind};
pub use api_resource::{ApiResource, Kind, Scope, ScopeOf, parse_api_version};
pub use decode::{Decode, DecodeContext, DecodeError};
pub use dynamic::DynamicObject;
pub use event::{Bookmark, EventKind, WatchEvent};
pub use head::Head;
pub use key::{KeyError, ObjectKey};
pub use lazy::Lazy;
pub use list_watch::{ListWatch, Page};
pub use meta::{Labels, Meta, OwnerRef, OwnerReferences};
pub use object::Object;
pub use objects::Objects;
pub use options::{
    CreateOptions, DeleteOptions, FieldValidation, GetOptions, ListOptions, Patch, PatchOptions,
    Preconditions, PropagationPolicy, ResourceVersionMatch, UpdateOptions,
};
pub use partial::PartialObjectMetadata;
pub use reason::{Reason, cause};
pub use resource_version::{ResourceVersion, ResourceVersionError};
pub use selector::{FieldSelector, FieldTerm, LabelSelector, Operator, Requirement, SelectorError};
pub use status::{Status, StatusCause, StatusDetails};
pub use status_error::{StatusError, UnexpectedObject};
pub use unreadable::Unreadable;
