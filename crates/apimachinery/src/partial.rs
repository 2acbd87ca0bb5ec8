//! `PartialObjectMetadata<T>`: metadata only, asked from the server as such.

use std::marker::PhantomData;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;

use crate::{ApiResource, Kind, Meta, Object};

/// The metadata of a `T`.
#[derive(Debug, Clone, Deserialize)]
#[serde(bound = "")]
pub struct PartialObjectMetadata<T> {
    /// All of its metadata.
    pub metadata: ObjectMeta,
    #[serde(skip)]
    typed: PhantomData<fn() -> T>,
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
