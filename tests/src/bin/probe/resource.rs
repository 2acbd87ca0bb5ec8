//! Resources as the command line names them, and the types that this probe has for them.

use std::borrow::Cow;

use serde::Serialize;
use steersman::{ApiResource, Decode, Object, Scope};

/// Calls a macro with every type that this probe has.
macro_rules! each_type {
    ($call:ident) => {
        $call!(
            k8s_openapi::api::core::v1::Pod,
            k8s_openapi::api::core::v1::ConfigMap,
            k8s_openapi::api::core::v1::Secret,
            k8s_openapi::api::core::v1::Service,
            k8s_openapi::api::core::v1::ServiceAccount,
            k8s_openapi::api::core::v1::Event,
            k8s_openapi::api::core::v1::Node,
            k8s_openapi::api::core::v1::Namespace,
            k8s_openapi::api::apps::v1::Deployment,
            k8s_openapi::api::apps::v1::ReplicaSet,
            k8s_openapi::api::apps::v1::StatefulSet,
            k8s_openapi::api::apps::v1::DaemonSet,
            k8s_openapi::api::batch::v1::Job,
            k8s_openapi::api::coordination::v1::Lease
        )
    };
}

/// `plural` (core, v1), `plural.version` or `plural.version.group`.
pub(crate) fn parse(text: &str) -> ApiResource {
    let mut parts = text.splitn(3, '.');
    let plural = parts.next().unwrap_or_default().to_owned();
    let version = parts.next().unwrap_or("v1").to_owned();
    let group = parts.next().unwrap_or_default().to_owned();
    let scope = if CLUSTER.contains(&plural.as_str()) { Scope::Cluster } else { Scope::Namespaced };
    let kind = kind(&plural, &version, &group);
    ApiResource { group: group.into(), version: version.into(), kind, plural: plural.into(), scope }
}

const CLUSTER: &[&str] = &[
    "nodes",
    "namespaces",
    "persistentvolumes",
    "clusterroles",
    "clusterrolebindings",
    "storageclasses",
    "customresourcedefinitions",
    "priorityclasses",
];

/// The kind of a resource that this probe has a type for; of another, its singular with a capital.
fn kind(plural: &str, version: &str, group: &str) -> Cow<'static, str> {
    macro_rules! known {
        ($($type:ty),*) => {
            $(
                let resource = <$type as steersman::Kind>::resource();
                if resource.plural == plural && resource.version == version && resource.group == group {
                    return resource.kind;
                }
            )*
        };
    }
    each_type!(known);
    let mut letters = plural.trim_end_matches('s').chars();
    let first = letters.next().map(|c| c.to_ascii_uppercase());
    Cow::Owned(first.into_iter().chain(letters).collect())
}

/// Something to be done with the type of a resource.
pub(crate) trait WithType {
    type Output;

    fn call<T>(self) -> Self::Output
    where
        T: Object + Decode + Serialize + Sync;
}

/// Does it with the type that this probe has for the resource; gives it back if there is none.
pub(crate) fn with_type<W: WithType>(wanted: &ApiResource, what: W) -> Result<W::Output, W> {
    macro_rules! find {
        ($($type:ty),*) => {
            $(
                let resource = <$type as steersman::Kind>::resource();
                if resource.plural == wanted.plural
                    && resource.version == wanted.version
                    && resource.group == wanted.group
                {
                    return Ok(what.call::<$type>());
                }
            )*
        };
    }
    each_type!(find);
    Err(what)
}
