//! What each message holds: read once from `schema.txt`, which `schema.py` makes from the Go types.

use std::collections::HashMap;
use std::sync::OnceLock;

/// One field of a message.
#[derive(Debug)]
pub(super) struct Field {
    /// Its name in JSON; empty if its message is inlined there.
    pub(super) json: &'static str,
    pub(super) number: u64,
    pub(super) shape: Shape,
    pub(super) kind: Kind,
    /// A pointer in Go: there or not, whatever its value.
    pub(super) is_pointer: bool,
    /// `omitempty` in Go.
    pub(super) hides_zero: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    One,
    List,
    Map,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Flag,
    Integer,
    Double,
    Bytes,
    Time,
    MicroTime,
    Quantity,
    IntOrString,
    Json,
    Texts,
    Message(&'static str),
}

/// The fields of a message: `apps/v1.Deployment`.
pub(super) fn fields_of(name: &str) -> Option<&'static [Field]> {
    static MESSAGES: OnceLock<HashMap<&'static str, Vec<Field>>> = OnceLock::new();
    let messages = MESSAGES.get_or_init(|| include_str!("schema.txt").lines().filter_map(message).collect());
    messages.get(name).map(Vec::as_slice)
}

fn message(line: &'static str) -> Option<(&'static str, Vec<Field>)> {
    let mut words = line.split_whitespace();
    let name = words.next().filter(|name| !name.starts_with('#'))?;
    Some((name, words.filter_map(field).collect()))
}

fn field(word: &'static str) -> Option<Field> {
    let (json, rest) = word.split_once('=')?;
    let (number, mut kind) = rest.split_once(':')?;
    let hides_zero = kind.ends_with('?');
    kind = kind.trim_end_matches('?');
    let is_pointer = kind.ends_with('!');
    kind = kind.trim_end_matches('!');
    let shape = match kind.as_bytes().first()? {
        b'*' => Shape::List,
        b'%' => Shape::Map,
        _ => Shape::One,
    };
    kind = kind.trim_start_matches(['*', '%']);
    let kind = match kind {
        "s" => Kind::Text,
        "b" => Kind::Flag,
        "i" => Kind::Integer,
        "d" => Kind::Double,
        "y" => Kind::Bytes,
        "t" => Kind::Time,
        "u" => Kind::MicroTime,
        "q" => Kind::Quantity,
        "x" => Kind::IntOrString,
        "r" => Kind::Json,
        "w" => Kind::Texts,
        _ => Kind::Message(kind.strip_prefix('m')?),
    };
    Some(Field { json, number: number.parse().ok()?, shape, kind, is_pointer, hides_zero })
}

#[cfg(test)]
mod tests {
    use super::{Kind, field, fields_of};

    #[test]
    fn every_word_of_the_schema_is_understood_and_every_message_is_there() {
        for line in include_str!("schema.txt").lines().filter(|line| !line.starts_with('#')) {
            for word in line.split_whitespace().skip(1) {
                let field = field(word).unwrap_or_else(|| panic!("{word} in {line}"));
                if let Kind::Message(name) = field.kind {
                    assert!(fields_of(name).is_some(), "{name} in {line}");
                }
            }
        }
    }
}
