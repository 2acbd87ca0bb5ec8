//! URLs, query parameters and headers.
