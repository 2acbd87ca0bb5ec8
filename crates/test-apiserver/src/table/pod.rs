//! The columns of a pod: what it is doing, said in one word.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::age;

/// What the containers' statuses come to.
struct Summary {
    ready: usize,
    total: usize,
    reason: String,
    restarts: i64,
    last_restart: Option<Timestamp>,
}

/// `1/2`.
pub(super) fn ready(pod: &Value, _: Timestamp) -> Value {
    let summary = summary(pod);
    json!(format!("{}/{}", summary.ready, summary.total))
}

/// `Running`, `CrashLoopBackOff`, `Init:0/1`, `Terminating`.
pub(super) fn status(pod: &Value, _: Timestamp) -> Value {
    json!(summary(pod).reason)
}

/// `3 (5m ago)`.
pub(super) fn restarts(pod: &Value, now: Timestamp) -> Value {
    let summary = summary(pod);
    json!(match summary.last_restart {
        Some(last) if summary.restarts != 0 =>
            format!("{} ({} ago)", summary.restarts, age::between(last, now)),
        _ => summary.restarts.to_string(),
    })
}

/// `1/1` of the readiness gates are open.
pub(super) fn gates(pod: &Value, _: Timestamp) -> Value {
    let gates = list(&pod["spec"]["readinessGates"]);
    if gates.is_empty() {
        return json!("<none>");
    }
    let open =
        gates.iter().filter(|gate| has_condition(pod, gate["conditionType"].as_str().unwrap_or_default()));
    json!(format!("{}/{}", open.count(), gates.len()))
}

fn summary(pod: &Value) -> Summary {
    let status = &pod["status"];
    let phase = text(&status["phase"]);
    let mut reason = match text(&status["reason"]) {
        "" => phase.to_owned(),
        reason => reason.to_owned(),
    };
    if list(&status["conditions"])
        .iter()
        .any(|c| c["type"] == "PodScheduled" && c["reason"] == "SchedulingGated")
    {
        "SchedulingGated".clone_into(&mut reason);
    }
    let init = list(&pod["spec"]["initContainers"]);
    let restartable =
        |name: &Value| init.iter().any(|c| c["name"] == *name && c["restartPolicy"] == "Always");
    let sidecars = init.iter().filter(|c| c["restartPolicy"] == "Always").count();
    let total = list(&pod["spec"]["containers"]).len() + sidecars;
    let mut summary = Summary { ready: 0, total, reason, restarts: 0, last_restart: None };

    let mut initializing = false;
    let (mut sidecar_restarts, mut sidecar_last) = (0, None);
    for (index, container) in list(&status["initContainerStatuses"]).iter().enumerate() {
        count_restarts(container, &mut summary.restarts, &mut summary.last_restart);
        let is_sidecar = restartable(&container["name"]);
        if is_sidecar {
            count_restarts(container, &mut sidecar_restarts, &mut sidecar_last);
        }
        let (waiting, terminated) = (&container["state"]["waiting"], &container["state"]["terminated"]);
        if terminated.is_object() && number(&terminated["exitCode"]) == 0 {
            continue;
        }
        if is_sidecar && container["started"] == true {
            summary.ready += usize::from(container["ready"] == true);
            continue;
        }
        summary.reason = if terminated.is_object() {
            format!("Init:{}", terminated_reason(terminated))
        } else if !matches!(text(&waiting["reason"]), "" | "PodInitializing") {
            format!("Init:{}", text(&waiting["reason"]))
        } else {
            format!("Init:{index}/{}", init.len())
        };
        initializing = true;
        break;
    }
    if !initializing || has_condition(pod, "Initialized") {
        summary.restarts = sidecar_restarts;
        summary.last_restart = sidecar_last;
        main_containers(pod, &mut summary);
    }
    if pod["metadata"]["deletionTimestamp"].is_string() {
        if text(&status["reason"]) == "NodeLost" {
            "Unknown".clone_into(&mut summary.reason);
        } else if !matches!(phase, "Succeeded" | "Failed") {
            "Terminating".clone_into(&mut summary.reason);
        }
    }
    summary
}

fn main_containers(pod: &Value, summary: &mut Summary) {
    let (mut running, mut failure) = (false, None);
    for container in list(&pod["status"]["containerStatuses"]).iter().rev() {
        count_restarts(container, &mut summary.restarts, &mut summary.last_restart);
        let state = &container["state"];
        let waiting = text(&state["waiting"]["reason"]);
        if !waiting.is_empty() {
            waiting.clone_into(&mut summary.reason);
        } else if state["terminated"].is_object() {
            summary.reason = terminated_reason(&state["terminated"]);
            if number(&state["terminated"]["exitCode"]) != 0 {
                failure = Some(summary.reason.clone());
            }
        } else if container["ready"] == true && state["running"].is_object() {
            running = true;
            summary.ready += 1;
        }
    }
    if summary.reason == "Completed" {
        match failure {
            _ if running && has_condition(pod, "Ready") => "Running".clone_into(&mut summary.reason),
            Some(failure) => summary.reason = failure,
            None if running => "NotReady".clone_into(&mut summary.reason),
            None => {}
        }
    }
}

fn count_restarts(container: &Value, restarts: &mut i64, last: &mut Option<Timestamp>) {
    *restarts += number(&container["restartCount"]);
    let finished = text(&container["lastState"]["terminated"]["finishedAt"]).parse().ok();
    *last = (*last).max(finished);
}

fn terminated_reason(terminated: &Value) -> String {
    match (text(&terminated["reason"]), number(&terminated["signal"])) {
        ("", 0) => format!("ExitCode:{}", number(&terminated["exitCode"])),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}

fn has_condition(pod: &Value, kind: &str) -> bool {
    list(&pod["status"]["conditions"]).iter().any(|c| c["type"] == kind && c["status"] == "True")
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn number(value: &Value) -> i64 {
    value.as_i64().unwrap_or(0)
}
