//! Indices and listers.

mod common;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};

use apimachinery::{ApiResource, LabelSelector, Object, ObjectKey, Scope};
use common::{Thing, at, content, tagged, thing};
use indexer::{Index, Lister, Write, Writer};
use steersman_indexer as indexer;

fn by_tag(lister: &Lister<Thing>) -> Index<Thing> {
    lister.index(|thing: &Thing| thing.tags.clone())
}

fn tags(index: &Index<Thing>) -> Vec<String> {
    let mut tags = index.values();
    tags.sort();
    tags
}

fn keys(index: &Index<Thing>, tag: &str) -> Vec<String> {
    index.keys(tag).iter().map(ToString::to_string).collect()
}

fn upsert(writer: &mut Writer<Thing>, key: &str, version: &str, tags: &[&str]) {
    writer.apply([Write::upsert(tagged(key, version, tags))]);
}

// CACHE-S-20, CACHE-S-21, CACHE-S-23, CACHE-S-27: T-S-2, T-S-3, T-S-4.
#[test]
fn an_index_follows_the_objects() {
    let (mut writer, lister) = indexer::new();
    let index = by_tag(&lister);
    upsert(&mut writer, "a", "1", &["foo", "bar"]);
    upsert(&mut writer, "b", "2", &["bar"]);
    assert_eq!((keys(&index, "foo"), keys(&index, "bar")), (vec!["a".into()], vec!["a".into(), "b".into()]));
    upsert(&mut writer, "a", "3", &["bar"]);
    assert_eq!(tags(&index), ["bar"]);
    assert_eq!(index.by("bar").len(), 2);
    upsert(&mut writer, "a", "4", &[]);
    assert_eq!(keys(&index, "bar"), ["b"]);
    writer.apply([Write::remove(thing("b", "5"))]);
    assert!(index.values().is_empty());
    assert_eq!(content(&lister), ["a@4"]);
}

// CACHE-S-26
#[test]
fn the_keys_of_a_value_are_sorted_and_an_unknown_value_has_none() {
    let (mut writer, lister) = indexer::new();
    let index = by_tag(&lister);
    for name in ["c", "a", "d", "b"] {
        upsert(&mut writer, name, "1", &["x"]);
    }
    assert_eq!(keys(&index, "x"), ["a", "b", "c", "d"]);
    assert_eq!(index.count("x"), 4);
    assert!(index.by("y").is_empty() && index.keys("y").is_empty());
    assert_eq!(index.count("y"), 0);
}

// CACHE-S-05
#[test]
fn a_replace_rebuilds_every_index() {
    let (mut writer, lister) = indexer::new();
    let index = by_tag(&lister);
    let by_version: Index<Thing, u64> =
        lister.index(|thing: &Thing| thing.resource_version().parse::<u64>().ok());
    upsert(&mut writer, "a", "1", &["old", "both"]);
    upsert(&mut writer, "b", "2", &["old"]);
    let items = [tagged("b", "3", &["new", "both"]), tagged("c", "4", &["new"])];
    writer.replace(items, [], "4".into());
    assert_eq!(tags(&index), ["both", "new"]);
    assert_eq!((keys(&index, "new"), keys(&index, "both")), (vec!["b".into(), "c".into()], vec!["b".into()]));
    assert_eq!(by_version.by(&4).len(), 1);
    assert!(by_version.by(&1).is_empty());
}

// CACHE-S-28: T-S-7.
#[test]
fn an_index_that_is_added_late_is_complete_at_once() {
    let (mut writer, lister) = indexer::new();
    upsert(&mut writer, "a", "1", &["x"]);
    upsert(&mut writer, "b", "2", &["y"]);
    let index = by_tag(&lister);
    assert_eq!(keys(&index, "x"), ["a"]);
    upsert(&mut writer, "b", "3", &["x"]);
    assert_eq!(keys(&index, "x"), ["a", "b"]);
    drop(writer);
    assert_eq!(keys(&by_tag(&lister), "x"), ["a", "b"], "over a cache that nobody writes any more, too");
}

// CACHE-S-28
#[test]
fn an_index_that_is_added_while_the_cache_is_written_misses_nothing() {
    let (mut writer, lister) = indexer::new();
    let begin = Arc::new(Barrier::new(2));
    let writing = {
        let begin = begin.clone();
        std::thread::spawn(move || {
            begin.wait();
            for round in 0..200u32 {
                let items =
                    (0..20).map(|n| tagged(&format!("n/{n}"), &round.to_string(), &[["x", "y"][n % 2]]));
                writer.apply(items.map(Write::upsert));
            }
            writer
        })
    };
    begin.wait();
    let mut indices = Vec::new();
    for _ in 0..50 {
        indices.push(by_tag(&lister));
    }
    let _writer = writing.join().unwrap();
    for index in indices {
        assert_eq!((index.count("x"), index.count("y")), (10, 10));
    }
}

// CACHE-S-24: T-S-10, Appendix 2 #8.
#[test]
fn an_index_function_that_panics_costs_its_object_that_index_and_nothing_else() {
    let (mut writer, lister) = indexer::new();
    let fragile = lister.index(|thing: &Thing| {
        assert!(!thing.tags.iter().any(|tag| tag == "bomb"), "boom");
        thing.tags.clone()
    });
    let sound = by_tag(&lister);
    upsert(&mut writer, "a", "1", &["x"]);
    upsert(&mut writer, "b", "2", &["x"]);
    upsert(&mut writer, "a", "3", &["x", "bomb"]);
    assert_eq!(content(&lister), ["a@3", "b@2"]);
    assert_eq!((keys(&fragile, "x"), keys(&sound, "x")), (vec!["b".into()], vec!["a".into(), "b".into()]));
    assert_eq!(lister.index_failures(), 1);

    writer.replace([tagged("a", "4", &["bomb"]), tagged("c", "5", &["x"])], [], "5".into());
    assert_eq!((keys(&fragile, "x"), lister.index_failures()), (vec!["c".into()], 2));
    upsert(&mut writer, "a", "6", &["x"]);
    assert_eq!(keys(&fragile, "x"), ["a", "c"], "healed with the object");
    writer.apply([Write::remove(tagged("a", "7", &["bomb"]))]);
    assert_eq!((keys(&fragile, "x"), lister.index_failures()), (vec!["c".into()], 2));
}

// CACHE-S-22: removal and update do not depend on the function being called again.
#[test]
fn an_index_function_runs_once_for_each_state() {
    let (mut writer, lister) = indexer::new();
    let calls = Arc::new(AtomicUsize::new(0));
    let index = {
        let calls = calls.clone();
        // Not pure, on purpose: it never says the same twice.
        lister.index(move |_: &Thing| [calls.fetch_add(1, Ordering::Relaxed)])
    };
    upsert(&mut writer, "a", "1", &[]);
    upsert(&mut writer, "a", "2", &[]);
    assert_eq!(index.values(), [1]);
    writer.apply([Write::remove(thing("a", "3"))]);
    assert!(index.values().is_empty());
    assert_eq!(calls.load(Ordering::Relaxed), 2);
}

// CACHE-S-24: it runs under no lock that a reader needs.
#[test]
fn an_index_function_may_read_the_cache() {
    let (mut writer, lister) = indexer::new();
    let reader = lister.clone();
    let index = lister.index(move |_: &Thing| [reader.len()]);
    upsert(&mut writer, "a", "1", &[]);
    upsert(&mut writer, "b", "2", &[]);
    let mut values = index.values();
    values.sort_unstable();
    assert_eq!(values, [0, 1]);
}

// CACHE-S-29, CACHE-L-03, CACHE-L-05
#[test]
fn a_namespace_is_listed_by_itself_and_none_means_all() {
    let (mut writer, lister) = indexer::new();
    for key in ["n1/a", "n1/b", "n2/a", "c"] {
        upsert(&mut writer, key, "1", &[]);
    }
    let found_in = |namespace: &str| {
        let mut keys: Vec<String> =
            lister.in_namespace(namespace).iter().map(|t| t.key().to_string()).collect();
        keys.sort();
        keys
    };
    assert_eq!(found_in("n1"), ["n1/a", "n1/b"]);
    assert_eq!(found_in("n2"), ["n2/a"]);
    assert_eq!(found_in(""), ["c", "n1/a", "n1/b", "n2/a"]);
    assert!(found_in("n3").is_empty());
    assert!(lister.get("n1/a").is_some() && lister.get(&ObjectKey::new("n2", "a")).is_some());
    assert!(lister.get("a").is_none() && lister.get("c").is_some());
}

// CACHE-L-01, CACHE-L-02: T-L-1.
#[test]
fn a_selector_finds_what_its_labels_say() {
    let (mut writer, lister) = indexer::new();
    upsert(&mut writer, "n/a", "1", &["red"]);
    upsert(&mut writer, "n/b", "2", &["red", "blue"]);
    upsert(&mut writer, "m/c", "3", &[]);
    let select = |text: &str| {
        let mut found: Vec<String> =
            lister.select(&LabelSelector::parse(text).unwrap()).iter().map(at).collect();
        found.sort();
        found
    };
    assert_eq!(select("red=yes"), ["n/a@1", "n/b@2"]);
    assert_eq!(select("red=yes,blue"), ["n/b@2"]);
    assert_eq!(select("!red"), ["m/c@3"]);
    assert_eq!(select("").len(), 3);
    assert_eq!(lister.select_in_namespace("m", &LabelSelector::parse("!blue").unwrap()).len(), 1);
    assert!(lister.select(&LabelSelector::nothing()).is_empty());
}

// CACHE-L-06: T-L-4.
#[test]
fn what_is_not_there_is_not_found_by_resource_and_name() {
    let (mut writer, lister) = indexer::new();
    upsert(&mut writer, "n/a", "1", &[]);
    assert_eq!(at(&lister.require("n/a").unwrap()), "n/a@1");
    let error = lister.require("n/gone").unwrap_err();
    assert!(error.is_not_found());
    assert_eq!(error.to_string(), "things.example.com \"gone\" not found");
    let widgets = ApiResource::new("v1", "Widget", "widgets", Scope::Cluster);
    let error = lister.require_of(&widgets, "gone").unwrap_err();
    assert!(error.is_not_found());
    assert_eq!(error.to_string(), "widgets \"gone\" not found");
}
