//! The columns of the built-in resources.

use super::Cell::{Age, Number, Of, Raw, Text};
use super::{Cell, Column, cells, pod};

const CREATED: &str = "metadata.creationTimestamp";

/// Name, type, priority, cell.
type Row = (&'static str, &'static str, i64, Cell);

/// The columns of a built-in resource; name and creation time for one that has none of its own.
pub(super) fn columns(group: &str, plural: &str) -> Vec<Column> {
    let rows = match (group, plural) {
        ("", "pods") => pods(),
        ("", "services") => services(),
        ("", "namespaces") => named(vec![("Status", "string", 0, Text("status.phase")), age()]),
        ("", "nodes") => nodes(),
        ("" | "events.k8s.io", "events") => events(),
        ("", "configmaps") => named(vec![("Data", "string", 0, Of(cells::config_map_data)), age()]),
        ("", "secrets") => named(vec![
            ("Type", "string", 0, Text("type")),
            ("Data", "string", 0, Of(cells::secret_data)),
            age(),
        ]),
        ("", "serviceaccounts") => named(vec![age()]),
        ("", "endpoints") => named(vec![("Endpoints", "string", 0, Of(cells::endpoints)), age()]),
        ("", "persistentvolumeclaims") => claims(),
        ("", "persistentvolumes") => volumes(),
        ("", "podtemplates") => named(vec![
            ("Containers", "string", 0, Of(cells::template_containers)),
            ("Images", "string", 0, Of(cells::template_images)),
            ("Pod Labels", "string", 0, Of(cells::template_labels)),
        ]),
        ("", "replicationcontrollers") | ("apps", "replicasets") => replica_sets(),
        ("apps", "deployments") => deployments(),
        ("apps", "statefulsets") => named(vec![
            ("Ready", "string", 0, Of(cells::ready_of_desired)),
            age(),
            ("Containers", "string", 1, Of(cells::containers)),
            ("Images", "string", 1, Of(cells::images)),
        ]),
        ("apps", "daemonsets") => daemon_sets(),
        ("apps", "controllerrevisions") => named(vec![
            ("Controller", "string", 0, Of(cells::controller)),
            ("Revision", "string", 0, Raw("revision")),
            age(),
        ]),
        ("batch", "jobs") => jobs(),
        ("batch", "cronjobs") => cron_jobs(),
        ("autoscaling", "horizontalpodautoscalers") => named(vec![
            ("Reference", "string", 0, Of(cells::scale_target)),
            ("MinPods", "string", 0, Of(cells::min_replicas)),
            ("MaxPods", "string", 0, Number("spec.maxReplicas")),
            ("Replicas", "string", 0, Number("status.currentReplicas")),
            age(),
        ]),
        ("policy", "poddisruptionbudgets") => named(vec![
            ("Min Available", "string", 0, Of(cells::min_available)),
            ("Max Unavailable", "string", 0, Of(cells::max_unavailable)),
            ("Allowed Disruptions", "integer", 0, Number("status.disruptionsAllowed")),
            age(),
        ]),
        ("coordination.k8s.io", "leases") => {
            named(vec![("Holder", "string", 0, Text("spec.holderIdentity")), age()])
        }
        ("discovery.k8s.io", "endpointslices") => named(vec![
            ("AddressType", "string", 0, Text("addressType")),
            ("Ports", "string", 0, Of(cells::slice_ports)),
            ("Endpoints", "string", 0, Of(cells::slice_endpoints)),
            age(),
        ]),
        ("networking.k8s.io", "ingresses") => named(vec![
            ("Class", "string", 0, Of(cells::ingress_class)),
            ("Hosts", "string", 0, Of(cells::ingress_hosts)),
            ("Address", "string", 0, Of(cells::load_balancer)),
            ("Ports", "string", 0, Of(cells::ingress_ports)),
            age(),
        ]),
        ("networking.k8s.io", "ingressclasses") => {
            named(vec![("Controller", "string", 0, Text("spec.controller")), age()])
        }
        ("networking.k8s.io", "networkpolicies") => {
            named(vec![("Pod-Selector", "string", 0, Of(cells::pod_selector)), age()])
        }
        ("rbac.authorization.k8s.io", "rolebindings" | "clusterrolebindings") => {
            named(vec![("Role", "string", 0, Of(cells::role)), age()])
        }
        ("storage.k8s.io", "storageclasses") => named(vec![
            ("Provisioner", "string", 0, Text("provisioner")),
            ("ReclaimPolicy", "string", 0, Text("reclaimPolicy")),
            ("VolumeBindingMode", "string", 0, Text("volumeBindingMode")),
            ("AllowVolumeExpansion", "string", 0, Raw("allowVolumeExpansion")),
            age(),
        ]),
        ("scheduling.k8s.io", "priorityclasses") => named(vec![
            ("Value", "integer", 0, Number("value")),
            ("Global-Default", "boolean", 0, Of(cells::global_default)),
            age(),
            ("PreemptionPolicy", "string", 0, Text("preemptionPolicy")),
        ]),
        ("admissionregistration.k8s.io", _) => {
            named(vec![("Webhooks", "integer", 0, Of(cells::webhooks)), age()])
        }
        _ => named(vec![("Created At", "date", 0, Text(CREATED))]),
    };
    rows.into_iter().map(column).collect()
}

fn column((name, kind, priority, cell): Row) -> Column {
    Column {
        name: name.to_owned(),
        kind: kind.to_owned(),
        format: if name == "Name" { "name".to_owned() } else { String::new() },
        description: String::new(),
        priority,
        cell,
    }
}

fn named(mut rows: Vec<Row>) -> Vec<Row> {
    rows.insert(0, ("Name", "string", 0, Text("metadata.name")));
    rows
}

fn age() -> Row {
    ("Age", "string", 0, Age(CREATED))
}

fn workload() -> [Row; 3] {
    [
        ("Containers", "string", 1, Of(cells::containers)),
        ("Images", "string", 1, Of(cells::images)),
        ("Selector", "string", 1, Of(cells::selector)),
    ]
}

fn pods() -> Vec<Row> {
    named(vec![
        ("Ready", "string", 0, Of(pod::ready)),
        ("Status", "string", 0, Of(pod::status)),
        ("Restarts", "string", 0, Of(pod::restarts)),
        age(),
        ("IP", "string", 1, Of(|pod, _| cells::or_none(&pod["status"]["podIP"]))),
        ("Node", "string", 1, Of(|pod, _| cells::or_none(&pod["spec"]["nodeName"]))),
        ("Nominated Node", "string", 1, Of(|pod, _| cells::or_none(&pod["status"]["nominatedNodeName"]))),
        ("Readiness Gates", "string", 1, Of(pod::gates)),
    ])
}

fn services() -> Vec<Row> {
    named(vec![
        ("Type", "string", 0, Of(cells::service_type)),
        ("Cluster-IP", "string", 0, Of(cells::cluster_ip)),
        ("External-IP", "string", 0, Of(cells::external_ip)),
        ("Port(s)", "string", 0, Of(cells::service_ports)),
        age(),
        ("Selector", "string", 1, Of(cells::service_selector)),
    ])
}

fn nodes() -> Vec<Row> {
    named(vec![
        ("Status", "string", 0, Of(cells::node_status)),
        ("Roles", "string", 0, Of(cells::node_roles)),
        age(),
        ("Version", "string", 0, Text("status.nodeInfo.kubeletVersion")),
        ("Internal-IP", "string", 1, Of(|node, _| cells::node_address(node, "InternalIP"))),
        ("External-IP", "string", 1, Of(|node, _| cells::node_address(node, "ExternalIP"))),
        ("OS-Image", "string", 1, Of(|node, _| cells::or_unknown(&node["status"]["nodeInfo"]["osImage"]))),
        (
            "Kernel-Version",
            "string",
            1,
            Of(|node, _| cells::or_unknown(&node["status"]["nodeInfo"]["kernelVersion"])),
        ),
        (
            "Container-Runtime",
            "string",
            1,
            Of(|node, _| cells::or_unknown(&node["status"]["nodeInfo"]["containerRuntimeVersion"])),
        ),
    ])
}

fn events() -> Vec<Row> {
    vec![
        ("Last Seen", "string", 0, Of(cells::event_last_seen)),
        ("Type", "string", 0, Text("type")),
        ("Reason", "string", 0, Text("reason")),
        ("Object", "string", 0, Of(cells::event_object)),
        ("Subobject", "string", 1, Text("involvedObject.fieldPath")),
        ("Source", "string", 1, Of(cells::event_source)),
        ("Message", "string", 0, Of(cells::event_message)),
        ("First Seen", "string", 1, Of(cells::event_first_seen)),
        ("Count", "string", 1, Of(cells::event_count)),
        ("Name", "string", 1, Text("metadata.name")),
    ]
}

fn replica_sets() -> Vec<Row> {
    let mut rows = named(vec![
        ("Desired", "integer", 0, Of(cells::desired)),
        ("Current", "integer", 0, Number("status.replicas")),
        ("Ready", "integer", 0, Number("status.readyReplicas")),
        age(),
    ]);
    rows.extend(workload());
    rows
}

fn deployments() -> Vec<Row> {
    let mut rows = named(vec![
        ("Ready", "string", 0, Of(cells::ready_of_desired)),
        ("Up-to-date", "string", 0, Number("status.updatedReplicas")),
        ("Available", "string", 0, Number("status.availableReplicas")),
        age(),
    ]);
    rows.extend(workload());
    rows
}

fn daemon_sets() -> Vec<Row> {
    let mut rows = named(vec![
        ("Desired", "integer", 0, Number("status.desiredNumberScheduled")),
        ("Current", "integer", 0, Number("status.currentNumberScheduled")),
        ("Ready", "integer", 0, Number("status.numberReady")),
        ("Up-to-date", "integer", 0, Number("status.updatedNumberScheduled")),
        ("Available", "integer", 0, Number("status.numberAvailable")),
        ("Node Selector", "string", 0, Of(cells::node_selector)),
        age(),
    ]);
    rows.extend(workload());
    rows
}

fn jobs() -> Vec<Row> {
    let mut rows = named(vec![
        ("Status", "string", 0, Of(cells::job_status)),
        ("Completions", "string", 0, Of(cells::job_completions)),
        ("Duration", "string", 0, Of(cells::job_duration)),
        age(),
    ]);
    rows.extend(workload());
    rows
}

fn cron_jobs() -> Vec<Row> {
    named(vec![
        ("Schedule", "string", 0, Text("spec.schedule")),
        ("Timezone", "string", 0, Of(|job, _| cells::or_none(&job["spec"]["timeZone"]))),
        ("Suspend", "boolean", 0, Of(cells::suspended)),
        ("Active", "integer", 0, Of(cells::active)),
        ("Last Schedule", "string", 0, Of(cells::last_schedule)),
        age(),
    ])
}

fn claims() -> Vec<Row> {
    named(vec![
        ("Status", "string", 0, Of(cells::phase_or_terminating)),
        ("Volume", "string", 0, Text("spec.volumeName")),
        ("Capacity", "string", 0, Text("status.capacity.storage")),
        ("Access Modes", "string", 0, Of(|claim, _| cells::access_modes(&claim["status"]["accessModes"]))),
        ("StorageClass", "string", 0, Text("spec.storageClassName")),
        ("VolumeAttributesClass", "string", 0, Of(cells::attributes_class)),
        age(),
        ("VolumeMode", "string", 1, Of(cells::volume_mode)),
    ])
}

fn volumes() -> Vec<Row> {
    named(vec![
        ("Capacity", "string", 0, Text("spec.capacity.storage")),
        ("Access Modes", "string", 0, Of(|volume, _| cells::access_modes(&volume["spec"]["accessModes"]))),
        ("Reclaim Policy", "string", 0, Text("spec.persistentVolumeReclaimPolicy")),
        ("Status", "string", 0, Of(cells::phase_or_terminating)),
        ("Claim", "string", 0, Of(cells::claim)),
        ("StorageClass", "string", 0, Text("spec.storageClassName")),
        ("VolumeAttributesClass", "string", 0, Of(cells::attributes_class)),
        ("Reason", "string", 0, Text("status.reason")),
        age(),
        ("VolumeMode", "string", 1, Of(cells::volume_mode)),
    ])
}
