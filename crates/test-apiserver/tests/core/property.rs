use std::collections::BTreeMap;
use std::time::Duration;

use apimachinery::{ListOptions, ResourceVersionMatch};
use proptest::prelude::*;
use serde_json::{Value, json};
use steersman_test_apiserver::core::{CoreOptions, Polled, WatchFrame, WatchId};

use crate::world::{World, asking, maps};

/// One step of a client's life.
#[derive(Debug, Clone)]
enum Step {
    Put { name: u8, label: bool, data: u8 },
    Delete(u8),
    Watch { selected: bool, streamed: bool },
    Read(u8),
    Pass,
    Skip,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        5 => (0..6_u8, any::<bool>(), 0..3_u8).prop_map(|(name, label, data)| Step::Put { name, label, data }),
        2 => (0..6_u8).prop_map(Step::Delete),
        1 => (any::<bool>(), any::<bool>()).prop_map(|(selected, streamed)| Step::Watch { selected, streamed }),
        2 => (0..8_u8).prop_map(Step::Read),
        1 => Just(Step::Pass),
        1 => Just(Step::Skip),
    ]
}

type Mirror = BTreeMap<String, Value>;

fn options(selected: bool) -> ListOptions {
    let mut options = asking("");
    options.label_selector = selected.then(|| "l=true".to_owned());
    options
}

fn listed(world: &World, selected: bool) -> Mirror {
    let answer = world.list(&maps(), &options(selected)).expect("a list");
    answer.items.iter().map(|item| (item.key(), item.value())).collect()
}

/// Reads at most `frames` frames into the mirror; versions never go back.
fn read(world: &mut World, id: WatchId, mirror: &mut Mirror, last: &mut u64, frames: usize) {
    for _ in 0..frames {
        let Polled::Frame(frame) = world.core.poll_event(id) else { return };
        let version = match &frame {
            WatchFrame::Added(it) => {
                assert!(mirror.insert(it.key(), it.value()).is_none(), "added twice: {}", it.key());
                it.resource_version()
            }
            WatchFrame::Modified(it) => {
                assert!(
                    mirror.insert(it.key(), it.value()).is_some(),
                    "modified but not added: {}",
                    it.key()
                );
                it.resource_version()
            }
            WatchFrame::Deleted(it) => {
                assert!(mirror.remove(&it.key()).is_some(), "deleted but not added: {}", it.key());
                it.resource_version()
            }
            WatchFrame::Bookmark(it) => it.resource_version,
            WatchFrame::Error(refusal) => panic!("{refusal}"),
        };
        // The initial state comes in the order of keys; what follows, in the order of versions.
        *last = (*last).max(version);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    // FK-06, CACHE-W-08
    #[test]
    fn a_watchers_mirror_becomes_the_list(steps in prop::collection::vec(step(), 1..80)) {
        let mut world = World::with(CoreOptions { history: 1000, ..CoreOptions::default() });
        let mut watches: Vec<(WatchId, bool, Mirror, u64)> = Vec::new();
        for step in steps {
            match step {
                Step::Put { name, label, data } => {
                    let object = json!({
                        "metadata": {"name": format!("m{name}"), "labels": {"l": label.to_string()}},
                        "data": {"k": data.to_string()},
                    });
                    if world.create(&maps(), object.clone()).is_err() {
                        world.update(&maps(), object).expect("an update");
                    }
                }
                Step::Delete(name) => {
                    let _ = world.delete(&maps(), &format!("m{name}"));
                }
                Step::Watch { selected, streamed } => {
                    let mut options = options(selected);
                    options.allow_watch_bookmarks = true;
                    let mut mirror = Mirror::new();
                    if streamed {
                        options.send_initial_events = Some(true);
                        options.resource_version_match = Some(ResourceVersionMatch::NotOlderThan);
                    } else {
                        mirror = listed(&world, selected);
                        options.resource_version = world.core.version().to_string().into();
                    }
                    let id = world.watch(&maps(), &options);
                    watches.push((id, selected, mirror, 0));
                }
                Step::Read(frames) => {
                    for (id, _, mirror, last) in &mut watches {
                        read(&mut world, *id, mirror, last, usize::from(frames));
                    }
                }
                Step::Pass => world.pass(Duration::from_secs(30)),
                Step::Skip => world.core.skip_versions(3),
            }
        }
        for (id, selected, mirror, last) in &mut watches {
            read(&mut world, *id, mirror, last, usize::MAX);
            prop_assert_eq!(&*mirror, &listed(&world, *selected));
        }
    }

    // REST-OP-06
    #[test]
    fn pages_under_writes_are_the_list_as_it_was(
        limit in 1..5_u32,
        before in prop::collection::vec((0..12_u8, 0..3_u8), 0..20),
        during in prop::collection::vec((0..12_u8, any::<bool>()), 0..30),
    ) {
        let mut world = World::new();
        let put = |world: &mut World, name: u8, data: u8| {
            let object = json!({"metadata": {"name": format!("m{name}")}, "data": {"k": data.to_string()}});
            if world.create(&maps(), object.clone()).is_err() {
                world.update(&maps(), object).expect("an update");
            }
        };
        for (name, data) in before {
            put(&mut world, name, data);
        }
        let expected = listed(&world, false);
        let mut during = during.into_iter();
        let mut options = asking("");
        options.limit = limit;
        let mut seen = Mirror::new();
        let mut left = None;
        for _ in 0..20 {
            let page = world.list(&maps(), &options).expect("a page");
            if let Some(left) = left {
                prop_assert_eq!(page.items.len() as u64 + page.remaining.unwrap_or(0), left);
            }
            left = page.remaining;
            for item in &page.items {
                prop_assert!(seen.insert(item.key(), item.value()).is_none());
            }
            options.continue_token = page.continue_token;
            if options.continue_token.is_none() {
                break;
            }
            for (name, delete) in during.by_ref().take(4) {
                if delete {
                    let _ = world.delete(&maps(), &format!("m{name}"));
                } else {
                    put(&mut world, name, 9);
                }
            }
        }
        prop_assert_eq!(options.continue_token, None);
        prop_assert_eq!(seen, expected);
    }

    #[test]
    fn no_body_makes_the_core_panic(body in json_value(), name in "[a-z]{1,3}") {
        let mut world = World::new();
        for (version, plural) in [("v1", "pods"), ("v1", "services"), ("apps/v1", "deployments"), ("v1", "secrets"),
            ("batch/v1", "cronjobs"), ("v1", "namespaces"), ("apiextensions.k8s.io/v1", "customresourcedefinitions")]
        {
            let mut target = steersman_test_apiserver::core::Target::new(version, plural);
            if !matches!(plural, "namespaces" | "customresourcedefinitions") {
                target = target.namespaced("default");
            }
            let mut object = json!({"metadata": {"name": name}, "spec": body, "status": body, "data": body});
            let _ = world.create(&target, object.clone());
            object["metadata"] = body.clone();
            let _ = world.create(&target, object.clone());
            for patch in [
                apimachinery::Patch::Merge(object.clone()),
                apimachinery::Patch::Strategic(object.clone()),
                apimachinery::Patch::Json(object.clone()),
                apimachinery::Patch::Merge(body.clone()),
                apimachinery::Patch::Strategic(body.clone()),
                apimachinery::Patch::Json(body.clone()),
            ] {
                let _ = world.patch(&target, &name, &patch);
                let _ = world.patch(&target.clone().subresource("scale"), &name, &patch);
                let _ = world.patch(&target.clone().subresource("status"), &name, &patch);
            }
            let _ = world.apply(&target, "fuzz", &object);
            let _ = world.update(&target, object);
            let _ = world.delete(&target, &name);
        }
    }
}

/// Values in the words that the core looks for.
fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-z./]{0,4}".prop_map(Value::from),
    ];
    let word = prop::sample::select(vec![
        "template",
        "spec",
        "containers",
        "ports",
        "name",
        "port",
        "metadata",
        "labels",
        "finalizers",
        "names",
        "versions",
        "schema",
        "openAPIV3Schema",
        "group",
        "kind",
        "plural",
        "type",
        "strategy",
        "$patch",
        "$retainKeys",
        "conditions",
        "$setElementOrder/ports",
        "ownerReferences",
        "managedFields",
        "fieldsV1",
        "env",
        "data",
        "stringData",
    ]);
    leaf.prop_recursive(5, 24, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map(word.clone(), inner, 0..4)
                .prop_map(|map| map.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()),
        ]
    })
}
