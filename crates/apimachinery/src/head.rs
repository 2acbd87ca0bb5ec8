//! `Head`: the metadata that a controller needs of every object, packed.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use serde::de::{Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::packed::{Packer, Texts};
use crate::{Labels, Meta, ObjectKey, OwnerRef, OwnerReferences};

/// The metadata that a controller needs of every object, packed: what [`Lazy`](crate::Lazy) parses, and what your own
/// slim struct may hold in its `metadata` field. All other metadata is skipped while it is read.
///
/// It weighs 40 bytes, and what its texts weigh in two allocations: one for the key, one for all the others. What is
/// null reads as absent; of two fields of one name the last one counts.
#[derive(Clone, PartialEq, Eq)]
pub struct Head {
    key: ObjectKey,
    /// Version, uid, generation, the section of the labels; the owners up to the end.
    packed: Box<str>,
    /// What few objects have, so that the others do not pay for it.
    rest: Option<Box<Rest>>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Rest {
    finalizers: Vec<String>,
    deletion_timestamp: Option<Time>,
}

impl Head {
    fn texts(&self) -> Texts<'_> {
        Texts::new(&self.packed)
    }

    fn pack<'a>(
        key: ObjectKey,
        (resource_version, uid, generation): (&str, &str, Option<i64>),
        labels: impl Iterator<Item = (&'a str, &'a str)> + Clone,
        owners: impl Iterator<Item = OwnerRef<'a>>,
        finalizers: Vec<String>,
        deletion_timestamp: Option<Time>,
    ) -> Self {
        let mut section = Packer::with_capacity(labels.clone().map(|(k, v)| k.len() + v.len() + 4).sum());
        for (key, value) in labels {
            section.text(key);
            section.text(value);
        }
        let section = section.finish();
        let mut packer = Packer::with_capacity(resource_version.len() + uid.len() + section.len() + 128);
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
        let rest = (!finalizers.is_empty() || deletion_timestamp.is_some())
            .then(|| Box::new(Rest { finalizers, deletion_timestamp }));
        Self { key, packed: packer.finish(), rest }
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
        self.texts().text2().1
    }
    fn resource_version(&self) -> &str {
        self.texts().text()
    }
    fn generation(&self) -> Option<i64> {
        let mut texts = self.texts();
        texts.text2();
        texts.text().parse().ok()
    }
    fn labels(&self) -> Labels<'_> {
        let mut texts = self.texts();
        texts.text2();
        texts.text();
        Labels::packed(texts.section())
    }
    fn owner_references(&self) -> OwnerReferences<'_> {
        let mut texts = self.texts();
        texts.text2();
        texts.text2();
        OwnerReferences::packed(texts)
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
        let labels = meta.labels.as_ref().map_or(Labels::NONE, Labels::from);
        let labels: Vec<_> = labels.iter().collect();
        Self::pack(
            meta.key(),
            (Meta::resource_version(meta), Meta::uid(meta), meta.generation),
            labels.iter().copied(),
            Meta::owner_references(meta).iter(),
            Meta::finalizers(meta).to_vec(),
            meta.deletion_timestamp.clone(),
        )
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
        HeadVisitor { managed_fields: None }.deserialize(deserializer)
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

/// Reads a head, and on the way notes where managedFields lie, if somebody wants to know: that asks for a text that can
/// be borrowed as raw JSON.
pub(crate) struct HeadVisitor<'o, 'de> {
    pub(crate) managed_fields: Option<&'o mut Option<&'de RawValue>>,
}

impl<'de> DeserializeSeed<'de> for HeadVisitor<'_, 'de> {
    type Value = Head;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Head, D::Error> {
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
    type Value = Head;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object's metadata")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Head, A::Error> {
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
        let owners = owners.unwrap_or_default();
        Ok(Head::pack(
            ObjectKey::new(&namespace.0, &name.0),
            (&version.0, &uid.0, generation),
            labels.0.iter().map(|(key, value)| (&*key.0, &*value.0)),
            owners.iter().map(|owner| owner.as_ref().map_or_else(OwnerRef::default, Owner::as_ref)),
            finalizers.unwrap_or_default().into_iter().map(Option::unwrap_or_default).collect(),
            deletion_timestamp,
        ))
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
