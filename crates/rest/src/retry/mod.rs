//! when a request is sent again.
