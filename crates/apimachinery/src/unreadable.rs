//! `Unreadable`: what a collection holds beside the objects that could be decoded.

use crate::ObjectKey;

/// The objects of a collection that exist and could not be decoded: of them no deletion may be told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unreadable {
    /// Those whose names could be read.
    pub keys: Vec<ObjectKey>,
    /// Whether there were others. They may be any, so a deletion may be told of none.
    pub some_nameless: bool,
}

impl Unreadable {
    /// The same, and whether there are some whose names could not be read.
    #[must_use]
    pub fn and_nameless(mut self, some: bool) -> Self {
        self.some_nameless = some;
        self
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty() && !self.some_nameless
    }
}

impl From<Vec<ObjectKey>> for Unreadable {
    fn from(keys: Vec<ObjectKey>) -> Self {
        Self { keys, some_nameless: false }
    }
}

impl<const N: usize> From<[ObjectKey; N]> for Unreadable {
    fn from(keys: [ObjectKey; N]) -> Self {
        Vec::from(keys).into()
    }
}
