//! Label and field selectors: parsed, printed, matched.

/// A label selector: requirements that all must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LabelSelector {}

/// A field selector: terms that all must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldSelector {}

/// A selector text that does not parse.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} in selector {text:?}")]
pub struct SelectorError {
    text: String,
    message: String,
}
