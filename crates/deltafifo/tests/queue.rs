//! The core as tables and against a model.

use std::collections::HashSet;
use std::num::NonZeroUsize;
use std::sync::Arc;

use apimachinery::{Object, ObjectKey, Unreadable};
use deltafifo::{Batch, Delta, DeltaFifo, Keyed, MAX_BATCH, ObjectDelta};
use k8s_openapi::api::core::v1::ConfigMap;
use proptest::prelude::*;
use steersman_deltafifo as deltafifo;

fn object(name: &str, version: u32) -> Arc<ConfigMap> {
    let mut object = ConfigMap::default();
    object.metadata.name = Some(name.to_owned());
    object.metadata.namespace = Some("default".to_owned());
    object.metadata.resource_version = Some(version.to_string());
    Arc::new(object)
}

fn queue(capacity: usize) -> DeltaFifo<ConfigMap> {
    DeltaFifo::new(NonZeroUsize::new(capacity).expect("a capacity"))
}

/// One word a delta: `added default/a@1`.
fn words(batch: &Batch<ConfigMap>) -> Vec<String> {
    let version = |object: &Arc<ConfigMap>| object.resource_version().to_owned();
    match batch {
        Batch::Objects(deltas) => deltas
            .iter()
            .map(|Keyed { key, delta }| match delta {
                ObjectDelta::Added(object) => format!("added {key}@{}", version(object)),
                ObjectDelta::Updated(object) => format!("updated {key}@{}", version(object)),
                ObjectDelta::Deleted(Some(object)) => format!("deleted {key}@{}", version(object)),
                ObjectDelta::Deleted(None) => format!("deleted {key}"),
            })
            .collect(),
        Batch::Replaced { items, resource_version, .. } => {
            let names: Vec<_> = items.iter().map(|object| object.name().to_owned()).collect();
            vec![format!("replaced {}@{resource_version}", names.join(","))]
        }
        Batch::Bookmark(version) => vec![format!("bookmark {version}")],
    }
}

fn drain(queue: &mut DeltaFifo<ConfigMap>) -> Vec<Vec<String>> {
    std::iter::from_fn(|| queue.pop_batch()).map(|batch| words(&batch)).collect()
}

fn replaced(names: &[&str], version: &str) -> Delta<ConfigMap> {
    let items = names.iter().map(|name| object(name, 1)).collect();
    Delta::Replaced { items, unreadable: Unreadable::default(), resource_version: version.into() }
}

// CACHE-Q-05, CACHE-Q-09, CACHE-Z-02
#[test]
fn deltas_come_out_in_the_order_they_went_in_and_none_is_merged() {
    let mut queue = queue(100);
    queue.push(Delta::Added(object("foo", 1))).expect("room");
    queue.push(Delta::Updated(object("foo", 2))).expect("room");
    queue.push(Delta::Updated(object("bar", 3))).expect("room");
    queue.push(Delta::Deleted(object("foo", 4))).expect("room");
    queue.push(Delta::Deleted(object("never seen", 5))).expect("room");
    queue.push(Delta::DeletedKey(ObjectKey::new("default", "unreadable"))).expect("room");
    let all: Vec<_> = drain(&mut queue).concat();
    assert_eq!(
        all,
        [
            "added default/foo@1",
            "updated default/foo@2",
            "updated default/bar@3",
            "deleted default/foo@4",
            "deleted default/never seen@5",
            "deleted default/unreadable",
        ]
    );
}

// CACHE-Q-14
#[test]
fn a_repeated_key_ends_the_batch_before_the_repeat() {
    for (names, batches) in [
        (vec!["a", "b", "c"], vec![vec!["a", "b", "c"]]),
        (vec!["a", "a", "b"], vec![vec!["a"], vec!["a", "b"]]),
        (vec!["a", "b", "a", "b", "c"], vec![vec!["a", "b"], vec!["a", "b", "c"]]),
        (vec!["a", "b", "b"], vec![vec!["a", "b"], vec!["b"]]),
    ] {
        let mut queue = queue(100);
        for (version, name) in (1..).zip(&names) {
            queue.push(Delta::Updated(object(name, version))).expect("room");
        }
        let found: Vec<Vec<String>> = std::iter::from_fn(|| queue.pop_batch())
            .map(|batch| match batch {
                Batch::Objects(deltas) => deltas.iter().map(|keyed| keyed.key.name().to_owned()).collect(),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(found, batches, "{names:?}");
    }
}

// CACHE-Q-14
#[test]
fn a_deletion_by_key_counts_as_its_key() {
    let mut queue = queue(10);
    queue.push(Delta::DeletedKey(ObjectKey::new("default", "a"))).expect("room");
    queue.push(Delta::Added(object("a", 2))).expect("room");
    assert_eq!(drain(&mut queue), [vec!["deleted default/a"], vec!["added default/a@2"]]);
}

// CACHE-Q-01, CACHE-Q-13, CACHE-Q-15, CACHE-Q-22
#[test]
fn a_replaced_collection_and_a_bookmark_are_batches_of_their_own() {
    let mut queue = queue(100);
    queue.push(replaced(&[], "5")).expect("room");
    queue.push(Delta::Added(object("a", 1))).expect("room");
    queue.push(Delta::Bookmark("7".into())).expect("room");
    queue.push(Delta::Bookmark("8".into())).expect("room");
    queue.push(Delta::Added(object("b", 2))).expect("room");
    queue.push(Delta::Added(object("c", 3))).expect("room");
    queue.push(replaced(&["a", "b"], "9")).expect("room");
    queue.push(replaced(&["c"], "10")).expect("room");
    assert_eq!(
        drain(&mut queue),
        [
            vec!["replaced @5"],
            vec!["added default/a@1"],
            vec!["bookmark 7"],
            vec!["bookmark 8"],
            vec!["added default/b@2", "added default/c@3"],
            vec!["replaced a,b@9"],
            vec!["replaced c@10"],
        ]
    );
}

// CACHE-Q-09
#[test]
fn what_precedes_a_replaced_collection_is_not_dropped() {
    let mut queue = queue(100);
    queue.push(Delta::Deleted(object("foo", 1))).expect("room");
    queue.push(replaced(&["foo"], "2")).expect("room");
    assert_eq!(drain(&mut queue), [vec!["deleted default/foo@1"], vec!["replaced foo@2"]]);
}

// CACHE-Q-13
#[test]
fn a_batch_has_at_most_a_thousand_deltas() {
    let mut queue = queue(5000);
    for version in 0..2500 {
        queue.push(Delta::Added(object(&version.to_string(), version))).expect("room");
    }
    let sizes: Vec<_> = drain(&mut queue).iter().map(Vec::len).collect();
    assert_eq!(sizes, [MAX_BATCH, MAX_BATCH, 500]);
}

// CACHE-Q-23
#[test]
fn a_full_queue_gives_the_delta_back_and_stays_as_it_was() {
    let mut queue = queue(2);
    queue.push(Delta::Added(object("a", 1))).expect("room");
    queue.push(Delta::Added(object("b", 2))).expect("room");
    assert!(queue.is_full());
    let Err(deltafifo::Full(Delta::Added(back))) = queue.push(Delta::Added(object("c", 3))) else {
        panic!("there was room");
    };
    assert_eq!(back.name(), "c");
    assert_eq!(drain(&mut queue), [vec!["added default/a@1", "added default/b@2"]]);
    assert!(queue.is_empty());
    queue.push(Delta::Added(back)).expect("room again");
}

// CACHE-Q-19
#[test]
fn the_queue_keeps_nothing_of_what_was_taken() {
    let mut queue = queue(10);
    let watched = object("a", 1);
    let weak = Arc::downgrade(&watched);
    queue.push(Delta::Added(watched)).expect("room");
    queue.push(Delta::Added(object("b", 1))).expect("room");
    drop(queue.pop_batch());
    assert!(weak.upgrade().is_none());
}

#[derive(Debug, Clone)]
enum Step {
    Push(u8, u8),
    Bookmark,
    Replaced,
    Pop,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0..4_u8, 0..6_u8).prop_map(|(kind, key)| Step::Push(kind, key)),
        1 => Just(Step::Bookmark),
        1 => Just(Step::Replaced),
        3 => Just(Step::Pop),
    ]
}

fn delta_of(step: &Step, version: u32) -> Delta<ConfigMap> {
    match step {
        Step::Push(0, key) => Delta::Added(object(&key.to_string(), version)),
        Step::Push(1, key) => Delta::Updated(object(&key.to_string(), version)),
        Step::Push(2, key) => Delta::Deleted(object(&key.to_string(), version)),
        Step::Push(_, key) => Delta::DeletedKey(ObjectKey::new("default", &key.to_string())),
        Step::Bookmark => Delta::Bookmark(version.to_string().into()),
        Step::Replaced | Step::Pop => replaced(&["x"], &version.to_string()),
    }
}

proptest! {
    // CACHE-Q-09, CACHE-Q-13, CACHE-Q-14, CACHE-Q-23
    #[test]
    fn whatever_is_done_it_is_a_bounded_list_in_order(steps in prop::collection::vec(step(), 0..200)) {
        let capacity = 16;
        let mut queue = queue(capacity);
        let mut model: Vec<String> = Vec::new();
        let mut taken: Vec<String> = Vec::new();
        let mut given: Vec<String> = Vec::new();
        for (version, step) in (1..).zip(steps) {
            if let Step::Pop = step {
                match queue.pop_batch() {
                    None => prop_assert!(model.is_empty()),
                    Some(batch) => {
                        if let Batch::Objects(deltas) = &batch {
                            let keys: HashSet<_> = deltas.iter().map(|keyed| &keyed.key).collect();
                            prop_assert_eq!(keys.len(), deltas.len());
                        }
                        let words = words(&batch);
                        prop_assert!(!words.is_empty());
                        prop_assert_eq!(&words[..], &model[..words.len()]);
                        model.drain(..words.len());
                        taken.extend(words);
                    }
                }
                continue;
            }
            let delta = delta_of(&step, version);
            let mut one = DeltaFifo::new(NonZeroUsize::MIN);
            one.push(delta.clone()).expect("room for one");
            let word = drain(&mut one).concat();
            if queue.push(delta).is_ok() {
                model.extend(word.clone());
                given.extend(word);
            } else {
                prop_assert_eq!(model.len(), capacity);
            }
            prop_assert_eq!(queue.len(), model.len());
        }
        taken.extend(drain(&mut queue).concat());
        prop_assert_eq!(taken, given);
    }
}
