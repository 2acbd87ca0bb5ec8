//! The store: what a write does, what it says it did, and what the version of the cache is afterwards.

mod common;

use std::collections::BTreeMap;
use std::sync::Arc;

use apimachinery::{Object, ObjectKey, ResourceVersion, Unreadable};
use common::{Thing, all_told, at, content, made, thing};
use indexer::Write;
use proptest::prelude::*;
use steersman_indexer as indexer;

fn upsert(key: &str, version: &str) -> Write<Thing> {
    Write::upsert(thing(key, version))
}

fn remove(key: &str, version: &str) -> Write<Thing> {
    Write::remove(thing(key, version))
}

fn remove_key(key: &str) -> Write<Thing> {
    Write::Remove { key: ObjectKey::parse(key).unwrap(), last: None }
}

// CACHE-S-01, CACHE-S-02, CACHE-S-03, CACHE-C-02: T-S-1.
#[test]
fn a_batch_is_applied_in_order_and_says_what_it_did() {
    let (mut writer, lister) = indexer::new();
    let changes = writer.apply([
        upsert("n/a", "1"),
        upsert("n/b", "2"),
        upsert("n/a", "3"),
        remove("n/a", "4"),
        remove_key("n/b"),
        remove_key("n/c"),
        remove("n/d", "5"),
        upsert("n/a", "6"),
    ]);
    assert_eq!(
        all_told(&changes),
        ["+n/a@1", "+n/b@2", "n/a@1>3", "-n/a@4 (n/a@3)", "-n/b (n/b@2)", "-n/c", "-n/d@5", "+n/a@6"]
    );
    assert_eq!(content(&lister), ["n/a@6"]);
    assert_eq!(lister.get("n/a").map(|a| at(&a)), Some("n/a@6".to_owned()));
    assert!(lister.get("n/b").is_none());
    assert!(writer.apply([]).is_empty());
}

// CACHE-C-04
#[test]
fn the_same_version_again_is_an_update() {
    let (mut writer, _lister) = indexer::new();
    writer.apply([upsert("a", "1")]);
    assert_eq!(all_told(&writer.apply([upsert("a", "1")])), ["a@1>1"]);
    let changes = writer.replace([thing("a", "1")], [], "1".into());
    assert_eq!(all_told(&changes), ["a@1>1"]);
}

// CACHE-S-08, CACHE-S-11, CACHE-S-12, CACHE-S-14: T-S-5. A version that cannot be read, or is not kept, leaves the cache's alone.
#[test]
fn the_version_of_the_cache_follows_what_is_written() {
    let (mut writer, lister) = indexer::new();
    let mut seen = vec![lister.resource_version()];
    writer.apply([upsert("a", "10")]);
    seen.push(lister.resource_version());
    writer.apply([upsert("b", "20")]);
    seen.push(lister.resource_version());
    writer.apply([remove("a", "30")]);
    seen.push(lister.resource_version());
    writer.apply([upsert("unversioned", "")]);
    seen.push(lister.resource_version());
    writer.apply([upsert("c", "40")]);
    seen.push(lister.resource_version());
    writer.apply([remove_key("c")]);
    seen.push(lister.resource_version());
    writer.apply([upsert("x", "40"), upsert("y", "30"), upsert("z", "50")]);
    seen.push(lister.resource_version());
    writer.replace([], [], "50".into());
    seen.push(lister.resource_version());
    writer.bookmark("60".into());
    seen.push(lister.resource_version());
    writer.replace([], [], ResourceVersion::default());
    seen.push(lister.resource_version());
    assert_eq!(seen, ["", "10", "20", "30", "30", "40", "40", "50", "50", "60", ""]);
}

// CACHE-S-05, CACHE-C-03
#[test]
fn a_replace_tells_removals_first_and_then_the_list_in_its_order() {
    let (mut writer, lister) = indexer::new();
    writer.apply([upsert("a", "1"), upsert("b", "2"), upsert("c", "3")]);
    let changes = writer.replace([thing("d", "7"), thing("c", "3"), thing("b", "6")], [], "9".into());
    assert_eq!(all_told(&changes), ["-a (a@1)", "+d@7", "c@3>3", "b@2>6"]);
    assert_eq!(content(&lister), ["b@6", "c@3", "d@7"]);
    assert_eq!(lister.resource_version(), "9");
}

// CACHE-S-05
#[test]
fn of_a_key_that_is_listed_twice_the_last_counts() {
    let (mut writer, lister) = indexer::new();
    let changes = writer.replace([thing("a", "1"), thing("b", "2"), thing("a", "3")], [], "3".into());
    assert_eq!(all_told(&changes), ["+a@3", "+b@2"]);
    assert_eq!(content(&lister), ["a@3", "b@2"]);
}

#[test]
fn what_exists_and_cannot_be_read_keeps_its_last_state() {
    let (mut writer, lister) = indexer::new();
    writer.apply([upsert("a", "1"), upsert("b", "2")]);
    let unreadable = ["a", "never-seen"].map(ObjectKey::cluster);
    let changes = writer.replace([thing("c", "3")], unreadable, "4".into());
    assert_eq!(all_told(&changes), ["-b (b@2)", "+c@3"]);
    assert_eq!(content(&lister), ["a@1", "c@3"]);
    let changes = writer.replace([thing("a", "5")], [ObjectKey::cluster("a")], "5".into());
    assert_eq!(all_told(&changes), ["-c (c@3)", "a@1>5"]);
}

// CACHE-S-05
#[test]
fn while_something_without_a_name_exists_nothing_is_told_as_deleted() {
    let (mut writer, lister) = indexer::new();
    writer.apply([upsert("a", "1"), upsert("b", "2"), upsert("d", "2")]);
    let unreadable = Unreadable::from([ObjectKey::cluster("a")]).and_nameless(true);
    let changes = writer.replace([thing("c", "3"), thing("d", "3")], unreadable, "4".into());
    assert_eq!(all_told(&changes), ["+c@3", "d@2>3"]);
    assert_eq!(content(&lister), ["a@1", "b@2", "c@3", "d@3"]);
    assert_eq!(lister.resource_version(), "4");
    // A deletion that comes by itself counts, and so does the next list that can be read.
    assert_eq!(all_told(&writer.apply([remove("b", "5")])).len(), 1);
    let changes = writer.replace([thing("d", "3")], [], "6".into());
    let mut told = all_told(&changes);
    told.sort();
    assert_eq!(told, ["-a (a@1)", "-c (c@3)", "d@3>3"]);
    assert_eq!(content(&lister), ["d@3"]);
}

// CACHE-Z-01
#[test]
fn no_object_goes_back_in_time() {
    let (mut writer, lister) = indexer::new();
    writer.apply([Write::upsert(made("a", "10", "u1", &[]))]);
    assert!(writer.apply([Write::upsert(made("a", "9", "u1", &[]))]).is_empty());
    assert_eq!(content(&lister), ["a@10"]);
    assert_eq!(writer.stale_writes(), 1);
    assert_eq!(lister.resource_version(), "10");
    // Versions are compared as numbers of any length, not as text and not as u64.
    let huge = "1".repeat(40);
    assert_eq!(writer.apply([Write::upsert(made("a", &huge, "u1", &[]))]).len(), 1);
    assert!(writer.apply([Write::upsert(made("a", "99", "u1", &[]))]).is_empty());
    assert_eq!(writer.stale_writes(), 2);
}

// CACHE-Z-05, CACHE-S-13
#[test]
fn another_uid_or_a_version_without_order_is_the_producers_business() {
    let (mut writer, lister) = indexer::new();
    writer.apply([Write::upsert(made("a", "10", "u1", &[]))]);
    assert_eq!(all_told(&writer.apply([Write::upsert(made("a", "9", "u2", &[]))])), ["a@10>9"]);
    assert_eq!(all_told(&writer.apply([Write::upsert(made("a", "x", "u2", &[]))])), ["a@9>x"]);
    assert_eq!(all_told(&writer.apply([Write::upsert(made("a", "3", "u2", &[]))])), ["a@x>3"]);
    assert_eq!(writer.stale_writes(), 0);
    // A list is the truth whatever its versions: a backup was restored.
    assert_eq!(all_told(&writer.replace([made("a", "2", "u2", &[])], [], "2".into())), ["a@3>2"]);
    assert_eq!(content(&lister), ["a@2"]);
}

#[test]
fn slots_of_removed_objects_are_used_again() {
    let (mut writer, lister) = indexer::new();
    for round in 0..1000u32 {
        let key = format!("n{}/a{round}", round % 3);
        writer.apply([upsert(&key, "1")]);
        writer.apply([remove_key(&key)]);
    }
    assert!(lister.is_empty());
    assert!(format!("{writer:?}").contains("stale_writes: 0"));
    assert_eq!(lister.snapshot().iter().count(), 0);
}

#[test]
fn the_cache_shares_objects_and_keys_with_those_who_gave_them() {
    let (mut writer, lister) = indexer::new();
    let object = thing("n/a", "1");
    let key = object.key();
    writer.apply([Write::upsert(object.clone())]);
    let found = lister.get(&key).unwrap();
    assert!(Arc::ptr_eq(&object, &found));
    assert!(std::ptr::eq(lister.keys()[0].as_str(), key.as_str()), "the key's text is not copied");
    drop(found);
    writer.apply([remove_key("n/a")]);
    assert_eq!(Arc::strong_count(&object), 1, "nothing of it stays in the cache");
}

#[derive(Debug, Clone)]
enum Step {
    Upsert(u8),
    Remove(u8),
    RemoveKey(u8),
    Replace(Vec<u8>, Vec<u8>),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0u8..9).prop_map(Step::Upsert),
        2 => (0u8..9).prop_map(Step::Remove),
        1 => (0u8..9).prop_map(Step::RemoveKey),
        1 => (prop::collection::vec(0u8..9, 0..9), prop::collection::vec(0u8..9, 0..3))
            .prop_map(|(items, unreadable)| Step::Replace(items, unreadable)),
    ]
}

fn key(number: u8) -> String {
    format!("n{}/{number}", number % 3)
}

proptest! {
    // CACHE-S-01, CACHE-S-02, CACHE-S-05, CACHE-S-08, CACHE-S-21, CACHE-L-03: the store against a map.
    #[test]
    fn the_store_is_a_map(batches in prop::collection::vec(prop::collection::vec(step(), 1..6), 1..40)) {
        let (mut writer, lister) = indexer::new::<Thing>();
        let by_last_digit = lister.index(|thing: &Thing| [thing.resource_version().bytes().last()]);
        let mut model: BTreeMap<String, String> = BTreeMap::new();
        let mut version = 0u32;
        for batch in batches {
            let mut writes = Vec::new();
            for step in batch {
                version += 1;
                let text = version.to_string();
                match step {
                    Step::Upsert(number) => {
                        model.insert(key(number), text.clone());
                        writes.push(upsert(&key(number), &text));
                    }
                    Step::Remove(number) => {
                        model.remove(&key(number));
                        writes.push(remove(&key(number), &text));
                    }
                    Step::RemoveKey(number) => {
                        model.remove(&key(number));
                        writes.push(remove_key(&key(number)));
                    }
                    Step::Replace(items, unreadable) => {
                        writer.apply(writes.drain(..));
                        let mut next: BTreeMap<String, String> = model.clone();
                        next.retain(|key, _| unreadable.iter().any(|number| self::key(*number) == *key));
                        next.extend(items.iter().map(|number| (key(*number), text.clone())));
                        let before = model.clone();
                        let changes = writer.replace(
                            items.iter().map(|number| thing(&key(*number), &text)),
                            unreadable
                                .iter()
                                .map(|number| ObjectKey::parse(&key(*number)).unwrap())
                                .collect::<Vec<_>>(),
                            text.as_str().into(),
                        );
                        model = next;
                        // What is told turns what was into what is.
                        let mut mirror = before;
                        for change in &changes {
                            match change {
                                indexer::Change::Added(new) | indexer::Change::Updated { new, .. } => {
                                    mirror.insert(new.key().to_string(), new.resource_version().to_owned());
                                }
                                indexer::Change::Removed { key, old, .. } => {
                                    let was = mirror.remove(key.as_str());
                                    prop_assert_eq!(was, old.as_ref().map(|old| old.resource_version().to_owned()));
                                }
                            }
                        }
                        prop_assert_eq!(&mirror, &model);
                    }
                }
            }
            writer.apply(writes);

            let expected: Vec<String> = model.iter().map(|(key, version)| format!("{key}@{version}")).collect();
            let mut expected_sorted = expected.clone();
            expected_sorted.sort();
            prop_assert_eq!(content(&lister), expected_sorted);
            prop_assert_eq!(lister.len(), model.len());
            for number in 0..9 {
                let found = lister.get(key(number).as_str()).map(|found| found.resource_version().to_owned());
                prop_assert_eq!(found.as_ref(), model.get(&key(number)));
            }
            for namespace in ["n0", "n1", "n2", "none"] {
                let mut found: Vec<String> = lister.in_namespace(namespace).iter().map(at).collect();
                found.sort();
                let mut expected: Vec<String> =
                    expected.iter().filter(|text| text.starts_with(&format!("{namespace}/"))).cloned().collect();
                expected.sort();
                prop_assert_eq!(found, expected);
            }
            for digit in b'0'..=b'9' {
                let found: Vec<String> = by_last_digit.keys(&Some(digit)).iter().map(ToString::to_string).collect();
                let mut expected: Vec<String> = model
                    .iter()
                    .filter(|(_, version)| version.bytes().last() == Some(digit))
                    .map(|(key, _)| key.clone())
                    .collect();
                expected.sort();
                prop_assert_eq!(found, expected);
            }
        }
    }
}
