//! The body of an answer, and the place where a planned fault strikes it.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};

use crate::faults::{After, End};
use crate::http::socket::Control;
use crate::http::stream::{ListStream, WatchStream};

/// Where the bytes come from.
pub(crate) enum Content {
    /// They are there already.
    Whole(Bytes),
    /// A list.
    List(ListStream),
    /// A watch.
    Watch(WatchStream),
    /// Frames that are there already: of a watch that a fault made up.
    Frames(VecDeque<Bytes>),
}

/// What happens in the middle of a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Strike {
    End(End),
    Stall,
    Insert(Bytes),
}

/// A body that hyper sends.
pub(crate) struct AnswerBody {
    content: Content,
    strike: Option<(After, Strike)>,
    control: Control,
    sent_bytes: u64,
    sent_frames: u64,
    length: Option<u64>,
    /// What came before was handed over and not yet flushed: one turn is left to the connection before the end.
    has_yielded: bool,
    is_done: bool,
}

impl AnswerBody {
    pub(crate) fn new(content: Content, strike: Option<(After, Strike)>, control: Control) -> Self {
        let length = match (&content, &strike) {
            (Content::Whole(_), Some((_, Strike::End(End::Clean)))) => None, // chunked: it must look complete
            (Content::Whole(bytes), _) => Some(bytes.len() as u64),
            _ => None,
        };
        Self {
            content,
            strike,
            control,
            sent_bytes: 0,
            sent_frames: 0,
            length,
            has_yielded: false,
            is_done: false,
        }
    }

    /// Bytes that may still be sent before the fault strikes.
    fn room(&self) -> u64 {
        match self.strike {
            Some((After::Bytes(limit), _)) => limit.saturating_sub(self.sent_bytes),
            Some((After::Frames(limit), _)) if self.sent_frames >= limit => 0,
            _ => u64::MAX,
        }
    }

    fn poll_content(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        match &mut self.content {
            Content::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            Content::Whole(bytes) => Poll::Ready(Some(std::mem::take(bytes))),
            Content::List(list) => Poll::Ready(list.next_piece()),
            Content::Watch(watch) => watch.poll_frame(cx),
            Content::Frames(frames) => Poll::Ready(frames.pop_front()),
        }
    }

    fn strike(&mut self, cx: &Context<'_>) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        if !std::mem::replace(&mut self.has_yielded, true) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        match self.strike.as_ref().map(|(_, strike)| strike) {
            Some(Strike::Insert(bytes)) => {
                let bytes = bytes.clone();
                self.strike = None;
                Poll::Ready(Some(Ok(Frame::data(bytes))))
            }
            Some(Strike::End(End::Clean)) => {
                self.is_done = true;
                Poll::Ready(None)
            }
            Some(Strike::End(End::Broken)) => {
                self.is_done = true;
                Poll::Ready(Some(Err(io::Error::new(io::ErrorKind::ConnectionAborted, "a planned fault"))))
            }
            Some(Strike::End(End::Reset)) => {
                self.control.reset();
                Poll::Pending
            }
            Some(Strike::Stall) | None => Poll::Pending,
        }
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let this = self.get_mut();
        if this.is_done {
            return Poll::Ready(None);
        }
        let room = this.room();
        if room == 0 {
            return this.strike(cx);
        }
        match this.poll_content(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(None) => {
                this.is_done = true;
                Poll::Ready(None)
            }
            Poll::Ready(Some(mut bytes)) => {
                if let Ok(room) = usize::try_from(room) {
                    bytes.truncate(room);
                }
                this.sent_bytes += bytes.len() as u64;
                this.sent_frames += 1;
                Poll::Ready(Some(Ok(Frame::data(bytes))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.strike.is_none() && matches!(&self.content, Content::Whole(bytes) if bytes.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        self.length.map_or_else(SizeHint::default, |length| {
            SizeHint::with_exact(length - self.sent_bytes.min(length))
        })
    }
}
