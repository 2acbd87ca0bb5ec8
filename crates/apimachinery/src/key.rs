//! `ObjectKey`: the name of one object inside one collection, as client-go's `MetaNamespaceKeyFunc` spells it.

use std::borrow::Borrow;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;
use std::sync::Arc;

/// `namespace/name`, or `name` for a cluster-scoped object. Cheap to clone: one reference count.
///
/// Equality, order and hash are those of the text, so a map keyed by `ObjectKey` can be asked with a `&str`.
#[derive(Clone)]
pub struct ObjectKey {
    text: Arc<str>,
}

impl ObjectKey {
    /// The key of `name` in `namespace`; an empty namespace is none. Neither holds a slash in any cluster; if one does,
    /// the first slash of the text is the one that splits it.
    pub fn new(namespace: &str, name: &str) -> Self {
        if namespace.is_empty() {
            return Self { text: name.into() };
        }
        let mut text = String::with_capacity(namespace.len() + 1 + name.len());
        text.push_str(namespace);
        text.push('/');
        text.push_str(name);
        Self { text: text.into() }
    }

    /// The key of a cluster-scoped object.
    pub fn cluster(name: &str) -> Self {
        Self::new("", name)
    }

    /// Reads `namespace/name` or `name`. A leading slash is accepted and dropped; a second slash is an error.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        match text.split_once('/') {
            None => Ok(Self::new("", text)),
            Some((_, name)) if name.contains('/') => Err(KeyError { text: text.to_owned() }),
            Some((namespace, name)) => Ok(Self::new(namespace, name)),
        }
    }

    /// Namespace and name, split at the first slash.
    fn parts(&self) -> (&str, &str) {
        self.text.split_once('/').unwrap_or(("", &self.text))
    }

    /// The namespace; `""` for a cluster-scoped object.
    pub fn namespace(&self) -> &str {
        self.parts().0
    }

    /// The name.
    pub fn name(&self) -> &str {
        self.parts().1
    }

    /// The whole text.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

/// A key text with more than one slash.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unexpected key format: {text:?}")]
pub struct KeyError {
    text: String,
}

impl FromStr for ObjectKey {
    type Err = KeyError;
    fn from_str(text: &str) -> Result<Self, KeyError> {
        Self::parse(text)
    }
}

impl PartialEq for ObjectKey {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}
impl Eq for ObjectKey {}
impl PartialOrd for ObjectKey {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for ObjectKey {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.text.cmp(&other.text)
    }
}
impl Hash for ObjectKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (*self.text).hash(state);
    }
}
impl Borrow<str> for ObjectKey {
    fn borrow(&self) -> &str {
        &self.text
    }
}
impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
impl fmt::Debug for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &*self.text)
    }
}
