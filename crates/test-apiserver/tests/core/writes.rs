use apimachinery::CreateOptions;
use serde_json::{Value, json};
use steersman_test_apiserver::core::{CoreOptions, Target};

use crate::world::{World, asking, deployment, deployments, maps, namespaces, pod, pods, refusal};

// FAKE-10, FK-10
#[test]
fn a_new_object_gets_its_identity_from_the_server() {
    let mut world = World::new();
    let mut object = deployment("web");
    object["metadata"]["uid"] = json!("mine");
    object["metadata"]["creationTimestamp"] = json!("2000-01-01T00:00:00Z");
    object["metadata"]["deletionTimestamp"] = json!("2000-01-01T00:00:00Z");
    object["metadata"]["generation"] = json!(7);
    object["status"] = json!({"replicas": 9});
    let before = world.core.version();
    let written = world.create(&deployments(), object).expect("made");
    assert!(written.created);
    let made = written.object.value();
    let meta = &made["metadata"];
    assert_eq!(meta["uid"].as_str().map(str::len), Some(36));
    assert_ne!(meta["uid"], "mine");
    assert_eq!(meta["creationTimestamp"], "2026-01-02T03:04:05Z");
    assert_eq!((&meta["deletionTimestamp"], &meta["generation"]), (&Value::Null, &json!(1)));
    assert_eq!(meta["resourceVersion"], (before + 1).to_string());
    assert_eq!(meta["namespace"], "default");
    assert_eq!((&made["apiVersion"], &made["kind"]), (&json!("apps/v1"), &json!("Deployment")));
    assert_eq!(made["status"], json!({}));
    assert_eq!(made["spec"]["replicas"], 1);
    assert_eq!(made["spec"]["template"]["spec"]["restartPolicy"], "Always");
}

// FAKE-02
#[test]
fn bodies_that_cannot_be_made_are_refused_in_the_servers_words() {
    let mut world = World::new();
    let versioned = json!({"metadata": {"name": "a", "resourceVersion": "5"}});
    let elsewhere = json!({"metadata": {"name": "a", "namespace": "kube-system"}});
    let other_kind = json!({"kind": "Secret", "metadata": {"name": "a"}});
    let other_version = json!({"apiVersion": "apps/v1", "metadata": {"name": "a"}});
    for (object, code, words) in [
        (versioned, 400, "resourceVersion should not be set on objects to be created"),
        (
            elsewhere,
            400,
            "the namespace of the provided object does not match the namespace sent on the request",
        ),
        (other_kind, 400, "cannot be handled as a ConfigMap"),
        (
            other_version,
            400,
            "the API version in the data (apps/v1) does not match the expected API version (v1)",
        ),
        (json!({"metadata": {}}), 422, "metadata.name: Required value: name or generateName is required"),
        (json!({"metadata": {"name": "A_b"}}), 422, "a lowercase RFC 1123 subdomain must consist of"),
        (json!({"metadata": {"name": "a", "labels": {"x": "-"}}}), 422, "a valid label must be"),
        (json!({"metadata": {"name": "a", "labels": {"x": 5}}}), 400, "cannot unmarshal number"),
        (json!({"metadata": 5}), 400, "cannot unmarshal number"),
        (json!({"metadata": {"name": "a", "finalizers": "x"}}), 400, "cannot unmarshal string"),
        (json!([]), 400, "must be an object"),
    ] {
        let (found, _, message) = refusal(world.create(&maps(), object.clone()));
        assert_eq!(found, code, "{object} {message}");
        assert!(message.contains(words), "{message}");
    }
    for spec in [json!({"spec": 5}), json!({"spec": {"template": "x"}}), json!({"status": []})] {
        let mut object = spec.clone();
        object["metadata"] = json!({"name": "a"});
        assert_eq!(refusal(world.create(&deployments(), object)).0, 400, "{spec}");
    }
    world.map("a", "1");
    let refused = world.create(&maps(), json!({"metadata": {"name": "a"}})).expect_err("there");
    assert_eq!(refused.to_string(), "configmaps \"a\" already exists");
    assert_eq!((refused.code(), refused.status().reason.as_deref()), (409, Some("AlreadyExists")));
}

#[test]
fn refusals_name_the_resource_with_its_group() {
    let world = World::new();
    let refused = world.get(&deployments(), "x").expect_err("not there");
    assert_eq!(refused.to_string(), "deployments.apps \"x\" not found");
    let details = refused.status().details.clone().expect("details");
    assert_eq!(
        (details.name.as_deref(), details.group.as_deref(), details.kind.as_deref()),
        (Some("x"), Some("apps"), Some("deployments"))
    );
}

// FAKE-02
#[test]
fn a_generated_name_is_cut_and_gets_five_letters() {
    let mut world = World::new();
    let long = "a".repeat(80);
    for (base, kept) in [("web-", "web-"), (long.as_str(), &long[..58])] {
        let made = world.create(&pods(), json!({"metadata": {"generateName": base}})).expect("made").object;
        let tail = made.name().strip_prefix(kept).expect("the base");
        assert_eq!(tail.len(), 5);
        assert!(tail.chars().all(|c| "bcdfghjklmnpqrstvwxz2456789".contains(c)), "{tail}");
    }
    let mut same = World::with(CoreOptions { seed: 9, ..CoreOptions::default() });
    let mut again = World::with(CoreOptions { seed: 9, ..CoreOptions::default() });
    let object = json!({"metadata": {"generateName": "x-"}});
    let (one, two) = (same.create(&pods(), object.clone()), again.create(&pods(), object));
    assert_eq!(one.expect("made").object, two.expect("made").object, "a seed is a run");
}

// FAKE-03
#[test]
fn a_stale_update_is_a_conflict_and_one_without_a_version_overwrites() {
    let mut world = World::new();
    let mut old = world.map("a", "1").value();
    world.set("a", "2");
    old["data"]["k"] = json!("3");
    let refused = world.update(&maps(), old.clone()).expect_err("stale");
    assert_eq!(
        refused.to_string(),
        "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; please apply your changes to the \
         latest version and try again"
    );
    assert_eq!((refused.code(), refused.status().reason.as_deref()), (409, Some("Conflict")));
    old["metadata"].as_object_mut().expect("an object").remove("resourceVersion");
    assert_eq!(world.update(&maps(), old).expect("overwritten")["data"]["k"], "3");
    let leases = Target::new("coordination.k8s.io/v1", "leases").namespaced("default");
    world.create(&leases, json!({"metadata": {"name": "l"}})).expect("made");
    let (code, reason, message) = refusal(world.update(&leases, json!({"metadata": {"name": "l"}})));
    assert_eq!((code, reason.as_str()), (422, "Invalid"));
    assert!(
        message.contains("metadata.resourceVersion: Invalid value: 0: must be specified for an update"),
        "{message}"
    );
}

#[test]
fn an_update_cannot_change_who_an_object_is() {
    let mut world = World::new();
    let made = world.map("a", "1").value();
    let mut changed = made.clone();
    changed["metadata"]["creationTimestamp"] = json!("2000-01-01T00:00:00Z");
    changed["metadata"]["generation"] = json!(50);
    changed["metadata"]["deletionTimestamp"] = json!("2000-01-01T00:00:00Z");
    changed["data"]["k"] = json!("2");
    let after = world.update(&maps(), changed).expect("updated");
    for field in ["uid", "creationTimestamp", "generation", "deletionTimestamp"] {
        assert_eq!(after["metadata"][field], made["metadata"][field], "{field}");
    }
    let mut other = after.clone();
    other["metadata"]["uid"] = json!("another");
    let (code, _, message) = refusal(world.update(&maps(), other));
    assert_eq!(code, 409);
    assert!(message.contains("Precondition failed: UID in precondition: another"), "{message}");
    let object = json!({"metadata": {"name": "b"}});
    let now = world.now;
    let wrong_name = world.core.update(&maps(), "a", object, &CreateOptions::default(), now);
    assert_eq!(refusal(wrong_name).0, 400);
}

#[test]
fn an_update_that_changes_nothing_is_no_write() {
    let mut world = World::new();
    let made = world.map("a", "1").value();
    let version = world.core.version();
    let id = world.watch(&maps(), &asking(&version.to_string()));
    assert_eq!(world.update(&maps(), made.clone()).expect("taken"), made);
    assert_eq!(world.core.version(), version);
    assert_eq!(world.frames(id), [""; 0]);
}

// FAKE-05
#[test]
fn the_object_and_its_status_are_written_apart() {
    let mut world = World::new();
    let made = world.create(&deployments(), deployment("web")).expect("made").object.value();
    let mut main = made.clone();
    main["spec"]["replicas"] = json!(3);
    main["status"] = json!({"replicas": 3});
    let main = world.update(&deployments(), main).expect("updated");
    assert_eq!((&main["spec"]["replicas"], &main["status"]), (&json!(3), &json!({})));
    assert_eq!(main["metadata"]["generation"], 2);
    let mut status = main.clone();
    status["spec"]["replicas"] = json!(9);
    status["metadata"]["labels"] = json!({"new": "label"});
    status["status"] = json!({"replicas": 3});
    let status = world.update(&deployments().subresource("status"), status).expect("updated");
    assert_eq!((&status["spec"]["replicas"], &status["status"]["replicas"]), (&json!(3), &json!(3)));
    assert_eq!(status["metadata"]["labels"], Value::Null);
    assert_eq!(status["metadata"]["generation"], 2, "the wanted state is the same");
    assert_eq!(
        refusal(world.update(&maps().subresource("status"), json!({"metadata": {"name": "a"}}))).0,
        404
    );
}

#[test]
fn metadata_alone_does_not_count_as_a_generation() {
    let mut world = World::new();
    let mut object = world.create(&deployments(), deployment("web")).expect("made").object.value();
    object["metadata"]["annotations"] = json!({"a": "b"});
    assert_eq!(world.update(&deployments(), object).expect("updated")["metadata"]["generation"], 1);
}

#[test]
fn a_namespace_must_be_there_before_what_is_in_it() {
    let mut world = World::new();
    let target = Target::new("v1", "configmaps").namespaced("nowhere");
    let (code, _, message) = refusal(world.create(&target, json!({"metadata": {"name": "a"}})));
    assert_eq!((code, message.as_str()), (404, "namespaces \"nowhere\" not found"));
    let made =
        world.create(&namespaces(), json!({"metadata": {"name": "nowhere"}})).expect("made").object.value();
    assert_eq!(made["status"]["phase"], "Active");
    assert_eq!(made["metadata"]["labels"]["kubernetes.io/metadata.name"], "nowhere");
    assert!(world.create(&target, json!({"metadata": {"name": "a"}})).is_ok());
}

#[test]
fn what_a_kind_fixes_at_creation_cannot_be_changed() {
    let mut world = World::new();
    let mut object = world.create(&deployments(), deployment("d")).expect("made").object.value();
    object["spec"]["selector"]["matchLabels"]["app"] = json!("other");
    assert!(refusal(world.update(&deployments(), object)).2.contains("spec.selector: Invalid value"));
    let fixed = json!({"metadata": {"name": "a"}, "immutable": true, "data": {"k": "1"}});
    let mut fixed = world.create(&maps(), fixed).expect("made").object.value();
    fixed["data"]["k"] = json!("2");
    assert!(refusal(world.update(&maps(), fixed)).2.contains("field is immutable when `immutable` is set"));
    let mut object = world.create(&pods(), pod("p")).expect("made").object.value();
    object["spec"]["containers"][0]["image"] = json!("web:2");
    let mut object = world.update(&pods(), object).expect("an image may change");
    object["spec"]["nodeName"] = json!("n1");
    assert!(
        refusal(world.update(&pods(), object)).2.contains("pod updates may not change fields other than")
    );
}

#[test]
fn a_binding_puts_a_pod_on_a_node_once_and_an_eviction_deletes_it() {
    let mut world = World::new();
    world.create(&pods(), pod("p")).expect("made");
    let now = world.now;
    let binding = json!({"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n1"}});
    let options = CreateOptions::default();
    let below = pods().subresource("binding");
    let done = world.core.create_subresource(&below, "p", &binding, &options, now).expect("bound");
    assert_eq!(done["status"], "Success");
    let bound = world.get(&pods(), "p").expect("there");
    assert_eq!(
        (&bound["spec"]["nodeName"], &bound["status"]["conditions"][0]["type"]),
        (&json!("n1"), &json!("PodScheduled"))
    );
    assert_eq!(refusal(world.core.create_subresource(&below, "p", &binding, &options, now)).0, 409);
    assert_eq!(refusal(world.core.create_subresource(&below, "q", &binding, &options, now)).0, 404);
    assert_eq!(refusal(world.core.create_subresource(&below, "p", &json!({}), &options, now)).0, 422);
    let eviction = json!({"deleteOptions": {"gracePeriodSeconds": 5}});
    let below = pods().subresource("eviction");
    world.core.create_subresource(&below, "p", &eviction, &options, now).expect("evicted");
    assert_eq!(world.get(&pods(), "p").expect("has its grace")["metadata"]["deletionGracePeriodSeconds"], 5);
    assert_eq!(
        refusal(world.core.create_subresource(
            &maps().subresource("eviction"),
            "a",
            &eviction,
            &options,
            now
        ))
        .0,
        404
    );
}

#[test]
fn an_event_is_one_object_under_two_names() {
    let mut world = World::new();
    let (old, new) = (Target::new("v1", "events"), Target::new("events.k8s.io/v1", "events"));
    let (old, new) = (old.namespaced("default"), new.namespaced("default"));
    let id = world.watch(&old, &asking("0"));
    let event = json!({"metadata": {"name": "e"}, "note": "hello", "regarding": {"kind": "Pod", "name": "p"},
        "reportingController": "me", "reason": "Started", "type": "Normal"});
    let made = world.create(&new, event).expect("made").object.value();
    assert_eq!((&made["apiVersion"], &made["note"]), (&json!("events.k8s.io/v1"), &json!("hello")));
    let seen = world.get(&old, "e").expect("there");
    assert_eq!((&seen["apiVersion"], &seen["message"]), (&json!("v1"), &json!("hello")));
    assert_eq!((&seen["involvedObject"]["name"], seen.get("regarding")), (&json!("p"), None));
    for (target, selector) in
        [(&old, "involvedObject.name=p,type=Normal"), (&new, "regarding.name=p,type=Normal")]
    {
        let mut options = asking("");
        options.field_selector = Some(selector.to_owned());
        assert_eq!(world.list(target, &options).expect("a list").items.len(), 1, "{selector}");
    }
    let patch = apimachinery::Patch::Merge(json!({"count": 2}));
    world.patch(&old, "e", &patch).expect("counted");
    assert_eq!(world.get(&new, "e").expect("there")["deprecatedCount"], 2);
    world.delete(&new, "e").expect("deleted");
    assert_eq!(world.frames(id).len(), 3);
    assert_eq!(refusal(world.get(&old, "e")).0, 404);
}

#[test]
fn metadata_that_no_object_has_is_dropped() {
    let mut world = World::new();
    let object = json!({"metadata": {"name": "a", "color": "red", "labels": {}, "finalizers": null}});
    let made = world.create(&maps(), object).expect("made").object.value();
    for field in ["color", "labels", "finalizers"] {
        assert_eq!(made["metadata"].get(field), None, "{field}");
    }
}

// FAKE-09, REST-OP-04
#[test]
fn a_dry_run_answers_and_changes_nothing() {
    let mut world = World::new();
    let mut options = CreateOptions::default();
    options.dry_run = true;
    let (now, version) = (world.now, world.core.version());
    let object = json!({"metadata": {"name": "a"}, "data": {"k": "1"}});
    let made =
        world.core.create(&maps(), object.clone(), &options, now).expect("would be made").object.value();
    assert!(made["metadata"]["uid"].is_string());
    assert_eq!(made["metadata"]["resourceVersion"], Value::Null);
    assert_eq!(world.core.version(), version);
    assert_eq!(refusal(world.get(&maps(), "a")).0, 404);
    world.map("a", "1");
    let version = world.core.version();
    let mut changed = object;
    changed["data"]["k"] = json!("2");
    let updated = world.core.update(&maps(), "a", changed, &options, now).expect("would be updated");
    assert_eq!(updated.object.value()["data"]["k"], "2");
    assert_eq!(world.core.version(), version);
    assert_eq!(world.get(&maps(), "a").expect("there")["data"]["k"], "1");
}

#[test]
fn leases_and_events_are_made_by_an_update() {
    let mut world = World::new();
    let leases = Target::new("coordination.k8s.io/v1", "leases").namespaced("default");
    let now = world.now;
    let object = json!({"metadata": {"name": "l"}});
    let written =
        world.core.update(&leases, "l", object.clone(), &CreateOptions::default(), now).expect("made");
    assert!(written.created);
    assert_eq!(refusal(world.core.update(&maps(), "l", object, &CreateOptions::default(), now)).0, 404);
}

// FAKE-07
#[test]
fn the_scale_is_one_number_of_the_object() {
    let mut world = World::new();
    world.create(&deployments(), deployment("web")).expect("made");
    let target = deployments().subresource("scale");
    let mut scale = world.get(&target, "web").expect("a scale");
    assert_eq!((&scale["kind"], &scale["spec"]["replicas"]), (&json!("Scale"), &json!(1)));
    assert_eq!(scale["status"]["selector"], "app=web");
    scale["spec"]["replicas"] = json!(4);
    let after = world.update(&target, scale.clone()).expect("scaled");
    assert_eq!(after["spec"]["replicas"], 4);
    let object = world.get(&deployments(), "web").expect("there");
    assert_eq!((&object["spec"]["replicas"], &object["metadata"]["generation"]), (&json!(4), &json!(2)));
    assert_eq!(refusal(world.update(&target, scale)).0, 409, "the scale has the object's version");
    let patch = apimachinery::Patch::Merge(json!({"spec": {"replicas": 2}}));
    assert_eq!(world.patch(&target, "web", &patch).expect("scaled")["spec"]["replicas"], 2);
    let negative = apimachinery::Patch::Merge(json!({"spec": {"replicas": -2}}));
    assert_eq!(refusal(world.patch(&target, "web", &negative)).0, 422);
    assert_eq!(refusal(world.get(&pods().subresource("scale"), "web")).0, 404);
}

#[test]
fn common_defaults_are_filled_in() {
    let mut world = World::new();
    let made = world.create(&pods(), pod("p")).expect("made").object.value();
    assert_eq!(made["status"]["phase"], "Pending");
    assert_eq!(made["spec"]["containers"][0]["imagePullPolicy"], "IfNotPresent");
    let services = Target::new("v1", "services").namespaced("default");
    let service = json!({"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}});
    let made = world.create(&services, service).expect("made").object.value();
    assert!(made["spec"]["clusterIP"].as_str().is_some_and(|ip| ip.starts_with("10.96.")), "{made}");
    assert_eq!(made["spec"]["ports"][0], json!({"port": 80, "targetPort": 80, "protocol": "TCP"}));
    let secrets = Target::new("v1", "secrets").namespaced("default");
    let made =
        world.create(&secrets, json!({"metadata": {"name": "s"}, "stringData": {"a": "b"}})).expect("made");
    assert_eq!(
        (&made.object.value()["data"]["a"], &made.object.value()["type"]),
        (&json!("Yg=="), &json!("Opaque"))
    );
}
