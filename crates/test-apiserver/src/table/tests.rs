use jiff::Timestamp;
use serde_json::{Value, json};

use super::json_path::JsonPath;
use super::{Printer, age};
use crate::core::{Core, CoreOptions};

fn now() -> Timestamp {
    "2026-01-02T00:00:00Z".parse().expect("a time")
}

/// The cells of one object in the table of its resource.
fn cells(group: &str, version: &str, plural: &str, object: &Value) -> Vec<Value> {
    let core = Core::new(CoreOptions::default());
    let printer = Printer::of(core.resource(group, version, plural).expect("a built-in resource"));
    let row = printer.row(object, "None", now());
    assert_eq!(
        row["cells"].as_array().map(Vec::len),
        printer.definitions().as_array().map(Vec::len),
        "as many cells as columns"
    );
    row["cells"].as_array().cloned().unwrap_or_default()
}

#[test]
fn an_age_has_two_units_at_most() {
    let cases = [
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (200, "3m20s"),
        (10 * 60 + 5, "10m"),
        (3 * 3600, "3h"),
        (3 * 3600 + 60, "3h1m"),
        (9 * 3600, "9h"),
        (47 * 3600, "47h"),
        (50 * 3600, "2d2h"),
        (10 * 86400, "10d"),
        (3 * 365 * 86400, "3y"),
        (3 * 365 * 86400 + 86400, "3y1d"),
        (9 * 365 * 86400, "9y"),
        (-1, "0s"),
        (-5, "<invalid>"),
    ];
    for (seconds, wanted) in cases {
        let then = Timestamp::from_second(now().as_second() - seconds).expect("a time");
        assert_eq!(age::between(then, now()), wanted, "{seconds} s");
    }
    assert_eq!(age::since(&Value::Null, now()), "<unknown>");
    assert_eq!(age::since(&json!("yesterday"), now()), "<invalid>");
}

#[test]
fn a_pod_says_what_it_is_doing() {
    let pod = |status: Value| {
        json!({
            "metadata": { "name": "a", "creationTimestamp": "2026-01-01T23:59:00Z" },
            "spec": { "containers": [{ "name": "x" }, { "name": "y" }], "initContainers": [{ "name": "i" }] },
            "status": status,
        })
    };
    let running = json!({ "name": "x", "ready": true, "restartCount": 1, "state": { "running": {} },
        "lastState": { "terminated": { "finishedAt": "2026-01-01T23:00:00Z" } } });
    let crashing = json!({ "name": "y", "ready": false, "restartCount": 2,
        "state": { "waiting": { "reason": "CrashLoopBackOff" } } });
    let first_four = |status: Value| {
        let cells = cells("", "v1", "pods", &pod(status));
        cells[..5].iter().map(|cell| cell.as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(first_four(json!({ "phase": "Pending" })), ["a", "0/2", "Pending", "0", "60s"]);
    assert_eq!(
        first_four(json!({ "phase": "Running", "containerStatuses": [running, crashing] })),
        ["a", "1/2", "CrashLoopBackOff", "3 (60m ago)", "60s"]
    );
    assert_eq!(
        first_four(
            json!({ "phase": "Pending", "initContainerStatuses": [{ "name": "i", "state": { "running": {} } }] })
        ),
        ["a", "0/2", "Init:0/1", "0", "60s"]
    );
    let failed = json!({ "name": "x", "state": { "terminated": { "exitCode": 3 } } });
    assert_eq!(
        first_four(json!({ "phase": "Failed", "containerStatuses": [failed] })),
        ["a", "0/2", "ExitCode:3", "0", "60s"]
    );
}

#[test]
fn a_service_and_a_deployment_have_the_columns_of_the_real_server() {
    let service = json!({
        "metadata": { "name": "s", "creationTimestamp": "2026-01-01T00:00:00Z" },
        "spec": { "type": "NodePort", "clusterIP": "10.0.0.1", "selector": { "b": "2", "a": "1" },
            "ports": [{ "port": 80, "nodePort": 30080, "protocol": "TCP" }, { "port": 53, "protocol": "UDP" }] },
    });
    assert_eq!(
        cells("", "v1", "services", &service),
        [
            json!("s"),
            json!("NodePort"),
            json!("10.0.0.1"),
            json!("<none>"),
            json!("80:30080/TCP,53/UDP"),
            json!("24h"),
            json!("a=1,b=2")
        ]
    );
    let deployment = json!({
        "metadata": { "name": "d", "creationTimestamp": "2026-01-01T00:00:00Z" },
        "spec": { "replicas": 3, "selector": { "matchLabels": { "app": "d" } },
            "template": { "spec": { "containers": [{ "name": "c", "image": "i:1" }] } } },
        "status": { "readyReplicas": 1, "updatedReplicas": 2, "availableReplicas": 1 },
    });
    assert_eq!(
        cells("apps", "v1", "deployments", &deployment),
        [
            json!("d"),
            json!("1/3"),
            json!(2),
            json!(1),
            json!("24h"),
            json!("c"),
            json!("i:1"),
            json!("app=d")
        ]
    );
}

#[test]
fn every_built_in_resource_makes_a_row_of_nothing() {
    let core = Core::new(CoreOptions::default());
    for resource in core.resources() {
        let object = json!({ "metadata": { "name": "x" } });
        let row = cells(&resource.group, &resource.version, &resource.plural, &object);
        assert!(row.contains(&json!("x")), "{}: {row:?}", resource.plural);
    }
}

#[test]
fn a_printer_column_finds_what_its_path_says() {
    let object = json!({
        "spec": { "replicas": 2, "ports": [{ "port": 80 }, { "port": 90 }], "a.b": "dotted" },
        "status": { "conditions": [{ "type": "Ready", "status": "True" }, { "type": "Other", "status": "False" }] },
    });
    let cases = [
        (".spec.replicas", json!([2])),
        ("{.spec.replicas}", json!([2])),
        (".spec.ports[0].port", json!([80])),
        (".spec.ports[-1].port", json!([90])),
        (".spec.ports[*].port", json!([80, 90])),
        (r#".status.conditions[?(@.type=="Ready")].status"#, json!(["True"])),
        (r".spec.a\.b", json!(["dotted"])),
        (".spec['a.b']", json!(["dotted"])),
        (".spec.absent", json!([])),
        (".spec.ports[", json!([])),
        ("spec", json!([])),
        (".spec.ports[7]", json!([])),
    ];
    for (path, wanted) in cases {
        let found: Vec<Value> = JsonPath::parse(path).find(&object).into_iter().cloned().collect();
        assert_eq!(Value::from(found), wanted, "{path}");
    }
}
