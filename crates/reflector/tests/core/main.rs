//! The reflector without a runtime: what goes in, what comes out, and the time in between.

#![allow(clippy::wildcard_imports, reason = "the short words of these tests")]

mod common;
mod listing;
mod objects;
mod options;
mod streaming;
mod watching;
