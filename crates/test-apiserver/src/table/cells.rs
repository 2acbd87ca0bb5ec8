//! Cells that are more than a look-up.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{age, at};

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn number(value: &Value) -> i64 {
    value.as_i64().unwrap_or(0)
}

fn joined<'a>(texts: impl Iterator<Item = &'a str>) -> Value {
    json!(texts.collect::<Vec<_>>().join(","))
}

fn or(value: &Value, empty: &str) -> Value {
    match value {
        Value::Null => json!(empty),
        Value::String(text) if text.is_empty() => json!(empty),
        Value::String(text) => json!(text),
        other => json!(other.to_string()),
    }
}

pub(super) fn or_none(value: &Value) -> Value {
    or(value, "<none>")
}

pub(super) fn or_unknown(value: &Value) -> Value {
    or(value, "<unknown>")
}

/// `a=b,c=d`, in the order of the keys.
fn labels(value: &Value) -> Value {
    let sorted: BTreeMap<_, _> = value.as_object().into_iter().flatten().collect();
    if sorted.is_empty() {
        return json!("<none>");
    }
    let texts: Vec<_> = sorted.into_iter().map(|(key, value)| format!("{key}={}", text(value))).collect();
    json!(texts.join(","))
}

/// A `metav1.LabelSelector` as kubectl writes it.
fn label_selector(value: &Value) -> Value {
    let sorted: BTreeMap<_, _> = value["matchLabels"].as_object().into_iter().flatten().collect();
    let mut texts: Vec<_> = sorted.into_iter().map(|(key, value)| format!("{key}={}", text(value))).collect();
    texts.extend(list(&value["matchExpressions"]).iter().map(|rule| {
        let key = text(&rule["key"]);
        let values = list(&rule["values"]).iter().map(text).collect::<Vec<_>>().join(",");
        match text(&rule["operator"]) {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "DoesNotExist" => format!("!{key}"),
            _ => key.to_owned(),
        }
    }));
    if texts.is_empty() { json!("<none>") } else { json!(texts.join(",")) }
}

/// The pod template of a workload; a cron job's is one level deeper.
fn template(object: &Value) -> &Value {
    &object["spec"]["template"]
}

pub(super) fn containers(object: &Value, _: Timestamp) -> Value {
    joined(list(&template(object)["spec"]["containers"]).iter().map(|container| text(&container["name"])))
}

pub(super) fn images(object: &Value, _: Timestamp) -> Value {
    joined(list(&template(object)["spec"]["containers"]).iter().map(|container| text(&container["image"])))
}

pub(super) fn template_containers(object: &Value, _: Timestamp) -> Value {
    joined(list(at(object, "template.spec.containers")).iter().map(|container| text(&container["name"])))
}

pub(super) fn template_images(object: &Value, _: Timestamp) -> Value {
    joined(list(at(object, "template.spec.containers")).iter().map(|container| text(&container["image"])))
}

pub(super) fn template_labels(object: &Value, _: Timestamp) -> Value {
    labels(at(object, "template.metadata.labels"))
}

/// A replication controller's selector is a plain map, the others' a `LabelSelector`.
pub(super) fn selector(object: &Value, _: Timestamp) -> Value {
    let selector = &object["spec"]["selector"];
    if object["kind"] == "ReplicationController" { labels(selector) } else { label_selector(selector) }
}

pub(super) fn service_selector(object: &Value, _: Timestamp) -> Value {
    labels(&object["spec"]["selector"])
}

pub(super) fn pod_selector(object: &Value, _: Timestamp) -> Value {
    label_selector(&object["spec"]["podSelector"])
}

pub(super) fn node_selector(object: &Value, _: Timestamp) -> Value {
    labels(at(object, "spec.template.spec.nodeSelector"))
}

/// `spec.replicas`; what is not there is 1, as the server would default it.
pub(super) fn desired(object: &Value, _: Timestamp) -> Value {
    json!(object["spec"]["replicas"].as_i64().unwrap_or(1))
}

pub(super) fn ready_of_desired(object: &Value, now: Timestamp) -> Value {
    json!(format!("{}/{}", number(&object["status"]["readyReplicas"]), desired(object, now)))
}

pub(super) fn config_map_data(object: &Value, _: Timestamp) -> Value {
    let count = |field: &str| object[field].as_object().map_or(0, serde_json::Map::len);
    json!(count("data") + count("binaryData"))
}

pub(super) fn secret_data(object: &Value, _: Timestamp) -> Value {
    json!(object["data"].as_object().map_or(0, serde_json::Map::len))
}

pub(super) fn service_type(object: &Value, _: Timestamp) -> Value {
    or(&object["spec"]["type"], "ClusterIP")
}

pub(super) fn cluster_ip(object: &Value, _: Timestamp) -> Value {
    let spec = &object["spec"];
    match list(&spec["clusterIPs"]).first() {
        Some(first) => or_none(first),
        None => or_none(&spec["clusterIP"]),
    }
}

pub(super) fn external_ip(object: &Value, _: Timestamp) -> Value {
    let given = list(&object["spec"]["externalIPs"]).iter().map(text);
    let balancers = balancers(object);
    let texts: Vec<&str> = match text(&object["spec"]["type"]) {
        "ExternalName" => return json!(text(&object["spec"]["externalName"])),
        "LoadBalancer" => balancers.into_iter().chain(given).collect(),
        _ => given.collect(),
    };
    match (texts.is_empty(), text(&object["spec"]["type"])) {
        (false, _) => json!(texts.join(",")),
        (true, "LoadBalancer") => json!("<pending>"),
        (true, _) => json!("<none>"),
    }
}

/// The addresses of a load balancer: an IP where there is one, else a name.
fn balancers(object: &Value) -> BTreeSet<&str> {
    let address =
        |point: &'_ Value| ["ip", "hostname"].into_iter().find(|field| !text(&point[*field]).is_empty());
    let points = list(at(object, "status.loadBalancer.ingress")).iter();
    points.filter_map(|point| address(point).map(|field| text(&point[field]))).collect()
}

pub(super) fn load_balancer(object: &Value, _: Timestamp) -> Value {
    joined(balancers(object).into_iter())
}

pub(super) fn service_ports(object: &Value, _: Timestamp) -> Value {
    let ports = list(&object["spec"]["ports"]).iter().map(|port| {
        let protocol = if text(&port["protocol"]).is_empty() { "TCP" } else { text(&port["protocol"]) };
        match number(&port["nodePort"]) {
            0 => format!("{}/{protocol}", number(&port["port"])),
            node => format!("{}:{node}/{protocol}", number(&port["port"])),
        }
    });
    let ports: Vec<_> = ports.collect();
    or_none(&json!(ports.join(",")))
}

pub(super) fn node_status(object: &Value, _: Timestamp) -> Value {
    let ready = list(&object["status"]["conditions"]).iter().rfind(|condition| condition["type"] == "Ready");
    let mut status = match ready {
        Some(condition) if condition["status"] == "True" => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    }
    .to_owned();
    if object["spec"]["unschedulable"] == true {
        status.push_str(",SchedulingDisabled");
    }
    json!(status)
}

pub(super) fn node_roles(object: &Value, _: Timestamp) -> Value {
    let labels = object["metadata"]["labels"].as_object().into_iter().flatten();
    let roles: BTreeSet<&str> = labels
        .filter_map(|(key, value)| match key.strip_prefix("node-role.kubernetes.io/") {
            Some(role) => Some(role),
            None => (key == "kubernetes.io/role").then(|| text(value)),
        })
        .filter(|role| !role.is_empty())
        .collect();
    or_none(&joined(roles.into_iter()))
}

pub(super) fn node_address(object: &Value, kind: &str) -> Value {
    let found = list(&object["status"]["addresses"]).iter().find(|address| address["type"] == kind);
    or_none(found.map_or(&Value::Null, |address| &address["address"]))
}

/// The first time that is there.
fn first_time<'a>(object: &'a Value, paths: &[&str]) -> &'a Value {
    paths.iter().map(|path| at(object, path)).find(|value| value.is_string()).unwrap_or(&Value::Null)
}

pub(super) fn event_first_seen(object: &Value, now: Timestamp) -> Value {
    json!(age::since(first_time(object, &["firstTimestamp", "deprecatedFirstTimestamp", "eventTime"]), now))
}

pub(super) fn event_last_seen(object: &Value, now: Timestamp) -> Value {
    let paths = [
        "series.lastObservedTime",
        "lastTimestamp",
        "deprecatedLastTimestamp",
        "firstTimestamp",
        "deprecatedFirstTimestamp",
        "eventTime",
    ];
    json!(age::since(first_time(object, &paths), now))
}

pub(super) fn event_object(object: &Value, _: Timestamp) -> Value {
    let about =
        if object["regarding"].is_object() { &object["regarding"] } else { &object["involvedObject"] };
    let kind = text(&about["kind"]).to_lowercase();
    match text(&about["name"]) {
        "" => json!(kind),
        name => json!(format!("{kind}/{name}")),
    }
}

pub(super) fn event_source(object: &Value, _: Timestamp) -> Value {
    let either = |first: &str, second: &str| match text(at(object, first)) {
        "" => text(at(object, second)).to_owned(),
        found => found.to_owned(),
    };
    let component = either("source.component", "reportingComponent");
    match either("source.host", "reportingInstance").as_str() {
        "" => json!(component),
        instance => json!(format!("{component}, {instance}")),
    }
}

pub(super) fn event_message(object: &Value, _: Timestamp) -> Value {
    let message = if object["note"].is_string() { &object["note"] } else { &object["message"] };
    json!(text(message).trim())
}

pub(super) fn event_count(object: &Value, _: Timestamp) -> Value {
    let series = object["series"]["count"].as_i64();
    json!(series.or_else(|| object["count"].as_i64().filter(|count| *count != 0)).unwrap_or(1))
}

pub(super) fn job_status(object: &Value, _: Timestamp) -> Value {
    let has = |kind: &str| {
        list(&object["status"]["conditions"]).iter().any(|c| c["type"] == kind && c["status"] == "True")
    };
    json!(if has("Complete") {
        "Complete"
    } else if has("Failed") {
        "Failed"
    } else if object["metadata"]["deletionTimestamp"].is_string() {
        "Terminating"
    } else {
        ["Suspended", "FailureTarget", "SuccessCriteriaMet"]
            .into_iter()
            .find(|kind| has(kind))
            .unwrap_or("Running")
    })
}

pub(super) fn job_completions(object: &Value, _: Timestamp) -> Value {
    let succeeded = number(&object["status"]["succeeded"]);
    let parallelism = number(&object["spec"]["parallelism"]);
    json!(match object["spec"]["completions"].as_i64() {
        Some(wanted) => format!("{succeeded}/{wanted}"),
        None if parallelism > 1 => format!("{succeeded}/1 of {parallelism}"),
        None => format!("{succeeded}/1"),
    })
}

pub(super) fn job_duration(object: &Value, now: Timestamp) -> Value {
    let time = |field: &str| text(&object["status"][field]).parse::<Timestamp>().ok();
    json!(
        time("startTime")
            .map_or_else(String::new, |start| age::between(start, time("completionTime").unwrap_or(now)))
    )
}

pub(super) fn suspended(object: &Value, _: Timestamp) -> Value {
    json!(if object["spec"]["suspend"] == true { "True" } else { "False" })
}

pub(super) fn active(object: &Value, _: Timestamp) -> Value {
    json!(list(&object["status"]["active"]).len())
}

pub(super) fn last_schedule(object: &Value, now: Timestamp) -> Value {
    match &object["status"]["lastScheduleTime"] {
        Value::Null => json!("<none>"),
        time => json!(age::since(time, now)),
    }
}

pub(super) fn phase_or_terminating(object: &Value, _: Timestamp) -> Value {
    if object["metadata"]["deletionTimestamp"].is_string() {
        return json!("Terminating");
    }
    json!(text(&object["status"]["phase"]))
}

pub(super) fn access_modes(modes: &Value) -> Value {
    joined(list(modes).iter().map(|mode| match text(mode) {
        "ReadWriteOnce" => "RWO",
        "ReadOnlyMany" => "ROX",
        "ReadWriteMany" => "RWX",
        "ReadWriteOncePod" => "RWOP",
        other => other,
    }))
}

pub(super) fn attributes_class(object: &Value, _: Timestamp) -> Value {
    or(&object["spec"]["volumeAttributesClassName"], "<unset>")
}

pub(super) fn volume_mode(object: &Value, _: Timestamp) -> Value {
    or(&object["spec"]["volumeMode"], "<unset>")
}

pub(super) fn claim(object: &Value, _: Timestamp) -> Value {
    match &object["spec"]["claimRef"] {
        Value::Null => json!(""),
        claim => json!(format!("{}/{}", text(&claim["namespace"]), text(&claim["name"]))),
    }
}

pub(super) fn controller(object: &Value, _: Timestamp) -> Value {
    let owner = list(&object["metadata"]["ownerReferences"]).iter().find(|owner| owner["controller"] == true);
    let Some(owner) = owner else { return json!("<none>") };
    let group =
        text(&owner["apiVersion"]).split_once('/').map_or(String::new(), |(group, _)| format!(".{group}"));
    json!(format!("{}{group}/{}", text(&owner["kind"]).to_lowercase(), text(&owner["name"])))
}

pub(super) fn scale_target(object: &Value, _: Timestamp) -> Value {
    let target = &object["spec"]["scaleTargetRef"];
    json!(format!("{}/{}", text(&target["kind"]), text(&target["name"])))
}

pub(super) fn min_replicas(object: &Value, _: Timestamp) -> Value {
    or(&object["spec"]["minReplicas"], "<unset>")
}

pub(super) fn min_available(object: &Value, _: Timestamp) -> Value {
    or(&object["spec"]["minAvailable"], "N/A")
}

pub(super) fn max_unavailable(object: &Value, _: Timestamp) -> Value {
    or(&object["spec"]["maxUnavailable"], "N/A")
}

/// `host:port` pairs, three of them at most.
pub(super) fn endpoints(object: &Value, _: Timestamp) -> Value {
    let mut all = Vec::new();
    for subset in list(&object["subsets"]) {
        let addresses = || list(&subset["addresses"]).iter().map(|address| text(&address["ip"]));
        match list(&subset["ports"]) {
            [] => all.extend(addresses().map(str::to_owned)),
            ports => all.extend(ports.iter().flat_map(|port| {
                addresses().map(move |ip| {
                    if ip.contains(':') {
                        format!("[{ip}]:{}", number(&port["port"]))
                    } else {
                        format!("{ip}:{}", number(&port["port"]))
                    }
                })
            })),
        }
    }
    json!(at_most(&all, 3))
}

fn at_most(texts: &[String], max: usize) -> String {
    match texts.len() {
        0 => "<none>".to_owned(),
        count if count > max => format!("{} + {} more...", texts[..max].join(","), count - max),
        _ => texts.join(","),
    }
}

pub(super) fn slice_ports(object: &Value, _: Timestamp) -> Value {
    let ports: Vec<_> = list(&object["ports"]).iter().map(|port| number(&port["port"]).to_string()).collect();
    json!(if ports.is_empty() { "<unset>".to_owned() } else { at_most(&ports, 3) })
}

pub(super) fn slice_endpoints(object: &Value, _: Timestamp) -> Value {
    let addresses = list(&object["endpoints"]).iter().flat_map(|endpoint| list(&endpoint["addresses"]));
    let addresses: Vec<_> = addresses.map(|address| text(address).to_owned()).collect();
    json!(if addresses.is_empty() { "<unset>".to_owned() } else { at_most(&addresses, 3) })
}

pub(super) fn ingress_class(object: &Value, _: Timestamp) -> Value {
    or_none(&object["spec"]["ingressClassName"])
}

pub(super) fn ingress_hosts(object: &Value, _: Timestamp) -> Value {
    let hosts: Vec<_> = list(&object["spec"]["rules"])
        .iter()
        .map(|rule| text(&rule["host"]))
        .filter(|host| !host.is_empty())
        .map(str::to_owned)
        .collect();
    json!(if hosts.is_empty() { "*".to_owned() } else { at_most(&hosts, 3) })
}

pub(super) fn ingress_ports(object: &Value, _: Timestamp) -> Value {
    json!(if list(&object["spec"]["tls"]).is_empty() { "80" } else { "80, 443" })
}

pub(super) fn role(object: &Value, _: Timestamp) -> Value {
    json!(format!("{}/{}", text(&object["roleRef"]["kind"]), text(&object["roleRef"]["name"])))
}

pub(super) fn global_default(object: &Value, _: Timestamp) -> Value {
    json!(object["globalDefault"] == true)
}

pub(super) fn webhooks(object: &Value, _: Timestamp) -> Value {
    json!(list(&object["webhooks"]).len())
}
