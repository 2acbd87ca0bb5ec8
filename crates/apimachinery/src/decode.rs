//! `Decode`: how a kept form comes out of the bytes of one object.

use crate::{ObjectKey, ResourceVersion};

/// A kept form that can be made of the bytes of one object.
///
/// Whatever serde can read has it, and [`Lazy`](crate::Lazy) has it by keeping the bytes.
pub trait Decode: Sized + Send + 'static {
    /// Reads one JSON object, the whole of `body`.
    fn decode(body: &[u8], context: DecodeContext<'_>) -> Result<Self, DecodeError>;
}

/// What the reader of an object knows beside its bytes.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct DecodeContext<'a> {
    /// Skip `metadata.managedFields` while reading: nothing is allocated for it.
    pub skip_managed_fields: bool,
    /// The apiVersion and kind of an item whose list says it once for all.
    pub item_type: Option<(&'a str, &'a str)>,
}

/// An object that could not be decoded: which one, as far as it can be told, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("could not decode {}: {message}", .key.as_ref().map_or("an object without a readable name", |key| key.as_str()))]
#[non_exhaustive]
pub struct DecodeError {
    /// Its key, where the metadata could be read.
    pub key: Option<ObjectKey>,
    /// Its version, where the metadata could be read.
    pub resource_version: Option<ResourceVersion>,
    /// What is wrong, and where: field path, line and column.
    pub message: String,
}

impl DecodeError {
    /// An error about bytes of which not even the metadata can be read.
    pub fn new(message: impl Into<String>) -> Self {
        Self { key: None, resource_version: None, message: message.into() }
    }

    /// The error `message` about the object in `body`: its key and version are looked up in the bytes.
    pub fn about(body: &[u8], message: impl Into<String>) -> Self {
        #[derive(serde::Deserialize)]
        struct Named {
            metadata: crate::Head,
        }
        let head = serde_json::from_slice::<Named>(body).ok().map(|named| named.metadata);
        Self {
            key: head.as_ref().map(crate::Meta::key).filter(|key| !key.as_str().is_empty()),
            resource_version: head
                .map(|head| crate::Meta::resource_version(&head).into())
                .filter(|version: &ResourceVersion| !version.is_empty()),
            message: message.into(),
        }
    }
}

impl<T: serde::de::DeserializeOwned + Send + 'static> Decode for T {
    fn decode(body: &[u8], _context: DecodeContext<'_>) -> Result<Self, DecodeError> {
        serde_json::from_slice(body).map_err(|error| DecodeError::about(body, error.to_string()))
    }
}
