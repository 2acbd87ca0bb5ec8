//! `Body`: the bytes of an answer, as they arrive.

use std::future::poll_fn;
use std::task::{Context, Poll};

use apimachinery::ApiError;
use bytes::Bytes;

/// The bytes of an answer, as they arrive (decompressed). Dropping it cancels the request.
#[derive(Debug)]
pub(crate) struct Body;

impl Body {
    /// The next bytes; `None` when the answer is whole. An answer that ends too early is an error, never `None`.
    #[expect(clippy::unused_self)]
    pub(crate) fn poll_chunk(&mut self, _cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, ApiError>>> {
        Poll::Ready(None)
    }

    /// The next bytes, as [`poll_chunk`](Self::poll_chunk). Cancel safe.
    pub(crate) async fn chunk(&mut self) -> Option<Result<Bytes, ApiError>> {
        poll_fn(|cx| self.poll_chunk(cx)).await
    }
}
