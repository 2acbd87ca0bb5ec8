use apimachinery::{CreateOptions, FieldValidation, Patch};
use serde_json::{Value, json};
use steersman_test_apiserver::core::Target;

use crate::world::{World, asking, refusal};

fn definitions() -> Target {
    Target::new("apiextensions.k8s.io/v1", "customresourcedefinitions")
}

fn widgets() -> Target {
    Target::new("example.com/v1", "widgets").namespaced("default")
}

fn definition() -> Value {
    let schema = json!({"type": "object", "properties": {
        "spec": {"type": "object", "required": ["size"], "properties": {
            "size": {"type": "integer", "minimum": 1},
            "color": {"type": "string", "enum": ["red", "blue"], "default": "red"},
            "replicas": {"type": "integer"},
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
            "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
        }},
        "status": {"type": "object", "properties": {"replicas": {"type": "integer"}}},
    }});
    let version = |name: &str, storage: bool| {
        json!({"name": name, "served": true, "storage": storage, "schema": {"openAPIV3Schema": schema},
               "selectableFields": [{"jsonPath": ".spec.color"}],
               "subresources": {"status": {}, "scale": {
                   "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}}})
    };
    json!({"metadata": {"name": "widgets.example.com"}, "spec": {
        "group": "example.com", "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget", "shortNames": ["wd"]},
        "versions": [version("v1", true), version("v2", false)],
    }})
}

fn widget(name: &str) -> Value {
    json!({"metadata": {"name": name}, "spec": {"size": 1}})
}

fn established() -> World {
    let mut world = World::new();
    world.create(&definitions(), definition()).expect("made");
    world
}

#[test]
fn a_definition_makes_its_resources_and_says_so_in_its_status() {
    let world = established();
    let made = world.get(&definitions(), "widgets.example.com").expect("there");
    let conditions: Vec<_> = made["status"]["conditions"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|condition| (condition["type"].as_str().unwrap_or_default(), condition["status"] == "True"))
        .collect();
    assert_eq!(conditions, [("NamesAccepted", true), ("Established", true)]);
    assert_eq!(made["status"]["storedVersions"], json!(["v1"]));
    assert_eq!(made["status"]["acceptedNames"]["kind"], "Widget");
    let resource = world.core.resource("example.com", "v1", "widgets").expect("served");
    assert_eq!((resource.singular.as_str(), resource.list_kind.as_str()), ("widget", "WidgetList"));
    assert_eq!(
        (&resource.short_names, &resource.subresources),
        (&vec!["wd".to_owned()], &vec!["scale".to_owned(), "status".to_owned()])
    );
    assert!(world.core.resource("example.com", "v2", "widgets").is_some());
}

#[test]
fn the_schema_drops_fills_and_refuses() {
    let mut world = established();
    let mut object = widget("a");
    object["spec"]["unknown"] = json!(1);
    object["spec"]["free"] = json!({"anything": {"goes": 1}});
    object["status"] = json!({"replicas": 5});
    let made = world.create(&widgets(), object.clone()).expect("made").object.value();
    assert_eq!(made["spec"], json!({"size": 1, "color": "red", "free": {"anything": {"goes": 1}}}));
    assert_eq!(made["status"], Value::Null);
    let mut options = CreateOptions::default();
    options.field_validation = Some(FieldValidation::Strict);
    let now = world.now;
    let (code, _, message) = refusal(world.core.create(&widgets(), object, &options, now));
    assert_eq!(code, 400);
    assert!(message.contains("strict decoding error: unknown field \"spec.unknown\""), "{message}");
    for (spec, words) in [
        (json!({}), "spec.size: Required value"),
        (json!({"size": "big"}), "spec.size in body must be of type integer: \"string\""),
        (json!({"size": 0}), "spec.size in body should be greater than or equal to 1"),
        (
            json!({"size": 1, "color": "green"}),
            "spec.color: Unsupported value: \"green\": supported values: \"red\", \"blue\"",
        ),
    ] {
        let (code, _, message) =
            refusal(world.create(&widgets(), json!({"metadata": {"name": "b"}, "spec": spec})));
        assert_eq!(code, 422);
        assert!(message.starts_with("Widget.example.com \"b\" is invalid: "), "{message}");
        assert!(message.contains(words), "{message}");
    }
}

#[test]
fn a_custom_resource_has_a_generation_a_status_and_a_scale() {
    let mut world = established();
    let mut object = world.create(&widgets(), widget("a")).expect("made").object.value();
    assert_eq!(object["metadata"]["generation"], 1);
    object["spec"]["size"] = json!(2);
    object["status"] = json!({"replicas": 3});
    let mut object = world.update(&widgets(), object).expect("updated");
    assert_eq!((&object["metadata"]["generation"], &object["status"]), (&json!(2), &Value::Null));
    object["spec"]["size"] = json!(9);
    object["metadata"]["labels"] = json!({"not": "taken"});
    object["status"] = json!({"replicas": 3});
    let object = world.update(&widgets().subresource("status"), object).expect("updated");
    assert_eq!((&object["spec"]["size"], &object["metadata"]["labels"]), (&json!(2), &Value::Null));
    assert_eq!((&object["metadata"]["generation"], &object["status"]["replicas"]), (&json!(2), &json!(3)));
    let scale =
        world.patch(&widgets().subresource("scale"), "a", &Patch::Merge(json!({"spec": {"replicas": 7}})));
    assert_eq!(scale.expect("scaled")["status"]["replicas"], 3);
    assert_eq!(world.get(&widgets(), "a").expect("there")["spec"]["replicas"], 7);
}

#[test]
fn a_custom_resource_cannot_be_overwritten_without_a_version_or_patched_strategically() {
    let mut world = established();
    world.create(&widgets(), widget("a")).expect("made");
    assert_eq!(refusal(world.update(&widgets(), widget("a"))).0, 422);
    let (code, reason, _) = refusal(world.patch(&widgets(), "a", &Patch::Strategic(json!({}))));
    assert_eq!((code, reason.as_str()), (415, "UnsupportedMediaType"));
}

#[test]
fn every_served_version_shows_the_same_objects() {
    let mut world = established();
    world.create(&widgets(), widget("a")).expect("made");
    let second = Target::new("example.com/v2", "widgets").namespaced("default");
    let id = world.watch(&second, &asking("0"));
    let seen = world.get(&second, "a").expect("there");
    assert_eq!(seen["apiVersion"], "example.com/v2");
    let mut changed = seen;
    changed["spec"]["size"] = json!(4);
    world.update(&second, changed).expect("updated");
    assert_eq!(world.get(&widgets(), "a").expect("there")["apiVersion"], "example.com/v1");
    assert_eq!(world.frames(id).len(), 2);
    let mut options = asking("");
    options.field_selector = Some("spec.color=red".to_owned());
    assert_eq!(world.list(&second, &options).expect("a list").items.len(), 1);
}

#[test]
fn apply_follows_the_list_types_of_the_schema() {
    let mut world = established();
    let tagged = |tags: Value| {
        json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"},
               "spec": {"size": 1, "tags": tags}})
    };
    world.apply(&widgets(), "one", &tagged(json!(["x", "y"]))).expect("made");
    world.apply(&widgets(), "two", &tagged(json!(["z"]))).expect("added");
    let after = world.apply(&widgets(), "one", &tagged(json!(["x"]))).expect("applied");
    assert_eq!(after["spec"]["tags"], json!(["x", "z"]));
}

#[test]
fn a_definition_that_goes_takes_its_objects_and_ends_their_watches() {
    let mut world = established();
    let mut held = widget("held");
    held["metadata"]["finalizers"] = json!(["x.io/held"]);
    world.create(&widgets(), held).expect("made");
    world.create(&widgets(), widget("free")).expect("made");
    let id = world.watch(&widgets(), &asking(&world.core.version().to_string()));
    assert!(!world.delete(&definitions(), "widgets.example.com").expect("marked").is_gone);
    assert_eq!(refusal(world.get(&widgets(), "free")).0, 404);
    let refused = world.create(&widgets(), widget("late"));
    assert_eq!(refusal(refused).0, 405);
    let mut held = world.get(&widgets(), "held").expect("held");
    held["metadata"]["finalizers"] = json!([]);
    world.update(&widgets(), held).expect("let go");
    assert_eq!(refusal(world.get(&definitions(), "widgets.example.com")).0, 404);
    assert!(world.core.resource("example.com", "v1", "widgets").is_none());
    let told = world.frames(id);
    assert_eq!(told.last().map(String::as_str), Some("ENDED"));
    assert_eq!(told.iter().filter(|frame| frame.starts_with("DELETED")).count(), 2, "{told:?}");
    world.create(&definitions(), definition()).expect("made again");
    assert_eq!(world.list(&widgets(), &asking("")).expect("a list").items.len(), 0);
}

#[test]
fn a_definition_that_is_wrong_makes_nothing() {
    let mut world = World::new();
    for (path, value) in [
        ("/metadata/name", json!("other.example.com")),
        ("/spec/group", json!("nodots")),
        ("/spec/scope", json!("Galaxy")),
        ("/spec/versions", json!([])),
        ("/spec/versions/0/storage", json!(false)),
        ("/spec/versions/0/schema", json!({})),
        ("/spec/names", json!("x")),
        ("/spec/versions", json!("x")),
    ] {
        let mut object = definition();
        *object.pointer_mut(path).expect("a place") = value;
        assert_eq!(refusal(world.create(&definitions(), object)).0, 422, "{path}");
    }
    assert!(world.core.resource("example.com", "v1", "widgets").is_none());
}
