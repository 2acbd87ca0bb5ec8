//! The whole library through real sockets: TLS with HTTP/2, TLS with HTTP/1.1, plain HTTP, and planned faults.
//!
//! ```text
//! test API server ─► loopback ─► rest ─► reflector ─► indexer ─► listeners ─► controller
//!        ▲ faults, request log                           what each test looks at ▲
//! ```
//!
//! A test waits for conditions, never for time: [`world::until`] and the server's own `requested` have limits that only a
//! failure reaches. What must hold in the end is compared with the server's own content.

#![allow(
    clippy::large_futures,
    reason = "a test waits for one thing at a time, and may hold it where it stands"
)]

mod access;
mod controllers;
mod cuts;
mod endurance;
mod expiry;
mod factory;
mod forms;
mod mirror;
mod narrow;
mod objects;
mod refusals;
mod restarts;
mod site;
mod verbs;
mod world;
