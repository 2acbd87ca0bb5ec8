//! Texts packed into one: each behind its length, so that a head of twenty texts is one allocation.
//!
//! Who keeps the bytes that the texts were read from keeps no copies: of a text that stands there as it is, only the
//! place is written, three letters instead of forty.
//!
//! A length is written in letters of six bits, the low ones first, a bit above them while more follow: every letter is
//! ASCII, so the whole stays a `str` and a text is cut out of it without being checked again.

use crate::OwnerRef;

/// Where a text that was read will stand in what is kept, if it stands there at all.
pub(crate) type Place<'p> = &'p dyn Fn(&str) -> Option<usize>;

/// Nothing is kept but what is packed.
pub(crate) const NOWHERE: Place<'static> = &|_| None;

/// A place is written for texts that are longer than a place.
const SHORT: usize = 3;

/// Writes texts and numbers one after the other.
pub(crate) struct Packer<'p> {
    text: String,
    place: Place<'p>,
    /// Where the last text ended whose place was written: the next one is not far.
    at: usize,
}

impl<'p> Packer<'p> {
    pub(crate) fn new(place: Place<'p>) -> Self {
        Self { text: String::new(), place, at: 0 }
    }

    pub(crate) fn reserve(&mut self, bytes: usize) {
        self.text.reserve(bytes);
    }

    pub(crate) fn number(&mut self, mut number: usize) {
        const MORE: u8 = 0x40;
        while number >= 64 {
            self.text.push(char::from(MORE | low_bits(number)));
            number >>= 6;
        }
        self.text.push(char::from(low_bits(number)));
    }

    pub(crate) fn text(&mut self, text: &str) {
        let place = if text.len() > SHORT { (self.place)(text) } else { None };
        let Some(place) = place else {
            self.number(text.len() << 1);
            return self.text.push_str(text);
        };
        self.number(text.len() << 1 | 1);
        let is_before = place < self.at;
        self.number(place.abs_diff(self.at) << 1 | usize::from(is_before));
        self.at = place + text.len();
    }

    pub(crate) fn owner(&mut self, owner: OwnerRef<'_>) {
        self.text(owner.api_version);
        self.text(owner.kind);
        self.text(owner.name);
        self.text(owner.uid);
        self.number(flag(owner.controller) | flag(owner.block_owner_deletion) << 2);
    }

    pub(crate) fn finish(self) -> String {
        self.text
    }
}

/// A length at the end of a text takes so many letters.
pub(crate) const LENGTH: usize = 6;

/// Writes a length at the end.
pub(crate) fn write_length(text: &mut String, length: usize) {
    text.extend((0..LENGTH).map(|letter| char::from(low_bits(length >> (6 * letter)))));
}

/// Reads the length at the end; what stands before it, and the length.
pub(crate) fn read_length(text: &str) -> (&str, usize) {
    let (before, letters) = text.split_at_checked(text.len().saturating_sub(LENGTH)).unwrap_or_default();
    (before, letters.bytes().rev().fold(0, |length, letter| length << 6 | usize::from(letter)))
}

#[expect(clippy::cast_possible_truncation, reason = "six bits fit")]
fn low_bits(number: usize) -> u8 {
    (number & 0x3f) as u8
}

fn flag(flag: Option<bool>) -> usize {
    match flag {
        None => 0,
        Some(false) => 1,
        Some(true) => 2,
    }
}

fn unflag(bits: usize) -> Option<bool> {
    match bits & 3 {
        1 => Some(false),
        2 => Some(true),
        _ => None,
    }
}

/// Reads what a [`Packer`] wrote, in the same order.
#[derive(Clone, Copy)]
pub(crate) struct Texts<'a> {
    rest: &'a str,
    /// Where the texts stand of which only the place was written.
    kept: &'a str,
    at: usize,
}

impl<'a> Texts<'a> {
    /// No records.
    pub(crate) const NONE: Self = Self { rest: "", kept: "", at: 0 };

    pub(crate) fn new(packed: &'a str, kept: &'a str) -> Self {
        Self { rest: packed, kept, at: 0 }
    }

    pub(crate) fn number(&mut self) -> usize {
        let (mut number, mut shift, mut used) = (0, 0, 0);
        for byte in self.rest.bytes() {
            used += 1;
            number |= usize::from(byte & 0x3f) << shift;
            if byte & 0x40 == 0 {
                break;
            }
            shift += 6;
        }
        self.rest = self.rest.get(used..).unwrap_or_default();
        number
    }

    pub(crate) fn text(&mut self) -> &'a str {
        let tag = self.number();
        let length = tag >> 1;
        if tag & 1 == 1 {
            let step = self.number();
            let start = match step & 1 {
                0 => self.at.saturating_add(step >> 1),
                _ => self.at.saturating_sub(step >> 1),
            };
            self.at = start.saturating_add(length);
            return self.kept.get(start..self.at).unwrap_or_default();
        }
        let (text, rest) = self.rest.split_at_checked(length).unwrap_or_default();
        self.rest = rest;
        text
    }

    pub(crate) fn text2(&mut self) -> (&'a str, &'a str) {
        (self.text(), self.text())
    }

    pub(crate) fn owner(&mut self) -> OwnerRef<'a> {
        let (api_version, kind) = self.text2();
        let (name, uid) = self.text2();
        let flags = self.number();
        OwnerRef {
            api_version,
            kind,
            name,
            uid,
            controller: unflag(flags),
            block_owner_deletion: unflag(flags >> 2),
        }
    }

    /// The records that lie in the text that comes next.
    pub(crate) fn section(&mut self) -> Self {
        Self { rest: self.text(), kept: self.kept, at: 0 }
    }

    /// How many records there are up to the end.
    pub(crate) fn count<R>(mut self, read: fn(&mut Self) -> R) -> usize {
        std::iter::from_fn(|| self.next_record(read)).count()
    }

    /// The next record, if this is not the end.
    pub(crate) fn next_record<R>(&mut self, read: fn(&mut Self) -> R) -> Option<R> {
        (!self.rest.is_empty()).then(|| read(self))
    }
}
