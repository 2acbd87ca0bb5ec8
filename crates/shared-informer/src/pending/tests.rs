//! The table of the module, and a listener's mirror against the truth.

use std::collections::BTreeMap;
use std::sync::Arc;

use apimachinery::{Head, ObjectKey};
use proptest::prelude::*;

use super::Pending;
use crate::{Deleted, Notification};

#[derive(Debug, serde::Deserialize)]
struct Thing {
    metadata: Head,
}
apimachinery::object!(Thing);

fn thing(name: &str, version: u32) -> Arc<Thing> {
    let metadata = serde_json::json!({ "name": name, "resourceVersion": version.to_string() });
    Arc::new(serde_json::from_value(serde_json::json!({ "metadata": metadata })).unwrap())
}

/// What is told, and what a listener that keeps up knew.
type Told = (Notification<Thing>, Option<Arc<Thing>>);

fn added(version: u32) -> Told {
    (Notification::Added { object: thing("a", version), is_in_initial_list: false }, None)
}

fn initial(version: u32) -> Told {
    (Notification::Added { object: thing("a", version), is_in_initial_list: true }, None)
}

fn updated(old: u32, new: u32) -> Told {
    let old = thing("a", old);
    (Notification::Updated { old: old.clone(), new: thing("a", new) }, Some(old))
}

/// Deleted at `version`; the cache had the version before.
fn deleted(version: u32) -> Told {
    (Notification::Deleted(Deleted::Observed(thing("a", version))), Some(thing("a", version - 1)))
}

fn missed(version: Option<u32>) -> Told {
    let last_seen = version.map(|version| thing("a", version));
    let deleted = Deleted::FinalStateUnknown { key: ObjectKey::cluster("a"), last_seen: last_seen.clone() };
    (Notification::Deleted(deleted), last_seen)
}

fn told(pushed: impl IntoIterator<Item = Told>) -> Vec<String> {
    let mut pending = Pending::default();
    for (notification, known) in pushed {
        pending.push(notification, known);
    }
    std::iter::from_fn(|| pending.pop()).map(|notification| format!("{notification:?}")).collect()
}

// CACHE-Z-01, CACHE-Z-05, CACHE-Z-12
#[test]
fn what_waits_merges_as_the_table_says() {
    let table = [
        (vec![added(1)], vec!["Added(a@1)"]),
        (vec![initial(1), updated(1, 2)], vec!["Added(a@2, initial)"]),
        (vec![added(1), updated(1, 2), updated(2, 3)], vec!["Added(a@3)"]),
        (vec![added(1), deleted(2)], vec![]),
        (vec![initial(1), updated(1, 2), missed(Some(2))], vec![]),
        (vec![added(1), deleted(2), added(3)], vec!["Added(a@3)"]),
        (vec![updated(1, 2), updated(2, 3)], vec!["Updated(a@1 -> 3)"]),
        (vec![updated(1, 2), updated(2, 2)], vec!["Updated(a@1 -> 2)"]),
        (vec![updated(1, 2), deleted(3)], vec!["Deleted(a@3)"]),
        (vec![updated(1, 2), deleted(3), added(4)], vec!["Updated(a@1 -> 4)"]),
        (vec![deleted(3), added(4)], vec!["Updated(a@2 -> 4)"]),
        (vec![missed(Some(2)), added(4)], vec!["Updated(a@2 -> 4)"]),
        (vec![missed(None), added(4)], vec!["Added(a@4)"]),
        (vec![deleted(3), added(4), deleted(5)], vec!["Deleted(a@5)"]),
        (vec![deleted(3), missed(None)], vec!["Deleted(a, final state unknown, last seen nothing)"]),
        (vec![deleted(3)], vec!["Deleted(a@3)"]),
    ];
    for (pushed, expected) in table {
        let what = format!("{pushed:?}");
        assert_eq!(told(pushed), expected, "{what}");
    }
}

fn push(pending: &mut Pending<Thing>, (notification, known): Told) {
    pending.push(notification, known);
}

// CACHE-I-28
#[test]
fn a_queue_is_caught_up_after_the_last_initial_object_or_what_became_of_it() {
    let mut pending = Pending::default();
    push(&mut pending, initial(1));
    assert!(!pending.is_caught_up());
    pending.end_of_initial_list();
    push(&mut pending, updated(1, 2));
    assert!(!pending.is_caught_up());
    pending.pop();
    assert!(pending.is_caught_up());

    let mut pending = Pending::default();
    push(&mut pending, initial(1));
    pending.end_of_initial_list();
    push(&mut pending, deleted(2));
    assert!(pending.is_caught_up());
    assert_eq!(pending.len(), 0);
}

proptest! {
    // CACHE-Z-01: what a listener knows is always a state that was, and at rest it is the truth.
    #[test]
    fn a_lagging_mirror_becomes_the_truth(steps in prop::collection::vec((0usize..4, 0u8..3), 1..200)) {
        let names = ["a", "b", "c", "d"];
        let mut truth: BTreeMap<&str, Arc<Thing>> = BTreeMap::new();
        let mut mirror: BTreeMap<String, String> = BTreeMap::new();
        let mut pending = Pending::default();
        for (version, (name, step)) in (1u32..).zip(steps) {
            let name = names[name];
            match step {
                0 => {
                    let object = thing(name, version);
                    let known = truth.insert(name, object.clone());
                    pending.push(match known.clone() {
                        None => Notification::Added { object, is_in_initial_list: false },
                        Some(old) => Notification::Updated { old, new: object },
                    }, known);
                }
                1 => if let Some(known) = truth.remove(name) {
                    let deleted = Deleted::Observed(thing(name, version));
                    pending.push(Notification::Deleted(deleted), Some(known));
                },
                _ => if let Some(notification) = pending.pop() {
                    tell(&mut mirror, &notification)?;
                },
            }
            prop_assert!(pending.len() <= names.len());
        }
        while let Some(notification) = pending.pop() {
            tell(&mut mirror, &notification)?;
        }
        let truth: BTreeMap<String, String> =
            truth.into_iter().map(|(name, object)| (name.to_owned(), version(&object))).collect();
        prop_assert_eq!(mirror, truth);
        prop_assert!(pending.places.is_empty());
        prop_assert_eq!(pending.initial, 0);
    }
}

fn version(object: &Thing) -> String {
    apimachinery::Object::resource_version(object).to_owned()
}

/// A listener that checks that what it is told follows from what it knows.
fn tell(mirror: &mut BTreeMap<String, String>, told: &Notification<Thing>) -> Result<(), TestCaseError> {
    let key = told.key().to_string();
    match told {
        Notification::Added { object, .. } => {
            prop_assert!(mirror.insert(key, version(object)).is_none(), "{:?} of a known object", told);
        }
        Notification::Updated { old, new } => {
            prop_assert_eq!(mirror.insert(key, version(new)), Some(version(old)), "{:?}", told);
        }
        Notification::Deleted(_) => {
            prop_assert!(mirror.remove(&key).is_some(), "{:?} of an unknown object", told);
        }
    }
    Ok(())
}

// GN-07
#[test]
fn an_object_that_is_not_told_any_more_is_dropped_by_whoever_told_the_next() {
    for next in [updated(1, 2), deleted(2)] {
        let mut pending = Pending::default();
        let (first, known) = added(1);
        let object = Arc::downgrade(first.object().unwrap());
        let _ = pending.push(first, known);
        let superseded = pending.push(next.0, next.1);
        assert!(object.upgrade().is_some(), "dropped inside, where the lock is held");
        drop(superseded);
        assert!(object.upgrade().is_none());
    }
}
