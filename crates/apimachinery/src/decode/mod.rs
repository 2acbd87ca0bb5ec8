//! `Decode`: how a kept form comes out of the bytes of one object.

mod error;
mod forgive;
mod redact;
mod skip;

use std::any::Any;

use serde::de::DeserializeOwned;

pub use error::DecodeError;

use crate::DynamicObject;

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
    /// The apiVersion and kind of an item whose list says it once for all. An object that says neither itself gets
    /// them, where its form keeps them at all ([`DynamicObject`]); an object that says one of them gets nothing.
    pub item_type: Option<(&'a str, &'a str)>,
}

impl<'a> DecodeContext<'a> {
    /// The same, and whether managedFields are skipped.
    #[must_use]
    pub fn skipping_managed_fields(mut self, skip: bool) -> Self {
        self.skip_managed_fields = skip;
        self
    }

    /// The same, for the items of a list: `list_kind` is the list's, `PodList`.
    #[must_use]
    pub fn for_items_of(mut self, api_version: &'a str, list_kind: &'a str) -> Self {
        self.item_type = Some((api_version, list_kind.strip_suffix("List").unwrap_or(list_kind)));
        self
    }
}

/// Reading is as strict as the form itself. Only if that fails, nulls are forgiven and of two equal keys the last one
/// counts, as the reference client reads them; so leniency costs nothing where it is not needed.
impl<T: DeserializeOwned + Send + 'static> Decode for T {
    fn decode(body: &[u8], context: DecodeContext<'_>) -> Result<Self, DecodeError> {
        let skip = context.skip_managed_fields;
        let mut object = match read::<T>(body, skip) {
            Ok(object) => object,
            Err(error) => forgive::nulls(body, &error)
                .and_then(|forgiven| read(&forgiven, skip).ok())
                .ok_or_else(|| DecodeError::at(body, &error))?,
        };
        if let Some(object) = (&mut object as &mut dyn Any).downcast_mut::<DynamicObject>() {
            object.take_type(context.item_type).map_err(|message| DecodeError::about(body, message))?;
        }
        Ok(object)
    }
}

fn read<T: DeserializeOwned>(body: &[u8], skip_managed_fields: bool) -> serde_json::Result<T> {
    // Checked once as a whole, a text is not checked again string by string. What is no UTF-8 may still stand where nobody
    // reads it; the parser knows, and says where.
    match std::str::from_utf8(body) {
        Ok(text) => read_from(serde_json::Deserializer::from_str(text), skip_managed_fields),
        Err(_) => read_from(serde_json::Deserializer::from_slice(body), skip_managed_fields),
    }
}

fn read_from<'de, T: DeserializeOwned, R: serde_json::de::Read<'de>>(
    mut reader: serde_json::Deserializer<R>,
    skip_managed_fields: bool,
) -> serde_json::Result<T> {
    let object = if skip_managed_fields {
        T::deserialize(skip::ManagedFields::of_object(&mut reader))?
    } else {
        T::deserialize(&mut reader)?
    };
    reader.end()?;
    Ok(object)
}
