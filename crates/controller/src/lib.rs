//! Keys from informers, workers, one reconciler.
//!
//! ```text
//! socket ─► frame ─► event ─┃─► delta ─► change ─► notification ─► key ─► reconcile
//!           rest     rest   ┃ reflector  indexer  shared-informer  work-  controller
//!                           ┃ deltafifo                            queue  ▲▲▲▲▲▲▲▲▲▲
//! ```
//!
//! * **In / out.** Notifications in, each turned into keys; one call of the [`Reconciler`] out for each key that needs
//!   work.
//! * **May touch.** The queue; tasks of its own: the workers, and the informers that nobody else runs.
//! * **Never touches.** Objects, the transport: what to do about a key is the reconciler's.
//! * **Promises.** No reconcile before every source is synced and its handler was given the whole initial list. A key is
//!   never reconciled twice at once, and none is lost: a failure is tried again with backoff, so is a panic. When `run`
//!   returns, nothing that it started still runs.
//!
//! ```no_run
//! # use k8s_openapi::api::core::v1::Pod;
//! # use steersman_controller::{Action, Controller, ControllerError, reconcile_fn};
//! # use std::convert::Infallible;
//! # async fn example(
//! #     pods: shared_informer::SharedInformer<Pod>, shutdown: impl Future<Output = ()> + Send,
//! # ) -> Result<(), ControllerError> {
//! let lister = pods.lister();
//! Controller::new("count-pods")
//!     .watches(pods)
//!     .workers(4)
//!     .run(
//!         reconcile_fn(move |key| {
//!             let found = lister.get(&key).is_some();
//!             async move {
//!                 println!("{key}: {}", if found { "there" } else { "gone" });
//!                 Ok::<_, Infallible>(Action::AwaitChange)
//!             }
//!         }),
//!         shutdown,
//!     )
//!     .await
//! # }
//! ```

mod builder;
mod error;
mod handle;
pub mod helpers;
mod outcome;
mod reconciler;
mod run;
mod source;
mod worker;

pub use builder::Controller;
pub use error::{ControllerError, Unsynced};
pub use handle::{Handle, Stats};
pub use reconciler::{
    Action, ReconcileFn, ReconcileObject, Reconciler, Terminal, reconcile_fn, reconcile_object,
};

pub use workqueue::{
    Bucket, Counts, FairBucket, ItemExponential, ItemFastSlow, MaxOf, RateLimiter, WithMaxWait,
    default_limiter,
};
