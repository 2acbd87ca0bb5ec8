//! `PartialObjectMetadata<T>`: metadata only, asked from the server as such.

use std::fmt;
use std::marker::PhantomData;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::ser::SerializeStruct;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{ApiResource, Kind, Meta, Object};

/// The metadata of a `T`. What else stands in its JSON is skipped; written, it says its kind.
pub struct PartialObjectMetadata<T> {
    /// All of its metadata.
    pub metadata: ObjectMeta,
    typed: PhantomData<fn() -> T>,
}

impl<T> PartialObjectMetadata<T> {
    /// Of a `T` that has that metadata.
    pub fn new(metadata: ObjectMeta) -> Self {
        Self { metadata, typed: PhantomData }
    }
}

impl<'de, T> Deserialize<'de> for PartialObjectMetadata<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Wire {
            metadata: ObjectMeta,
        }
        Wire::deserialize(deserializer).map(|wire| Self::new(wire.metadata))
    }
}

impl<T> Serialize for PartialObjectMetadata<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("PartialObjectMetadata", 3)?;
        out.serialize_field("kind", "PartialObjectMetadata")?;
        out.serialize_field("apiVersion", "meta.k8s.io/v1")?;
        out.serialize_field("metadata", &self.metadata)?;
        out.end()
    }
}

impl<T> Clone for PartialObjectMetadata<T> {
    fn clone(&self) -> Self {
        Self::new(self.metadata.clone())
    }
}
impl<T> PartialEq for PartialObjectMetadata<T> {
    fn eq(&self, other: &Self) -> bool {
        self.metadata == other.metadata
    }
}
impl<T> fmt::Debug for PartialObjectMetadata<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PartialObjectMetadata").field("metadata", &self.metadata).finish_non_exhaustive()
    }
}

impl<T: 'static> Object for PartialObjectMetadata<T> {
    fn meta(&self) -> &dyn Meta {
        &self.metadata
    }
    fn is_metadata_only() -> bool {
        true
    }
}

impl<T: Kind> Kind for PartialObjectMetadata<T> {
    fn resource() -> ApiResource {
        T::resource()
    }
}
