//! The cache: one [`Writer`], many [`Lister`]s, indices.
//!
//! ```text
//! socket ─► frame ─► event ─┃─► delta ─► change ─► notification ─► key ─► reconcile
//!           rest     rest   ┃ reflector  indexer  shared-informer  work-  controller
//!                           ┃ deltafifo ▲▲▲▲▲▲▲                    queue
//!         network half  ListWatch             cache half
//! ```
//!
//! * **In / out.** A batch of [`Write`]s or a whole list in; what they did, as [`Change`]s, out.
//! * **May touch.** Two locks: one for the content, one that keeps writers and new indices apart.
//! * **Never touches.** The network, clocks, tasks. No handler and no index function runs under the content's lock.
//! * **Promises.** Readers see before or after a batch, never between. No object goes back in time. What a change costs
//!   does not depend on how many objects there are. An index function that panics costs its object that index and
//!   nothing else.
//!
//! ```
//! # use steersman_indexer as indexer;
//! # use std::sync::Arc;
//! # use k8s_openapi::api::core::v1::Pod;
//! use indexer::Write;
//!
//! let (mut writer, lister) = indexer::new::<Pod>();
//! let by_node = lister.index(|pod: &Pod| pod.spec.as_ref().and_then(|spec| spec.node_name.clone()));
//!
//! let pod: Pod = serde_json::from_value(serde_json::json!({
//!     "metadata": { "namespace": "shop", "name": "web", "resourceVersion": "7" },
//!     "spec": { "nodeName": "n1", "containers": [] },
//! }))?;
//! writer.apply([Write::upsert(Arc::new(pod))]);
//!
//! assert!(lister.get("shop/web").is_some());
//! assert_eq!(by_node.by("n1").len(), 1);
//! # Ok::<(), serde_json::Error>(())
//! ```

mod cache;
mod change;
mod error;
mod function;
mod index;
mod lister;
mod postings;
mod shared;
mod writer;

pub use change::{Change, Write};
pub use error::WaitError;
pub use index::Index;
pub use lister::{Lister, Snapshot};
pub use writer::Writer;

use apimachinery::Object;

/// An empty cache: the one end that writes it, and the first of the ends that read it.
pub fn new<T: Object>() -> (Writer<T>, Lister<T>) {
    let shared = std::sync::Arc::new(shared::Shared::new());
    (Writer::new(shared.clone()), Lister::new(shared))
}
