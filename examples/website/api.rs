//! The custom resource: a plain serde struct and one line that makes it an object of its resource.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use serde::{Deserialize, Serialize};

/// A page of HTML, and how many servers serve it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Website {
    pub metadata: ObjectMeta,
    pub spec: WebsiteSpec,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<WebsiteStatus>,
}

steersman::object!(Website, "example.steersman.dev/v1", "Website", "websites", Namespaced);

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct WebsiteSpec {
    pub html: String,
    #[serde(default = "one")]
    pub replicas: i32,
}

fn one() -> i32 {
    1
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WebsiteStatus {
    pub observed_generation: i64,
    pub ready_replicas: i32,
    pub conditions: Vec<Condition>,
}
