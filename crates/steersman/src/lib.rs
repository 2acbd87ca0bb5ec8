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
//!
//! # The model
//!
//! An **informer** lists a collection once, watches it from then on, and keeps what it sees in a cache. Connections break,
//! servers forget; the informer lists again where it must, and the cache becomes what the server has. You read it through a
//! **lister**, without a request.
//!
//! What happens to an object becomes a **key** in a queue, and nothing but a key: five changes are one key, and a key is
//! never worked on twice at once. A **reconciler** is given the key. It looks at what is and at what should be, and closes the
//! gap. It does not ask what happened, so it cannot miss it; if it fails, the key comes again, later each time.
//!
//! What a cache keeps is the type parameter: a k8s-openapi type, [`Lazy`] (bytes and a parsed head),
//! [`PartialObjectMetadata`], [`DynamicObject`], or [your own struct](object!).
//!
//! ```no_run
//! use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
//! use serde_json::json;
//! use steersman::controller::helpers::set_controller_reference;
//! use steersman::controller::{Action, Controller, Reconciler};
//! use steersman::{Api, Client, Informers, Lister, ObjectKey, Patch, PatchOptions, shutdown_signal};
//!
//! /// Each namespace has a config map that welcomes whoever comes.
//! struct Welcome {
//!     namespaces: Lister<Namespace>,
//!     maps: Lister<ConfigMap>,
//!     api: Api<ConfigMap>,
//! }
//!
//! impl Reconciler for Welcome {
//!     type Error = Box<dyn std::error::Error + Send + Sync>;
//!
//!     async fn reconcile(&self, key: &ObjectKey) -> Result<Action, Self::Error> {
//!         let Some(namespace) = self.namespaces.get(key) else { return Ok(Action::AwaitChange) }; // gone
//!         let target = ObjectKey::new(key.name(), "welcome");
//!         let mut wanted: ConfigMap = serde_json::from_value(json!({
//!             "metadata": { "name": "welcome", "namespace": key.name() }, "data": { "hello": key.name() },
//!         }))?;
//!         set_controller_reference(&*namespace, &mut wanted.metadata)?;
//!         if self.maps.get(&target).is_none_or(|map| map.data != wanted.data) {
//!             let options = PatchOptions::apply("welcome").force();
//!             self.api.patch(&target, None, &Patch::apply(&wanted)?, &options).await?;
//!         }
//!         Ok(Action::AwaitChange)
//!     }
//! }
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let client = Client::from_env().await?; // kubeconfig, else in-cluster
//!     let informers = Informers::new(&client);
//!     let (namespaces, maps) = (informers.of::<Namespace>(), informers.of::<ConfigMap>());
//!     let welcome = Welcome { namespaces: namespaces.lister(), maps: maps.lister(), api: client.all() };
//!     Controller::new("welcome").watches(namespaces).owns(maps).run(welcome, shutdown_signal()).await?;
//!     Ok(())
//! }
//! ```
//!
//! Delete such a config map, or change it, and it is repaired: it names its namespace as its controller, so what happens to it
//! becomes the namespace's key. Delete the namespace, and the server takes the config map along. To try a controller without a
//! cluster, see `docs/testing.md`.

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
