//! The test API server as a program.

fn main() {}
