//! `Chunks`: bytes that arrive piece by piece. What reads answers asks for no more than this, so a test may cut them.

use std::future::poll_fn;
use std::task::{Context, Poll};

use apimachinery::{ApiError, BrokenKind};
use bytes::Bytes;
use tokio::time::{Instant, timeout_at};

use crate::transport::Body;

/// Bytes that arrive piece by piece.
pub(crate) trait Chunks: Send + Unpin {
    /// The next piece; `None` at the end, which an answer that ends too early has not: that is an error.
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, ApiError>>>;
}

impl Chunks for Body {
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, ApiError>>> {
        Body::poll_chunk(self, cx)
    }
}

/// The next piece. Cancel safe.
pub(crate) async fn next(body: &mut impl Chunks) -> Option<Result<Bytes, ApiError>> {
    poll_fn(|cx| body.poll_chunk(cx)).await
}

/// All of it; more than `limit` bytes are an error.
pub(crate) async fn whole(body: &mut impl Chunks, limit: usize) -> Result<Bytes, ApiError> {
    let Some(first) = next(body).await.transpose()? else { return Ok(Bytes::new()) };
    let Some(second) = next(body).await.transpose()? else { return within(first, limit) };
    let mut all = Vec::with_capacity((first.len() + second.len()) * 2);
    all.extend_from_slice(&first);
    all.extend_from_slice(&second);
    while let Some(chunk) = next(body).await.transpose()? {
        all.extend_from_slice(&chunk);
        if all.len() > limit {
            return within(all.into(), limit);
        }
    }
    within(all.into(), limit)
}

fn within(bytes: Bytes, limit: usize) -> Result<Bytes, ApiError> {
    if bytes.len() <= limit {
        return Ok(bytes);
    }
    let source = format!("the answer is larger than {limit} bytes").into();
    Err(ApiError::Broken { during: "reading the answer", kind: BrokenKind::TooLarge, source })
}

/// The first bytes, at least `limit` if there are so many; what follows is not read. What has come when the body breaks
/// or `end` has come is all.
pub(crate) async fn front(body: &mut impl Chunks, limit: usize, end: Instant) -> Vec<u8> {
    let mut all = Vec::new();
    while let Ok(Some(Ok(chunk))) = timeout_at(end, next(body)).await {
        all.extend_from_slice(&chunk);
        if all.len() >= limit {
            break;
        }
    }
    all
}
