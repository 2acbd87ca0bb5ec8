//! What the pipeline reads of an object's metadata, whatever holds it.

use std::collections::BTreeMap;
use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference, Time};

use crate::ObjectKey;
use crate::packed::Texts;

/// What the pipeline reads of an object's metadata. Absent text is `""`.
pub trait Meta {
    /// `metadata.name`.
    fn name(&self) -> &str;
    /// `metadata.namespace`; `""` for a cluster-scoped object.
    fn namespace(&self) -> &str;
    /// `metadata.uid`.
    fn uid(&self) -> &str;
    /// `metadata.resourceVersion`.
    fn resource_version(&self) -> &str;
    /// `metadata.generation`.
    fn generation(&self) -> Option<i64>;
    /// `metadata.labels`.
    fn labels(&self) -> Labels<'_>;
    /// `metadata.ownerReferences`.
    fn owner_references(&self) -> OwnerReferences<'_>;
    /// `metadata.finalizers`.
    fn finalizers(&self) -> &[String];
    /// `metadata.deletionTimestamp`: set while finalizers hold the object.
    fn deletion_timestamp(&self) -> Option<&Time>;
    /// The key in its collection.
    fn key(&self) -> ObjectKey {
        ObjectKey::new(self.namespace(), self.name())
    }
}

/// Labels, read-only, whatever holds them. Sorted by key.
#[derive(Clone, Copy)]
pub struct Labels<'a>(Held<'a>);

#[derive(Clone, Copy)]
enum Held<'a> {
    Map(&'a BTreeMap<String, String>),
    /// The texts in pairs.
    Packed(Texts<'a>),
}

impl<'a> Labels<'a> {
    /// No labels.
    pub const NONE: Self = Self(Held::Packed(Texts::NONE));

    pub(crate) fn packed(texts: Texts<'a>) -> Self {
        Self(Held::Packed(texts))
    }

    /// The value of one label.
    pub fn get(&self, key: &str) -> Option<&'a str> {
        match self.0 {
            Held::Map(map) => map.get(key).map(String::as_str),
            // There are few, and they lie side by side: going through them is faster than a search would be.
            Held::Packed(_) => self.iter().find(|(k, _)| *k == key).map(|(_, value)| value),
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        match self.0 {
            Held::Map(map) => map.len(),
            Held::Packed(texts) => texts.count(Texts::text2),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All of them, in the order of their keys.
    pub fn iter(&self) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        let (map, mut texts) = match self.0 {
            Held::Map(map) => (Some(map), Texts::NONE),
            Held::Packed(texts) => (None, texts),
        };
        map.into_iter()
            .flatten()
            .map(|(k, v)| (k.as_str(), v.as_str()))
            .chain(std::iter::from_fn(move || texts.next_record(Texts::text2)))
    }
}

impl<'a> From<&'a BTreeMap<String, String>> for Labels<'a> {
    fn from(map: &'a BTreeMap<String, String>) -> Self {
        Self(Held::Map(map))
    }
}

impl fmt::Debug for Labels<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl PartialEq for Labels<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}
impl Eq for Labels<'_> {}

/// One owner of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct OwnerRef<'a> {
    /// `v1` or `group/version`.
    pub api_version: &'a str,
    /// The kind.
    pub kind: &'a str,
    /// The name; the owner is in the same namespace, or in none.
    pub name: &'a str,
    /// The uid.
    pub uid: &'a str,
    /// Whether this is the one owner that manages the object.
    pub controller: Option<bool>,
    /// Whether the owner, deleted in the foreground, waits for this object.
    pub block_owner_deletion: Option<bool>,
}

/// The owners of an object, read-only, whatever holds them, in the server's order.
#[derive(Clone, Copy)]
pub struct OwnerReferences<'a>(Owners<'a>);

#[derive(Clone, Copy)]
enum Owners<'a> {
    Slice(&'a [OwnerReference]),
    Packed(Texts<'a>),
}

impl<'a> OwnerReferences<'a> {
    /// No owners.
    pub const NONE: Self = Self(Owners::Slice(&[]));

    pub(crate) fn packed(texts: Texts<'a>) -> Self {
        Self(Owners::Packed(texts))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        match self.0 {
            Owners::Slice(slice) => slice.len(),
            Owners::Packed(texts) => texts.count(Texts::owner),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = OwnerRef<'a>> + use<'a> {
        let (slice, mut texts) = match self.0 {
            Owners::Slice(slice) => (slice, Texts::NONE),
            Owners::Packed(texts) => (&[][..], texts),
        };
        let owned = slice.iter().map(|owner| OwnerRef {
            api_version: &owner.api_version,
            kind: &owner.kind,
            name: &owner.name,
            uid: &owner.uid,
            controller: owner.controller,
            block_owner_deletion: owner.block_owner_deletion,
        });
        owned.chain(std::iter::from_fn(move || texts.next_record(Texts::owner)))
    }

    /// The one owner that manages the object: client-go's `GetControllerOf`.
    pub fn controller(&self) -> Option<OwnerRef<'a>> {
        self.iter().find(|owner| owner.controller == Some(true))
    }
}

impl<'a> From<&'a [OwnerReference]> for OwnerReferences<'a> {
    fn from(slice: &'a [OwnerReference]) -> Self {
        Self(Owners::Slice(slice))
    }
}

impl fmt::Debug for OwnerReferences<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl PartialEq for OwnerReferences<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}
impl Eq for OwnerReferences<'_> {}

impl Meta for ObjectMeta {
    fn name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }
    fn namespace(&self) -> &str {
        self.namespace.as_deref().unwrap_or_default()
    }
    fn uid(&self) -> &str {
        self.uid.as_deref().unwrap_or_default()
    }
    fn resource_version(&self) -> &str {
        self.resource_version.as_deref().unwrap_or_default()
    }
    fn generation(&self) -> Option<i64> {
        self.generation
    }
    fn labels(&self) -> Labels<'_> {
        self.labels.as_ref().map_or(Labels::NONE, Labels::from)
    }
    fn owner_references(&self) -> OwnerReferences<'_> {
        self.owner_references.as_deref().map_or(OwnerReferences::NONE, OwnerReferences::from)
    }
    fn finalizers(&self) -> &[String] {
        self.finalizers.as_deref().unwrap_or_default()
    }
    fn deletion_timestamp(&self) -> Option<&Time> {
        self.deletion_timestamp.as_ref()
    }
}
