//! `LabelSelector`: requirements that all must hold.

use std::fmt;
use std::str::FromStr;

use super::{Operator, Requirement, SelectorError, label_parse};
use crate::Labels;

/// A label selector: requirements that all must hold. Without any it selects everything.
///
/// There is also the selector of nothing ([`LabelSelector::nothing`]). It prints as the empty text, which a server
/// reads as everything: ask [`is_nothing`](Self::is_nothing) before a selector is sent.
///
/// ```
/// use std::collections::BTreeMap;
/// use steersman_apimachinery::{LabelSelector, Labels};
///
/// let selector: LabelSelector = "tier notin (cache), app=web".parse()?;
/// let labels = BTreeMap::from([("app".to_owned(), "web".to_owned())]);
/// assert!(selector.matches(Labels::from(&labels)));
/// assert_eq!(selector.to_string(), "app=web,tier notin (cache)");
/// # Ok::<(), steersman_apimachinery::SelectorError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct LabelSelector {
    /// In the order of their keys; those of one key as they were written.
    requirements: Vec<Requirement>,
    nothing: bool,
}

impl LabelSelector {
    /// Selects everything.
    pub const fn everything() -> Self {
        Self { requirements: Vec::new(), nothing: false }
    }

    /// Selects nothing. Never send it.
    pub const fn nothing() -> Self {
        Self { requirements: Vec::new(), nothing: true }
    }

    /// Reads a selector as it is written in a query.
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        Ok(label_parse::requirements(text)?.into_iter().collect())
    }

    /// The selector of exactly these values, unchecked: nothing can be selected that breaks the rules of labels.
    pub fn from_labels<'a>(labels: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        labels
            .into_iter()
            .map(|(key, value)| Requirement::unchecked(key, Operator::Equals, [value]))
            .collect()
    }

    /// As [`from_labels`](Self::from_labels), but what breaks the rules of labels is an error.
    pub fn from_valid_labels<'a>(
        labels: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, SelectorError> {
        labels.into_iter().map(|(key, value)| Requirement::new(key, Operator::Equals, [value])).collect()
    }

    /// This and one requirement more. Nothing stays nothing.
    #[must_use]
    pub fn and(mut self, requirement: Requirement) -> Self {
        if !self.nothing {
            let at = self.requirements.partition_point(|r| r.key() <= requirement.key());
            self.requirements.insert(at, requirement);
        }
        self
    }

    /// Whether labels meet it.
    pub fn matches(&self, labels: Labels<'_>) -> bool {
        !self.nothing && self.requirements.iter().all(|requirement| requirement.matches(labels))
    }

    /// Whether it selects whatever is there.
    pub fn is_everything(&self) -> bool {
        !self.nothing && self.requirements.is_empty()
    }

    /// Whether it is [`LabelSelector::nothing`]. A contradiction, `a,!a`, is not found out.
    pub fn is_nothing(&self) -> bool {
        self.nothing
    }

    /// The requirements in the order of their keys.
    pub fn requirements(&self) -> &[Requirement] {
        &self.requirements
    }

    /// The one value that the selector wants of a label, if there is only one; the first requirement of a key decides.
    pub fn exact(&self, key: &str) -> Option<&str> {
        self.requirements.iter().find(|requirement| requirement.key() == key)?.exact()
    }
}

impl FromIterator<Requirement> for LabelSelector {
    fn from_iter<I: IntoIterator<Item = Requirement>>(requirements: I) -> Self {
        let mut requirements: Vec<Requirement> = requirements.into_iter().collect();
        requirements.sort_by(|a, b| a.key().cmp(b.key()));
        Self { requirements, nothing: false }
    }
}

impl FromStr for LabelSelector {
    type Err = SelectorError;
    fn from_str(text: &str) -> Result<Self, SelectorError> {
        Self::parse(text)
    }
}

impl fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, requirement) in self.requirements.iter().enumerate() {
            if at > 0 {
                f.write_str(",")?;
            }
            requirement.fmt(f)?;
        }
        Ok(())
    }
}
