//! Selectors as the server reads them: parsed from the query, matched against what is stored.
//!
//! Written apart from the client's own selectors on purpose: the two check each other.

use std::collections::BTreeMap;

use apimachinery::StatusError;

use super::stored::Stored;
use super::{ResourceInfo, errors};

#[derive(Debug, Clone, PartialEq, Eq)]
enum Rule {
    In(Vec<String>),
    NotIn(Vec<String>),
    Exists,
    Absent,
    Greater(i64),
    Less(i64),
}

/// What a list or watch selects. The default selects everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Selection {
    labels: Vec<(String, Rule)>,
    fields: Vec<(String, bool, String)>,
}

impl Selection {
    pub(crate) fn parse(
        resource: &ResourceInfo,
        labels: Option<&str>,
        fields: Option<&str>,
    ) -> Result<Self, StatusError> {
        let labels = parse_labels(labels.unwrap_or_default())
            .map_err(|why| errors::bad_request(format!("unable to parse requirement: {why}")))?;
        let fields = parse_fields(fields.unwrap_or_default())?;
        for (path, _, _) in &fields {
            let known = path == "metadata.name"
                || (path == "metadata.namespace" && resource.is_namespaced())
                || resource.selectable.contains(path);
            if !known {
                return Err(errors::bad_request(format!("field label not supported: {path}")));
            }
        }
        Ok(Self { labels, fields })
    }

    pub(crate) fn is_everything(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    pub(crate) fn matches(&self, resource: &ResourceInfo, object: &Stored) -> bool {
        matches_labels(&self.labels, object.labels())
            && self.fields.iter().all(|(path, equal, value)| {
                (object.field(resource, path).unwrap_or_default() == value) == *equal
            })
    }
}

fn matches_labels(rules: &[(String, Rule)], labels: &BTreeMap<String, String>) -> bool {
    rules.iter().all(|(key, rule)| {
        let value = labels.get(key);
        match rule {
            Rule::In(values) => value.is_some_and(|value| values.contains(value)),
            Rule::NotIn(values) => value.is_none_or(|value| !values.contains(value)),
            Rule::Exists => value.is_some(),
            Rule::Absent => value.is_none(),
            Rule::Greater(bound) => {
                value.and_then(|value| value.parse().ok()).is_some_and(|n: i64| n > *bound)
            }
            Rule::Less(bound) => value.and_then(|value| value.parse().ok()).is_some_and(|n: i64| n < *bound),
        }
    })
}

fn parse_labels(text: &str) -> Result<Vec<(String, Rule)>, String> {
    split_outside_parentheses(text).into_iter().map(parse_requirement).collect()
}

/// `a in (x,y),b` is two requirements; an empty text is none.
fn split_outside_parentheses(text: &str) -> Vec<&str> {
    let (mut depth, mut from, mut parts) = (0_u32, 0, Vec::new());
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&text[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    if !text.trim().is_empty() {
        parts.push(&text[from..]);
    }
    parts
}

fn parse_requirement(text: &str) -> Result<(String, Rule), String> {
    let text = text.trim();
    if let Some(key) = text.strip_prefix('!') {
        return Ok((label_key(key)?, Rule::Absent));
    }
    if let Some((key, value)) = text.split_once("!=") {
        return Ok((label_key(key)?, Rule::NotIn(vec![label_value(value)?])));
    }
    if let Some((key, value)) = text.split_once("==").or_else(|| text.split_once('=')) {
        return Ok((label_key(key)?, Rule::In(vec![label_value(value)?])));
    }
    if let Some((key, bound)) = text.split_once('>') {
        return Ok((label_key(key)?, Rule::Greater(number(bound)?)));
    }
    if let Some((key, bound)) = text.split_once('<') {
        return Ok((label_key(key)?, Rule::Less(number(bound)?)));
    }
    let Some((head, values)) = text.split_once('(') else {
        return Ok((label_key(text)?, Rule::Exists));
    };
    let values =
        values.trim_end().strip_suffix(')').ok_or_else(|| format!("found '{text}', expected: ')'"))?;
    let values = values.split(',').map(label_value).collect::<Result<Vec<_>, _>>()?;
    let mut words = head.split_whitespace();
    match (words.next(), words.next(), words.next()) {
        (Some(key), Some("in"), None) => Ok((label_key(key)?, Rule::In(values))),
        (Some(key), Some("notin"), None) => Ok((label_key(key)?, Rule::NotIn(values))),
        _ => Err(format!("found '{text}', expected: in, notin")),
    }
}

fn number(text: &str) -> Result<i64, String> {
    let text = text.trim();
    text.parse().map_err(|_| {
        format!("values[0]: Invalid value: {text:?}: for 'Gt', 'Lt' operators, the value must be an integer")
    })
}

fn label_key(text: &str) -> Result<String, String> {
    let text = text.trim();
    let name = text.rsplit_once('/').map_or(text, |(_, name)| name);
    if is_label_word(name) && !name.is_empty() {
        Ok(text.to_owned())
    } else {
        Err(format!(
            "<nil>: Invalid value: {text:?}: name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
        ))
    }
}

fn label_value(text: &str) -> Result<String, String> {
    let text = text.trim();
    if is_label_word(text) {
        Ok(text.to_owned())
    } else {
        Err(format!(
            "values[0][]: Invalid value: {text:?}: a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
        ))
    }
}

/// Empty, or at most 63 of alphanumerics, `-`, `_`, `.`, with alphanumerics at both ends.
pub(crate) fn is_label_word(text: &str) -> bool {
    let bytes = text.as_bytes();
    let inner = bytes.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'));
    let ends = [bytes.first(), bytes.last()].into_iter().flatten().all(u8::is_ascii_alphanumeric);
    inner && ends && bytes.len() <= 63
}

/// `a=b,c!=d`; a backslash escapes `\`, `,` and `=`.
fn parse_fields(text: &str) -> Result<Vec<(String, bool, String)>, StatusError> {
    let mut terms = Vec::new();
    for term in split_unescaped(text) {
        if term.is_empty() {
            continue;
        }
        let refused =
            || errors::bad_request(format!("invalid selector: '{text}'; can't understand '{term}'"));
        let at = first_unescaped_equals(term).ok_or_else(refused)?;
        let (left, right) = (&term[..at], &term[at + 1..]);
        let (path, equal) = match left.strip_suffix('!') {
            Some(path) => (path, false),
            None => (left, true),
        };
        let value = right.strip_prefix('=').unwrap_or(right);
        terms.push((path.to_owned(), equal, unescape(value).ok_or_else(refused)?));
    }
    Ok(terms)
}

fn split_unescaped(text: &str) -> Vec<&str> {
    let (mut escaped, mut from, mut parts) = (false, 0, Vec::new());
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ',' => {
                parts.push(&text[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[from..]);
    parts
}

fn first_unescaped_equals(term: &str) -> Option<usize> {
    let mut escaped = false;
    term.char_indices().find_map(|(at, c)| match c {
        _ if escaped => {
            escaped = false;
            None
        }
        '\\' => {
            escaped = true;
            None
        }
        '=' => Some(at),
        _ => None,
    })
}

fn unescape(text: &str) -> Option<String> {
    let mut plain = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => plain.push(chars.next().filter(|c| matches!(c, '\\' | ',' | '='))?),
            ',' | '=' => return None,
            c => plain.push(c),
        }
    }
    Some(plain)
}
