//! gzip, undone as it arrives. A plain value: bytes in, bytes out.

use bytes::{Buf as _, Bytes, BytesMut};
use flate2::{Crc, Decompress, FlushDecompress, Status};

/// How much comes out at once.
const CHUNK: usize = 64 * 1024;
/// A header's name and comment are never needed; a longer header is no header.
const MAX_HEADER: usize = 16 * 1024;

/// Undoes gzip, member after member: a watch may come as one member an event.
#[derive(Debug)]
pub(super) struct Gunzip {
    input: Bytes,
    /// The beginning of a header or trailer that is not whole yet.
    held: BytesMut,
    state: State,
    inflate: Decompress,
    crc: Crc,
    /// Has a member begun?
    any: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Header,
    Deflate,
    Trailer,
}

impl Gunzip {
    pub(super) fn new() -> Self {
        Gunzip {
            input: Bytes::new(),
            held: BytesMut::new(),
            state: State::Header,
            inflate: Decompress::new(false),
            crc: Crc::new(),
            any: false,
        }
    }

    /// More of what the server sent. Only when [`poll_output`](Self::poll_output) had nothing more to give.
    pub(super) fn handle_input(&mut self, input: Bytes) {
        debug_assert!(self.input.is_empty(), "output first");
        self.input = input;
    }

    /// What can be told of the input so far: up to 64 KiB; `None` when more input is needed.
    pub(super) fn poll_output(&mut self) -> Result<Option<Bytes>, &'static str> {
        loop {
            match self.state {
                State::Header => {
                    if !self.header()? {
                        return Ok(None);
                    }
                }
                State::Trailer => {
                    if !self.trailer()? {
                        return Ok(None);
                    }
                }
                State::Deflate => {
                    let output = self.deflate()?;
                    if !output.is_empty() {
                        return Ok(Some(output));
                    }
                    if self.state == State::Deflate {
                        return Ok(None);
                    }
                }
            }
        }
    }

    /// Is this a place where the answer may end?
    pub(super) fn may_end(&self) -> bool {
        self.state == State::Header && self.held.is_empty() && self.any
    }

    fn header(&mut self) -> Result<bool, &'static str> {
        if self.input.is_empty() {
            return Ok(false);
        }
        self.held.extend_from_slice(&self.input);
        let length = header_length(&self.held)?;
        let Some(length) = length else {
            self.input.clear();
            return if self.held.len() > MAX_HEADER { Err("a gzip header without end") } else { Ok(false) };
        };
        let rest = self.held.len() - length;
        self.input.advance(self.input.len() - rest);
        self.held.clear();
        self.inflate.reset(false);
        self.crc.reset();
        self.any = true;
        self.state = State::Deflate;
        Ok(true)
    }

    fn deflate(&mut self) -> Result<Bytes, &'static str> {
        let mut output = Vec::with_capacity(CHUNK.min(self.input.len().saturating_mul(8).max(1024)));
        let before = self.inflate.total_in();
        let status = self
            .inflate
            .decompress_vec(&self.input, &mut output, FlushDecompress::None)
            .map_err(|_| "damaged gzip data")?;
        let used = usize::try_from(self.inflate.total_in() - before).unwrap_or(usize::MAX);
        self.input.advance(used.min(self.input.len()));
        self.crc.update(&output);
        if status == Status::StreamEnd {
            self.state = State::Trailer;
        }
        Ok(output.into())
    }

    fn trailer(&mut self) -> Result<bool, &'static str> {
        let missing = 8 - self.held.len();
        let take = missing.min(self.input.len());
        self.held.extend_from_slice(&self.input.split_to(take));
        if self.held.len() < 8 {
            return Ok(false);
        }
        let crc = self.held.get_u32_le();
        let size = self.held.get_u32_le();
        self.held.clear();
        if crc != self.crc.sum() || size != self.crc.amount() {
            return Err("gzip data whose checksum is wrong");
        }
        self.state = State::Header;
        Ok(true)
    }
}

/// How long the header is (RFC 1952, 2.3); `None` while it is not whole.
fn header_length(bytes: &[u8]) -> Result<Option<usize>, &'static str> {
    let magic = [0x1f, 0x8b, 8];
    if bytes.iter().zip(magic).any(|(&byte, expected)| byte != expected) {
        return Err("not gzip, though the answer says so");
    }
    let Some(&flags) = bytes.get(3) else { return Ok(None) };
    let mut at = 10;
    if flags & 0x04 != 0 {
        let Some(extra) = bytes.get(at..at + 2) else { return Ok(None) };
        at += 2 + usize::from(u16::from_le_bytes([extra[0], extra[1]]));
    }
    for text in [0x08, 0x10] {
        if flags & text != 0 {
            let Some(end) = bytes.get(at..).and_then(|rest| memchr::memchr(0, rest)) else { return Ok(None) };
            at += end + 1;
        }
    }
    if flags & 0x02 != 0 {
        at += 2;
    }
    Ok((at <= bytes.len()).then_some(at))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn member(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn gunzip(bytes: &[u8], step: usize) -> Result<Vec<u8>, &'static str> {
        let mut gunzip = Gunzip::new();
        let mut out = Vec::new();
        for chunk in bytes.chunks(step) {
            gunzip.handle_input(Bytes::copy_from_slice(chunk));
            while let Some(some) = gunzip.poll_output()? {
                out.extend_from_slice(&some);
            }
        }
        if gunzip.may_end() { Ok(out) } else { Err("cut") }
    }

    // REST-TL-16
    #[test]
    fn several_members_cut_anywhere_give_the_same_bytes() {
        let text: Vec<u8> = (0..40_000u32).flat_map(|n| n.to_string().into_bytes()).collect();
        let mut all = member(&text);
        all.extend(member(b""));
        all.extend(member(b"the last one"));
        let mut expected = text;
        expected.extend_from_slice(b"the last one");
        for step in [1, 2, 3, 7, 64, 1000, all.len()] {
            assert_eq!(gunzip(&all, step).as_deref(), Ok(expected.as_slice()), "step {step}");
        }
    }

    // REST-TL-16
    #[test]
    fn what_has_been_flushed_is_told_before_the_member_ends() {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(b"{\"type\":\"ADDED\"}\n").unwrap();
        encoder.flush().unwrap();
        let mut gunzip = Gunzip::new();
        gunzip.handle_input(Bytes::copy_from_slice(encoder.get_ref()));
        assert_eq!(gunzip.poll_output().unwrap().as_deref(), Some(&b"{\"type\":\"ADDED\"}\n"[..]));
        assert_eq!(gunzip.poll_output(), Ok(None));
        assert!(!gunzip.may_end());
    }

    #[test]
    fn damage_and_cuts_are_errors_and_never_panics() {
        let good = member(b"some text that is long enough to be damaged somewhere in the middle");
        for cut in 0..good.len() {
            assert!(gunzip(&good[..cut], good.len()).is_err(), "cut at {cut}");
            let mut bad = good.clone();
            bad[cut] ^= 0x55;
            let _ = gunzip(&bad, 5);
        }
        let mut wrong_sum = good.clone();
        let at = wrong_sum.len() - 5;
        wrong_sum[at] ^= 1;
        assert_eq!(gunzip(&wrong_sum, 4), Err("gzip data whose checksum is wrong"));
        assert!(gunzip(b"plain text", 4).is_err());
    }
}
