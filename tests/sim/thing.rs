//! What is kept: the head, and nothing else.

use apimachinery::{DecodeError, Head, Meta, Object};
use test_apiserver::core::Stored;

/// The label of objects that the kept form cannot be made of.
pub(crate) const POISON: &str = "poison";

#[derive(serde::Deserialize)]
pub(crate) struct Thing {
    metadata: Head,
}

impl Object for Thing {
    fn meta(&self) -> &dyn Meta {
        &self.metadata
    }
}

/// As the network half would do it.
pub(crate) fn decode(stored: &Stored) -> Result<Thing, DecodeError> {
    if is_poisoned(stored) {
        return Err(DecodeError::about(stored.bytes(), "poison"));
    }
    serde_json::from_slice(stored.bytes())
        .map_err(|error| DecodeError::about(stored.bytes(), error.to_string()))
}

pub(crate) fn is_poisoned(stored: &Stored) -> bool {
    stored.labels().contains_key(POISON)
}

pub(crate) fn version(object: &Thing) -> u64 {
    object.resource_version().parse().expect("the server counts")
}
