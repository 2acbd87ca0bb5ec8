//! The server on the wire: raw HTTP/1.1 and HTTP/2, over TLS and without.

mod auth;
mod client;
mod custom;
mod faults;
mod lifecycle;
mod objects;
mod watch;
