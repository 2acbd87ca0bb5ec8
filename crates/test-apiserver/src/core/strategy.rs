//! What differs by kind: defaults, who keeps a generation, what a status write may touch.

use serde_json::{Value, json};

use super::registry::ResourceInfo;

/// PUT of an object that is not there makes it.
pub(crate) fn creates_on_update(resource: &ResourceInfo) -> bool {
    matches!(
        (resource.group.as_str(), resource.plural.as_str()),
        ("" | "events.k8s.io", "events")
            | ("", "services" | "endpoints" | "limitranges")
            | ("coordination.k8s.io", "leases")
            | ("rbac.authorization.k8s.io", _)
    ) && !resource.custom
}

/// PUT without a version overwrites.
pub(crate) fn updates_unconditionally(resource: &ResourceInfo) -> bool {
    !resource.custom
        && !matches!(
            (resource.group.as_str(), resource.plural.as_str()),
            ("coordination.k8s.io" | "admissionregistration.k8s.io" | "apiextensions.k8s.io", _)
                | ("policy", "poddisruptionbudgets")
        )
}

/// Whether `metadata.generation` counts changes of the wanted state.
pub(crate) fn keeps_generation(resource: &ResourceInfo) -> bool {
    resource.custom
        || matches!(
            (resource.group.as_str(), resource.plural.as_str()),
            ("", "pods" | "replicationcontrollers")
                | ("apps", "deployments" | "replicasets" | "statefulsets" | "daemonsets")
                | (
                    "batch" | "networking.k8s.io" | "apiextensions.k8s.io" | "admissionregistration.k8s.io",
                    _
                )
                | ("policy", "poddisruptionbudgets")
                | ("discovery.k8s.io", "endpointslices")
                | ("scheduling.k8s.io", "priorityclasses")
        )
}

/// Whether a delete answers with the object instead of a `Status`.
pub(crate) fn returns_deleted(resource: &ResourceInfo) -> bool {
    matches!(
        (resource.group.as_str(), resource.plural.as_str()),
        (
            "",
            "pods"
                | "services"
                | "namespaces"
                | "serviceaccounts"
                | "resourcequotas"
                | "podtemplates"
                | "persistentvolumes"
                | "persistentvolumeclaims"
        ) | ("storage.k8s.io", "storageclasses")
    )
}

/// Whether nothing but `metadata.finalizers` holds the object: a namespace has finalizers in its spec too.
pub(crate) fn is_finalized(resource: &ResourceInfo, object: &Value) -> bool {
    !resource.is("", "namespaces") || super::write::is_empty_list(&object["spec"]["finalizers"])
}

/// What a kind shows while it goes.
pub(crate) fn prepare_deleting(resource: &ResourceInfo, object: &mut Value) {
    if resource.is("", "namespaces") {
        object["status"]["phase"] = json!("Terminating");
    }
}

/// A new object: its status is the server's to say, what is not given has a default.
pub(crate) fn prepare_create(resource: &ResourceInfo, object: &mut Value) {
    if resource.has("status") && !resource.is("", "nodes") {
        remove(object, "status");
    }
    match (resource.group.as_str(), resource.plural.as_str()) {
        ("", "namespaces") => {
            object["spec"]["finalizers"] = json!(["kubernetes"]);
            object["status"] = json!({"phase": "Active"});
            let name = object["metadata"]["name"].clone();
            object["metadata"]["labels"]["kubernetes.io/metadata.name"] = name;
        }
        ("", "pods") => object["status"] = json!({"phase": "Pending", "qosClass": "BestEffort"}),
        ("", "persistentvolumes" | "persistentvolumeclaims") => {
            object["status"] = json!({"phase": "Pending"});
        }
        ("apps" | "batch" | "policy", _) if resource.has("status") => object["status"] = json!({}),
        ("", "services") | ("networking.k8s.io", "ingresses") => {
            object["status"] = json!({"loadBalancer": {}});
        }
        ("apiextensions.k8s.io", "customresourcedefinitions") => {
            object["status"] = super::definition::first_status(object);
        }
        _ => {}
    }
    default(resource, object);
}

/// An update of the object: its status stays, and the generation counts changes of the rest.
pub(crate) fn prepare_update(resource: &ResourceInfo, old: &Value, object: &mut Value) {
    if resource.has("status") {
        restore(object, old, "status");
    }
    if resource.is("", "namespaces") {
        object["spec"]["finalizers"] = old["spec"]["finalizers"].clone();
    }
    default(resource, object);
    if keeps_generation(resource) && is_changed(resource, old, object) {
        let generation = old["metadata"]["generation"].as_i64().unwrap_or(0);
        object["metadata"]["generation"] = json!(generation + 1);
    }
}

/// An update of the status: the rest stays. Of the metadata a custom resource keeps all; built-in kinds take some.
pub(crate) fn prepare_status_update(resource: &ResourceInfo, old: &Value, object: &mut Value) {
    let status = object.get("status").cloned();
    let mut kept = old.clone();
    match status {
        Some(status) => kept["status"] = status,
        None => remove(&mut kept, "status"),
    }
    if !resource.custom {
        let mut meta = object["metadata"].clone();
        let kept_fields: &[&str] = match resource.group.as_str() {
            "apps" | "batch" | "networking.k8s.io" => &["labels", "ownerReferences"],
            _ => &["ownerReferences"],
        };
        for field in kept_fields {
            restore(&mut meta, &old["metadata"], field);
        }
        kept["metadata"] = meta;
    } else if let Some(managed) = object["metadata"].get("managedFields") {
        kept["metadata"]["managedFields"] = managed.clone();
    }
    *object = kept;
    default(resource, object);
}

fn is_changed(resource: &ResourceInfo, old: &Value, object: &Value) -> bool {
    let wanted = |value: &Value| {
        let mut map = value.as_object().cloned().unwrap_or_default();
        map.remove("metadata");
        if resource.has("status") {
            map.remove("status");
        }
        map
    };
    wanted(old) != wanted(object)
}

fn remove(object: &mut Value, field: &str) {
    if let Some(map) = object.as_object_mut() {
        map.remove(field);
    }
}

fn restore(object: &mut Value, old: &Value, field: &str) {
    match old.get(field) {
        Some(value) => object[field] = value.clone(),
        None => remove(object, field),
    }
}

/// Sets a field that is not there.
fn fill(object: &mut Value, field: &str, value: Value) {
    if object.is_null() || object.is_object() {
        let place = &mut object[field];
        if place.is_null() {
            *place = value;
        }
    }
}

/// Defaults, as far as clients and controllers look at them.
fn default(resource: &ResourceInfo, object: &mut Value) {
    if let Some(schema) = &resource.schema {
        // A dropped field is no error unless the request says so; then it was refused before.
        super::schema::prune(object, schema, &mut Vec::new());
        super::schema::default(object, schema);
        return;
    }
    match (resource.group.as_str(), resource.plural.as_str()) {
        ("", "pods") => {
            if object["spec"].is_null() {
                object["spec"] = json!({});
            }
            default_pod(&mut object["spec"]);
        }
        ("", "services") => default_service(object),
        ("apiextensions.k8s.io", "customresourcedefinitions") => super::definition::default(object),
        ("", "secrets") => {
            fill(object, "type", json!("Opaque"));
            fold_string_data(object);
        }
        ("", "persistentvolumeclaims") => fill(&mut object["spec"], "volumeMode", json!("Filesystem")),
        ("apps", "deployments") => {
            let spec = &mut object["spec"];
            fill(spec, "replicas", json!(1));
            fill(spec, "revisionHistoryLimit", json!(10));
            fill(spec, "progressDeadlineSeconds", json!(600));
            let rolling = json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}});
            fill(spec, "strategy", rolling);
            default_template(spec);
        }
        ("apps", "replicasets") | ("", "replicationcontrollers") => {
            fill(&mut object["spec"], "replicas", json!(1));
            default_template(&mut object["spec"]);
            fill(&mut object["status"], "replicas", json!(0));
        }
        ("apps", "statefulsets") => {
            let spec = &mut object["spec"];
            fill(spec, "replicas", json!(1));
            fill(spec, "podManagementPolicy", json!("OrderedReady"));
            fill(spec, "revisionHistoryLimit", json!(10));
            fill(spec, "updateStrategy", json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}));
            default_template(spec);
        }
        ("apps", "daemonsets") => {
            let spec = &mut object["spec"];
            fill(spec, "revisionHistoryLimit", json!(10));
            let rolling =
                json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}});
            fill(spec, "updateStrategy", rolling);
            default_template(spec);
        }
        ("batch", "jobs") => {
            let spec = &mut object["spec"];
            fill(spec, "parallelism", json!(1));
            fill(spec, "completions", json!(1));
            fill(spec, "backoffLimit", json!(6));
            fill(spec, "suspend", json!(false));
            default_template(spec);
        }
        ("batch", "cronjobs") => {
            let spec = &mut object["spec"];
            fill(spec, "concurrencyPolicy", json!("Allow"));
            fill(spec, "suspend", json!(false));
            fill(spec, "successfulJobsHistoryLimit", json!(3));
            fill(spec, "failedJobsHistoryLimit", json!(1));
        }
        _ => {}
    }
}

fn default_template(spec: &mut Value) {
    if let Some(pod) = spec.get_mut("template").and_then(|template| template.get_mut("spec")) {
        default_pod(pod);
    }
}

fn default_pod(spec: &mut Value) {
    if !spec.is_object() {
        return;
    }
    fill(spec, "restartPolicy", json!("Always"));
    fill(spec, "dnsPolicy", json!("ClusterFirst"));
    fill(spec, "schedulerName", json!("default-scheduler"));
    fill(spec, "terminationGracePeriodSeconds", json!(30));
    fill(spec, "securityContext", json!({}));
    fill(spec, "enableServiceLinks", json!(true));
    for list in ["containers", "initContainers"] {
        for container in spec
            .get_mut(list)
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
            .filter(|item| item.is_object())
        {
            let image = container["image"].as_str().unwrap_or_default();
            let name = image.rsplit('/').next().unwrap_or_default();
            let is_latest = !name.contains('@') && (!name.contains(':') || name.ends_with(":latest"));
            fill(container, "imagePullPolicy", json!(if is_latest { "Always" } else { "IfNotPresent" }));
            fill(container, "terminationMessagePath", json!("/dev/termination-log"));
            fill(container, "terminationMessagePolicy", json!("File"));
            fill(container, "resources", json!({}));
            for port in container
                .get_mut("ports")
                .and_then(Value::as_array_mut)
                .into_iter()
                .flatten()
                .filter(|item| item.is_object())
            {
                fill(port, "protocol", json!("TCP"));
            }
        }
    }
}

fn default_service(object: &mut Value) {
    let uid = object["metadata"]["uid"].as_str().unwrap_or_default();
    let address = cluster_ip(uid);
    let spec = &mut object["spec"];
    if !spec.is_object() {
        *spec = json!({});
    }
    fill(spec, "type", json!("ClusterIP"));
    fill(spec, "sessionAffinity", json!("None"));
    fill(spec, "internalTrafficPolicy", json!("Cluster"));
    for port in spec
        .get_mut("ports")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
        .filter(|item| item.is_object())
    {
        fill(port, "protocol", json!("TCP"));
        let number = port["port"].clone();
        fill(port, "targetPort", number);
    }
    if spec["type"] != "ExternalName" {
        fill(spec, "clusterIP", json!(address));
        let first = spec["clusterIP"].clone();
        fill(spec, "clusterIPs", json!([first]));
        fill(spec, "ipFamilies", json!(["IPv4"]));
        fill(spec, "ipFamilyPolicy", json!("SingleStack"));
    }
}

/// An address of the service range, drawn from the uid: no allocator, so two services may share one.
fn cluster_ip(uid: &str) -> String {
    let sum = uid.bytes().fold(0_u32, |sum, b| sum.wrapping_mul(31).wrapping_add(u32::from(b)));
    format!("10.96.{}.{}", (sum >> 8) & 0xff, 1 + (sum & 0xff) % 254)
}

/// `stringData` is for writing only: it becomes `data`.
fn fold_string_data(object: &mut Value) {
    use base64::Engine as _;
    let Some(map) = object.as_object_mut() else { return };
    let Some(Value::Object(texts)) = map.remove("stringData") else { return };
    for (key, value) in texts {
        if let Some(text) = value.as_str() {
            object["data"][key] = Value::String(base64::prelude::BASE64_STANDARD.encode(text));
        }
    }
}
