//! `DecodeError`: which object could not be decoded, where, and why.

use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::redact;
use crate::{ObjectKey, ResourceVersion};

/// An object that could not be decoded: which one, as far as it can be told, and why.
///
/// It ends in logs, and the object may be a Secret: what is made here of a parser's error quotes no value (REST-XX-02).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("could not decode {}: {message}", .key.as_ref().map_or("an object without a readable name", |key| key.as_str()))]
#[non_exhaustive]
pub struct DecodeError {
    /// Its key, where the metadata could be read.
    pub key: Option<ObjectKey>,
    /// Its version, where the metadata could be read.
    pub resource_version: Option<ResourceVersion>,
    /// What is wrong, and where: field path, line and column.
    pub message: String,
}

impl DecodeError {
    /// An error about bytes of which not even the metadata can be read.
    pub fn new(message: impl Into<String>) -> Self {
        Self { key: None, resource_version: None, message: message.into() }
    }

    /// The error `message` about the object in `body`: its key and version are looked up in the bytes. They are found
    /// whenever its metadata is whole, whatever is wrong before, after or inside of it.
    pub fn about(body: &[u8], message: impl Into<String>) -> Self {
        let mut found = None;
        // What is broken behind the metadata has been told by `message` already.
        _ = AnyObject { found: &mut found }.deserialize(&mut serde_json::Deserializer::from_slice(body));
        let Names { name, namespace, resource_version } = found.unwrap_or_default();
        let key = name.filter(|name| !name.is_empty());
        Self {
            key: key.map(|name| ObjectKey::new(namespace.as_deref().unwrap_or_default(), &name)),
            resource_version: resource_version.filter(|v| !v.is_empty()).map(ResourceVersion::from),
            message: message.into(),
        }
    }

    /// The parser's `error` about something that has no name, `what`: place and kind of the mismatch, and no value.
    pub fn unparsed(what: &str, error: &serde_json::Error) -> Self {
        Self::new(format!("{what}: {}", redact::told(error)))
    }

    /// The error of the parser about `body`, with the path of the field where it stopped.
    pub(crate) fn at(body: &[u8], error: &serde_json::Error) -> Self {
        Self::about(body, describe(body, error))
    }

    /// As [`at`](Self::at), where the object's names are known.
    pub(crate) fn within(object: &dyn crate::Meta, body: &[u8], error: &serde_json::Error) -> Self {
        Self {
            key: Some(object.key()),
            resource_version: Some(object.resource_version().into()),
            message: describe(body, error),
        }
    }
}

fn describe(body: &[u8], error: &serde_json::Error) -> String {
    let path = path_at(body, offset(body, error.line(), error.column()));
    let told = redact::told(error);
    if path.is_empty() { told } else { format!("{path}: {told}") }
}

/// How many bytes lie before a place that is told by line and column.
fn offset(body: &[u8], line: usize, column: usize) -> usize {
    let starts = memchr::memchr_iter(b'\n', body).map(|at| at + 1);
    let start = std::iter::once(0).chain(starts).nth(line.saturating_sub(1)).unwrap_or(0);
    (start + column).min(body.len())
}

/// The path of the value that ends at, or goes on past, `offset`: `spec.containers[0].image`.
fn path_at(body: &[u8], offset: usize) -> String {
    enum Step {
        /// The key as it stands in the text, and whether the next text is a key.
        Object(String, bool),
        Array(usize),
    }
    let mut steps = Vec::new();
    let mut at = 0;
    while at < offset {
        let byte = body[at];
        at += 1;
        match (byte, steps.last_mut()) {
            (b'{', _) => steps.push(Step::Object(String::new(), true)),
            (b'[', _) => steps.push(Step::Array(0)),
            (b'}' | b']', _) => {
                steps.pop();
            }
            (b',', Some(Step::Array(index))) => *index += 1,
            (b',', Some(Step::Object(_, key_next))) => *key_next = true,
            (b'"', step) => {
                let start = at;
                while at < body.len() && body[at] != b'"' {
                    at += if body[at] == b'\\' { 2 } else { 1 };
                }
                // Without its colon, too, what follows a key is a value.
                if let Some(Step::Object(key, key_next @ true)) = step {
                    *key = String::from_utf8_lossy(&body[start..at.min(body.len())]).into_owned();
                    *key_next = false;
                }
                at += 1;
            }
            _ => {}
        }
    }
    let mut path = String::new();
    for step in &steps {
        match step {
            Step::Array(index) => {
                path.push('[');
                path.push_str(&index.to_string());
                path.push(']');
            }
            Step::Object(key, _) if key.is_empty() => {}
            Step::Object(key, _) => {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(key);
            }
        }
    }
    path
}

#[derive(Default)]
struct Names {
    name: Option<String>,
    namespace: Option<String>,
    resource_version: Option<String>,
}

/// Reads an object up to where it is broken, and leaves the names in `found` as soon as the metadata is whole: before
/// that a namespace might still be missing.
struct AnyObject<'o> {
    found: &'o mut Option<Names>,
}

impl<'de> DeserializeSeed<'de> for AnyObject<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for AnyObject<'_> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            if key == "metadata" {
                *self.found = Some(map.next_value()?);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NamesVisitor;
        impl<'de> Visitor<'de> for NamesVisitor {
            type Value = Names;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("metadata")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Names, A::Error> {
                let mut names = Names::default();
                while let Some(key) = map.next_key::<String>()? {
                    let MaybeText(text) = map.next_value()?;
                    match &*key {
                        "name" => names.name = text,
                        "namespace" => names.namespace = text,
                        "resourceVersion" => names.resource_version = text,
                        _ => {}
                    }
                }
                Ok(names)
            }
        }
        deserializer.deserialize_map(NamesVisitor)
    }
}

/// A text, or whatever else stands there.
struct MaybeText(Option<String>);

impl<'de> Deserialize<'de> for MaybeText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MaybeVisitor;
        impl<'de> Visitor<'de> for MaybeVisitor {
            type Value = MaybeText;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any value")
            }
            fn visit_str<E>(self, text: &str) -> Result<MaybeText, E> {
                Ok(MaybeText(Some(text.to_owned())))
            }
            fn visit_unit<E>(self) -> Result<MaybeText, E> {
                Ok(MaybeText(None))
            }
            fn visit_bool<E>(self, _: bool) -> Result<MaybeText, E> {
                Ok(MaybeText(None))
            }
            fn visit_i64<E>(self, _: i64) -> Result<MaybeText, E> {
                Ok(MaybeText(None))
            }
            fn visit_u64<E>(self, _: u64) -> Result<MaybeText, E> {
                Ok(MaybeText(None))
            }
            fn visit_f64<E>(self, _: f64) -> Result<MaybeText, E> {
                Ok(MaybeText(None))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<MaybeText, A::Error> {
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(MaybeText(None))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<MaybeText, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(MaybeText(None))
            }
        }
        deserializer.deserialize_any(MaybeVisitor)
    }
}
