//! `Head` says of an object's metadata what the whole metadata says.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use proptest::prelude::*;
use steersman_apimachinery::{Head, Meta};

fn same(head: &dyn Meta, whole: &dyn Meta) {
    assert_eq!(head.key(), whole.key());
    assert_eq!(head.name(), whole.name());
    assert_eq!(head.namespace(), whole.namespace());
    assert_eq!(head.uid(), whole.uid());
    assert_eq!(head.resource_version(), whole.resource_version());
    assert_eq!(head.generation(), whole.generation());
    assert_eq!(head.labels(), whole.labels());
    assert_eq!(head.labels().len(), whole.labels().len());
    for (key, value) in whole.labels().iter() {
        assert_eq!(head.labels().get(key), Some(value));
    }
    assert_eq!(head.labels().get("no such label"), whole.labels().get("no such label"));
    assert_eq!(head.owner_references(), whole.owner_references());
    assert_eq!(head.owner_references().len(), whole.owner_references().len());
    assert_eq!(head.owner_references().controller(), whole.owner_references().controller());
    assert_eq!(head.finalizers(), whole.finalizers());
    assert_eq!(head.deletion_timestamp(), whole.deletion_timestamp());
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof!["", "[a-z0-9./-]{1,40}", "\\PC{0,20}", "[\"\\\\/\u{8}\n\u{1F600}é]{0,8}", "x{60,200}"]
}

fn owner() -> impl Strategy<Value = OwnerReference> {
    (text(), text(), text(), text(), any::<Option<bool>>(), any::<Option<bool>>()).prop_map(
        |(api_version, kind, name, uid, controller, block_owner_deletion)| OwnerReference {
            api_version,
            kind,
            name,
            uid,
            controller,
            block_owner_deletion,
        },
    )
}

fn meta() -> impl Strategy<Value = ObjectMeta> {
    // No name holds a slash: the server refuses it.
    let name = || text().prop_map(|text| text.replace('/', "."));
    let names = (
        proptest::option::of(name()),
        proptest::option::of(name()),
        proptest::option::of(text()),
        proptest::option::of(text()),
    );
    let lists = (
        proptest::option::of(proptest::collection::btree_map(text(), text(), 0..8)),
        proptest::option::of(proptest::collection::vec(owner(), 0..4)),
        proptest::option::of(proptest::collection::vec(text(), 0..4)),
        proptest::option::of(proptest::collection::btree_map(text(), text(), 0..4)),
    );
    (names, lists, any::<Option<i64>>(), proptest::option::of(0_i64..4_000_000_000)).prop_map(
        |(
            (name, namespace, uid, resource_version),
            (labels, owner_references, finalizers, annotations),
            generation,
            deleted,
        )| {
            let deletion_timestamp = deleted.map(|second| {
                serde_json::from_value(serde_json::json!(format!("2026-01-01T00:00:{:02}Z", second % 60)))
                    .unwrap()
            });
            ObjectMeta {
                name,
                namespace,
                uid,
                resource_version,
                labels,
                owner_references,
                finalizers,
                annotations,
                generation,
                deletion_timestamp,
                ..ObjectMeta::default()
            }
        },
    )
}

proptest! {
    #[test]
    fn a_head_read_from_json_equals_the_whole_metadata(whole in meta()) {
        let json = serde_json::to_vec(&whole).unwrap();
        let head: Head = serde_json::from_slice(&json).unwrap();
        same(&head, &whole);
        prop_assert_eq!(&head, &Head::from(&whole));
    }
}

#[test]
fn nulls_in_a_head_are_absent() {
    let json = r#"{"name":null,"namespace":null,"uid":null,"resourceVersion":null,"generation":null,
        "labels":{"a":null},"ownerReferences":[{"name":"o","uid":null,"controller":null},null],
        "finalizers":[null],"deletionTimestamp":null,"managedFields":null,"annotations":null}"#;
    let head: Head = serde_json::from_str(json).unwrap();
    assert_eq!((head.name(), head.namespace(), head.uid(), head.resource_version()), ("", "", "", ""));
    assert_eq!(head.labels().get("a"), Some(""));
    assert_eq!(head.owner_references().len(), 2);
    assert_eq!(head.owner_references().iter().next().unwrap().name, "o");
    assert_eq!(head.finalizers(), [""]);
    assert_eq!(head.deletion_timestamp(), None);
    let empty: Head =
        serde_json::from_str(r#"{"labels":null,"ownerReferences":null,"finalizers":null}"#).unwrap();
    same(&empty, &ObjectMeta::default());
}

#[test]
fn of_two_equal_keys_the_last_counts() {
    let json = r#"{"name":"a","name":"b","labels":{"z":"1","k":"1","k":"2","z":"3"}}"#;
    let head: Head = serde_json::from_str(json).unwrap();
    assert_eq!(head.name(), "b");
    assert_eq!(head.labels().iter().collect::<Vec<_>>(), [("k", "2"), ("z", "3")]);
}
