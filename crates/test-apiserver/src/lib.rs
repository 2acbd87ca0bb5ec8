//! A Kubernetes API server in the process: what steersman's own tests, its simulation and its users' tests talk to.
//!
//! ```text
//!  simulation ──► core ◄── http ◄── socket ◄── any Kubernetes client
//!                 ▲▲▲▲
//! ```
//!
//! * **In / out.** Typed operations on JSON objects in; stored objects, watch frames and refusals out ([`core`]).
//! * **May touch.** The core: std collections, `serde_json`, the time that it is given. The shell: sockets and tasks.
//! * **Never touches.** The core: tokio, clocks, locks, I/O, a global source of randomness.
//! * **Promises.** What a client sees is what a kube-apiserver shows it: versions, conflicts, watches, refusals.

pub mod core;
