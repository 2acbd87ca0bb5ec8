//! Bytes into frames into events. No sockets here: the bytes come from a [`Body`], wherever that has them from.

mod event;
mod frames;
#[cfg(test)]
mod tests;

use std::fmt;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use apimachinery::{ApiError, BrokenKind, Decode, WatchEvent};
use futures_core::Stream;
use tokio::time::Sleep;

pub(crate) use event::Expected;
use event::{NoEvent, read};
pub(crate) use frames::FRAME_LIMIT;
use frames::{FrameError, Frames};

use crate::chunks::Chunks;
use crate::client::Client;
use crate::transport::Body;

/// The events of one watch, in the server's order.
///
/// * `None`: the stream ended, in order or in the middle of a frame; open the next watch from the last version seen.
/// * `Some(Err(ApiError::Status))`: the server ended it with an ERROR frame, as with 410 for a version that it no longer
///   has.
/// * `Some(Err(ApiError::Broken))`: the connection broke, or the server was silent beyond the time that was asked for
///   ([`BrokenKind::Timeout`]), or a frame was larger than 16 MiB ([`BrokenKind::TooLarge`]).
/// * `Some(Err(ApiError::Decode))`: a frame is no watch event.
///
/// After any of these it says no more. One object that cannot be decoded is none of these:
/// [`WatchEvent::Undecodable`] names it, and the stream goes on.
///
/// Nothing runs behind it: bytes are read when it is polled, on the task that polls it, so a slow reader slows the
/// server down and holds no more than one chunk and one frame. Dropping it closes the request.
pub struct Events<T> {
    reading: Reading<T, Body>,
    /// The connection is the client's: it must live as long as somebody reads from it.
    _client: Option<Client>,
}

/// A body being read.
struct Reading<T, B> {
    body: Option<B>,
    frames: Frames,
    expected: Expected,
    /// When the server should have ended the watch by itself.
    overdue: Option<Pin<Box<Sleep>>>,
    /// Why the bytes ended, to be told when all whole frames have been.
    broken: Option<ApiError>,
    typed: PhantomData<fn() -> T>,
}

impl<T> Events<T> {
    /// The events in `body`, which should end within `limit`.
    pub(crate) fn new(client: Client, body: Body, expected: Expected, limit: Option<Duration>) -> Self {
        Self { reading: Reading::new(Some(body), expected, limit), _client: Some(client) }
    }

    /// A watch that ended before its first event (REST-RT-12).
    pub(crate) fn ended() -> Self {
        Self { reading: Reading::new(None, Expected::default(), None), _client: None }
    }
}

impl<T: Decode> Stream for Events<T> {
    type Item = Result<WatchEvent<T>, ApiError>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().reading.poll_event(cx)
    }
}

impl<T, B> Reading<T, B> {
    fn new(body: Option<B>, expected: Expected, limit: Option<Duration>) -> Self {
        Self {
            body,
            frames: Frames::new(FRAME_LIMIT),
            expected,
            overdue: limit.map(|limit| Box::pin(tokio::time::sleep(limit))),
            broken: None,
            typed: PhantomData,
        }
    }

    /// The last word: nothing is read or said after it.
    fn finish(&mut self, last: Option<ApiError>) -> Poll<Option<Result<WatchEvent<T>, ApiError>>> {
        self.body = None;
        self.overdue = None;
        self.frames = Frames::new(0);
        Poll::Ready(last.map(Err))
    }

    /// The bytes have ended: for this reason, or in order.
    fn end(&mut self, why: Option<ApiError>) {
        self.body = None;
        self.frames.end();
        self.broken = why;
    }
}

impl<T: Decode, B: Chunks> Reading<T, B> {
    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<WatchEvent<T>, ApiError>>> {
        loop {
            match self.frames.next() {
                Ok(Some(frame)) => match read(&frame, &self.expected) {
                    Ok(event) => return Poll::Ready(Some(Ok(event))),
                    Err(NoEvent::WrongGuess) => self.frames.give_back(&frame.bytes),
                    Err(NoEvent::Ends(error)) => return self.finish(Some(error)),
                },
                Ok(None) => {
                    let Some(body) = &mut self.body else {
                        if self.frames.has_rest() {
                            tracing::debug!("the watch ended in the middle of a frame");
                        }
                        let why = self.broken.take();
                        return self.finish(why);
                    };
                    match body.poll_chunk(cx) {
                        Poll::Ready(Some(Ok(chunk))) => self.frames.push(chunk),
                        Poll::Ready(Some(Err(error))) if is_eof(&error) => self.end(None),
                        Poll::Ready(Some(Err(error))) => self.end(Some(error)),
                        Poll::Ready(None) => self.end(None),
                        Poll::Pending => {
                            let Some(sleep) = &mut self.overdue else { return Poll::Pending };
                            ready!(sleep.as_mut().poll(cx));
                            return self.finish(Some(overdue()));
                        }
                    }
                }
                Err(error) => return self.finish(Some(unframed(error))),
            }
        }
    }
}

impl<T> fmt::Debug for Events<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events").field("is_open", &self.reading.body.is_some()).finish_non_exhaustive()
    }
}

fn is_eof(error: &ApiError) -> bool {
    matches!(error, ApiError::Broken { kind: BrokenKind::Eof, .. })
}

fn overdue() -> ApiError {
    ApiError::Broken {
        during: "watching",
        kind: BrokenKind::Timeout,
        source: "the server did not end the watch at the time that was asked for".into(),
    }
}

fn unframed(error: FrameError) -> ApiError {
    match error {
        FrameError::TooLarge { .. } => {
            ApiError::Broken { during: "watching", kind: BrokenKind::TooLarge, source: Box::new(error) }
        }
        FrameError::NotAnObject { .. } | FrameError::NotJson => {
            apimachinery::DecodeError::new(error.to_string()).into()
        }
    }
}
