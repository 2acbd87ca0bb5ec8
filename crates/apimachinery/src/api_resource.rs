//! `ApiResource`: the kind of a resource as a value; needed only where a URL is made.

use std::borrow::Cow;

/// Whether objects of a resource live in a namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scope {
    /// In a namespace.
    Namespaced,
    /// In the cluster itself.
    Cluster,
}

/// Group, version, kind and plural of a resource, and its scope.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ApiResource {
    /// The API group; `""` for the core group.
    pub group: Cow<'static, str>,
    /// The version in the group: `v1`.
    pub version: Cow<'static, str>,
    /// The kind: `Deployment`.
    pub kind: Cow<'static, str>,
    /// The resource as it stands in a URL: `deployments`.
    pub plural: Cow<'static, str>,
    /// Whether it lives in namespaces.
    pub scope: Scope,
}

impl ApiResource {
    /// A resource known when the program is written; `api_version` is `v1` or `group/version`.
    pub fn new(api_version: &'static str, kind: &'static str, plural: &'static str, scope: Scope) -> Self {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        Self { group: group.into(), version: version.into(), kind: kind.into(), plural: plural.into(), scope }
    }

    /// A resource learned at run time; `api_version` is `v1` or `group/version`.
    pub fn dynamic(api_version: &str, kind: &str, plural: &str, scope: Scope) -> Self {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        Self {
            group: group.to_owned().into(),
            version: version.to_owned().into(),
            kind: kind.to_owned().into(),
            plural: plural.to_owned().into(),
            scope,
        }
    }

    /// `v1` or `group/version`.
    pub fn api_version(&self) -> Cow<'_, str> {
        if self.group.is_empty() {
            Cow::Borrowed(&self.version)
        } else {
            Cow::Owned(format!("{}/{}", self.group, self.version))
        }
    }

    /// `plural` or `plural.group`: how errors and kubectl name the resource.
    pub fn group_resource(&self) -> Cow<'_, str> {
        if self.group.is_empty() {
            Cow::Borrowed(&self.plural)
        } else {
            Cow::Owned(format!("{}.{}", self.plural, self.group))
        }
    }

    /// The path of the collection: all namespaces, or one. Without a trailing slash, not percent-encoded.
    pub fn path(&self, namespace: Option<&str>) -> String {
        let mut path = if self.group.is_empty() {
            format!("/api/{}", self.version)
        } else {
            format!("/apis/{}/{}", self.group, self.version)
        };
        if let (Some(namespace), Scope::Namespaced) = (namespace, self.scope) {
            path.push_str("/namespaces/");
            path.push_str(namespace);
        }
        path.push('/');
        path.push_str(&self.plural);
        path
    }
}

/// Group and version of an apiVersion: `v1` has the empty group, the empty text and `/` have neither; `None` for a text
/// with more than one slash.
pub fn parse_api_version(text: &str) -> Option<(&str, &str)> {
    match text.split_once('/') {
        None => Some(("", text)),
        Some((_, version)) if version.contains('/') => None,
        Some(parts) => Some(parts),
    }
}

/// A kept form whose resource is known when the program is written.
pub trait Kind {
    /// Group, version, kind, plural and scope.
    fn resource() -> ApiResource;
}

impl<T> Kind for T
where
    T: k8s_openapi::Resource,
    T::Scope: ScopeOf,
{
    fn resource() -> ApiResource {
        ApiResource {
            group: T::GROUP.into(),
            version: T::VERSION.into(),
            kind: T::KIND.into(),
            plural: T::URL_PATH_SEGMENT.into(),
            scope: <T::Scope as ScopeOf>::SCOPE,
        }
    }
}

/// The scopes of k8s-openapi, as values.
pub trait ScopeOf {
    /// The same scope, as a value.
    const SCOPE: Scope;
}
impl ScopeOf for k8s_openapi::NamespaceResourceScope {
    const SCOPE: Scope = Scope::Namespaced;
}
impl ScopeOf for k8s_openapi::ClusterResourceScope {
    const SCOPE: Scope = Scope::Cluster;
}
