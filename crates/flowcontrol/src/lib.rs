//! Pacing as values: backoff, jitter, token bucket.
//!
//! ```text
//! socket ─► frame ─► event ─┃─► delta ─► change ─► notification ─► key ─► reconcile
//!           rest     rest   ┃ reflector  indexer  shared-informer  work-  controller
//!           ▲▲▲▲            ┃ ▲▲▲▲▲▲▲▲▲                            queue
//!           asks            ┃ asks                                 ▲▲▲▲▲ asks
//! ```
//!
//! * **In / out.** The time that it is in, how long to wait out.
//! * **May touch.** Numbers.
//! * **Never touches.** Clocks, timers, locks, runtimes: whoever asks also waits.
//! * **Promises.** No delay is negative, wraps or passes its bound, whatever the numbers given (GN-03).
//!
//! ```
//! use std::time::{Duration, Instant};
//! use steersman_flowcontrol::{Backoff, BackoffPolicy, NoJitter, TokenBucket};
//!
//! # #[allow(clippy::disallowed_methods)]
//! let now = Instant::now();
//! let mut backoff = Backoff::new(BackoffPolicy::RELIST);
//! assert_eq!(backoff.step(now, &mut NoJitter), Duration::from_millis(800));
//! assert_eq!(backoff.step(now, &mut NoJitter), Duration::from_millis(1600));
//!
//! let mut bucket = TokenBucket::new(10.0, 1);
//! assert_eq!(bucket.reserve(now), Duration::ZERO);
//! assert_eq!(bucket.reserve(now), Duration::from_millis(100));
//! ```

mod backoff;
mod jitter;
mod token_bucket;

pub use backoff::{Backoff, BackoffPolicy};
pub use jitter::{FixedJitter, Jitter, NoJitter, Random, full_jitter, stretch};
pub use token_bucket::TokenBucket;
