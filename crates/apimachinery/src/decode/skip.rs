//! Skips `metadata.managedFields` for any form, while it is read: nothing is allocated for it.
//!
//! A deserializer around the parser's looks at the keys of two maps, the object and its metadata. Everything below, and
//! every other field, is read by the parser itself.

use std::borrow::Cow;
use std::fmt;

use serde::de::value::{BorrowedStrDeserializer, StringDeserializer};
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, IgnoredAny, MapAccess, SeqAccess, Visitor,
};

use crate::head::Text;

/// Which of the two maps this is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Map {
    Object,
    Metadata,
}

/// A deserializer, a visitor, a map or a seed on the way to `managedFields`.
pub(super) struct ManagedFields<I> {
    inner: I,
    map: Map,
}

impl<I> ManagedFields<I> {
    /// Around the deserializer of a whole object.
    pub(super) fn of_object(inner: I) -> Self {
        Self { inner, map: Map::Object }
    }

    fn around<O>(&self, inner: O) -> ManagedFields<O> {
        ManagedFields { inner, map: self.map }
    }
}

/// What can be a map in the end gets its visitor watched; anything else is none of our business.
macro_rules! forward {
    (watched { $($watched:ident($($arg:ident: $type:ty),*);)* } plain { $($plain:ident($($parg:ident: $ptype:ty),*);)* }) => {
        impl<'de, D: Deserializer<'de>> Deserializer<'de> for ManagedFields<D> {
            type Error = D::Error;
            $(fn $watched<V: Visitor<'de>>(self, $($arg: $type,)* visitor: V) -> Result<V::Value, D::Error> {
                let visitor = self.around(visitor);
                self.inner.$watched($($arg,)* visitor)
            })*
            $(fn $plain<V: Visitor<'de>>(self, $($parg: $ptype,)* visitor: V) -> Result<V::Value, D::Error> {
                self.inner.$plain($($parg,)* visitor)
            })*
            fn is_human_readable(&self) -> bool {
                self.inner.is_human_readable()
            }
        }
    };
}

forward! {
    watched {
    deserialize_any();
    deserialize_option();
    deserialize_map();
    deserialize_struct(name: &'static str, fields: &'static [&'static str]);
    deserialize_newtype_struct(name: &'static str);
    }
    plain {
    deserialize_bool();
    deserialize_i8();
    deserialize_i16();
    deserialize_i32();
    deserialize_i64();
    deserialize_i128();
    deserialize_u8();
    deserialize_u16();
    deserialize_u32();
    deserialize_u64();
    deserialize_u128();
    deserialize_f32();
    deserialize_f64();
    deserialize_char();
    deserialize_str();
    deserialize_string();
    deserialize_bytes();
    deserialize_byte_buf();
    deserialize_unit();
    deserialize_unit_struct(name: &'static str);
    deserialize_seq();
    deserialize_tuple(len: usize);
    deserialize_tuple_struct(name: &'static str, len: usize);
    deserialize_enum(name: &'static str, variants: &'static [&'static str]);
    deserialize_identifier();
    deserialize_ignored_any();
    }
}

macro_rules! visit {
    ($($visit:ident: $type:ty),* $(,)?) => {
        $(fn $visit<E: Error>(self, value: $type) -> Result<V::Value, E> {
            self.inner.$visit(value)
        })*
    };
}

impl<'de, V: Visitor<'de>> Visitor<'de> for ManagedFields<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(f)
    }
    visit! {
        visit_bool: bool, visit_i8: i8, visit_i16: i16, visit_i32: i32, visit_i64: i64, visit_i128: i128,
        visit_u8: u8, visit_u16: u16, visit_u32: u32, visit_u64: u64, visit_u128: u128,
        visit_f32: f32, visit_f64: f64, visit_char: char, visit_str: &str, visit_borrowed_str: &'de str,
        visit_string: String, visit_bytes: &[u8], visit_borrowed_bytes: &'de [u8], visit_byte_buf: Vec<u8>,
    }
    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_none()
    }
    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_unit()
    }
    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        let deserializer = self.around(deserializer);
        self.inner.visit_some(deserializer)
    }
    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        let deserializer = self.around(deserializer);
        self.inner.visit_newtype_struct(deserializer)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<V::Value, A::Error> {
        self.inner.visit_seq(seq)
    }
    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<V::Value, A::Error> {
        self.inner.visit_enum(data)
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        let map = Fields { inner: map, map: self.map, at_metadata: false };
        self.inner.visit_map(map)
    }
}

struct Fields<A> {
    inner: A,
    map: Map,
    /// Whether the next value is that of the object's metadata.
    at_metadata: bool,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Fields<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        loop {
            let Some(Text(key)) = self.inner.next_key()? else { return Ok(None) };
            if self.map == Map::Metadata && key == "managedFields" {
                self.inner.next_value::<IgnoredAny>()?;
                continue;
            }
            self.at_metadata = self.map == Map::Object && key == "metadata";
            return match key {
                Cow::Borrowed(key) => seed.deserialize(BorrowedStrDeserializer::new(key)),
                Cow::Owned(key) => seed.deserialize(StringDeserializer::new(key)),
            }
            .map(Some);
        }
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        if self.at_metadata {
            self.inner.next_value_seed(ManagedFields { inner: seed, map: Map::Metadata })
        } else {
            self.inner.next_value_seed(seed)
        }
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for ManagedFields<S> {
    type Value = S::Value;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        let deserializer = self.around(deserializer);
        self.inner.deserialize(deserializer)
    }
}
