//! `Frames`: chunks in, frames out. A core: no socket, no clock, no type of any object.
//!
//! A frame is one JSON object. The API server ends each with a newline, and that is looked for first, with `memchr` in
//! the chunk as it came: a frame that lies in one chunk is not copied, and nothing in it is looked at twice. But a
//! newline promises nothing: the stream is a sequence of JSON values (REST-WA-02). So a frame that was cut at a newline
//! is a *guess*. Whoever reads it finds out whether it makes sense; if not, it is given back, and its true end is
//! searched for brace by brace.
//!
//! Why a guess that can be read is never wrong: if `{"type":"ADDED","object":X}` was found before a newline, and all of
//! X is one JSON value, then the frame is one JSON value, too, and ends there.

use bytes::{Buf, Bytes, BytesMut};

use super::event::may_go_on;
use crate::json::{ValueScan, blanks};

/// The most bytes of one frame (REST-WA-05).
pub(crate) const FRAME_LIMIT: usize = 16 * 1024 * 1024;

/// Chunks in, frames out.
#[derive(Debug)]
pub(crate) struct Frames {
    /// The start of a frame whose rest had not come yet.
    head: BytesMut,
    /// What came last, as it came; it follows `head`.
    chunk: Bytes,
    /// How far the first frame in `head` and `chunk` has been searched for its end.
    scan: ValueScan,
    scanned: usize,
    /// Do newlines end frames here?
    lines: Lines,
    /// The length of a guess that was given back.
    refused: Option<usize>,
    /// How many bytes of a frame whose end is searched for have been read as JSON, which it may not be.
    checked: usize,
    ended: bool,
    limit: usize,
}

/// Do newlines end frames?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lines {
    Unknown,
    Yes,
    No,
}

/// One frame: an object, if its end is certain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Frame {
    /// The bytes of it.
    pub(crate) bytes: Bytes,
    /// Whether its end is certain. If not, and if it cannot be read, [`Frames::give_back`] is due.
    pub(crate) is_whole: bool,
}

/// Why there are no more frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FrameError {
    #[error("a frame is larger than the limit of {limit} bytes")]
    TooLarge { limit: usize },
    #[error("a frame must begin with a brace, not with {:?}", char::from(*.first))]
    NotAnObject { first: u8 },
    #[error("a frame is no JSON")]
    NotJson,
}

impl Frames {
    /// None yet; none may be larger than `limit`.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            head: BytesMut::new(),
            chunk: Bytes::new(),
            scan: ValueScan::default(),
            scanned: 0,
            lines: Lines::Unknown,
            refused: None,
            checked: 0,
            ended: false,
            limit,
        }
    }

    /// More bytes came. Call it when [`next`](Self::next) has nothing more to give.
    pub(crate) fn push(&mut self, chunk: Bytes) {
        if !self.chunk.is_empty() {
            self.head.extend_from_slice(&self.chunk);
        }
        self.chunk = chunk;
    }

    /// No more bytes will come.
    pub(crate) fn end(&mut self) {
        self.ended = true;
    }

    /// Whether there are bytes of which no frame has been made: after the end, a frame that was cut.
    pub(crate) fn has_rest(&self) -> bool {
        !self.head.is_empty() || !self.chunk.is_empty()
    }

    /// The next frame; `None` needs more bytes. After an error, nothing here makes sense any more.
    pub(crate) fn next(&mut self) -> Result<Option<Frame>, FrameError> {
        if self.head.is_empty() {
            self.chunk.advance(blanks(&self.chunk));
            match self.chunk.first() {
                None => {
                    self.chunk = Bytes::new();
                    return Ok(None);
                }
                Some(b'{') => {}
                Some(&first) => return Err(FrameError::NotAnObject { first }),
            }
        }
        if self.lines != Lines::No && self.refused.is_none() {
            if let Some(newline) = memchr::memchr(b'\n', &self.chunk) {
                let guess = self.cut_at(newline);
                if guess.len() <= self.limit {
                    self.lines = Lines::Yes;
                    return Ok(Some(Frame { bytes: guess, is_whole: false }));
                }
                self.give_back(&guess);
            } else if !self.may_be_whole() {
                self.keep();
                return Ok(None);
            }
        }
        self.search()
    }

    /// The frame was a guess and cannot be read: its true end must be found.
    pub(crate) fn give_back(&mut self, guess: &[u8]) {
        self.head.clear();
        self.head.reserve(guess.len() + 1 + self.chunk.len());
        self.head.extend_from_slice(guess);
        self.head.extend_from_slice(b"\n");
        self.refused = Some(guess.len());
        self.checked = guess.len();
        self.restart();
    }

    /// Takes what stands before the newline.
    fn cut_at(&mut self, newline: usize) -> Bytes {
        self.restart();
        let line = self.chunk.split_to(newline);
        self.chunk.advance(1);
        if self.head.is_empty() {
            return line;
        }
        self.head.extend_from_slice(&line);
        self.head.split().freeze()
    }

    /// Without a newline in sight: is it worth the search for a closing brace? As long as newlines have been seen to
    /// end frames, a frame without one is whole only if its last byte happens to be the last that came.
    fn may_be_whole(&self) -> bool {
        self.ended
            || self.lines == Lines::Unknown
            || self.head.len() + self.chunk.len() > self.limit
            || self.chunk.trim_ascii_end().last() == Some(&b'}')
    }

    /// Finds the end of the first frame, brace by brace.
    fn search(&mut self) -> Result<Option<Frame>, FrameError> {
        if !self.head.is_empty() {
            self.keep();
        }
        let bytes: &[u8] = if self.head.is_empty() { &self.chunk } else { &self.head };
        let Some(more) = self.scan.feed(&bytes[self.scanned..]) else {
            self.scanned = bytes.len();
            if self.scanned > self.limit {
                return Err(FrameError::TooLarge { limit: self.limit });
            }
            self.keep();
            // Braces that never close would swallow all that follows. Looking again when there is twice as much costs
            // no more, all in all, than looking once.
            if self.refused.is_some() && self.scanned >= self.checked.saturating_mul(2) {
                self.checked = self.scanned;
                if !may_go_on(&self.head) {
                    return Err(FrameError::NotJson);
                }
            }
            return Ok(None);
        };
        let end = self.scanned + more;
        if end > self.limit {
            return Err(FrameError::TooLarge { limit: self.limit });
        }
        if self.refused.take().is_some_and(|guessed| guessed != end) {
            self.lines = Lines::No;
        }
        self.restart();
        if !self.head.is_empty() {
            self.chunk = self.head.split().freeze();
        }
        Ok(Some(Frame { bytes: self.chunk.split_to(end), is_whole: true }))
    }

    /// The chunk becomes part of a frame that has just begun.
    fn keep(&mut self) {
        self.head.extend_from_slice(&self.chunk);
        self.chunk = Bytes::new();
    }

    fn restart(&mut self) {
        self.scan = ValueScan::default();
        self.scanned = 0;
    }
}
