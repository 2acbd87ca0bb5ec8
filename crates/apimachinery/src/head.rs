//! `Head`: the metadata that a controller needs of every object, packed.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use serde::de::{Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::packed::{NOWHERE, Packer, Place, Texts};
use crate::{Labels, Meta, ObjectKey, OwnerRef, OwnerReferences};

/// The metadata that a controller needs of every object, packed: what [`Lazy`](crate::Lazy) parses, and what your own
/// slim struct may hold in its `metadata` field. All other metadata is skipped while it is read.
///
/// It weighs 40 bytes, and what its texts weigh in two allocations: one for the key, one for all the others. What is
/// null reads as absent; of two fields of one name the last one counts.
#[derive(Clone, PartialEq, Eq)]
pub struct Head {
    key: ObjectKey,
    /// See [`pack`].
    packed: Box<str>,
    /// What few objects have, so that the others do not pay for it.
    rest: Option<Box<Rest>>,
}

/// What few objects have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Rest {
    pub(crate) finalizers: Vec<String>,
    pub(crate) deletion_timestamp: Option<Time>,
}

/// The texts and numbers of one object's metadata in one: version, uid, generation, the section of the labels; the owners
/// up to the end.
fn pack<'a>(
    place: Place<'_>,
    (resource_version, uid, generation): (&str, &str, Option<i64>),
    labels: impl Iterator<Item = (&'a str, &'a str)>,
    owners: impl Iterator<Item = OwnerRef<'a>>,
) -> String {
    let mut section = Packer::new(place);
    for (key, value) in labels {
        section.text(key);
        section.text(value);
    }
    let section = section.finish();
    let mut packer = Packer::new(place);
    packer.reserve(section.len() + 160);
    packer.text(resource_version);
    packer.text(uid);
    match generation {
        Some(generation) => packer.text(&generation.to_string()),
        None => packer.text(""),
    }
    packer.text(&section);
    for owner in owners {
        packer.owner(owner);
    }
    packer.finish()
}

/// Reads what was packed, each from the start.
impl<'a> Texts<'a> {
    pub(crate) fn packed_version(mut self) -> &'a str {
        self.text()
    }
    pub(crate) fn packed_uid(mut self) -> &'a str {
        self.text2().1
    }
    pub(crate) fn packed_generation(mut self) -> Option<i64> {
        self.text2();
        self.text().parse().ok()
    }
    pub(crate) fn packed_labels(mut self) -> Labels<'a> {
        self.text2();
        self.text();
        Labels::packed(self.section())
    }
    pub(crate) fn packed_owners(mut self) -> OwnerReferences<'a> {
        self.text2();
        self.text2();
        OwnerReferences::packed(self)
    }
}

impl Rest {
    fn new(finalizers: Vec<String>, deletion_timestamp: Option<Time>) -> Option<Box<Self>> {
        let is_any = !finalizers.is_empty() || deletion_timestamp.is_some();
        is_any.then(|| Box::new(Self { finalizers, deletion_timestamp }))
    }
}

impl Head {
    fn texts(&self) -> Texts<'_> {
        Texts::new(&self.packed, "")
    }

    /// A copy of that metadata.
    pub(crate) fn of(meta: &dyn Meta) -> Self {
        let packed = pack(
            NOWHERE,
            (meta.resource_version(), meta.uid(), meta.generation()),
            meta.labels().iter(),
            meta.owner_references().iter(),
        );
        let rest = Rest::new(meta.finalizers().to_vec(), meta.deletion_timestamp().cloned());
        Self { key: meta.key(), packed: packed.into_boxed_str(), rest }
    }
}

impl Meta for Head {
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

impl From<&ObjectMeta> for Head {
    fn from(meta: &ObjectMeta) -> Self {
        Self::of(meta)
    }
}

#[expect(clippy::missing_fields_in_debug, reason = "what is packed is shown unpacked")]
impl fmt::Debug for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Head")
            .field("key", &self.key)
            .field("uid", &self.uid())
            .field("resource_version", &self.resource_version())
            .field("generation", &self.generation())
            .field("labels", &self.labels())
            .field("owner_references", &self.owner_references())
            .field("finalizers", &self.finalizers())
            .field("deletion_timestamp", &self.deletion_timestamp())
            .finish()
    }
}

impl<'de> Deserialize<'de> for Head {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = HeadVisitor { managed_fields: None }.deserialize(deserializer)?;
        let packed = read.pack(NOWHERE).into_boxed_str();
        let (key, rest) = read.into_rest();
        Ok(Self { key, packed, rest })
    }
}

/// The fields that are read. Everything else of the metadata is skipped as text.
#[derive(serde::Deserialize)]
#[serde(field_identifier, rename_all = "camelCase")]
enum Field {
    Name,
    Namespace,
    Uid,
    ResourceVersion,
    Generation,
    Labels,
    OwnerReferences,
    Finalizers,
    DeletionTimestamp,
    ManagedFields,
    #[serde(other)]
    Other,
}

/// Metadata as it was read, its texts borrowed where they can be.
pub(crate) struct Read<'de> {
    key: ObjectKey,
    version: Text<'de>,
    uid: Text<'de>,
    generation: Option<i64>,
    labels: Pairs<'de>,
    owners: Vec<Option<Owner<'de>>>,
    finalizers: Vec<String>,
    deletion_timestamp: Option<Time>,
}

impl Read<'_> {
    /// All but the key and the rest, for [`Texts`] to read. `place`: what is kept beside it.
    pub(crate) fn pack(&self, place: Place<'_>) -> String {
        pack(
            place,
            (&self.version.0, &self.uid.0, self.generation),
            self.labels.0.iter().map(|(key, value)| (&*key.0, &*value.0)),
            self.owners.iter().map(|owner| owner.as_ref().map_or_else(OwnerRef::default, Owner::as_ref)),
        )
    }

    /// The key and the rest.
    pub(crate) fn into_rest(self) -> (ObjectKey, Option<Box<Rest>>) {
        (self.key, Rest::new(self.finalizers, self.deletion_timestamp))
    }
}

/// Reads metadata, and on the way notes where managedFields lie, if somebody wants to know: that asks for a text that can
/// be borrowed as raw JSON.
pub(crate) struct HeadVisitor<'o, 'de> {
    pub(crate) managed_fields: Option<&'o mut Option<&'de RawValue>>,
}

impl<'de> DeserializeSeed<'de> for HeadVisitor<'_, 'de> {
    type Value = Read<'de>;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Read<'de>, D::Error> {
        const FIELDS: &[&str] = &[
            "name",
            "namespace",
            "uid",
            "resourceVersion",
            "generation",
            "labels",
            "ownerReferences",
            "finalizers",
            "deletionTimestamp",
        ];
        deserializer.deserialize_struct("ObjectMeta", FIELDS, self)
    }
}

impl<'de> Visitor<'de> for HeadVisitor<'_, 'de> {
    type Value = Read<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object's metadata")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Read<'de>, A::Error> {
        let (mut name, mut namespace, mut uid, mut version) = <(Text, Text, Text, Text)>::default();
        let mut generation = None;
        let mut labels = Pairs::default();
        let mut owners: Option<Vec<Option<Owner<'de>>>> = None;
        let mut finalizers: Option<Vec<Option<String>>> = None;
        let mut deletion_timestamp = None;
        while let Some(field) = map.next_key()? {
            match field {
                Field::Name => name = map.next_value()?,
                Field::Namespace => namespace = map.next_value()?,
                Field::Uid => uid = map.next_value()?,
                Field::ResourceVersion => version = map.next_value()?,
                Field::Generation => generation = map.next_value()?,
                Field::Labels => labels = map.next_value()?,
                Field::OwnerReferences => owners = map.next_value()?,
                Field::Finalizers => finalizers = map.next_value()?,
                Field::DeletionTimestamp => deletion_timestamp = map.next_value()?,
                Field::ManagedFields if self.managed_fields.is_some() => {
                    let raw = map.next_value()?;
                    if let Some(place) = self.managed_fields.as_deref_mut() {
                        *place = Some(raw);
                    }
                }
                Field::ManagedFields | Field::Other => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(Read {
            key: ObjectKey::new(&namespace.0, &name.0),
            version,
            uid,
            generation,
            labels,
            owners: owners.unwrap_or_default(),
            finalizers: finalizers.unwrap_or_default().into_iter().map(Option::unwrap_or_default).collect(),
            deletion_timestamp,
        })
    }
}

/// Text, borrowed where the input allows it; null is empty.
#[derive(Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Text<'de>(pub(crate) Cow<'de, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_option(TextVisitor(PhantomData))
    }
}

struct TextVisitor<'a>(PhantomData<&'a str>);

impl<'de: 'a, 'a> Visitor<'de> for TextVisitor<'a> {
    type Value = Text<'a>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }
    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Text<'a>, E> {
        Ok(Text(Cow::Borrowed(text)))
    }
    fn visit_str<E>(self, text: &str) -> Result<Text<'a>, E> {
        Ok(Text(Cow::Owned(text.to_owned())))
    }
    fn visit_string<E>(self, text: String) -> Result<Text<'a>, E> {
        Ok(Text(Cow::Owned(text)))
    }
    fn visit_none<E>(self) -> Result<Text<'a>, E> {
        Ok(Text::default())
    }
    fn visit_unit<E>(self) -> Result<Text<'a>, E> {
        Ok(Text::default())
    }
    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Text<'a>, D::Error> {
        deserializer.deserialize_str(self)
    }
}

/// A map of texts as pairs in the order of their keys, each key once; null is empty.
#[derive(Default)]
struct Pairs<'de>(Vec<(Text<'de>, Text<'de>)>);

impl<'de> Deserialize<'de> for Pairs<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PairsVisitor;
        impl<'de> Visitor<'de> for PairsVisitor {
            type Value = Pairs<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map of strings")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs<'de>, A::Error> {
                let mut pairs = Vec::with_capacity(map.size_hint().unwrap_or(8).min(64));
                while let Some(pair) = map.next_entry::<Text<'de>, Text<'de>>()? {
                    pairs.push(pair);
                }
                if !pairs.is_sorted_by(|(a, _), (b, _)| a < b) {
                    // The sort keeps equal keys in order, and the last one of them is to stay.
                    pairs.sort_by(|(a, _), (b, _)| a.cmp(b));
                    pairs.dedup_by(|later, earlier| {
                        let twice = later.0 == earlier.0;
                        if twice {
                            std::mem::swap(later, earlier);
                        }
                        twice
                    });
                }
                Ok(Pairs(pairs))
            }
            fn visit_none<E>(self) -> Result<Pairs<'de>, E> {
                Ok(Pairs::default())
            }
            fn visit_unit<E>(self) -> Result<Pairs<'de>, E> {
                Ok(Pairs::default())
            }
            fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Pairs<'de>, D::Error> {
                deserializer.deserialize_map(PairsVisitor)
            }
        }
        deserializer.deserialize_option(PairsVisitor)
    }
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Owner<'a> {
    #[serde(borrow, default)]
    api_version: Text<'a>,
    #[serde(borrow, default)]
    kind: Text<'a>,
    #[serde(borrow, default)]
    name: Text<'a>,
    #[serde(borrow, default)]
    uid: Text<'a>,
    #[serde(default)]
    controller: Option<bool>,
    #[serde(default)]
    block_owner_deletion: Option<bool>,
}

impl Owner<'_> {
    fn as_ref(&self) -> OwnerRef<'_> {
        OwnerRef {
            api_version: &self.api_version.0,
            kind: &self.kind.0,
            name: &self.name.0,
            uid: &self.uid.0,
            controller: self.controller,
            block_owner_deletion: self.block_owner_deletion,
        }
    }
}
