//! Paths and queries: which URL names what.

use std::borrow::Cow;
use std::fmt::Write;
use std::time::Duration;

use apimachinery::{ApiError, ApiResource, Scope};

/// What a request is about.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Target<'a> {
    pub(crate) resource: &'a ApiResource,
    /// `""` for all namespaces, or for a cluster-scoped resource.
    pub(crate) namespace: &'a str,
    /// `""` for the collection.
    pub(crate) name: &'a str,
    /// `""` for the object itself.
    pub(crate) subresource: &'a str,
}

impl Target<'_> {
    /// The path below the server's base path (REST-RQ-01, REST-DY-01). Every word is checked (REST-RQ-02).
    pub(crate) fn path(&self) -> Result<String, ApiError> {
        let resource = self.resource;
        let mut path = String::with_capacity(96);
        path.push_str(if resource.group.is_empty() { "/api" } else { "/apis" });
        if !resource.group.is_empty() {
            push_segment(&mut path, "group", &resource.group)?;
        }
        push_segment(&mut path, "version", &resource.version)?;
        match (resource.scope, self.namespace) {
            (_, "") => {}
            (Scope::Namespaced, namespace) => {
                path.push_str("/namespaces");
                push_segment(&mut path, "namespace", namespace)?;
            }
            (Scope::Cluster, namespace) => {
                return Err(invalid(format!(
                    "{} live in no namespace, so not in {namespace:?}",
                    resource.group_resource()
                )));
            }
        }
        push_segment(&mut path, "resource", &resource.plural)?;
        if !self.name.is_empty() {
            push_segment(&mut path, "name", self.name)?;
            if !self.subresource.is_empty() {
                // `proxy/metrics` and the like: each part is a word of its own.
                for part in self.subresource.split('/') {
                    push_segment(&mut path, "subresource", part)?;
                }
            }
        }
        Ok(path)
    }

    /// An object's path: it needs a name, and a namespace if its resource lives in one (REST-RQ-04).
    pub(crate) fn object_path(&self) -> Result<String, ApiError> {
        if self.name.is_empty() {
            return Err(invalid("the object has no name".to_owned()));
        }
        self.check_namespace()?;
        self.path()
    }

    /// The path where an object is created: it needs a namespace if its resource lives in one (REST-RQ-04).
    pub(crate) fn create_path(&self) -> Result<String, ApiError> {
        self.check_namespace()?;
        Target { name: "", ..*self }.path()
    }

    fn check_namespace(&self) -> Result<(), ApiError> {
        if self.resource.scope == Scope::Namespaced && self.namespace.is_empty() {
            return Err(invalid(format!(
                "{} live in namespaces, and none is given",
                self.resource.group_resource()
            )));
        }
        Ok(())
    }
}

pub(crate) fn invalid(why: String) -> ApiError {
    ApiError::InvalidRequest(why)
}

fn push_segment(path: &mut String, what: &str, word: &str) -> Result<(), ApiError> {
    let problem = match word {
        "" => "may not be empty",
        "." | ".." => "may not be a step of a path",
        _ if word.contains(['/', '%']) => "may not contain '/' or '%'",
        _ => {
            path.push('/');
            encode_segment(path, word);
            return Ok(());
        }
    };
    Err(invalid(format!("{what} {word:?} {problem}")))
}

/// Leaves unreserved characters and ``$&+,/:;=@`` as they are (REST-RQ-08), so that `system:node` stays readable.
fn encode_segment(path: &mut String, word: &str) {
    for byte in word.bytes() {
        match byte {
            _ if is_unreserved(byte) || b"$&+,/:;=@".contains(&byte) => path.push(byte.into()),
            _ => {
                // Writing to a text does not fail.
                let _ = write!(path, "%{byte:02X}");
            }
        }
    }
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte)
}

/// Checks a path that a caller wrote: it begins with a slash, and no step of it climbs (REST-RQ-18).
pub(crate) fn check_raw(path_and_query: &str) -> Result<(), ApiError> {
    let path = path_and_query.split(['?', '#']).next().unwrap_or_default();
    if !path.starts_with('/') {
        return Err(invalid(format!("the path {path:?} must begin with '/'")));
    }
    let climbs = |step: &str| {
        let step = step.replace("%2e", ".").replace("%2E", ".");
        step == "." || step == ".."
    };
    if path.split('/').any(climbs) {
        return Err(invalid(format!("the path {path:?} must not contain '.' or '..'")));
    }
    Ok(())
}

/// A query: keys in order, values of one key in the order in which they were added (REST-RQ-07).
#[derive(Debug, Clone, Default)]
pub(crate) struct Query(Vec<(&'static str, String)>);

impl Query {
    pub(crate) fn add(&mut self, key: &'static str, value: impl Into<String>) {
        self.0.push((key, value.into()));
    }

    /// `path` or `path?query`.
    pub(crate) fn onto(mut self, mut path: String) -> String {
        self.0.sort_by_key(|&(key, _)| key);
        for (at, (key, value)) in self.0.iter().enumerate() {
            path.push(if at == 0 { '?' } else { '&' });
            encode_query(&mut path, key);
            path.push('=');
            encode_query(&mut path, value);
        }
        path
    }
}

/// Unreserved characters stay, a blank is `+`, all else is percent-encoded: Go's `url.QueryEscape`.
fn encode_query(query: &mut String, text: &str) {
    for byte in text.bytes() {
        match byte {
            _ if is_unreserved(byte) => query.push(byte.into()),
            b' ' => query.push('+'),
            _ => {
                let _ = write!(query, "%{byte:02X}");
            }
        }
    }
}

/// Go's text of a duration: `1m0s`, `32s`, `500ms`, `1h2m3.5s`.
pub(crate) fn go_duration(duration: Duration) -> Cow<'static, str> {
    let nanos = duration.as_nanos();
    if nanos == 0 {
        return "0s".into();
    }
    if nanos < 1_000 {
        return format!("{nanos}ns").into();
    }
    if nanos < 1_000_000 {
        return fraction(nanos, 1_000, "µs").into();
    }
    if nanos < 1_000_000_000 {
        return fraction(nanos, 1_000_000, "ms").into();
    }
    let seconds = fraction(nanos % 60_000_000_000, 1_000_000_000, "s");
    let minutes = nanos / 60_000_000_000;
    match (minutes / 60, minutes % 60) {
        (0, 0) => seconds.into(),
        (0, minutes) => format!("{minutes}m{seconds}").into(),
        (hours, minutes) => format!("{hours}h{minutes}m{seconds}").into(),
    }
}

fn fraction(nanos: u128, unit: u128, name: &str) -> String {
    let (whole, rest) = (nanos / unit, nanos % unit);
    if rest == 0 {
        return format!("{whole}{name}");
    }
    let width = unit.ilog10() as usize;
    let digits = format!("{rest:0width$}");
    format!("{whole}.{}{name}", digits.trim_end_matches('0'))
}
