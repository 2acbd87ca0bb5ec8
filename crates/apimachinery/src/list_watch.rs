//! `ListWatch`: the seam. The network half provides it, the reflector consumes it; a test may be either.

use std::future::Future;

use futures_core::Stream;

use crate::{ApiError, DecodeError, ListOptions, ResourceVersion, WatchEvent};

/// One collection that can be listed and watched: client-go's `ListerWatcher`.
///
/// Dropping a future or a stream ends the request behind it.
pub trait ListWatch<T>: Send + Sync + 'static {
    /// The events of one watch. `None`: the server ended it in order. `Some(Err(…))`: it ended for that reason; a
    /// source says nothing after it.
    type Events: Stream<Item = Result<WatchEvent<T>, ApiError>> + Send + 'static;

    /// One page: as `options` ask, in one request; it never turns pages by itself.
    fn list(&self, options: &ListOptions) -> impl Future<Output = Result<Page<T>, ApiError>> + Send;

    /// Opens a watch. On an error nothing is left open.
    fn watch(&self, options: &ListOptions) -> impl Future<Output = Result<Self::Events, ApiError>> + Send;

    /// Whether a watch may be asked to send the initial state (WatchList). Fakes that cannot say `false`.
    fn supports_watch_list(&self) -> bool {
        true
    }

    /// What is listed, for people: `pods`, `deployments.apps in namespace shop`.
    fn describe(&self) -> String;
}

/// One page of a list.
#[derive(Debug, Clone)]
pub struct Page<T> {
    /// The objects, in the server's order.
    pub items: Vec<T>,
    /// The objects that could not be decoded; they exist nevertheless.
    pub undecodable: Vec<DecodeError>,
    /// The version of the collection.
    pub resource_version: ResourceVersion,
    /// The token of the next page, if there is one.
    pub continue_token: Option<String>,
    /// How many more there are; an estimate, and often absent.
    pub remaining_item_count: Option<i64>,
}
