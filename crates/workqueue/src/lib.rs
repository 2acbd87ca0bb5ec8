//! The work queue: typed keys, each to at most one worker at a time; delays; rate limits.
//!
//! ```text
//! socket ─► frame ─► event ─┃─► delta ─► change ─► notification ─► key ─► reconcile
//!           rest     rest   ┃ reflector  indexer  shared-informer  work-  controller
//!                           ┃ deltafifo                            queue
//!                           ┃                                      ▲▲▲▲▲
//! ```
//!
//! * **In / out.** Keys in, from any number of producers; the same keys out, one [`InFlight`] guard at a time.
//! * **May touch.** One lock; the timer of whoever waits in [`Queue::get`].
//! * **Never touches.** Tasks, threads, objects: it runs nothing, and knows no more of a key than that it equals another.
//! * **Promises.** No key is handed out twice at once, none is lost; any number of adds while a key waits is one round
//!   of work, any number while it is worked on is one more. A cancelled `get` loses neither a key nor a wake-up.
//!
//! [`Core`] decides and is a plain value; [`Queue`] is one lock around it.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! use steersman_workqueue::Queue;
//!
//! let queue = Queue::new();
//! queue.add("default/web");
//! queue.add("default/web");
//!
//! let key = queue.get().await.expect("open, and not empty");
//! queue.add("default/web"); // while we hold it: once more, after us
//! assert!(queue.is_empty());
//! drop(key);
//! assert_eq!(queue.len(), 1);
//! # }
//! ```

mod clock;
mod core;
mod limiter;
mod queue;
mod sync;

pub use crate::core::{Added, Core, Counts, Done, Ticket};
pub use crate::limiter::{
    Bucket, FairBucket, ItemExponential, ItemFastSlow, MaxOf, RateLimiter, WithMaxWait, default_limiter,
};
pub use crate::queue::{Drain, Get, InFlight, NotDrained, Queue};
