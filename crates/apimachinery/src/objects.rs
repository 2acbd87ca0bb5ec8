//! `Objects`: the other half of the seam: reads and writes of single objects, for reconcilers.

use std::future::Future;

use crate::{
    ApiError, CreateOptions, DeleteOptions, GetOptions, ObjectKey, Patch, PatchOptions, UpdateOptions,
};

/// The objects of one resource, one at a time.
///
/// The namespace comes from the key or the object, so one value serves all namespaces. Cancel safety: a dropped future
/// may or may not have reached the server.
pub trait Objects<T>: Send + Sync + 'static {
    /// Reads one object from the server, not from a cache.
    fn get(&self, key: &ObjectKey, options: &GetOptions) -> impl Future<Output = Result<T, ApiError>> + Send;

    /// Creates an object; the answer is what the server made of it.
    fn create(&self, object: &T, options: &CreateOptions)
    -> impl Future<Output = Result<T, ApiError>> + Send;

    /// Replaces an object. With a resource version in it, only if that is still the server's: else a conflict.
    fn update(&self, object: &T, options: &UpdateOptions)
    -> impl Future<Output = Result<T, ApiError>> + Send;

    /// Replaces the status of an object, and nothing else of it.
    fn update_status(
        &self,
        object: &T,
        options: &UpdateOptions,
    ) -> impl Future<Output = Result<T, ApiError>> + Send;

    /// Patches an object, or with `subresource` (`"status"`, `"scale"`) that part of it.
    fn patch(
        &self,
        key: &ObjectKey,
        subresource: Option<&str>,
        patch: &Patch,
        options: &PatchOptions,
    ) -> impl Future<Output = Result<T, ApiError>> + Send;

    /// Asks for an object to be deleted; finalizers may hold it for a while.
    fn delete(
        &self,
        key: &ObjectKey,
        options: &DeleteOptions,
    ) -> impl Future<Output = Result<(), ApiError>> + Send;
}
