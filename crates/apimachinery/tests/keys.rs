//! Keys and versions as texts.

use std::cmp::Ordering;
use std::collections::HashMap;

use proptest::prelude::*;
use steersman_apimachinery::{ApiResource, ObjectKey, ResourceVersion, Scope};

// CACHE-K-01, CACHE-K-04
#[test]
fn a_key_is_the_namespace_and_the_name_or_the_name_alone() {
    let key = ObjectKey::new("shop", "web");
    assert_eq!((key.as_str(), key.to_string().as_str()), ("shop/web", "shop/web"));
    assert_eq!((key.namespace(), key.name()), ("shop", "web"));
    let node = ObjectKey::cluster("worker-1");
    assert_eq!((node.as_str(), node.namespace(), node.name()), ("worker-1", "", "worker-1"));
    assert_eq!(ObjectKey::new("", "worker-1"), node);
}

// CACHE-K-02, CACHE-K-03
#[test]
fn a_key_has_one_slash_at_most() {
    let parse =
        |text: &str| ObjectKey::parse(text).map(|key| (key.namespace().to_owned(), key.name().to_owned()));
    let pair = |namespace: &str, name: &str| Ok((namespace.to_owned(), name.to_owned()));
    assert_eq!(parse("x"), pair("", "x"));
    assert_eq!(parse("a/x"), pair("a", "x"));
    assert_eq!(parse("a/"), pair("a", ""));
    assert_eq!(parse(""), pair("", ""));
    assert_eq!(parse("/x"), pair("", "x"));
    assert_eq!(ObjectKey::parse("/x").unwrap().as_str(), "x");
    for text in ["a/b/c", "//", "/a/b", "a//"] {
        let error = text.parse::<ObjectKey>().unwrap_err().to_string();
        assert!(error.contains(&format!("{text:?}")), "{error}");
    }
}

// CACHE-K-11
#[test]
fn a_key_that_came_as_it_is_splits_at_its_first_slash() {
    let odd = ObjectKey::new("a", "b/c");
    assert_eq!((odd.as_str(), odd.namespace(), odd.name()), ("a/b/c", "a", "b/c"));
    let empty = ObjectKey::cluster("");
    assert_eq!((empty.as_str(), empty.name()), ("", ""));
}

#[test]
fn a_map_by_key_is_asked_with_a_text() {
    let map = HashMap::from([(ObjectKey::new("shop", "web"), 1)]);
    assert_eq!((map.get("shop/web"), map.get("shop/other")), (Some(&1), None));
    assert_eq!(size_of::<ObjectKey>(), size_of::<&str>());
}

proptest! {
    // CACHE-K-01, CACHE-K-02, CACHE-K-03
    #[test]
    fn a_key_reads_as_what_it_was_written_from(text in "[a-z/]{0,12}") {
        match ObjectKey::parse(&text) {
            Ok(key) => {
                prop_assert!(text.matches('/').count() <= 1);
                prop_assert_eq!(key.as_str(), text.strip_prefix('/').unwrap_or(&text));
                prop_assert_eq!(ObjectKey::new(key.namespace(), key.name()), key);
            }
            Err(_) => prop_assert!(text.matches('/').count() > 1),
        }
    }

    // CACHE-K-10, REST-RV-03
    #[test]
    fn versions_are_ordered_as_numbers_are(a in 1_u128.., b in 1_u128..) {
        let (x, y) = (ResourceVersion::from(a.to_string()), ResourceVersion::from(b.to_string()));
        prop_assert_eq!(x.compare(&y).unwrap(), a.cmp(&b));
    }
}

// CACHE-K-10, REST-RV-03, REST-RV-04
#[test]
fn a_version_is_compared_by_length_and_then_by_its_digits() {
    let compare = |a: &str, b: &str| ResourceVersion::from(a).compare(&ResourceVersion::from(b));
    assert_eq!(compare("9", "10"), Ok(Ordering::Less));
    assert_eq!(compare("100", "100"), Ok(Ordering::Equal));
    let (long, longer) = ("9".repeat(400), format!("1{}", "0".repeat(400)));
    assert_eq!(compare(&long, &longer), Ok(Ordering::Less));
    assert_eq!(compare(&longer, &long), Ok(Ordering::Greater));
    for invalid in ["", "0", "01", "x", "-1", "+1", "1 ", "1.0", "٣", "1\0"] {
        let (left, right) = (compare(invalid, "1"), compare("1", invalid));
        assert_eq!(left, right, "{invalid:?}");
        assert!(left.unwrap_err().to_string().contains(&format!("{invalid:?}")));
    }
    let null: ResourceVersion = serde_json::from_str("null").unwrap();
    assert!(null.is_empty());
    let seven: ResourceVersion = serde_json::from_str("\"7\"").unwrap();
    assert_eq!(serde_json::to_string(&seven).unwrap(), "\"7\"");
}

// REST-DY-01, REST-EN-06
#[test]
fn a_resource_stands_in_a_path_as_it_was_given() {
    let pods = ApiResource::new("v1", "Pod", "pods", Scope::Namespaced);
    assert_eq!(
        (pods.path(None).as_str(), pods.path(Some("a")).as_str()),
        ("/api/v1/pods", "/api/v1/namespaces/a/pods")
    );
    assert_eq!((pods.api_version().as_ref(), pods.group_resource().as_ref()), ("v1", "pods"));
    let odd = ApiResource::dynamic("Example.com/v1", "Odd", "OddOnes", Scope::Cluster);
    assert_eq!(odd.path(Some("ignored")), "/apis/Example.com/v1/OddOnes");
    assert_eq!(
        (odd.api_version().as_ref(), odd.group_resource().as_ref()),
        ("Example.com/v1", "OddOnes.Example.com")
    );
    for (text, expected) in [
        ("", Some(("", ""))),
        ("/", Some(("", ""))),
        ("v1", Some(("", "v1"))),
        ("g/v1", Some(("g", "v1"))),
        ("a/b/c", None),
    ] {
        assert_eq!(steersman_apimachinery::parse_api_version(text), expected, "{text:?}");
    }
}
