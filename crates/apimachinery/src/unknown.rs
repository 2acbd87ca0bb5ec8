//! What metadata holds beside what `ObjectMeta` knows: the fields of a newer server, kept while it is read.

use std::borrow::Cow;
use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::de::value::{BorrowedStrDeserializer, StringDeserializer};
use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, MapAccess, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::{Map, Value};

use crate::head::Text;

/// Metadata, and the fields of it that are unknown. `null` is as if it were empty.
#[derive(Debug, Default)]
pub(crate) struct Metadata {
    pub(crate) known: ObjectMeta,
    pub(crate) unknown: Map<String, Value>,
}

impl<'de> Deserialize<'de> for Metadata {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MetadataVisitor;
        impl<'de> Visitor<'de> for MetadataVisitor {
            type Value = Metadata;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("ObjectMeta")
            }
            fn visit_unit<E: Error>(self) -> Result<Metadata, E> {
                Ok(Metadata::default())
            }
            fn visit_none<E: Error>(self) -> Result<Metadata, E> {
                Ok(Metadata::default())
            }
            fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Metadata, D::Error> {
                deserializer.deserialize_map(self)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Metadata, A::Error> {
                let mut unknown = Map::new();
                let known = ObjectMeta::deserialize(Divided { map, known: &[], unknown: &mut unknown })?;
                Ok(Metadata { known, unknown })
            }
        }
        deserializer.deserialize_option(MetadataVisitor)
    }
}

/// A map of which one reader gets the fields that it knows, and the rest is set aside.
struct Divided<'u, A> {
    map: A,
    known: &'static [&'static str],
    unknown: &'u mut Map<String, Value>,
}

impl<'de, A: MapAccess<'de>> Deserializer<'de> for Divided<'_, A> {
    type Error = A::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, A::Error> {
        visitor.visit_map(self.map)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        visitor.visit_map(Divided { known: fields, ..self })
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Divided<'_, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        loop {
            let Some(Text(key)) = self.map.next_key()? else { return Ok(None) };
            if !self.known.contains(&&*key) {
                let value = self.map.next_value()?;
                self.unknown.insert(key.into_owned(), value);
                continue;
            }
            return match key {
                Cow::Borrowed(key) => seed.deserialize(BorrowedStrDeserializer::new(key)),
                Cow::Owned(key) => seed.deserialize(StringDeserializer::new(key)),
            }
            .map(Some);
        }
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}
