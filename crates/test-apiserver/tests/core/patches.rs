use apimachinery::{Patch, PatchOptions};
use serde_json::{Value, json};

use crate::world::{World, deployment, deployments, maps, pod, pods, refusal};

// FAKE-06
#[test]
fn json_patches_change_and_test() {
    let mut world = World::new();
    world.map("a", "1");
    let patch = Patch::Json(json!([
        {"op": "test", "path": "/data/k", "value": "1"},
        {"op": "replace", "path": "/data/k", "value": "2"},
        {"op": "add", "path": "/metadata/labels", "value": {"l": "x"}},
    ]));
    let after = world.patch(&maps(), "a", &patch).expect("patched");
    assert_eq!((&after["data"]["k"], &after["metadata"]["labels"]["l"]), (&json!("2"), &json!("x")));
    let (code, reason, _) = refusal(world.patch(&maps(), "a", &patch));
    assert_eq!((code, reason.as_str()), (422, "Invalid"), "the test fails now");
    assert_eq!(refusal(world.patch(&maps(), "a", &Patch::Json(json!({"op": "x"})))).0, 400);
    assert_eq!(refusal(world.patch(&maps(), "none", &patch)).0, 404);
}

// FAKE-06
#[test]
fn merge_patches_merge_objects_and_null_removes() {
    let mut world = World::new();
    world.map("a", "1");
    let after =
        world.patch(&maps(), "a", &Patch::Merge(json!({"data": {"k": null, "n": "2"}}))).expect("patched");
    assert_eq!(after["data"], json!({"n": "2"}));
    let version = world.core.version();
    world.patch(&maps(), "a", &Patch::Merge(json!({"data": {"n": "2"}}))).expect("nothing to do");
    assert_eq!(world.core.version(), version);
}

// CLI-03
#[test]
fn a_version_in_a_patch_is_an_optimistic_lock() {
    let mut world = World::new();
    let first = world.map("a", "1").resource_version();
    world.set("a", "2");
    let locked = |version: u64| {
        Patch::Merge(json!({"metadata": {"resourceVersion": version.to_string()}, "data": {"k": "3"}}))
    };
    let (code, reason, _) = refusal(world.patch(&maps(), "a", &locked(first)));
    assert_eq!((code, reason.as_str()), (409, "Conflict"));
    let present = world.core.version();
    assert!(world.patch(&maps(), "a", &locked(present)).is_ok());
}

#[test]
fn a_patch_cannot_rename_an_object() {
    let mut world = World::new();
    world.map("a", "1");
    let (code, _, message) =
        refusal(world.patch(&maps(), "a", &Patch::Merge(json!({"metadata": {"name": "b"}}))));
    assert_eq!(code, 422);
    assert!(message.contains("metadata.name: Invalid value: \"b\": field is immutable"), "{message}");
    assert_eq!(refusal(world.patch(&maps(), "a", &Patch::Merge(json!({"metadata": 5})))).0, 400);
}

// FAKE-06
#[test]
fn strategic_patches_merge_lists_by_their_keys() {
    let mut world = World::new();
    world.create(&deployments(), deployment("d")).expect("made");
    let containers = |world: &World| {
        world.get(&deployments(), "d").expect("there")["spec"]["template"]["spec"]["containers"].clone()
    };
    let strategic = |containers: Value| {
        Patch::Strategic(json!({"spec": {"template": {"spec": {"containers": containers}}}}))
    };
    let patch = strategic(json!([
        {"name": "web", "image": "web:2", "env": [{"name": "B", "value": "2"}],
         "ports": [{"containerPort": 80, "name": "http"}, {"containerPort": 81}]},
        {"name": "third", "image": "third:1"},
    ]));
    world.patch(&deployments(), "d", &patch).expect("patched");
    let all = containers(&world);
    assert_eq!(all.as_array().map(Vec::len), Some(3));
    assert_eq!(all[0]["image"], "web:2");
    assert_eq!(all[0]["env"], json!([{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]));
    assert_eq!(all[0]["ports"][0]["name"], "http");
    assert_eq!(all[0]["ports"].as_array().map(Vec::len), Some(2));

    let patch =
        strategic(json!([{"name": "side", "$patch": "delete"}, {"name": "gone", "$patch": "delete"}]));
    world.patch(&deployments(), "d", &patch).expect("patched");
    let names: Vec<_> =
        containers(&world).as_array().into_iter().flatten().map(|c| c["name"].clone()).collect();
    assert_eq!(names, [json!("web"), json!("third")]);

    let patch = Patch::Strategic(json!({"spec": {"template": {"spec": {
        "$setElementOrder/containers": [{"name": "third"}, {"name": "web"}],
        "containers": [{"name": "web", "image": "web:3"}],
    }}}}));
    world.patch(&deployments(), "d", &patch).expect("patched");
    assert_eq!(containers(&world)[0]["name"], "third");

    let patch = strategic(json!([{"$patch": "replace"}, {"name": "only", "image": "only:1"}]));
    world.patch(&deployments(), "d", &patch).expect("patched");
    assert_eq!(containers(&world).as_array().map(Vec::len), Some(1));

    for (garbage, code) in [
        (strategic(json!([{"image": "no key"}])), 400),
        (Patch::Strategic(json!({"spec": {"$patch": "shout"}})), 400),
        (Patch::Strategic(json!([])), 400),
    ] {
        assert_eq!(refusal(world.patch(&deployments(), "d", &garbage)).0, code, "{garbage:?}");
    }
}

#[test]
fn strategic_patches_treat_finalizers_as_a_set_and_conditions_by_type() {
    let mut world = World::new();
    let mut object = pod("p");
    object["metadata"]["finalizers"] = json!(["x.io/a", "x.io/b"]);
    world.create(&pods(), object).expect("made");
    let patch = Patch::Strategic(json!({"metadata": {
        "finalizers": ["x.io/c"], "$deleteFromPrimitiveList/finalizers": ["x.io/a"],
    }}));
    let after = world.patch(&pods(), "p", &patch).expect("patched");
    assert_eq!(after["metadata"]["finalizers"], json!(["x.io/b", "x.io/c"]));
    for (kind, status) in [("Ready", "False"), ("PodScheduled", "True"), ("Ready", "True")] {
        let patch = Patch::Strategic(json!({"status": {"conditions": [{"type": kind, "status": status}]}}));
        world.patch(&pods().subresource("status"), "p", &patch).expect("patched");
    }
    let conditions = world.get(&pods(), "p").expect("there")["status"]["conditions"].clone();
    assert_eq!(
        conditions,
        json!([{"type": "Ready", "status": "True"}, {"type": "PodScheduled", "status": "True"}])
    );
}

// FAKE-06, FK-09
#[test]
fn apply_makes_merges_and_removes_what_is_no_longer_said() {
    let mut world = World::new();
    let map = |data: Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data});
    let made = world.apply(&maps(), "one", &map(json!({"x": "1", "y": "1"}))).expect("made");
    assert_eq!(made["data"], json!({"x": "1", "y": "1"}));
    let entry = &made["metadata"]["managedFields"][0];
    assert_eq!((&entry["manager"], &entry["operation"]), (&json!("one"), &json!("Apply")));
    assert_eq!(entry["fieldsV1"], json!({"f:data": {"f:x": {}, "f:y": {}}}));

    world.patch(&maps(), "a", &Patch::Merge(json!({"data": {"z": "9"}}))).expect("patched by another");
    let after = world.apply(&maps(), "one", &map(json!({"x": "2"}))).expect("applied");
    assert_eq!(after["data"], json!({"x": "2", "z": "9"}), "y is gone, z is another's");

    let version = world.core.version();
    world.apply(&maps(), "one", &map(json!({"x": "2"}))).expect("nothing to do");
    assert_eq!(world.core.version(), version);

    world.apply(&maps(), "two", &map(json!({"x": "2"}))).expect("the same value is shared");
    let after = world.apply(&maps(), "one", &map(json!({}))).expect("applied");
    assert_eq!(after["data"]["x"], "2", "two still says it");
}

// FAKE-06, FK-09
#[test]
fn apply_conflicts_name_manager_and_field_and_force_takes_over() {
    let mut world = World::new();
    let map = |data: Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data});
    world.apply(&maps(), "one", &map(json!({"x": "1"}))).expect("made");
    let refused = world.apply(&maps(), "two", &map(json!({"x": "2"}))).expect_err("a conflict");
    assert_eq!(refused.code(), 409);
    assert_eq!(refused.to_string(), "Apply failed with 1 conflict: conflict with \"one\" using v1: .data.x");
    let cause = refused.status().details.as_ref().expect("details").causes[0].clone();
    assert_eq!(
        (cause.reason.as_deref(), cause.field.as_deref()),
        (Some("FieldManagerConflict"), Some(".data.x"))
    );
    let now = world.now;
    let options = PatchOptions::apply("two").force();
    let forced =
        world.core.patch(&maps(), "a", &Patch::Apply(map(json!({"x": "2"}))), &options, now).expect("forced");
    assert_eq!(forced.object.value()["data"]["x"], "2");
    assert_eq!(refusal(world.apply(&maps(), "one", &map(json!({"x": "1"})))).0, 409, "two has it now");
}

#[test]
fn apply_merges_keyed_lists_and_owns_items() {
    let mut world = World::new();
    let with = |containers: Value| {
        let mut object = deployment("d");
        object["apiVersion"] = json!("apps/v1");
        object["kind"] = json!("Deployment");
        object["spec"]["template"]["spec"]["containers"] = containers;
        object
    };
    let (web, side) = (json!({"name": "web", "image": "web:1"}), json!({"name": "side", "image": "side:1"}));
    world.apply(&deployments(), "one", &with(json!([web, side]))).expect("made");
    world.apply(&deployments(), "two", &with(json!([{"name": "extra", "image": "extra:1"}]))).expect("added");
    let after = world.apply(&deployments(), "one", &with(json!([web]))).expect("applied");
    let containers = after["spec"]["template"]["spec"]["containers"].as_array().expect("a list");
    let names: Vec<_> = containers.iter().map(|item| item["name"].clone()).collect();
    assert_eq!(names, [json!("web"), json!("extra")]);
    let refused = world.apply(&deployments(), "two", &with(json!([{"name": "web", "image": "other:1"}])));
    let message = refusal(refused).2;
    assert!(message.contains(".spec.template.spec.containers[name=\"web\"].image"), "{message}");
}

#[test]
fn apply_needs_a_manager_a_kind_and_no_ownership_of_its_own() {
    let mut world = World::new();
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
    let now = world.now;
    let nobody = world.core.patch(&maps(), "a", &Patch::Apply(map.clone()), &PatchOptions::default(), now);
    assert_eq!(refusal(nobody).0, 422);
    let mut owned = map.clone();
    owned["metadata"]["managedFields"] = json!([{}]);
    assert_eq!(refusal(world.apply(&maps(), "one", &owned)).0, 400);
    let mut kindless = map.clone();
    kindless.as_object_mut().expect("an object").remove("kind");
    assert_eq!(refusal(world.apply(&maps(), "one", &kindless)).0, 400);
    let mut identified = map.clone();
    identified["metadata"]["uid"] = json!("x");
    assert_eq!(refusal(world.apply(&maps(), "one", &identified)).0, 409);
    let mut versioned = map;
    versioned["metadata"]["resourceVersion"] = json!("1");
    assert!(world.apply(&maps(), "one", &versioned).is_ok(), "there is nothing to compare it with");
    let forced = PatchOptions::default().force();
    let merge = world.core.patch(&maps(), "a", &Patch::Merge(json!({})), &forced, now);
    assert_eq!(refusal(merge).0, 422);
}

#[test]
fn ordinary_writes_own_what_they_change() {
    let mut world = World::new();
    let mut options = apimachinery::CreateOptions::default();
    options.field_manager = Some("maker".to_owned());
    let now = world.now;
    let object = json!({"metadata": {"name": "a"}, "data": {"x": "1", "y": "1"}});
    world.core.create(&maps(), object, &options, now).expect("made");
    options.field_manager = Some("changer".to_owned());
    let object = json!({"metadata": {"name": "a"}, "data": {"x": "2", "y": "1"}});
    let after = world.core.update(&maps(), "a", object, &options, now).expect("updated").object.value();
    let owners: Vec<_> = after["metadata"]["managedFields"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|entry| (entry["manager"].clone(), entry["fieldsV1"].clone()))
        .collect();
    assert_eq!(
        owners,
        [
            (json!("changer"), json!({"f:data": {"f:x": {}}})),
            (json!("maker"), json!({"f:data": {"f:y": {}}})),
        ]
    );
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"x": "3"}});
    let message = refusal(world.apply(&maps(), "applier", &map)).2;
    assert!(message.contains("conflict with \"changer\" using v1"), "{message}");
}
