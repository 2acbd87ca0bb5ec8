//! `DynamicObject`: an object whose kind is known at run time.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Serialize};

use crate::{Meta, Object};

/// Metadata, and the rest as JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DynamicObject {
    /// `v1` or `group/version`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub api_version: String,
    /// The kind.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// The metadata.
    #[serde(default)]
    pub metadata: ObjectMeta,
    /// Everything else at the top level: `spec`, `status`, `data`, ….
    #[serde(flatten)]
    pub data: serde_json::Map<String, serde_json::Value>,
}

impl Object for DynamicObject {
    fn meta(&self) -> &dyn Meta {
        &self.metadata
    }
}
