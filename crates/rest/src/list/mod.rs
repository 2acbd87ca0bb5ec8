//! pages of a collection.
