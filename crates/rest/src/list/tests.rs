//! Lists, cut everywhere.

use apimachinery::{DynamicObject, Lazy, Object, PartialObjectMetadata};
use k8s_openapi::api::core::v1::ConfigMap;

use super::*;

fn config_maps() -> Expected {
    Expected { kind: "ConfigMap".into(), api_version: "v1".into(), ..Expected::default() }
}

fn read<T: Decode>(pieces: &[&[u8]]) -> Result<Page<T>, ApiError> {
    read_as(&config_maps(), pieces)
}

fn read_as<T: Decode>(expected: &Expected, pieces: &[&[u8]]) -> Result<Page<T>, ApiError> {
    let mut reader = ListReader::new(expected);
    for piece in pieces {
        reader.push(piece)?;
    }
    reader.finish()
}

// F-14, REST-OP-06
#[test]
fn a_list_of_something_else_is_no_empty_list() {
    let text = |version: &str, kind: &str| {
        format!(
            r#"{{"kind":"{kind}","apiVersion":"{version}","metadata":{{"resourceVersion":"9"}},"items":[]}}"#
        )
    };
    let error = read::<ConfigMap>(&[text("v1", "SecretList").as_bytes()]).unwrap_err();
    assert!(error.to_string().contains("v1 SecretList, not a list of ConfigMap"), "{error}");
    assert!(read::<ConfigMap>(&[text("v1", "ConfigMapList").as_bytes()]).is_ok());
    assert!(read::<ConfigMap>(&[text("v1", "List").as_bytes()]).is_ok());

    // Definitions name their lists as they like.
    let widgets =
        Expected { kind: "Widget".into(), api_version: "example.com/v1".into(), ..Expected::default() };
    let named = text("example.com/v1", "WidgetCollection");
    assert!(read_as::<DynamicObject>(&widgets, &[named.as_bytes()]).is_ok());

    // Metadata alone, and a server that sends whole objects instead.
    let metadata = Expected { is_metadata_only: true, ..config_maps() };
    for (version, kind) in [("meta.k8s.io/v1", "PartialObjectMetadataList"), ("v1", "ConfigMapList")] {
        let list = text(version, kind);
        assert!(read_as::<DynamicObject>(&metadata, &[list.as_bytes()]).is_ok(), "{kind}");
    }
    let wrong = text("v1", "SecretList");
    assert!(read_as::<DynamicObject>(&metadata, &[wrong.as_bytes()]).is_err());
    assert!(read_as::<DynamicObject>(&Expected::default(), &[wrong.as_bytes()]).is_ok(), "anything goes");
}

const ITEMS: &str = r#"[{"metadata":{"name":"a","namespace":"shop"},"data":{"x":"]}[{\"\\"}} ,
    {"metadata":{"name":"bad","namespace":"shop","resourceVersion":"4"},"data":7},null,
    {"metadata":{"name":"c","namespace":"shop"},"data":null,"more":[[],{}]}]"#;
const META: &str = r#"{"resourceVersion":"77","continue":"next","remainingItemCount":12,"selfLink":null}"#;

// REST-OP-06
#[test]
fn a_list_is_read_whatever_the_order_of_its_members_and_wherever_it_is_cut() {
    let head = r#""kind":"ConfigMapList","apiVersion":"v1""#;
    for text in [
        format!(r#"{{{head},"metadata":{META},"items":{ITEMS}}}"#),
        format!(r#"{{"items":{ITEMS},"metadata":{META},{head}}}"#),
        format!(r#"{{"x":{{"items":[1]}},"metadata":{META},{head},"y":1.5e3,"items" : {ITEMS} , "z":[]}}"#),
        format!("\n {{ {head},\t\"metadata\": {META},\n\"items\":\n{ITEMS} }}\n"),
    ] {
        let bytes = text.as_bytes();
        let whole: Vec<usize> = (0..=bytes.len()).collect();
        for cut in whole {
            let page = read::<ConfigMap>(&[&bytes[..cut], &bytes[cut..]]).unwrap();
            check(&page, &format!("cut at {cut}: {text}"));
        }
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        check(&read::<ConfigMap>(&single).unwrap(), "byte by byte");
    }
}

fn check(page: &Page<ConfigMap>, what: &str) {
    let names: Vec<&str> = page.items.iter().map(Object::name).collect();
    assert_eq!(names, ["a", "c"], "{what}");
    assert_eq!(page.items[0].data.as_ref().unwrap()["x"], "]}[{\"\\", "{what}");
    let bad: Vec<String> = page.undecodable.iter().map(|error| format!("{:?}", error.key)).collect();
    assert_eq!(bad, [r#"Some("shop/bad")"#, "None"], "{what}");
    assert_eq!(page.resource_version.as_str(), "77", "{what}");
    assert_eq!(page.continue_token.as_deref(), Some("next"), "{what}");
    assert_eq!(page.remaining_item_count, Some(12), "{what}");
}

// REST-EN-03, REST-OP-06, REST-PG-09
#[test]
fn a_list_without_items_or_with_null_is_empty() {
    for text in [
        r#"{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":null}"#,
        r#"{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"5","continue":""},"items":[]}"#,
        r#"{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"5","continue":null}}"#,
        r#"{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"5","remainingItemCount":null},"items":[]}"#,
        r#"{"kind":"ConfigMaps","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[]}"#,
    ] {
        let page = read::<ConfigMap>(&[text.as_bytes()]).unwrap();
        assert!(page.items.is_empty() && page.undecodable.is_empty(), "{text}");
        assert_eq!(page.resource_version.as_str(), "5", "{text}");
        assert_eq!((page.continue_token, page.remaining_item_count), (None, None), "{text}");
    }
}

// CACHE-R-30
#[test]
fn a_table_is_refused_by_its_name_before_its_rows_are_read() {
    let text =
        br#"{"kind":"Table","apiVersion":"meta.k8s.io/v1","columnDefinitions":[],"rows":[{"object":{}}]}"#;
    let error = read::<ConfigMap>(&[text]).unwrap_err().to_string();
    assert!(error.contains("meta.k8s.io/v1 Table") || error.contains("Table"), "{error}");
    let late = br#"{"rows":[1],"apiVersion":"meta.k8s.io/v1","kind":"Table"}"#;
    let error = read::<ConfigMap>(&[late]).unwrap_err().to_string();
    assert!(error.contains("meta.k8s.io/v1 Table"), "{error}");
}

// REST-RS-06, REST-EN-04
#[test]
fn what_is_no_list_is_an_error_and_never_an_empty_page() {
    for text in [
        "",
        " \n",
        "{}",
        "<html><body>502 Bad Gateway</body></html>",
        "null",
        "[]",
        "\"list\"",
        r#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"}}"#,
        r#"{"apiVersion":"v1","metadata":{},"items":[]}"#,
        r#"{"kind":"","apiVersion":"v1","metadata":{},"items":[]}"#,
        r#"{"kind":null,"items":[]}"#,
        r#"{"kind":"ConfigMapList","items":{}}"#,
        r#"{"kind":"ConfigMapList","items":7}"#,
        r#"{"kind":"ConfigMapList","items":[}"#,
        r#"{"kind":"ConfigMapList","items":[{},]}"#,
        r#"{"kind":"ConfigMapList","metadata":7,"items":[]}"#,
        r#"{"kind":"ConfigMapList","items":[]}{}"#,
        r#"{"kind":"ConfigMapList" "items":[]}"#,
        r#"{"kind":"ConfigMapList",,"items":[]}"#,
        r#"{"kind":7,"items":[]}"#,
        r#"{"kind":"Status","apiVersion":"v1","status":"Success"}"#,
    ] {
        for size in [1, 1000] {
            let pieces: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
            let answer = read::<ConfigMap>(&pieces);
            assert!(matches!(answer, Err(ApiError::Decode(_))), "{text}: {answer:?}");
        }
    }
}

// REST-XX-02
#[test]
fn what_is_no_list_is_told_without_its_values() {
    for text in [
        r#""canary""#,
        r#"["canary"]"#,
        r#"canary: "canary""#,
        r#"{"kind":"ConfigMapList","items":[]}{"data":"canary"}"#,
        r#"{"kind":"ConfigMapList","metadata":"canary","items":[]}"#,
        r#"{"kind":"ConfigMapList","metadata":{"resourceVersion":{"canary":"canary"}},"items":[]}"#,
        r#"{"kind":"ConfigMapList","items":"canary"}"#,
        r#"{"kind":"ConfigMapList" "canary":[]}"#,
        r#"{"kind":"ConfigMapList","items":[{"metadata":{"name":"a"},"data":{"k":"v"}} "canary"]}"#,
        r#"{"kind":"ConfigMapList","items":[{"metadata":{"name":"a"}}]canary"#,
        r#"{"kind":"ConfigMapList","items":[{"metadata":{"name":"a"},"data":"canary"}]}"#,
    ] {
        let text = text.replace("canary", "canary-canary-canary-canary");
        let shown = match read::<ConfigMap>(&[text.as_bytes()]) {
            Ok(page) => format!("{:?}", page.undecodable),
            Err(error) => format!("{error} {error:?}"),
        };
        assert!(!shown.contains("canary") && shown.len() > 20, "{text}: {shown}");
    }
    let page = "<html><body>502 Bad Gateway</body></html>";
    let error = read::<ConfigMap>(&[page.as_bytes()]).unwrap_err();
    assert!(format!("{error:?}").contains("502 Bad Gateway"), "{error:?}");
}

#[test]
fn a_list_that_ends_early_is_an_error_wherever_it_ends() {
    let text = format!(r#"{{"kind":"ConfigMapList","apiVersion":"v1","metadata":{META},"items":{ITEMS}}}"#);
    for end in 0..text.len() {
        let answer = read::<ConfigMap>(&[&text.as_bytes()[..end]]);
        assert!(matches!(answer, Err(ApiError::Decode(_))), "{}", &text[..end]);
    }
}

// REST-RS-05
#[test]
fn a_status_of_failure_is_an_error_with_its_reason_whatever_the_code_of_the_answer() {
    for text in [
        r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old","reason":"Expired","code":410}"#,
        r#"{"status":"Failure","message":"too old","details":{"kind":"x"},"reason":"Expired","code":410,"kind":"Status","apiVersion":"v1"}"#,
    ] {
        let pieces: Vec<&[u8]> = text.as_bytes().chunks(5).collect();
        let error = read::<ConfigMap>(&pieces).unwrap_err();
        assert!(error.is_expired(), "{error:?}");
        assert_eq!(error.to_string(), "too old");
    }
}

// REST-DY-06
#[test]
fn items_without_a_type_inherit_it_from_the_list_or_from_what_was_asked_for() {
    let expected = Expected { kind: "Widget".into(), api_version: "a.io/v1".into(), ..Expected::default() };
    let reader = |kind: &str, version: &str| {
        let mut reader = ListReader::<DynamicObject>::new(&expected);
        reader.push(format!(r#"{{"kind":"{kind}","apiVersion":"{version}","#).as_bytes()).unwrap();
        reader.inherited_type()
    };
    let pair = |version: &str, kind: &str| (version.to_owned(), kind.to_owned());
    assert_eq!(reader("WidgetList", "a.io/v2"), pair("a.io/v2", "Widget"));
    assert_eq!(reader("List", "v1"), pair("a.io/v1", "Widget"));
    assert_eq!(reader("Widgets", "a.io/v1"), pair("a.io/v1", "Widget"));
    assert_eq!(reader("PartialObjectMetadataList", "meta.k8s.io/v1"), pair("a.io/v1", "Widget"));
}

#[test]
fn items_of_another_kind_are_reported_and_not_kept() {
    let text = br#"{"kind":"ConfigMapList","apiVersion":"v1","metadata":{},"items":[
        {"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"}},
        {"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}]}"#;
    let page = read::<Lazy<ConfigMap>>(&[text]).unwrap();
    assert_eq!(page.items.iter().map(Object::name).collect::<Vec<_>>(), ["a"]);
    assert!(page.undecodable[0].message.contains("Secret"), "{:?}", page.undecodable);
}

// REST-MD-02
#[test]
fn metadata_is_read_from_whole_objects_if_the_server_sends_those() {
    let expected = Expected { is_metadata_only: true, ..config_maps() };
    for kind in ["PartialObjectMetadataList", "ConfigMapList"] {
        let text = format!(
            r#"{{"kind":"{kind}","apiVersion":"v1","metadata":{{"resourceVersion":"1"}},"items":[{{"metadata":{{"name":"a","labels":{{"x":"y"}}}},"data":{{"k":"v"}}}}]}}"#
        );
        let page = read_as::<PartialObjectMetadata<ConfigMap>>(&expected, &[text.as_bytes()]).unwrap();
        assert_eq!(page.items[0].metadata.labels.as_ref().unwrap()["x"], "y", "{kind}");
    }
}

#[test]
fn an_item_beyond_the_limit_is_an_error_and_other_members_are_not_held() {
    let expected = config_maps();
    let big = "x".repeat(300);
    for (text, ok) in [
        (format!(r#"{{"kind":"ConfigMapList","other":"{big}","items":[]}}"#), true),
        (format!(r#"{{"kind":"ConfigMapList","items":[{{"a":"{big}"}}]}}"#), false),
        (format!(r#"{{"kind":"ConfigMapList","metadata":{{"a":"{big}"}}}}"#), false),
    ] {
        let mut reader = ListReader::<ConfigMap>::with_limit(&expected, 200);
        let mut most = 0;
        let result = text.as_bytes().chunks(10).try_for_each(|piece| {
            let result = reader.push(piece);
            most = most.max(reader.carry.len());
            result
        });
        assert!(most <= 210, "{most} bytes held");
        match result {
            Ok(()) => assert!(ok, "{text}"),
            Err(ApiError::Broken { kind: BrokenKind::TooLarge, .. }) => assert!(!ok, "{text}"),
            Err(other) => panic!("{other:?}"),
        }
    }
}

// REST-EN-02
#[test]
fn of_members_that_come_twice_the_last_counts() {
    let text = br#"{"kind":"X","items":[{"metadata":{"name":"old"}}],"kind":"ConfigMapList","items":[{"metadata":{"name":"new"}}]}"#;
    let page = read::<ConfigMap>(&[text]).unwrap();
    assert_eq!(page.items.iter().map(Object::name).collect::<Vec<_>>(), ["new"]);
}
