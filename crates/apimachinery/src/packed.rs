//! Texts packed into one: each behind its length, so that a head of twenty texts is one allocation.
//!
//! A length is written in letters of six bits, the low ones first, a bit above them while more follow: every letter is
//! ASCII, so the whole stays a `str` and a text is cut out of it without being checked again.

use crate::OwnerRef;

/// Writes texts and numbers one after the other.
#[derive(Default)]
pub(crate) struct Packer {
    text: String,
}

impl Packer {
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        Self { text: String::with_capacity(bytes) }
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
        self.number(text.len());
        self.text.push_str(text);
    }

    pub(crate) fn owner(&mut self, owner: OwnerRef<'_>) {
        self.text(owner.api_version);
        self.text(owner.kind);
        self.text(owner.name);
        self.text(owner.uid);
        self.number(flag(owner.controller) | flag(owner.block_owner_deletion) << 2);
    }

    pub(crate) fn finish(self) -> Box<str> {
        self.text.into_boxed_str()
    }
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
}

impl<'a> Texts<'a> {
    /// No records.
    pub(crate) const NONE: Self = Self { rest: "" };

    pub(crate) fn new(packed: &'a str) -> Self {
        Self { rest: packed }
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
        let length = self.number();
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
        Self { rest: self.text() }
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
