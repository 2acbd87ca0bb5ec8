//! `Lazy<T>`: the head parsed, the body kept as the bytes that were received.

use std::marker::PhantomData;

use serde::de::DeserializeOwned;

use crate::{ApiResource, Decode, DecodeContext, DecodeError, Head, Kind, Meta, Object};

/// An object whose metadata is parsed and whose body stays bytes until it is asked for.
///
/// A cache of `Lazy<Pod>` weighs what the pods weigh as JSON, a ninth of what they weigh as structs. Reading the whole
/// object ([`Lazy::decode`]) or a few fields of it ([`Lazy::view`]) costs a parse each time, so keep the result while
/// you need it.
pub struct Lazy<T> {
    head: Head,
    body: Box<[u8]>,
    typed: PhantomData<fn() -> T>,
}

impl<T> Lazy<T> {
    /// The bytes as kept: one JSON object.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// Parses the fields that `V` names, and skips the rest.
    pub fn view<V: DeserializeOwned>(&self) -> Result<V, DecodeError> {
        serde_json::from_slice(&self.body).map_err(|error| DecodeError::about(&self.body, error.to_string()))
    }
}

impl<T: DeserializeOwned> Lazy<T> {
    /// Parses the whole object. Costs what a decode costs, each time.
    pub fn decode(&self) -> Result<T, DecodeError> {
        self.view()
    }
}

impl<T: 'static> Object for Lazy<T> {
    fn meta(&self) -> &dyn Meta {
        &self.head
    }
}

impl<T: Kind> Kind for Lazy<T> {
    fn resource() -> ApiResource {
        T::resource()
    }
}

impl<T: 'static> Decode for Lazy<T> {
    fn decode(body: &[u8], _context: DecodeContext<'_>) -> Result<Self, DecodeError> {
        #[derive(serde::Deserialize)]
        struct Headed {
            metadata: Head,
        }
        match serde_json::from_slice::<Headed>(body) {
            Ok(headed) => Ok(Self { head: headed.metadata, body: body.into(), typed: PhantomData }),
            Err(error) => Err(DecodeError::about(body, error.to_string())),
        }
    }
}

impl<T> std::fmt::Debug for Lazy<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lazy").field("head", &self.head).field("bytes", &self.body.len()).finish()
    }
}
