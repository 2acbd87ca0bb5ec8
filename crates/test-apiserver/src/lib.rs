//! A Kubernetes API server in the process: what steersman's own tests, its simulation and its users' tests talk to.
//!
//! ```text
//!  simulation ──► core ◄── http ◄── socket ◄── any Kubernetes client
//!                 ▲▲▲▲     ▲▲▲▲
//! ```
//!
//! * **In / out.** Typed operations on JSON objects in; stored objects, watch frames and refusals out ([`core`]). Around it,
//!   HTTP requests in, answers out ([`TestApiServer`]).
//! * **May touch.** The core: std collections, `serde_json`, the time that it is given. The shell: sockets and tasks.
//! * **Never touches.** The core: tokio, clocks, locks, I/O, a global source of randomness. The shell: any address but
//!   loopback.
//! * **Promises.** What a client sees is what a kube-apiserver shows it: versions, conflicts, watches, refusals. What goes
//!   wrong goes wrong because a test planned it ([`faults`]).

mod certs;
pub mod core;
mod discovery;
mod error;
pub mod faults;
mod http;
mod kubeconfig;
mod protobuf;
mod server;
mod table;

pub use crate::certs::ClientCertificate;
pub use crate::error::Error;
pub use crate::http::Request;
pub use crate::server::{Faults, Options, Protocols, TestApiServer};
