//! What to ask the API server next, and what an answer means: a list once, then a watch for ever.
//!
//! ```text
//! socket ─► frame ─► event ─┃─► delta ─► change ─► notification ─► key ─► reconcile
//!           rest     rest   ┃ reflector  indexer  shared-informer  work-  controller
//!                           ┃ deltafifo                            queue
//!         network half  ListWatch             cache half
//!                             ▲▲▲▲▲▲▲▲▲
//! ```
//!
//! * **In / out.** Pages and [`WatchEvent`](apimachinery::WatchEvent)s in, [`Delta`](deltafifo::Delta)s out.
//! * **May touch.** [`ReflectorCore`]: the words, the time that it is given, a source of fractions that it is given.
//!   [`Reflector`], the shell: the source, one timer, the sending end of the queue.
//! * **Never touches.** The cache, other tasks, the transport. It does not ask downstream: a full queue makes it wait, a
//!   queue without a reader ends it.
//! * **Promises.** Deltas come in the server's order. A list, in pages or as the initial events of a watch, is one delta.
//!   A cut watch goes on where it was, without a list. No failure ends it and none is silent ([`Status`]).
//!
//! This is client-go's `tools/cache/reflector.go` (CACHE-R). The state machine is a value and is tested without a
//! runtime; the stream belongs to the shell.
//!
//! ```no_run
//! # use steersman_reflector as reflector;
//! # use apimachinery::{ListWatch, Object};
//! use reflector::{Config, Reflector};
//!
//! # async fn run<T: Object>(source: impl ListWatch<T>) {
//! let (sender, mut receiver) = deltafifo::channel::<T>(deltafifo::DEFAULT_CAPACITY);
//! let reflector = Reflector::new(source, Config::default());
//! let monitor = reflector.monitor();
//! tokio::join!(reflector.run(sender), async {
//!     while let Some(batch) = receiver.recv_batch().await {
//!         println!("{batch:?} at {}", monitor.last_resource_version());
//!     }
//! });
//! # }
//! ```

mod config;
mod core;
mod cycle;
mod error;
mod failure;
mod shell;
mod status;
mod watch_list_options;

pub use config::Config;
pub use core::{ReflectorCore, Request, Transform};
pub use cycle::Note;
pub use error::ReflectorError;
pub use shell::Reflector;
pub use status::{Counters, Monitor, Phase, Status};
pub use watch_list_options::watch_list_options;
