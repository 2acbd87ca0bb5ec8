//! The options of requests, by their wire names.

use serde::Serialize;

use crate::ResourceVersion;

/// What to list or watch. Client-go's `ListOptions`: one type for both.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListOptions {
    /// `labelSelector`.
    pub label_selector: Option<String>,
    /// `fieldSelector`.
    pub field_selector: Option<String>,
    /// `limit`: objects a page; 0 leaves it to the server.
    pub limit: u32,
    /// `continue`: the token of the page before.
    pub continue_token: Option<String>,
    /// `resourceVersion`: empty asks for the most recent.
    pub resource_version: ResourceVersion,
    /// `resourceVersionMatch`.
    pub resource_version_match: Option<ResourceVersionMatch>,
    /// `timeoutSeconds`: when the server ends a watch or gives up a list.
    pub timeout_seconds: Option<u32>,
    /// `allowWatchBookmarks`.
    pub allow_watch_bookmarks: bool,
    /// `sendInitialEvents`: the watch sends the present state first, and a bookmark after it.
    pub send_initial_events: Option<bool>,
}

/// What `resourceVersion` means in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ResourceVersionMatch {
    /// At least as new.
    NotOlderThan,
    /// That very one.
    Exact,
}

impl ResourceVersionMatch {
    /// As it stands in a query.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotOlderThan => "NotOlderThan",
            Self::Exact => "Exact",
        }
    }
}

/// How to read one object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct GetOptions {
    /// Empty: the most recent; `0`: whatever the server has cached.
    pub resource_version: ResourceVersion,
}

/// What the server does with fields that it does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FieldValidation {
    /// Drops them.
    Ignore,
    /// Drops them and warns.
    Warn,
    /// Refuses the request.
    Strict,
}

impl FieldValidation {
    /// As it stands in a query.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ignore => "Ignore",
            Self::Warn => "Warn",
            Self::Strict => "Strict",
        }
    }
}

/// How to create.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CreateOptions {
    /// Go through the motions, store nothing.
    pub dry_run: bool,
    /// Who manages the fields that are sent.
    pub field_manager: Option<String>,
    /// Unknown fields.
    pub field_validation: Option<FieldValidation>,
}

/// How to update.
pub type UpdateOptions = CreateOptions;

/// How to patch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PatchOptions {
    /// Go through the motions, store nothing.
    pub dry_run: bool,
    /// Take over fields of other managers; for apply alone.
    pub force: bool,
    /// Who manages the fields; apply needs it.
    pub field_manager: Option<String>,
    /// Unknown fields.
    pub field_validation: Option<FieldValidation>,
}

impl PatchOptions {
    /// Apply as `manager`.
    pub fn apply(manager: &str) -> Self {
        Self { field_manager: Some(manager.to_owned()), ..Self::default() }
    }

    /// Take over fields of other managers.
    #[must_use]
    pub fn force(mut self) -> Self {
        self.force = true;
        self
    }
}

/// A patch and its kind.
#[derive(Debug, Clone, PartialEq)]
pub enum Patch {
    /// RFC 6902: a list of operations.
    Json(serde_json::Value),
    /// RFC 7386: an object, null deletes.
    Merge(serde_json::Value),
    /// As merge, but lists with a merge key are merged; built-in kinds only.
    Strategic(serde_json::Value),
    /// Server-side apply: the whole of what the manager wants.
    Apply(serde_json::Value),
}

impl Patch {
    /// A merge patch from anything that serializes.
    pub fn merge(patch: &impl Serialize) -> Result<Self, serde_json::Error> {
        serde_json::to_value(patch).map(Self::Merge)
    }

    /// An apply patch from anything that serializes.
    pub fn apply(object: &impl Serialize) -> Result<Self, serde_json::Error> {
        serde_json::to_value(object).map(Self::Apply)
    }

    /// The media type that names the kind of patch.
    pub fn content_type(&self) -> &'static str {
        match self {
            Self::Json(_) => "application/json-patch+json",
            Self::Merge(_) => "application/merge-patch+json",
            Self::Strategic(_) => "application/strategic-merge-patch+json",
            Self::Apply(_) => "application/apply-patch+yaml",
        }
    }

    /// What is sent.
    pub fn body(&self) -> &serde_json::Value {
        match self {
            Self::Json(body) | Self::Merge(body) | Self::Strategic(body) | Self::Apply(body) => body,
        }
    }
}

/// What happens to the objects that the deleted one owns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub enum PropagationPolicy {
    /// They stay.
    Orphan,
    /// They go afterwards.
    Background,
    /// They go first.
    Foreground,
}

/// Delete only this very object.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Preconditions {
    /// The object's uid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// The object's version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_version: Option<String>,
}

/// How to delete: the body of the request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct DeleteOptions {
    /// 0 is "at once" and not "unset".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grace_period_seconds: Option<i64>,
    /// Delete only this very object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preconditions: Option<Preconditions>,
    /// What happens to owned objects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub propagation_policy: Option<PropagationPolicy>,
    /// Go through the motions.
    #[serde(skip_serializing_if = "std::ops::Not::not", serialize_with = "dry_run")]
    pub dry_run: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn dry_run<S: serde::Serializer>(_: &bool, serializer: S) -> Result<S::Ok, S::Error> {
    ["All"].serialize(serializer)
}
