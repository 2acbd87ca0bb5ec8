use std::time::Duration;

use apimachinery::{DeleteOptions, ListOptions, Preconditions, PropagationPolicy};
use serde_json::{Value, json};
use steersman_test_apiserver::core::{CoreOptions, Target};

use crate::world::{World, asking, deployment, deployments, maps, namespaces, pod, pods, refusal};

fn owned(name: &str, owner: &Value, kind: &str) -> Value {
    json!({"metadata": {"name": name, "ownerReferences": [{
        "apiVersion": "v1", "kind": kind, "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"],
        "blockOwnerDeletion": true, "controller": true,
    }]}})
}

fn policy(policy: PropagationPolicy) -> DeleteOptions {
    let mut options = DeleteOptions::default();
    options.propagation_policy = Some(policy);
    options
}

// FAKE-04
#[test]
fn finalizers_hold_an_object_until_the_last_is_removed() {
    let mut world = World::new();
    let object = json!({"metadata": {"name": "a", "finalizers": ["x.io/one", "x.io/two"]}});
    let made = world.create(&maps(), object).expect("made").object.value();
    let deletion = world.delete(&maps(), "a").expect("marked");
    assert!(!deletion.is_gone);
    let marked = deletion.object.value();
    assert_eq!(marked["metadata"]["deletionTimestamp"], "2026-01-02T03:04:05Z");
    assert_eq!(marked["metadata"]["deletionGracePeriodSeconds"], 0);
    assert_ne!(marked["metadata"]["resourceVersion"], made["metadata"]["resourceVersion"]);
    let version = world.core.version();
    assert!(!world.delete(&maps(), "a").expect("marked before").is_gone);
    assert_eq!(world.core.version(), version, "a second delete changes nothing");

    let mut more = marked.clone();
    more["metadata"]["finalizers"] = json!(["x.io/one", "x.io/two", "x.io/three"]);
    let (code, _, message) = refusal(world.update(&maps(), more));
    assert_eq!(code, 422);
    assert!(message.contains("no new finalizers can be added if the object is being deleted"), "{message}");

    let mut fewer = marked;
    fewer["metadata"]["finalizers"] = json!(["x.io/two"]);
    let mut fewer = world.update(&maps(), fewer).expect("one is removed");
    let id = world.watch(&maps(), &asking(&world.core.version().to_string()));
    fewer["metadata"]["finalizers"] = json!([]);
    world.update(&maps(), fewer).expect("the last is removed");
    assert_eq!(refusal(world.get(&maps(), "a")).0, 404);
    assert_eq!(world.frames(id), [format!("DELETED default/a@{}", world.core.version())]);
}

// FAKE-04, REST-OP-03
#[test]
fn preconditions_delete_only_this_very_object() {
    let mut world = World::new();
    let made = world.map("a", "1");
    let now = world.now;
    let mut options = DeleteOptions::default();
    for wrong in [
        Preconditions { uid: Some("other".to_owned()), resource_version: None },
        Preconditions { uid: None, resource_version: Some("1".to_owned()) },
    ] {
        options.preconditions = Some(wrong);
        let (code, reason, message) = refusal(world.core.delete(&maps(), "a", &options, now));
        assert_eq!((code, reason.as_str()), (409, "Conflict"));
        assert!(message.contains("in the precondition"), "{message}");
    }
    options.preconditions = Some(Preconditions { uid: Some(made.uid().to_owned()), resource_version: None });
    assert!(world.core.delete(&maps(), "a", &options, now).expect("deleted").is_gone);
}

#[test]
fn a_delete_answers_with_a_status_or_for_some_kinds_with_the_object() {
    let mut world = World::new();
    world.map("a", "1");
    world.create(&pods(), pod("p")).expect("made");
    let answer = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).expect("JSON");
    let status = answer(&world.delete(&maps(), "a").expect("deleted").answer());
    assert_eq!(
        (&status["kind"], &status["status"], &status["details"]["name"]),
        (&json!("Status"), &json!("Success"), &json!("a"))
    );
    let object = answer(&world.delete(&pods(), "p").expect("deleted").answer());
    assert_eq!((&object["kind"], &object["metadata"]["name"]), (&json!("Pod"), &json!("p")));
}

// REST-OP-03
#[test]
fn a_pod_on_a_node_has_its_grace_which_can_only_be_shortened() {
    let mut world = World::new();
    let mut placed = pod("p");
    placed["spec"]["nodeName"] = json!("n1");
    world.create(&pods(), placed.clone()).expect("made");
    let marked = world.delete(&pods(), "p").expect("marked").object.value();
    assert_eq!(marked["metadata"]["deletionGracePeriodSeconds"], 30);
    assert_eq!(marked["metadata"]["deletionTimestamp"], "2026-01-02T03:04:35Z");
    let now = world.now;
    let mut options = DeleteOptions::default();
    options.grace_period_seconds = Some(60);
    let longer = world.core.delete(&pods(), "p", &options, now).expect("pending").object.value();
    assert_eq!(longer["metadata"]["deletionGracePeriodSeconds"], 30);
    options.grace_period_seconds = Some(10);
    let shorter = world.core.delete(&pods(), "p", &options, now).expect("shortened").object.value();
    assert_eq!(shorter["metadata"]["deletionTimestamp"], "2026-01-02T03:04:15Z");
    assert_eq!(world.core.poll_timeout(), Some(now + Duration::from_secs(10)));
    world.pass(Duration::from_secs(9));
    assert!(world.get(&pods(), "p").is_ok());
    world.pass(Duration::from_secs(1));
    assert_eq!(refusal(world.get(&pods(), "p")).0, 404, "the kubelet's part is played");

    world.create(&pods(), placed).expect("made");
    options.grace_period_seconds = Some(0);
    assert!(world.core.delete(&pods(), "p", &options, now).expect("deleted").is_gone, "0 is at once");
    world.create(&pods(), pod("unplaced")).expect("made");
    assert!(world.delete(&pods(), "unplaced").expect("deleted").is_gone);
}

#[test]
fn a_namespace_goes_when_everything_in_it_is_gone() {
    let mut world = World::new();
    world.create(&namespaces(), json!({"metadata": {"name": "n"}})).expect("made");
    let target = Target::new("v1", "configmaps").namespaced("n");
    world.create(&target, json!({"metadata": {"name": "free"}})).expect("made");
    world.create(&target, json!({"metadata": {"name": "held", "finalizers": ["x.io/held"]}})).expect("made");
    let start = world.core.version();
    let spaces = world.watch(&namespaces(), &asking(&start.to_string()));
    let answer = world.delete(&namespaces(), "n").expect("marked");
    assert_eq!((answer.is_gone, &answer.object.value()["status"]["phase"]), (false, &json!("Terminating")));
    assert_eq!(refusal(world.get(&target, "free")).0, 404);
    let mut held = world.get(&target, "held").expect("held");
    assert!(held["metadata"]["deletionTimestamp"].is_string());
    let (code, reason, message) = refusal(world.create(&target, json!({"metadata": {"name": "late"}})));
    assert_eq!((code, reason.as_str()), (403, "Forbidden"));
    assert!(message.contains("because it is being terminated"), "{message}");
    held["metadata"]["finalizers"] = json!([]);
    world.update(&target, held).expect("let go");
    assert_eq!(refusal(world.get(&namespaces(), "n")).0, 404);
    let told = world.frames(spaces);
    assert_eq!(
        (told.len(), told[0].starts_with("MODIFIED n@"), told[1].starts_with("DELETED n@")),
        (2, true, true),
        "{told:?}"
    );
    assert_eq!(refusal(world.delete(&namespaces(), "default")).0, 403);
}

// FAKE-10
#[test]
fn owned_objects_go_with_their_last_owner() {
    let mut world = World::new();
    let deployment = world.create(&deployments(), deployment("d")).expect("made").object.value();
    let other = world.map("other", "1").value();
    world.create(&pods(), owned("p", &deployment, "Deployment")).expect("made");
    let child = world.get(&pods(), "p").expect("there");
    world.create(&maps(), owned("grandchild", &child, "Pod")).expect("made");
    let mut shared = owned("shared", &deployment, "Deployment");
    shared["metadata"]["ownerReferences"][0]["controller"] = json!(false);
    let extra = owned("x", &other, "ConfigMap")["metadata"]["ownerReferences"][0].clone();
    shared["metadata"]["ownerReferences"].as_array_mut().expect("a list").push(extra);
    world.create(&maps(), shared).expect("made");

    world.delete(&deployments(), "d").expect("deleted");
    for (target, name) in [(pods(), "p"), (maps(), "grandchild")] {
        assert_eq!(refusal(world.get(&target, name)).0, 404, "{name}");
    }
    let shared = world.get(&maps(), "shared").expect("kept by its other owner");
    let owners = shared["metadata"]["ownerReferences"].as_array().expect("a list");
    assert_eq!((owners.len(), &owners[0]["uid"]), (1, &other["metadata"]["uid"]));
    world.delete(&maps(), "other").expect("deleted");
    assert_eq!(refusal(world.get(&maps(), "shared")).0, 404);
}

#[test]
fn the_policy_decides_what_becomes_of_owned_objects() {
    let mut world = World::new();
    let now = world.now;
    let made = world.create(&deployments(), deployment("d")).expect("made").object.value();
    world.create(&pods(), owned("p", &made, "Deployment")).expect("made");
    world.core.delete(&deployments(), "d", &policy(PropagationPolicy::Orphan), now).expect("deleted");
    assert_eq!(refusal(world.get(&deployments(), "d")).0, 404);
    assert_eq!(world.get(&pods(), "p").expect("orphaned")["metadata"]["ownerReferences"], Value::Null);

    let made = world.create(&deployments(), deployment("d")).expect("made").object.value();
    let mut held = owned("held", &made, "Deployment");
    held["metadata"]["finalizers"] = json!(["x.io/held"]);
    world.create(&pods(), held).expect("made");
    let answer =
        world.core.delete(&deployments(), "d", &policy(PropagationPolicy::Foreground), now).expect("marked");
    assert!(!answer.is_gone);
    let waiting = world.get(&deployments(), "d").expect("waits for what it owns");
    assert_eq!(waiting["metadata"]["finalizers"], json!(["foregroundDeletion"]));
    let mut held = world.get(&pods(), "held").expect("held");
    held["metadata"]["finalizers"] = json!([]);
    world.update(&pods(), held).expect("let go");
    assert_eq!(refusal(world.get(&pods(), "held")).0, 404);
    assert_eq!(refusal(world.get(&deployments(), "d")).0, 404);
}

#[test]
fn letting_go_of_very_many_needs_no_deep_stack() {
    let mut world = World::new();
    let now = world.now;
    let made = world.create(&deployments(), deployment("d")).expect("made").object.value();
    for index in 0..2000 {
        world.create(&maps(), owned(&format!("m{index}"), &made, "Deployment")).expect("made");
    }
    world.core.delete(&deployments(), "d", &policy(PropagationPolicy::Orphan), now).expect("deleted");
    let left = world.list(&maps(), &asking("")).expect("a list");
    assert!(left.items.iter().all(|item| item.owners().is_empty()));
    assert_eq!(left.items.len(), 2000);
}

#[test]
fn without_garbage_collection_owned_objects_stay() {
    let mut world = World::with(CoreOptions { garbage_collection: false, ..CoreOptions::default() });
    let made = world.create(&deployments(), deployment("d")).expect("made").object.value();
    world.create(&pods(), owned("p", &made, "Deployment")).expect("made");
    world.delete(&deployments(), "d").expect("deleted");
    assert!(world.get(&pods(), "p").is_ok());
}

#[test]
fn a_collection_is_deleted_by_selection() {
    let mut world = World::new();
    for (name, label) in [("a", "x"), ("b", "y"), ("c", "x")] {
        world.create(&maps(), json!({"metadata": {"name": name, "labels": {"l": label}}})).expect("made");
    }
    let mut list = ListOptions::default();
    list.label_selector = Some("l=x".to_owned());
    let now = world.now;
    let gone = world.core.delete_collection(&maps(), &list, &DeleteOptions::default(), now).expect("deleted");
    assert_eq!(gone.items.len(), 2);
    let left = world.list(&maps(), &asking("")).expect("a list");
    assert_eq!(left.items.iter().map(|item| item.name()).collect::<Vec<_>>(), ["b"]);
}

#[test]
fn a_dry_run_delete_deletes_nothing() {
    let mut world = World::new();
    world.map("a", "1");
    let version = world.core.version();
    let mut options = DeleteOptions::default();
    options.dry_run = true;
    let now = world.now;
    assert!(world.core.delete(&maps(), "a", &options, now).expect("would be deleted").is_gone);
    assert!(world.get(&maps(), "a").is_ok());
    assert_eq!(world.core.version(), version);
}
