//! What the pipeline reads of an object's metadata, and the two shapes that hold it.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference, Time};
use serde::Deserialize;

use crate::ObjectKey;

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
    fn owner_references(&self) -> &[OwnerReference];
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
#[derive(Debug, Clone, Copy)]
pub struct Labels<'a>(Held<'a>);

#[derive(Debug, Clone, Copy)]
enum Held<'a> {
    Map(&'a BTreeMap<String, String>),
    Pairs(&'a [(Box<str>, Box<str>)]),
    None,
}

impl<'a> Labels<'a> {
    /// No labels.
    pub const NONE: Self = Self(Held::None);

    /// The value of one label.
    pub fn get(&self, key: &str) -> Option<&'a str> {
        match self.0 {
            Held::Map(map) => map.get(key).map(String::as_str),
            Held::Pairs(pairs) => {
                pairs.binary_search_by(|(k, _)| (**k).cmp(key)).ok().map(|at| &*pairs[at].1)
            }
            Held::None => None,
        }
    }

    /// All of them, in the order of their keys.
    pub fn iter(&self) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        let (map, pairs) = match self.0 {
            Held::Map(map) => (Some(map), None),
            Held::Pairs(pairs) => (None, Some(pairs)),
            Held::None => (None, None),
        };
        map.into_iter()
            .flatten()
            .map(|(k, v)| (k.as_str(), v.as_str()))
            .chain(pairs.into_iter().flatten().map(|(k, v)| (&**k, &**v)))
    }
}

impl<'a> From<&'a BTreeMap<String, String>> for Labels<'a> {
    fn from(map: &'a BTreeMap<String, String>) -> Self {
        Self(Held::Map(map))
    }
}

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
    fn owner_references(&self) -> &[OwnerReference] {
        self.owner_references.as_deref().unwrap_or_default()
    }
    fn finalizers(&self) -> &[String] {
        self.finalizers.as_deref().unwrap_or_default()
    }
    fn deletion_timestamp(&self) -> Option<&Time> {
        self.deletion_timestamp.as_ref()
    }
}

/// The metadata that a controller needs of every object, packed: what [`Lazy`](crate::Lazy) parses, and what your own
/// slim struct may hold in its `metadata` field. All other metadata is skipped while it is read.
#[derive(Debug, Clone, Deserialize)]
#[serde(from = "wire::Head")]
pub struct Head {
    key: ObjectKey,
    uid: Box<str>,
    resource_version: Box<str>,
    /// What few objects have, so that the others do not pay for it.
    rest: Option<Box<Rest>>,
    labels: Box<[(Box<str>, Box<str>)]>,
    owner_references: Box<[OwnerReference]>,
    generation: Option<i64>,
}

#[derive(Debug, Clone)]
struct Rest {
    finalizers: Vec<String>,
    deletion_timestamp: Option<Time>,
}

impl Meta for Head {
    fn name(&self) -> &str {
        self.key.name()
    }
    fn namespace(&self) -> &str {
        self.key.namespace()
    }
    fn uid(&self) -> &str {
        &self.uid
    }
    fn resource_version(&self) -> &str {
        &self.resource_version
    }
    fn generation(&self) -> Option<i64> {
        self.generation
    }
    fn labels(&self) -> Labels<'_> {
        Labels(Held::Pairs(&self.labels))
    }
    fn owner_references(&self) -> &[OwnerReference] {
        &self.owner_references
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

mod wire {
    use std::borrow::Cow;

    use super::{ObjectKey, OwnerReference, Rest, Time};

    /// Text is borrowed where the JSON allows it.
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    pub(super) struct Head<'a> {
        #[serde(default, borrow)]
        name: Option<Cow<'a, str>>,
        #[serde(default, borrow)]
        namespace: Option<Cow<'a, str>>,
        #[serde(default)]
        uid: Option<Box<str>>,
        #[serde(default)]
        resource_version: Option<Box<str>>,
        #[serde(default)]
        generation: Option<i64>,
        #[serde(default)]
        labels: Option<std::collections::BTreeMap<Box<str>, Box<str>>>,
        #[serde(default)]
        owner_references: Option<Box<[OwnerReference]>>,
        #[serde(default)]
        finalizers: Option<Vec<String>>,
        #[serde(default)]
        deletion_timestamp: Option<Time>,
    }

    impl From<Head<'_>> for super::Head {
        fn from(head: Head<'_>) -> Self {
            let finalizers = head.finalizers.unwrap_or_default();
            let rest = (!finalizers.is_empty() || head.deletion_timestamp.is_some())
                .then(|| Box::new(Rest { finalizers, deletion_timestamp: head.deletion_timestamp }));
            Self {
                key: ObjectKey::new(
                    head.namespace.as_deref().unwrap_or_default(),
                    head.name.as_deref().unwrap_or_default(),
                ),
                uid: head.uid.unwrap_or_default(),
                resource_version: head.resource_version.unwrap_or_default(),
                rest,
                labels: head.labels.unwrap_or_default().into_iter().collect(),
                owner_references: head.owner_references.unwrap_or_default(),
                generation: head.generation,
            }
        }
    }
}
