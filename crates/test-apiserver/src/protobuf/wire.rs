//! The wire format: numbers and bytes behind their field numbers.

use super::Problem;

/// What stands behind a field number. Fixed-size numbers come as their bits.
#[derive(Debug, Clone, Copy)]
pub(super) enum Datum<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// Walks over the fields of one message.
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// The next field; none at the end.
    pub(super) fn next(&mut self) -> Result<Option<(u64, Datum<'a>)>, Problem> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let tag = self.varint()?;
        let datum = match tag & 7 {
            0 => Datum::Number(self.varint()?),
            1 => Datum::Number(u64::from_le_bytes(*self.array()?)),
            2 => {
                let length = usize::try_from(self.varint()?).map_err(|_| cut())?;
                let (bytes, rest) = self.rest.split_at_checked(length).ok_or_else(cut)?;
                self.rest = rest;
                Datum::Bytes(bytes)
            }
            5 => Datum::Number(u64::from(u32::from_le_bytes(*self.array()?))),
            other => return Err(format!("wire type {other} is not known")),
        };
        Ok(Some((tag >> 3, datum)))
    }

    fn varint(&mut self) -> Result<u64, Problem> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.rest.split_first().ok_or_else(cut)?;
            self.rest = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err("a number is too long".to_owned())
    }

    fn array<const N: usize>(&mut self) -> Result<&'a [u8; N], Problem> {
        let (bytes, rest) = self.rest.split_first_chunk().ok_or_else(cut)?;
        self.rest = rest;
        Ok(bytes)
    }
}

fn cut() -> Problem {
    "it ends too early".to_owned()
}
