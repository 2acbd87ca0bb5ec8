//! `ResourceVersion`: the server's version of an object or a collection; opaque but for one comparison.

use std::cmp::Ordering;
use std::fmt;

/// A version as the server gave it. `""` means "none known".
///
/// Equality is that of the text. Order is partial and only of meaning within one kind of resource: see
/// [`ResourceVersion::compare`].
#[derive(Clone, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(from = "Option<Box<str>>")]
pub struct ResourceVersion(Box<str>);

impl ResourceVersion {
    /// The text as the server gave it.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether no version is known.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Which of two versions of one collection is newer: the longer text, or the greater of two of equal length.
    ///
    /// No length limit and no number: only texts of ASCII digits without a leading zero can be compared (CACHE-K-10).
    pub fn compare(&self, other: &Self) -> Result<Ordering, ResourceVersionError> {
        Self::compare_texts(&self.0, &other.0)
    }

    /// As [`compare`](Self::compare), of two texts.
    pub fn compare_texts(one: &str, other: &str) -> Result<Ordering, ResourceVersionError> {
        check(one)?;
        check(other)?;
        Ok(one.len().cmp(&other.len()).then_with(|| one.cmp(other)))
    }
}

fn check(text: &str) -> Result<(), ResourceVersionError> {
    let bytes = text.as_bytes();
    if matches!(bytes.first(), Some(b'1'..=b'9')) && bytes.iter().all(u8::is_ascii_digit) {
        Ok(())
    } else {
        Err(ResourceVersionError { text: text.into() })
    }
}

/// A version that cannot be ordered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("resource version {text:?} is not a positive decimal number without leading zeros")]
pub struct ResourceVersionError {
    text: Box<str>,
}

impl From<&str> for ResourceVersion {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}
impl From<Option<Box<str>>> for ResourceVersion {
    fn from(text: Option<Box<str>>) -> Self {
        Self(text.unwrap_or_default())
    }
}
impl From<String> for ResourceVersion {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}
impl fmt::Display for ResourceVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
impl fmt::Debug for ResourceVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &*self.0)
    }
}
impl PartialEq<str> for ResourceVersion {
    fn eq(&self, other: &str) -> bool {
        &*self.0 == other
    }
}
impl PartialEq<&str> for ResourceVersion {
    fn eq(&self, other: &&str) -> bool {
        &*self.0 == *other
    }
}
