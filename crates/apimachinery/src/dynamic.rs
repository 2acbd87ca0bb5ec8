//! `DynamicObject`: an object whose kind is known at run time.

use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{SerializeMap, Serializer};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use crate::unknown::Metadata;
use crate::{ApiResource, Meta, Object};

/// Metadata, and the rest as JSON.
///
/// Whole numbers stay whole as far as 64 bits go, with or without a sign. Decoded as [`Decode`](crate::Decode) does, an
/// object must say its kind, or be the item of a list that says it.
///
/// ```
/// use steersman_apimachinery::{ApiResource, DynamicObject, Scope};
///
/// let websites = ApiResource::new("example.com/v1", "Website", "websites", Scope::Namespaced);
/// let mut site = DynamicObject::new("blog", &websites).within("shop");
/// site.set("/spec/replicas", 3.into());
/// assert_eq!(site.field::<i64>("/spec/replicas")?, Some(3));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DynamicObject {
    /// `v1` or `group/version`.
    pub api_version: String,
    /// The kind.
    pub kind: String,
    /// The metadata.
    pub metadata: ObjectMeta,
    /// The metadata that a newer server knows of and `ObjectMeta` does not, so that a write does not lose it.
    pub unknown_metadata: Map<String, Value>,
    /// Everything else at the top level: `spec`, `status`, `data`, ….
    pub data: Map<String, Value>,
}

impl DynamicObject {
    /// An object of that name and kind, otherwise empty.
    pub fn new(name: &str, resource: &ApiResource) -> Self {
        Self {
            api_version: resource.api_version().into_owned(),
            kind: resource.kind.to_string(),
            metadata: ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() },
            unknown_metadata: Map::new(),
            data: Map::new(),
        }
    }

    /// The same in a namespace.
    #[must_use]
    pub fn within(mut self, namespace: &str) -> Self {
        self.metadata.namespace = Some(namespace.to_owned());
        self
    }

    /// The same with other data.
    #[must_use]
    pub fn with_data(mut self, data: Map<String, Value>) -> Self {
        self.data = data;
        self
    }

    /// `spec`, if there is one.
    pub fn spec(&self) -> Option<&Value> {
        self.data.get("spec")
    }

    /// `status`, if there is one.
    pub fn status(&self) -> Option<&Value> {
        self.data.get("status")
    }

    /// The value at a JSON pointer (RFC 6901) below the top level, metadata aside: `/spec/replicas`. `None`: there is
    /// nothing; `Some(Null)`: there is a null.
    pub fn pointer(&self, pointer: &str) -> Option<&Value> {
        let (first, rest) = split(pointer)?;
        self.data.get(&first)?.pointer(rest)
    }

    /// As [`pointer`](Self::pointer), to be changed.
    pub fn pointer_mut(&mut self, pointer: &str) -> Option<&mut Value> {
        let (first, rest) = split(pointer)?;
        self.data.get_mut(&first)?.pointer_mut(rest)
    }

    /// The value at a JSON pointer, read as a `V`. `None`: there is nothing, or null. An error: something else.
    pub fn field<V: DeserializeOwned>(&self, pointer: &str) -> Result<Option<V>, serde_json::Error> {
        match self.pointer(pointer) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => V::deserialize(value).map(Some),
        }
    }

    /// Sets the value at a JSON pointer and returns what was there. Objects on the way are made where there is nothing
    /// or null; a list on the way takes an index that it has, or `-` for one more. `Err` gives the value back: the
    /// pointer is none, or something on the way is neither object nor list.
    pub fn set(&mut self, pointer: &str, value: Value) -> Result<Option<Value>, Value> {
        let Some((first, rest)) = split(pointer) else { return Err(value) };
        let mut place = self.data.entry(first).or_insert(Value::Null);
        let mut rest = rest;
        while let Some((step, further)) = split(rest) {
            rest = further;
            if place.is_null() {
                *place = Value::Object(Map::new());
            }
            place = match place {
                Value::Object(fields) => fields.entry(step).or_insert(Value::Null),
                Value::Array(items) => {
                    if step == "-" {
                        items.push(Value::Null);
                    }
                    let at = if step == "-" { items.len() - 1 } else { step.parse().unwrap_or(usize::MAX) };
                    match items.get_mut(at) {
                        Some(item) => item,
                        None => return Err(value),
                    }
                }
                _ => return Err(value),
            };
        }
        Ok(Some(std::mem::replace(place, value)).filter(|before| !before.is_null()))
    }

    /// Takes the value at a JSON pointer out.
    pub fn remove(&mut self, pointer: &str) -> Option<Value> {
        let (parent, last) = pointer.rsplit_once('/')?;
        let last = unescape(last);
        if parent.is_empty() {
            return self.data.remove(&last);
        }
        match self.pointer_mut(parent)? {
            Value::Object(fields) => fields.remove(&last),
            Value::Array(items) => {
                let at = last.parse().ok().filter(|at| *at < items.len())?;
                Some(items.remove(at))
            }
            _ => None,
        }
    }

    /// Reads the whole as a `T`.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_value(serde_json::to_value(self)?)
    }

    /// Makes it of any object: what a JSON round trip would make.
    pub fn from_typed(object: &impl Serialize) -> Result<Self, serde_json::Error> {
        serde_json::from_value(serde_json::to_value(object)?)
    }

    /// Takes over the type that its list tells, if it tells none itself; an object without a kind is an error.
    pub(crate) fn take_type(&mut self, item_type: Option<(&str, &str)>) -> Result<(), &'static str> {
        if let (true, true, Some((api_version, kind))) =
            (self.api_version.is_empty(), self.kind.is_empty(), item_type)
        {
            api_version.clone_into(&mut self.api_version);
            kind.clone_into(&mut self.kind);
        }
        if self.kind.is_empty() { Err("kind is missing") } else { Ok(()) }
    }
}

/// The first step of a JSON pointer, and the rest.
fn split(pointer: &str) -> Option<(String, &str)> {
    let pointer = pointer.strip_prefix('/')?;
    let (first, rest) = pointer.split_at(pointer.find('/').unwrap_or(pointer.len()));
    Some((unescape(first), rest))
}

fn unescape(step: &str) -> String {
    step.replace("~1", "/").replace("~0", "~")
}

impl Object for DynamicObject {
    fn meta(&self) -> &dyn Meta {
        &self.metadata
    }
}

impl Serialize for DynamicObject {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct All<'a> {
            #[serde(flatten)]
            known: &'a ObjectMeta,
            #[serde(flatten)]
            unknown: &'a Map<String, Value>,
        }
        let mut map = serializer.serialize_map(None)?;
        if !self.api_version.is_empty() {
            map.serialize_entry("apiVersion", &self.api_version)?;
        }
        if !self.kind.is_empty() {
            map.serialize_entry("kind", &self.kind)?;
        }
        if self.unknown_metadata.is_empty() {
            map.serialize_entry("metadata", &self.metadata)?;
        } else {
            let all = All { known: &self.metadata, unknown: &self.unknown_metadata };
            map.serialize_entry("metadata", &all)?;
        }
        for (key, value) in &self.data {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for DynamicObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ObjectVisitor;
        impl<'de> Visitor<'de> for ObjectVisitor {
            type Value = DynamicObject;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<DynamicObject, A::Error> {
                let mut object = DynamicObject::default();
                while let Some(key) = map.next_key::<String>()? {
                    match &*key {
                        "apiVersion" => {
                            object.api_version = map.next_value::<Option<_>>()?.unwrap_or_default();
                        }
                        "kind" => object.kind = map.next_value::<Option<_>>()?.unwrap_or_default(),
                        "metadata" => {
                            let metadata: Metadata = map.next_value()?;
                            (object.metadata, object.unknown_metadata) = (metadata.known, metadata.unknown);
                        }
                        _ => {
                            let value = map.next_value()?;
                            object.data.insert(key, value);
                        }
                    }
                }
                Ok(object)
            }
        }
        deserializer.deserialize_map(ObjectVisitor)
    }
}
