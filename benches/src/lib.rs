//! What the benchmarks share.

pub mod usage;
