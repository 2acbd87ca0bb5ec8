//! `Requirement`: one condition of a label selector.

use std::fmt;

use super::SelectorError;
use crate::Labels;

/// How a requirement compares. Two ways to write "equals" are kept apart, so that a selector prints as it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operator {
    /// `k in (a,b)`
    In,
    /// `k notin (a,b)`
    NotIn,
    /// `k=v`
    Equals,
    /// `k==v`
    DoubleEquals,
    /// `k!=v`
    NotEquals,
    /// `k`
    Exists,
    /// `!k`
    DoesNotExist,
    /// `k>1`
    GreaterThan,
    /// `k<1`
    LessThan,
}

/// One condition of a label selector. Its key and values are valid as labels, its number of values fits its operator.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Requirement {
    key: String,
    operator: Operator,
    /// Sorted, each once.
    values: Vec<String>,
}

impl Requirement {
    /// A requirement, if key, operator and values fit the rules of labels.
    pub fn new(
        key: &str,
        operator: Operator,
        values: impl IntoIterator<Item = impl Into<String>>,
    ) -> Result<Self, SelectorError> {
        let requirement = Self::unchecked(key, operator, values);
        requirement.check().map_err(|message| SelectorError::new(requirement.to_string(), message))?;
        Ok(requirement)
    }

    pub(super) fn unchecked(
        key: &str,
        operator: Operator,
        values: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        let mut values: Vec<String> = values.into_iter().map(Into::into).collect();
        values.sort_unstable();
        values.dedup();
        Self { key: key.to_owned(), operator, values }
    }

    pub(super) fn check(&self) -> Result<(), String> {
        check_key(&self.key)?;
        match (self.operator, self.values.len()) {
            (Operator::In | Operator::NotIn, 0) => return Err("in and notin need a value".to_owned()),
            (Operator::Exists | Operator::DoesNotExist, 1..) => {
                return Err("a test of existence takes no value".to_owned());
            }
            (
                Operator::Equals
                | Operator::DoubleEquals
                | Operator::NotEquals
                | Operator::GreaterThan
                | Operator::LessThan,
                0 | 2..,
            ) => return Err("the operator takes one value".to_owned()),
            _ => {}
        }
        for value in &self.values {
            check_value(value)?;
            let compares = matches!(self.operator, Operator::GreaterThan | Operator::LessThan);
            if compares && value.parse::<i64>().is_err() {
                return Err(format!("{value:?} is not a whole number"));
            }
        }
        Ok(())
    }

    /// The label's key.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// How it compares.
    pub fn operator(&self) -> Operator {
        self.operator
    }

    /// With what it compares: sorted, each value once.
    pub fn values(&self) -> &[String] {
        &self.values
    }

    /// Whether labels meet it. An absent label meets NotIn and NotEquals, and none of the comparisons.
    pub fn matches(&self, labels: Labels<'_>) -> bool {
        let value = labels.get(&self.key);
        let listed = |value: &str| self.values.iter().any(|v| v == value);
        match self.operator {
            Operator::In | Operator::Equals | Operator::DoubleEquals => value.is_some_and(listed),
            Operator::NotIn | Operator::NotEquals => !value.is_some_and(listed),
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
            Operator::GreaterThan => self.numbers(value).is_some_and(|(label, bound)| label > bound),
            Operator::LessThan => self.numbers(value).is_some_and(|(label, bound)| label < bound),
        }
    }

    fn numbers(&self, value: Option<&str>) -> Option<(i64, i64)> {
        Some((value?.parse().ok()?, self.values.first()?.parse().ok()?))
    }

    /// The one value that the label must have, if there is only one.
    pub fn exact(&self) -> Option<&str> {
        match (self.operator, &*self.values) {
            (Operator::In | Operator::Equals | Operator::DoubleEquals, [value]) => Some(value),
            _ => None,
        }
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (before, after, end) = match self.operator {
            Operator::In => ("", " in (", ")"),
            Operator::NotIn => ("", " notin (", ")"),
            Operator::Equals => ("", "=", ""),
            Operator::DoubleEquals => ("", "==", ""),
            Operator::NotEquals => ("", "!=", ""),
            Operator::Exists => ("", "", ""),
            Operator::DoesNotExist => ("!", "", ""),
            Operator::GreaterThan => ("", ">", ""),
            Operator::LessThan => ("", "<", ""),
        };
        write!(f, "{before}{}{after}{}{end}", self.key, self.values.join(","))
    }
}

/// A label's key: an optional DNS subdomain and a slash, then a name.
pub(super) fn check_key(key: &str) -> Result<(), String> {
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    if prefix.is_some_and(|prefix| !is_subdomain(prefix)) {
        return Err(format!("the prefix of the key {key:?} is not a DNS subdomain"));
    }
    if name.is_empty() || !is_name(name) {
        return Err(format!("{key:?} is not a label's key"));
    }
    Ok(())
}

fn check_value(value: &str) -> Result<(), String> {
    if value.is_empty() || is_name(value) { Ok(()) } else { Err(format!("{value:?} is not a label's value")) }
}

/// At most 63 letters, digits, `-_.`, with a letter or digit at both ends.
fn is_name(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() <= 63
        && bytes.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
        && [bytes.first(), bytes.last()].iter().all(|end| end.is_some_and(u8::is_ascii_alphanumeric))
}

/// RFC 1123: lower-case labels with dots between, at most 253 bytes.
fn is_subdomain(text: &str) -> bool {
    let lower = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    text.len() <= 253
        && text.split('.').all(|part| {
            let bytes = part.as_bytes();
            bytes.iter().all(|b| lower(b) || *b == b'-')
                && [bytes.first(), bytes.last()].iter().all(|end| end.is_some_and(lower))
        })
}
