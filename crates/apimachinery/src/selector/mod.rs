//! Label and field selectors: parsed, printed, matched.
//!
//! The grammars are those of the reference server (`pkg/labels/selector.go`, `pkg/fields/selector.go`): what parses
//! here parses there, and what is printed here is read there as the same selector.

mod field;
mod label;
mod label_object;
mod label_parse;
mod requirement;

pub use field::{FieldSelector, FieldTerm};
pub use label::LabelSelector;
pub use requirement::{Operator, Requirement};

/// A selector that does not parse, or that breaks the rules of labels.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} in selector {text:?}")]
pub struct SelectorError {
    text: String,
    message: String,
}

impl SelectorError {
    pub(crate) fn new(text: impl Into<String>, message: impl Into<String>) -> Self {
        Self { text: text.into(), message: message.into() }
    }
}
