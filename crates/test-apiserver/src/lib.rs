//! test-apiserver
