//! The part of kubectl's JSONPath that printer columns use: fields, indices, `[*]`, and `[?(@.field=="text")]`.

use serde_json::Value;

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Field(String),
    Index(i64),
    All,
    Where { path: Vec<String>, equals: String },
}

/// A parsed path; one that does not parse finds nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct JsonPath(Option<Vec<Step>>);

impl JsonPath {
    /// `.spec.replicas`, `.status.conditions[?(@.type=="Ready")].status`, `.spec.ports[0].port`; braces are allowed.
    pub(super) fn parse(text: &str) -> Self {
        let text = text.trim();
        let text = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap_or(text);
        Self(steps(text.strip_prefix('$').unwrap_or(text)))
    }

    /// What is there, in order.
    pub(super) fn find<'a>(&self, object: &'a Value) -> Vec<&'a Value> {
        let Some(steps) = &self.0 else { return Vec::new() };
        let mut found = vec![object];
        for step in steps {
            found = found.into_iter().flat_map(|value| step.from(value)).collect();
        }
        found
    }
}

impl Step {
    fn from<'a>(&self, value: &'a Value) -> Vec<&'a Value> {
        let items = || value.as_array().map(Vec::as_slice).unwrap_or_default();
        match self {
            Self::Field(name) => value.get(name).into_iter().collect(),
            Self::Index(index) => {
                let at = if *index < 0 {
                    items().len().checked_add_signed(to_isize(*index))
                } else {
                    usize::try_from(*index).ok()
                };
                at.and_then(|at| items().get(at)).into_iter().collect()
            }
            Self::All => match value {
                Value::Object(fields) => fields.values().collect(),
                _ => items().iter().collect(),
            },
            Self::Where { path, equals } => items()
                .iter()
                .filter(|item| {
                    let at = path.iter().fold(*item, |value, word| &value[word.as_str()]);
                    match at {
                        Value::String(text) => text == equals,
                        Value::Bool(flag) => equals.parse() == Ok(*flag),
                        Value::Number(number) => {
                            equals.parse().is_ok_and(|wanted: serde_json::Number| wanted == *number)
                        }
                        _ => false,
                    }
                })
                .collect(),
        }
    }
}

fn to_isize(index: i64) -> isize {
    isize::try_from(index).unwrap_or(isize::MIN)
}

fn steps(mut text: &str) -> Option<Vec<Step>> {
    let mut steps = Vec::new();
    while !text.is_empty() {
        if let Some(rest) = text.strip_prefix('[') {
            let (inner, rest) = split_bracket(rest)?;
            steps.push(bracket(inner)?);
            text = rest;
        } else {
            let rest = text.strip_prefix('.')?;
            let (name, rest) = field(rest);
            if name == "*" {
                steps.push(Step::All);
            } else if !name.is_empty() {
                steps.push(Step::Field(name));
            } else if !rest.starts_with('[') && !rest.is_empty() {
                return None; // `..` is not for columns
            }
            text = rest;
        }
    }
    Some(steps)
}

/// A name up to the next `.` or `[`; a backslash takes the next character as it is.
fn field(text: &str) -> (String, &str) {
    let (mut name, mut escaped) = (String::new(), false);
    for (index, c) in text.char_indices() {
        match c {
            _ if escaped => {
                name.push(c);
                escaped = false;
            }
            '\\' => escaped = true,
            '.' | '[' => return (name, &text[index..]),
            _ => name.push(c),
        }
    }
    (name, "")
}

/// What stands before the closing bracket, quotes respected, and what comes behind it.
fn split_bracket(text: &str) -> Option<(&str, &str)> {
    let mut quote = None;
    for (index, c) in text.char_indices() {
        match (quote, c) {
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            (None, ']') => return Some((&text[..index], &text[index + 1..])),
            _ => {}
        }
    }
    None
}

fn bracket(inner: &str) -> Option<Step> {
    let inner = inner.trim();
    if inner == "*" {
        return Some(Step::All);
    }
    if let Some(name) = quoted(inner) {
        return Some(Step::Field(name.to_owned()));
    }
    if let Ok(index) = inner.parse() {
        return Some(Step::Index(index));
    }
    let filter = inner.strip_prefix("?(")?.strip_suffix(')')?;
    let (left, right) = filter.split_once("==")?;
    let mut path = Vec::new();
    let mut rest = left.trim().strip_prefix('@')?;
    while let Some(behind) = rest.strip_prefix('.') {
        let (name, behind) = field(behind);
        path.push(name);
        rest = behind;
    }
    let right = right.trim();
    rest.is_empty().then(|| Step::Where { path, equals: quoted(right).unwrap_or(right).to_owned() })
}

fn quoted(text: &str) -> Option<&str> {
    ['"', '\''].iter().find_map(|&quote| text.strip_prefix(quote)?.strip_suffix(quote))
}
