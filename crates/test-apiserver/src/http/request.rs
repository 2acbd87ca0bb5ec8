//! What a request asks for: its path taken apart as kube-apiserver does it, and its query.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

use crate::faults::Verb;

/// The parts of a path about objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ResourcePath {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) namespace: Option<String>,
    pub(crate) plural: String,
    pub(crate) name: Option<String>,
    /// Everything behind the name, joined again.
    pub(crate) subresource: Option<String>,
}

/// Where a path leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Route {
    /// `/`: the paths that there are.
    Root,
    /// `/api`: the versions of the core group.
    Core,
    /// `/apis`: the groups.
    Groups,
    /// `/apis/GROUP`.
    Group(String),
    /// `/api/v1`, `/apis/GROUP/VERSION`: the resources.
    Resources { group: String, version: String },
    /// `/version`.
    Version,
    /// `/healthz`, `/livez`, `/readyz` and what is below.
    Health,
    /// `/openapi/v2`.
    OpenApiV2,
    /// `/openapi/v3`; the group and version where one is named: `api/v1`.
    OpenApiV3(Option<String>),
    /// Objects.
    Objects(ResourcePath),
    /// Nothing is there.
    Unknown,
}

impl Route {
    /// The route of an encoded path.
    pub(crate) fn of(path: &str) -> Self {
        let Some(parts) = segments(path) else { return Self::Unknown };
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        match parts.as_slice() {
            [] => Self::Root,
            ["version"] => Self::Version,
            ["healthz" | "livez" | "readyz", ..] => Self::Health,
            ["openapi", "v2"] => Self::OpenApiV2,
            ["openapi", "v3"] => Self::OpenApiV3(None),
            ["openapi", "v3", rest @ ..] => Self::OpenApiV3(Some(rest.join("/"))),
            ["api"] => Self::Core,
            ["apis"] => Self::Groups,
            ["apis", group] => Self::Group((*group).to_owned()),
            ["api", version] => Self::Resources { group: String::new(), version: (*version).to_owned() },
            ["apis", group, version] => {
                Self::Resources { group: (*group).to_owned(), version: (*version).to_owned() }
            }
            ["api", version, rest @ ..] => Self::Objects(objects("", version, rest)),
            ["apis", group, version, rest @ ..] => Self::Objects(objects(group, version, rest)),
            _ => Self::Unknown,
        }
    }
}

/// The decoded segments; none if one of them is not UTF-8. A slash at the end counts for nothing.
fn segments(path: &str) -> Option<Vec<String>> {
    path.split('/')
        .filter(|segment| !segment.is_empty())
        .map(|segment| percent_decode_str(segment).decode_utf8().ok().map(Cow::into_owned))
        .collect()
}

/// `rest` is not empty. A namespace's own subresources are `status` and `finalize`; any other word behind its name is a
/// resource in the namespace.
fn objects(group: &str, version: &str, rest: &[&str]) -> ResourcePath {
    let (namespace, rest) = match rest {
        ["namespaces", _, "status" | "finalize", ..] => (None, rest),
        ["namespaces", namespace, _, ..] => (Some((*namespace).to_owned()), &rest[2..]),
        _ => (None, rest),
    };
    ResourcePath {
        group: group.to_owned(),
        version: version.to_owned(),
        namespace,
        plural: rest.first().copied().unwrap_or_default().to_owned(),
        name: rest.get(1).map(|name| (*name).to_owned()),
        subresource: (rest.len() > 2).then(|| rest[2..].join("/")),
    }
}

/// The query of a request, in its order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    /// From the raw query; bytes that are not UTF-8 are replaced.
    pub(crate) fn parse(raw: &str) -> Self {
        Self(form_urlencoded::parse(raw.as_bytes()).into_owned().collect())
    }

    /// The first value of `name` that is not empty.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.first(name).filter(|value| !value.is_empty())
    }

    /// Every value of `name`.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// A bool as apimachinery reads it: there, and neither `false` nor `0`; none if it is not there.
    pub(crate) fn flag(&self, name: &str) -> Option<bool> {
        self.first(name).map(|value| !(value.eq_ignore_ascii_case("false") || value == "0"))
    }

    /// A number; an error says what is wrong with it, in Go's words.
    pub(crate) fn number(&self, name: &str) -> Result<Option<i64>, String> {
        self.text(name)
            .map(|value| {
                value.parse().map_err(|_| format!("strconv.ParseInt: parsing {value:?}: invalid syntax"))
            })
            .transpose()
    }

    fn first(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// The verb that a method, a route and a query make together.
pub(crate) fn verb(method: &http::Method, route: &Route, query: &Query) -> Verb {
    let Route::Objects(path) = route else { return Verb::Other };
    let named = path.name.is_some();
    match method.as_str() {
        "GET" | "HEAD" if query.flag("watch") == Some(true) && path.subresource.is_none() => Verb::Watch,
        "GET" | "HEAD" if named => Verb::Get,
        "GET" | "HEAD" => Verb::List,
        "POST" => Verb::Create,
        "PUT" => Verb::Update,
        "PATCH" => Verb::Patch,
        "DELETE" if named => Verb::Delete,
        "DELETE" => Verb::DeleteCollection,
        _ => Verb::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::{Query, ResourcePath, Route, verb};
    use crate::faults::Verb;

    fn path(namespace: Option<&str>, plural: &str, name: Option<&str>, subresource: Option<&str>) -> Route {
        Route::Objects(ResourcePath {
            group: String::new(),
            version: "v1".to_owned(),
            namespace: namespace.map(str::to_owned),
            plural: plural.to_owned(),
            name: name.map(str::to_owned),
            subresource: subresource.map(str::to_owned),
        })
    }

    #[test]
    fn a_namespace_is_a_place_and_an_object() {
        assert_eq!(Route::of("/api/v1/namespaces"), path(None, "namespaces", None, None));
        assert_eq!(Route::of("/api/v1/namespaces/a"), path(None, "namespaces", Some("a"), None));
        assert_eq!(
            Route::of("/api/v1/namespaces/a/finalize"),
            path(None, "namespaces", Some("a"), Some("finalize"))
        );
        assert_eq!(Route::of("/api/v1/namespaces/a/pods"), path(Some("a"), "pods", None, None));
        assert_eq!(
            Route::of("/api/v1/namespaces/a/pods/b/status"),
            path(Some("a"), "pods", Some("b"), Some("status"))
        );
    }

    #[test]
    fn segments_are_decoded_one_by_one() {
        assert_eq!(Route::of("/api/v1/nodes/a%2Fb"), path(None, "nodes", Some("a/b"), None));
        assert_eq!(Route::of("/api/v1/nodes/%ff"), Route::Unknown);
        assert_eq!(
            Route::of("/api/v1/"),
            Route::Resources { group: String::new(), version: "v1".to_owned() }
        );
        assert_eq!(Route::of("/nowhere"), Route::Unknown);
    }

    #[test]
    fn a_flag_is_true_unless_it_says_otherwise() {
        for (raw, wanted) in [
            ("watch=1", Some(true)),
            ("watch=true", Some(true)),
            ("watch", Some(true)),
            ("watch=0", Some(false)),
            ("watch=False", Some(false)),
            ("", None),
        ] {
            assert_eq!(Query::parse(raw).flag("watch"), wanted, "{raw}");
        }
    }

    #[test]
    fn a_query_is_decoded_as_a_form() {
        let query = Query::parse("labelSelector=a+in+%28b%2Cc%29&limit=x&timeoutSeconds=5&continue=");
        assert_eq!(query.text("labelSelector"), Some("a in (b,c)"));
        assert_eq!(query.number("timeoutSeconds"), Ok(Some(5)));
        assert!(query.number("limit").is_err());
        assert_eq!(query.text("continue"), None);
    }

    #[test]
    fn a_get_becomes_a_list_or_a_watch() {
        let list = Route::of("/api/v1/pods");
        let one = Route::of("/api/v1/namespaces/a/pods/b");
        assert_eq!(verb(&http::Method::GET, &list, &Query::default()), Verb::List);
        assert_eq!(verb(&http::Method::GET, &list, &Query::parse("watch=1")), Verb::Watch);
        assert_eq!(verb(&http::Method::GET, &one, &Query::default()), Verb::Get);
        assert_eq!(verb(&http::Method::DELETE, &list, &Query::default()), Verb::DeleteCollection);
        assert_eq!(verb(&http::Method::DELETE, &one, &Query::default()), Verb::Delete);
        assert_eq!(verb(&http::Method::GET, &Route::of("/version"), &Query::default()), Verb::Other);
    }
}
