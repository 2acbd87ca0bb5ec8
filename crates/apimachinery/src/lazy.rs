//! `Lazy<T>`: the head parsed, the body kept as the bytes that were received.

use std::any::TypeId;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;

use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde::{Serialize, Serializer, ser};
use serde_json::value::RawValue;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::head::{HeadVisitor, Read, Rest};
use crate::packed::{LENGTH, Texts, read_length, write_length};
use crate::{
    ApiResource, Decode, DecodeContext, DecodeError, DynamicObject, Head, Kind, Labels, Meta, Object,
    ObjectKey, OwnerReferences,
};

/// An object whose metadata is parsed and whose body stays bytes until it is asked for.
///
/// A cache of `Lazy<Pod>` weighs what the pods weigh as JSON and some 300 bytes each, a ninth of what they weigh as
/// structs: the metadata that was parsed is kept as places in the bytes. Reading the whole object ([`Lazy::decode`]) or a few fields of it ([`Lazy::view`]) costs a parse each time,
/// so keep the result while you need it.
///
/// What is skipped while the head is read must be JSON, and no more is asked of it: whether it is a `T` shows when it
/// is decoded. With `skip_managed_fields` their text is cut out of the bytes that are kept.
///
/// ```
/// use steersman_apimachinery::{Decode, DecodeContext, Lazy, Object};
///
/// #[derive(serde::Deserialize)]
/// struct Node {
///     spec: Spec,
/// }
/// #[derive(serde::Deserialize)]
/// #[serde(rename_all = "camelCase")]
/// struct Spec {
///     node_name: String,
/// }
///
/// let body = br#"{"metadata":{"name":"web-0","namespace":"shop"},"spec":{"nodeName":"worker-1"}}"#;
/// let pod = <Lazy<()> as Decode>::decode(body, DecodeContext::default())?;
/// assert_eq!(pod.key().as_str(), "shop/web-0");
/// assert_eq!(pod.view::<Node>()?.spec.node_name, "worker-1");
/// # Ok::<(), steersman_apimachinery::DecodeError>(())
/// ```
pub struct Lazy<T> {
    kept: Kept,
    typed: PhantomData<fn() -> T>,
}

/// What is kept, whatever `T` is.
#[derive(Clone)]
struct Kept {
    key: ObjectKey,
    /// The body; behind it what was packed of its metadata; behind that, how long that is.
    text: Box<str>,
    rest: Option<Box<Rest>>,
}

impl<T> Lazy<T> {
    /// The bytes as kept: one JSON object.
    pub fn body(&self) -> &[u8] {
        self.kept.split().0.as_bytes()
    }

    /// A copy of the metadata that was parsed. To look at it, use [`Object::meta`].
    pub fn head(&self) -> Head {
        Head::of(&self.kept)
    }

    /// Parses the fields that `V` names, and skips the rest.
    pub fn view<V: DeserializeOwned>(&self) -> Result<V, DecodeError> {
        let body = self.kept.split().0;
        serde_json::from_str(body).map_err(|error| DecodeError::within(&self.kept, body.as_bytes(), &error))
    }
}

impl Kept {
    fn new(read: Read<'_>, parts: &Parts<'_>) -> Self {
        let packed = read.pack(&|text| parts.place(text));
        let (key, rest) = read.into_rest();
        Self { key, text: parts.join(&packed), rest }
    }

    /// The body, and what is packed behind it.
    fn split(&self) -> (&str, &str) {
        let (text, length) = read_length(&self.text);
        text.split_at(text.len().saturating_sub(length))
    }

    fn texts(&self) -> Texts<'_> {
        let (body, packed) = self.split();
        Texts::new(packed, body)
    }
}

impl Meta for Kept {
    fn name(&self) -> &str {
        self.key.name()
    }
    fn namespace(&self) -> &str {
        self.key.namespace()
    }
    fn uid(&self) -> &str {
        self.texts().packed_uid()
    }
    fn resource_version(&self) -> &str {
        self.texts().packed_version()
    }
    fn generation(&self) -> Option<i64> {
        self.texts().packed_generation()
    }
    fn labels(&self) -> Labels<'_> {
        self.texts().packed_labels()
    }
    fn owner_references(&self) -> OwnerReferences<'_> {
        self.texts().packed_owners()
    }
    fn finalizers(&self) -> &[String] {
        self.rest.as_ref().map_or(&[], |rest| &rest.finalizers)
    }
    fn deletion_timestamp(&self) -> Option<&Time> {
        self.rest.as_ref().and_then(|rest| rest.deletion_timestamp.as_ref())
    }
    fn key(&self) -> ObjectKey {
        self.key.clone()
    }
}

impl<T: DeserializeOwned + Send + 'static> Lazy<T> {
    /// Parses the whole object. Costs what a decode costs, each time.
    pub fn decode(&self) -> Result<T, DecodeError> {
        <T as Decode>::decode(self.body(), DecodeContext::default())
    }
}

impl<T: 'static> Object for Lazy<T> {
    fn meta(&self) -> &dyn Meta {
        &self.kept
    }
}

impl<T: Kind> Kind for Lazy<T> {
    fn resource() -> ApiResource {
        T::resource()
    }
}

impl<T: 'static> Decode for Lazy<T> {
    fn decode(body: &[u8], context: DecodeContext<'_>) -> Result<Self, DecodeError> {
        let text = std::str::from_utf8(body).map_err(|error| DecodeError::about(body, error.to_string()))?;
        let mut reader = serde_json::Deserializer::from_str(text);
        let top = TopSeed { skip_managed_fields: context.skip_managed_fields };
        let top = top.deserialize(&mut reader).and_then(|top| reader.end().map(|()| top));
        let top = top.map_err(|error| DecodeError::at(body, &error))?;
        let mut parts = Parts { text, cut: 0..0, type_meta: String::new() };
        if let Some(raw) = top.managed_fields {
            parts.cut = member_of(text, raw.get());
        }
        // Only a form whose kind is known at run time would miss what the list said.
        if let (false, Some((version, kind))) = (top.has_type, context.item_type)
            && TypeId::of::<T>() == TypeId::of::<DynamicObject>()
        {
            parts.type_meta = type_meta(version, kind, text);
        }
        Ok(Self { kept: Kept::new(top.read, &parts), typed: PhantomData })
    }
}

/// The raw JSON, as it is kept.
impl<T> Serialize for Lazy<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue = serde_json::from_str(self.kept.split().0).map_err(ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

impl<T> Clone for Lazy<T> {
    fn clone(&self) -> Self {
        Self { kept: self.kept.clone(), typed: PhantomData }
    }
}

/// By their bytes.
impl<T> PartialEq for Lazy<T> {
    fn eq(&self, other: &Self) -> bool {
        self.body() == other.body()
    }
}
impl<T> Eq for Lazy<T> {}

impl<T> fmt::Debug for Lazy<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lazy")
            .field("head", &self.head())
            .field("bytes", &self.body().len())
            .finish_non_exhaustive()
    }
}

/// What is kept of a text: all but `cut`, and `type_meta` behind the first brace.
struct Parts<'a> {
    text: &'a str,
    cut: Range<usize>,
    type_meta: String,
}

impl Parts<'_> {
    /// What is kept, and `packed` behind it.
    fn join(&self, packed: &str) -> Box<str> {
        let Self { text, cut, type_meta } = self;
        let brace = self.brace();
        let body = text.len() - cut.len() + type_meta.len();
        let mut kept = String::with_capacity(body + packed.len() + LENGTH);
        kept.push_str(&text[..brace]);
        kept.push_str(type_meta);
        kept.push_str(&text[brace..cut.start.max(brace)]);
        kept.push_str(&text[cut.end.max(brace)..]);
        kept.push_str(packed);
        write_length(&mut kept, packed.len());
        kept.into_boxed_str()
    }

    /// Where the type is put in.
    fn brace(&self) -> usize {
        if self.type_meta.is_empty() { 0 } else { self.text.find('{').map_or(0, |at| at + 1) }
    }

    /// Where a part of the text lies in what is kept. `None` for another text, and for what is not kept as a whole.
    fn place(&self, part: &str) -> Option<usize> {
        let start = (part.as_ptr() as usize).checked_sub(self.text.as_ptr() as usize)?;
        let end = start.checked_add(part.len()).filter(|&end| end <= self.text.len())?;
        // The metadata stands behind the first brace.
        let place = start + self.type_meta.len();
        if self.cut.is_empty() || end <= self.cut.start {
            Some(place)
        } else {
            (start >= self.cut.end).then(|| place - self.cut.len())
        }
    }
}

fn type_meta(api_version: &str, kind: &str, text: &str) -> String {
    let is_empty = text.trim_start().strip_prefix('{').is_some_and(|rest| rest.trim_start().starts_with('}'));
    let comma = if is_empty { "" } else { "," };
    format!("\"apiVersion\":{},\"kind\":{}{comma}", serde_json::json!(api_version), serde_json::json!(kind))
}

/// Where a member with that value lies in `text`, its key and one comma with it. `value` is a part of `text`.
fn member_of(text: &str, value: &str) -> Range<usize> {
    let start = value.as_ptr() as usize - text.as_ptr() as usize;
    let end = start + value.len();
    let before = text[..start].trim_end().strip_suffix(':').map(str::trim_end);
    let Some(before) = before.and_then(|before| before.strip_suffix("\"managedFields\"")) else {
        // The key is written in another way, with escapes: only what weighs is cut, the list's inside.
        let is_list = value.starts_with('[');
        return if is_list { start + 1..end - 1 } else { 0..0 };
    };
    if let Some(before) = before.trim_end().strip_suffix(',') {
        return before.len()..end;
    }
    let after = text[end..].trim_start();
    let end = text.len() - after.strip_prefix(',').unwrap_or(after).len();
    before.len()..end
}

/// What is read of the top level.
struct Top<'de> {
    read: Read<'de>,
    has_type: bool,
    managed_fields: Option<&'de RawValue>,
}

struct TopSeed {
    skip_managed_fields: bool,
}

#[derive(serde::Deserialize)]
#[serde(field_identifier, rename_all = "camelCase")]
enum Field {
    ApiVersion,
    Kind,
    Metadata,
    #[serde(other)]
    Other,
}

impl<'de> DeserializeSeed<'de> for TopSeed {
    type Value = Top<'de>;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Top<'de>, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for TopSeed {
    type Value = Top<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Top<'de>, A::Error> {
        let (mut read, mut managed_fields, mut has_type) = (None, None, false);
        while let Some(field) = map.next_key()? {
            match field {
                Field::Metadata => {
                    // Of two, the last counts: where the first one's managedFields lie does not matter.
                    managed_fields = None;
                    let managed = self.skip_managed_fields.then_some(&mut managed_fields);
                    read = Some(map.next_value_seed(HeadVisitor { managed_fields: managed })?);
                }
                Field::ApiVersion | Field::Kind => {
                    has_type |= map.next_value::<Option<IgnoredAny>>()?.is_some();
                }
                Field::Other => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        let read = read.ok_or_else(|| serde::de::Error::missing_field("metadata"))?;
        Ok(Top { read, has_type, managed_fields })
    }
}
