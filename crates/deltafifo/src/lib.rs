//! `Delta`, and the bounded in-order queue that carries deltas from the reflector to the cache.
//!
//! ```text
//! socket ─► frame ─► event ─┃─► delta ─► change ─► notification ─► key ─► reconcile
//!           rest     rest   ┃ reflector  indexer  shared-informer  work-  controller
//!                           ┃ deltafifo                            queue
//!         network half  ListWatch             cache half
//!                               ▲▲▲▲▲
//! ```
//!
//! * **In / out.** One [`Delta`] in, a [`Batch`] of them out.
//! * **May touch.** [`DeltaFifo`], the core: std collections. [`channel`], the shell: one lock, two wakers.
//! * **Never touches.** The cache. The queue is asked nothing and asks nothing: what a list removed is the store's to say.
//! * **Promises.** In order, each delta once, none merged. No key twice in a batch. Never more than its capacity, and
//!   whoever would exceed it waits.
//!
//! This is client-go's `RealFIFO` in its atomic mode. The classic `DeltaFIFO`, which folds the deltas of a key and asks
//! the cache what is known, is not here: see `docs/decisions/0001-one-direction.md`.
//!
//! ```
//! # use steersman_deltafifo as deltafifo;
//! use std::sync::Arc;
//! use deltafifo::{Batch, Delta, channel};
//! use k8s_openapi::api::core::v1::ConfigMap;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (mut sender, mut receiver) = channel::<ConfigMap>(deltafifo::DEFAULT_CAPACITY);
//! sender.send(Delta::Added(Arc::new(ConfigMap::default()))).await?;
//! drop(sender);
//! assert!(matches!(receiver.recv_batch().await, Some(Batch::Objects(deltas)) if deltas.len() == 1));
//! assert!(receiver.recv_batch().await.is_none());
//! # Ok(()) }
//! ```

mod channel;
mod delta;
mod queue;

pub use channel::{Receiver, SendError, Sender, channel};
pub use delta::{Batch, Delta, Keyed, ObjectDelta};
pub use queue::{DEFAULT_CAPACITY, DeltaFifo, Full, MAX_BATCH};
