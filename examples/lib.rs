//! Examples, one idea a file: `cargo run --example NAME`.
