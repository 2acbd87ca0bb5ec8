//! `FieldSelector`: terms over the fields that a resource lets itself be selected by.

use std::fmt;
use std::str::FromStr;

use super::SelectorError;

/// A field selector: terms that all must hold. Without any it selects everything.
///
/// ```
/// use steersman_apimachinery::FieldSelector;
///
/// let selector: FieldSelector = "spec.nodeName=worker-1,status.phase!=Succeeded".parse()?;
/// assert!(selector.matches(|path| (path == "spec.nodeName").then_some("worker-1")));
/// # Ok::<(), steersman_apimachinery::SelectorError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct FieldSelector {
    terms: Vec<FieldTerm>,
}

/// One term: a field that equals a value, or does not.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FieldTerm {
    /// The field: `metadata.name`.
    pub field: String,
    /// The value, without escapes.
    pub value: String,
    /// Whether it must be equal, or must not.
    pub equal: bool,
}

impl FieldSelector {
    /// Selects everything.
    pub const fn everything() -> Self {
        Self { terms: Vec::new() }
    }

    /// Reads a selector as it is written in a query. Empty terms are skipped, and those of the empty field and value.
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        let mut parts = split_terms(text);
        parts.sort_unstable();
        let terms = parts.into_iter().filter(|part| !part.is_empty());
        let terms = terms.map(|part| term(part).map_err(|message| SelectorError::new(text, message)));
        let mut terms: Vec<FieldTerm> = terms.collect::<Result<_, _>>()?;
        terms.retain(|term| !(term.field.is_empty() && term.value.is_empty()));
        Ok(Self { terms })
    }

    /// The selector of one value of one field: client-go's `OneTermEqualSelector`.
    pub fn equals(field: &str, value: &str) -> Self {
        Self::everything().and(field, value, true)
    }

    /// This and one term more.
    #[must_use]
    pub fn and(mut self, field: &str, value: &str, equal: bool) -> Self {
        let term = FieldTerm { field: field.to_owned(), value: value.to_owned(), equal };
        let text = term.to_string();
        let at = self.terms.partition_point(|term| term.to_string() <= text);
        self.terms.insert(at, term);
        self
    }

    /// Whether an object meets it; `value` answers for one field. A field that is absent is the empty text.
    pub fn matches<V: AsRef<str>>(&self, mut value: impl FnMut(&str) -> Option<V>) -> bool {
        self.terms.iter().all(|term| {
            let held = value(&term.field);
            let held = held.as_ref().map_or("", AsRef::as_ref);
            (held == term.value) == term.equal
        })
    }

    /// Whether it selects whatever is there.
    pub fn is_everything(&self) -> bool {
        self.terms.is_empty()
    }

    /// The terms, in the order in which they print.
    pub fn terms(&self) -> &[FieldTerm] {
        &self.terms
    }

    /// The value that a field must equal, if there is one.
    pub fn exact(&self, field: &str) -> Option<&str> {
        self.terms.iter().find(|term| term.equal && term.field == field).map(|term| &*term.value)
    }

    /// The same selector in other words: `change` gives the field and value to use instead. A term of which both
    /// become empty is dropped.
    pub fn transform(
        &self,
        mut change: impl FnMut(&str, &str) -> Result<(String, String), SelectorError>,
    ) -> Result<Self, SelectorError> {
        let mut terms = Vec::with_capacity(self.terms.len());
        for term in &self.terms {
            let (field, value) = change(&term.field, &term.value)?;
            if !(field.is_empty() && value.is_empty()) {
                terms.push(FieldTerm { field, value, equal: term.equal });
            }
        }
        Ok(Self { terms })
    }
}

/// Splits at the commas that are not escaped.
fn split_terms(text: &str) -> Vec<&str> {
    let (mut terms, mut start, mut escaped) = (Vec::new(), 0, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b',' => {
                terms.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    terms.push(&text[start..]);
    terms
}

/// The first operator splits; an exclamation mark without `=` is part of the field.
fn term(part: &str) -> Result<FieldTerm, String> {
    let Some(at) = part.find('=') else { return Err(format!("no operator in {part:?}")) };
    let (field, value, equal) = match (part[..at].strip_suffix('!'), &part[at + 1..]) {
        (Some(field), value) => (field, value, false),
        (None, value) => (&part[..at], value.strip_prefix('=').unwrap_or(value), true),
    };
    Ok(FieldTerm { field: field.to_owned(), value: unescape(value)?, equal })
}

fn unescape(value: &str) -> Result<String, String> {
    let mut plain = String::with_capacity(value.len());
    let mut letters = value.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next() {
                Some(escaped @ ('\\' | ',' | '=')) => plain.push(escaped),
                Some(other) => return Err(format!("invalid escape sequence \\{other}")),
                None => return Err("a backslash at the end".to_owned()),
            },
            ',' | '=' => return Err(format!("{letter:?} without a backslash before it")),
            _ => plain.push(letter),
        }
    }
    Ok(plain)
}

impl fmt::Display for FieldTerm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.field, if self.equal { "=" } else { "!=" })?;
        for letter in self.value.chars() {
            if matches!(letter, '\\' | ',' | '=') {
                f.write_str("\\")?;
            }
            write!(f, "{letter}")?;
        }
        Ok(())
    }
}

impl FromStr for FieldSelector {
    type Err = SelectorError;
    fn from_str(text: &str) -> Result<Self, SelectorError> {
        Self::parse(text)
    }
}

impl fmt::Display for FieldSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, term) in self.terms.iter().enumerate() {
            if at > 0 {
                f.write_str(",")?;
            }
            term.fmt(f)?;
        }
        Ok(())
    }
}
