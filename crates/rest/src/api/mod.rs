//! what a user does to one resource.
