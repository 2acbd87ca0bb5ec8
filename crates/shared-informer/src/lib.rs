//! One watch, one cache, many listeners.
//!
//! ```text
//! socket ─► frame ─► event ─┃─► delta ─► change ─► notification ─► key ─► reconcile
//!           rest     rest   ┃ reflector  indexer  shared-informer  work-  controller
//!                           ┃ deltafifo           ▲▲▲▲▲▲▲▲▲▲▲▲▲▲▲  queue
//!         network half  ListWatch             cache half
//! ```
//!
//! * **In / out.** A batch of deltas in, a [`Notification`] to each listener that wants it out.
//! * **May touch.** The `Writer` of its cache, the clock of its resync, the listeners. One task runs all of it.
//! * **Never touches.** The transport. No lock is held while a listener is called.
//! * **Promises.** A listener is told after the cache changed, in order, of everything once. It is caught up when it comes
//!   late. A missed delete becomes a tombstone ([`Deleted::FinalStateUnknown`]). One listener's trouble is not another's.

mod builder;
mod distribution;
mod driver;
mod error;
mod factory;
mod handler;
mod hub;
mod informer;
mod listener;
mod notification;
mod pending;
mod quiet;
mod registration;
mod resync;
mod status;
mod subscription;

pub use builder::Builder;
pub use driver::Driver;
pub use error::{NotSynced, Why};
pub use factory::{Informers, NotAllSynced};
pub use handler::{EventHandler, HandlerOptions, filtered};
pub use informer::SharedInformer;
pub use notification::{Deleted, Notification};
pub use registration::Registration;
pub use status::{ListenerStatus, State, Status};
pub use subscription::Subscription;

pub use indexer::{Index, Lister, Snapshot, WaitError};
pub use reflector::{Config, Counters, Phase, ReflectorError};
