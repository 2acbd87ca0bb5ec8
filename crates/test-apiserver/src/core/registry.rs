//! What the server serves: the built-in resources, and how each behaves.

use std::collections::BTreeMap;
use std::sync::Arc;

use apimachinery::Scope;
use serde_json::Value;

/// Which collection a resource is kept in: every version of it shares one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CollectionId(pub(crate) usize);

/// What the server knows of one resource in one version: enough for discovery, and for every decision of the core.
#[derive(Debug, Clone)]
pub struct ResourceInfo {
    /// The API group; `""` for the core group.
    pub group: String,
    /// The version in the group.
    pub version: String,
    /// `Deployment`.
    pub kind: String,
    /// `DeploymentList`.
    pub list_kind: String,
    /// `deployments`.
    pub plural: String,
    /// `deployment`.
    pub singular: String,
    /// `deploy`.
    pub short_names: Vec<String>,
    /// `all`.
    pub categories: Vec<String>,
    /// Whether objects live in namespaces.
    pub scope: Scope,
    /// `status`, `scale`.
    pub subresources: Vec<String>,
    /// `create`, `delete`, `deletecollection`, `get`, `list`, `patch`, `update`, `watch`.
    pub verbs: Vec<String>,
    /// Whether a CustomResourceDefinition made it.
    pub custom: bool,
    /// The columns that the definition asks for (`additionalPrinterColumns`), if it is a custom resource.
    pub printer_columns: Vec<Value>,
    /// The collection that holds its objects.
    pub collection: CollectionId,
    pub(crate) selectable: Vec<String>,
    pub(crate) schema: Option<Arc<Value>>,
    pub(crate) scale: Option<ScalePaths>,
}

/// Where a resource keeps what its scale subresource shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ScalePaths {
    pub(crate) spec_replicas: String,
    pub(crate) status_replicas: String,
    pub(crate) selector: Option<String>,
}

impl ResourceInfo {
    /// `v1` or `group/version`.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    /// `plural` or `plural.group`.
    pub fn group_resource(&self) -> String {
        if self.group.is_empty() { self.plural.clone() } else { format!("{}.{}", self.plural, self.group) }
    }

    /// Whether objects live in namespaces.
    pub fn is_namespaced(&self) -> bool {
        self.scope == Scope::Namespaced
    }

    /// Whether it has the subresource.
    pub fn has(&self, subresource: &str) -> bool {
        self.subresources.iter().any(|known| known == subresource)
    }

    pub(crate) fn is(&self, group: &str, plural: &str) -> bool {
        self.group == group && self.plural == plural
    }
}

/// Every resource that is served.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    resources: BTreeMap<(String, String, String), Arc<ResourceInfo>>,
}

impl Registry {
    pub(crate) fn insert(&mut self, resource: ResourceInfo) {
        let key = (resource.group.clone(), resource.plural.clone(), resource.version.clone());
        self.resources.insert(key, Arc::new(resource));
    }

    pub(crate) fn remove(&mut self, group: &str, plural: &str) {
        self.resources.retain(|key, _| key.0 != group || key.1 != plural);
    }

    pub(crate) fn get(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<ResourceInfo>> {
        self.resources.get(&(group.to_owned(), plural.to_owned(), version.to_owned()))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<ResourceInfo>> {
        self.resources.values()
    }

    /// One version of a resource, whichever comes first.
    pub(crate) fn any_version(&self, group: &str, plural: &str) -> Option<&Arc<ResourceInfo>> {
        self.resources.values().find(|resource| resource.is(group, plural))
    }
}

/// A row of the table below: api version, kind, plural, short names, namespaced, subresources, categories.
struct Row(&'static str, &'static str, &'static str, &'static str, bool, &'static str, &'static str);

#[rustfmt::skip]
const BUILT_IN: &[Row] = &[
    Row("v1", "Namespace", "namespaces", "ns", false, "status", ""),
    Row("v1", "Pod", "pods", "po", true, "status", "all"),
    Row("v1", "Service", "services", "svc", true, "status", "all"),
    Row("v1", "ConfigMap", "configmaps", "cm", true, "", ""),
    Row("v1", "Secret", "secrets", "", true, "", ""),
    Row("v1", "ServiceAccount", "serviceaccounts", "sa", true, "", ""),
    Row("v1", "Event", "events", "ev", true, "", ""),
    Row("v1", "Node", "nodes", "no", false, "status", ""),
    Row("v1", "Endpoints", "endpoints", "ep", true, "", ""),
    Row("v1", "PersistentVolume", "persistentvolumes", "pv", false, "status", ""),
    Row("v1", "PersistentVolumeClaim", "persistentvolumeclaims", "pvc", true, "status", ""),
    Row("v1", "ReplicationController", "replicationcontrollers", "rc", true, "scale status", "all"),
    Row("v1", "LimitRange", "limitranges", "limits", true, "", ""),
    Row("v1", "ResourceQuota", "resourcequotas", "quota", true, "status", ""),
    Row("v1", "PodTemplate", "podtemplates", "", true, "", ""),
    Row("apps/v1", "Deployment", "deployments", "deploy", true, "scale status", "all"),
    Row("apps/v1", "ReplicaSet", "replicasets", "rs", true, "scale status", "all"),
    Row("apps/v1", "StatefulSet", "statefulsets", "sts", true, "scale status", "all"),
    Row("apps/v1", "DaemonSet", "daemonsets", "ds", true, "status", "all"),
    Row("apps/v1", "ControllerRevision", "controllerrevisions", "", true, "", ""),
    Row("batch/v1", "Job", "jobs", "", true, "status", "all"),
    Row("batch/v1", "CronJob", "cronjobs", "cj", true, "status", "all"),
    Row("autoscaling/v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", "hpa", true, "status", "all"),
    Row("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets", "pdb", true, "status", ""),
    Row("coordination.k8s.io/v1", "Lease", "leases", "", true, "", ""),
    Row("discovery.k8s.io/v1", "EndpointSlice", "endpointslices", "", true, "", ""),
    Row("events.k8s.io/v1", "Event", "events", "ev", true, "", ""),
    Row("networking.k8s.io/v1", "Ingress", "ingresses", "ing", true, "status", ""),
    Row("networking.k8s.io/v1", "IngressClass", "ingressclasses", "", false, "", ""),
    Row("networking.k8s.io/v1", "NetworkPolicy", "networkpolicies", "netpol", true, "", ""),
    Row("rbac.authorization.k8s.io/v1", "Role", "roles", "", true, "", ""),
    Row("rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings", "", true, "", ""),
    Row("rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", "", false, "", ""),
    Row("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "clusterrolebindings", "", false, "", ""),
    Row("storage.k8s.io/v1", "StorageClass", "storageclasses", "sc", false, "", ""),
    Row("scheduling.k8s.io/v1", "PriorityClass", "priorityclasses", "pc", false, "", ""),
    Row("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "mutatingwebhookconfigurations", "", false, "", "api-extensions"),
    Row("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations", "", false, "", "api-extensions"),
    Row("apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", "crd crds", false, "status", "api-extensions"),
];

pub(crate) const VERBS: [&str; 8] =
    ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

/// The built-in resources; the n-th is kept in the n-th collection. Events are one collection under two names, and what
/// both select by stands in the same order.
pub(crate) fn built_in() -> impl Iterator<Item = ResourceInfo> {
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let events = BUILT_IN.iter().position(|row| row.0 == "v1" && row.2 == "events").unwrap_or_default();
    BUILT_IN.iter().enumerate().map(move |(index, row)| {
        let (group, version) = row.0.split_once('/').unwrap_or(("", row.0));
        let subresources = words(row.5);
        let scale = subresources.iter().any(|name| name == "scale").then(|| ScalePaths {
            spec_replicas: "spec.replicas".to_owned(),
            status_replicas: "status.replicas".to_owned(),
            selector: None,
        });
        ResourceInfo {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: row.1.to_owned(),
            list_kind: format!("{}List", row.1),
            plural: row.2.to_owned(),
            singular: row.1.to_lowercase(),
            short_names: words(row.3),
            categories: words(row.6),
            scope: if row.4 { Scope::Namespaced } else { Scope::Cluster },
            subresources,
            verbs: VERBS.iter().map(|&verb| verb.to_owned()).collect(),
            custom: false,
            printer_columns: Vec::new(),
            collection: CollectionId(if group == "events.k8s.io" { events } else { index }),
            selectable: selectable(group, row.2).iter().map(|&path| path.to_owned()).collect(),
            schema: None,
            scale,
        }
    })
}

/// The fields, beside name and namespace, that a field selector may name.
fn selectable(group: &str, plural: &str) -> &'static [&'static str] {
    match (group, plural) {
        ("", "pods") => &[
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.nominatedNodeName",
        ],
        ("", "namespaces") => &["status.phase"],
        ("", "nodes") => &["spec.unschedulable"],
        ("", "secrets") => &["type"],
        ("", "services") => &["spec.clusterIP", "spec.type"],
        ("", "replicationcontrollers") | ("apps", "replicasets") => &["status.replicas"],
        ("batch", "jobs") => &["status.successful"],
        ("", "events") => &[
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        ],
        ("events.k8s.io", "events") => &[
            "regarding.kind",
            "regarding.namespace",
            "regarding.name",
            "regarding.uid",
            "regarding.apiVersion",
            "regarding.resourceVersion",
            "regarding.fieldPath",
            "reason",
            "reportingController",
            "deprecatedSource",
            "type",
        ],
        _ => &[],
    }
}
