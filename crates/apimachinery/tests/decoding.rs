//! Kept forms out of bytes: leniency, skipped fields, and what an error tells.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};
use steersman_apimachinery::{
    ApiResource, Decode, DecodeContext, DecodeError, DynamicObject, Head, Lazy, Meta, Object, ObjectKey,
    PartialObjectMetadata, Scope,
};

use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Website {
    metadata: ObjectMeta,
    #[serde(default)]
    spec: Spec,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
struct Spec {
    replicas: i32,
    title: String,
    hosts: Vec<Host>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
struct Host {
    name: String,
    port: u16,
}

steersman_apimachinery::object!(Website, "example.com/v1", "Website", "websites", Namespaced);

fn plain() -> DecodeContext<'static> {
    DecodeContext::default()
}
fn skipping() -> DecodeContext<'static> {
    plain().skipping_managed_fields(true)
}
fn decode<T: Decode>(text: &str, context: DecodeContext<'_>) -> Result<T, DecodeError> {
    T::decode(text.as_bytes(), context)
}

const MANAGED: &str = r#"[{"manager":"kubectl","operation":"Update","apiVersion":"v1","fieldsV1":{"f:spec":{"k:{\"a\":1}":{}}}}]"#;

// REST-EN-03
#[test]
fn nulls_are_read_as_absent() {
    let text = r#"{"metadata":{"name":"a","labels":{"x":null},"annotations":null,"ownerReferences":null},
        "spec":{"replicas":null,"title":null,"hosts":[{"name":null,"port":80}]}}"#;
    let site: Website = decode(text, plain()).unwrap();
    assert_eq!(site.spec, Spec { hosts: vec![Host { name: String::new(), port: 80 }], ..Spec::default() });
    assert_eq!(site.metadata.labels, Some(BTreeMap::from([("x".to_owned(), String::new())])));
    assert!(decode::<Website>(r#"{"metadata":{"name":"a"},"spec":null}"#, plain()).is_ok());
}

// REST-EN-02
#[test]
fn of_two_equal_keys_the_last_one_counts() {
    let text = r#"{"metadata":{"name":"a"},"spec":{"replicas":1,"replicas":2}}"#;
    assert_eq!(decode::<Website>(text, plain()).unwrap().spec.replicas, 2);
}

#[test]
fn an_error_tells_the_object_the_field_and_the_place() {
    let text = "{\"metadata\":{\"name\":\"web\",\"namespace\":\"shop\",\"resourceVersion\":\"7\"},\n \"spec\":{\"hosts\":[{},{\"port\":\"http\"}]}}";
    let error = decode::<Website>(text, plain()).unwrap_err();
    assert_eq!(error.key.as_ref().unwrap().as_str(), "shop/web");
    assert_eq!(error.resource_version.as_ref().unwrap().as_str(), "7");
    assert_eq!(
        error.to_string(),
        "could not decode shop/web: spec.hosts[1].port: invalid type: a string, expected u16 at line 2 column 35"
    );
    let skipped = decode::<Website>(text, skipping()).unwrap_err();
    assert_eq!(skipped, error);
    let lazy: Lazy<Website> = decode(text, plain()).unwrap();
    assert_eq!(lazy.decode().unwrap_err(), error);
    assert_eq!(lazy.view::<Website>().unwrap_err(), error);

    let number = r#"{"metadata":{"name":"web"},"spec":{"replicas":3000000000,"title":"t"}}"#;
    let error = decode::<Website>(number, plain()).unwrap_err();
    assert!(error.message.starts_with("spec.replicas: invalid value"), "{error}");
    let error = decode::<Website>(r#"{"spec":{}}"#, plain()).unwrap_err();
    assert_eq!((error.key.is_none(), error.message.contains("missing field `metadata`")), (true, true));
}

// REST-XX-02
#[test]
fn an_error_quotes_no_value() {
    let canary = "c2VjcmV0, expected \\\"`'";
    for (object, told) in [
        (
            r#"{"metadata":{"name":"a"},"data":"CANARY"}"#,
            "data: invalid type: a string, expected a map at line 1",
        ),
        (r#"{"metadata":{"name":"a"},"data":{"k":4711}}"#, "data.k: invalid type: an integer, expected "),
        (r#"{"metadata":{"name":"a"},"data":{"k":"CANARY"}}"#, "data.k: "),
        (r#"{"metadata":{"name":"a"},"data":{"k":true}}"#, "data.k: invalid type: a boolean, expected "),
        (
            r#"{"metadata":{"name":"a"},"immutable":"CANARY"}"#,
            "immutable: invalid type: a string, expected a boolean",
        ),
        (r#"{"metadata":{"name":"a","creationTimestamp":"CANARY"}}"#, "metadata.creationTimestamp: "),
        // The parser stops behind a text where no text may stand.
        (r#"{"metadata":{"name":"a"},"data":{"k" "CANARY"}}"#, "data.k: expected `:` at line 1"),
        (
            r#"{"metadata":{"name":"a"},"data":{"k":"dg==" "CANARY"}}"#,
            "data.k: expected `,` or `}` at line 1",
        ),
    ] {
        let error = decode::<Secret>(&object.replace("CANARY", canary), plain()).unwrap_err();
        assert_eq!(error.key.as_ref().map(ObjectKey::as_str), Some("a"), "{object}");
        assert!(error.message.starts_with(told), "{}", error.message);
        for shown in [error.to_string(), format!("{error:?}")] {
            assert!(!shown.contains("c2VjcmV0") && !shown.contains("4711"), "{shown}");
        }
    }
}

// REST-XX-02
#[test]
fn an_error_of_a_forms_own_words_quotes_no_value() {
    #[derive(Debug, serde::Deserialize)]
    enum Known {
        #[serde(rename = "a")]
        A,
        #[serde(rename = "b")]
        B,
    }
    #[derive(Debug)]
    struct Own;
    impl<'de> serde::Deserialize<'de> for Own {
        fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let text = String::deserialize(deserializer)?;
            Err(serde::de::Error::custom(format!("no port {text:?} here")))
        }
    }
    let told = |error: serde_json::Error| DecodeError::unparsed("it", &error).message;
    let variant = serde_json::from_str::<Known>(r#""c2VjcmV0""#).unwrap_err();
    assert_eq!(told(variant), "it: unknown variant, expected `a` or `b` at line 1 column 10");
    assert!(matches!(serde_json::from_str(r#""a""#), Ok(Known::A)));
    assert!(matches!(serde_json::from_str(r#""b""#), Ok(Known::B)));
    let own = serde_json::from_str::<Own>(r#""c2VjcmV0 \"x\"""#).unwrap_err();
    let own = told(own);
    assert!(own.starts_with("it: no port … here"), "{own}");
}

#[test]
fn the_name_of_a_broken_object_is_found_wherever_it_is_broken() {
    for (broken, key, version) in [
        (
            r#"{"spec":{"a":[1,{}]},"metadata":{"name":"n","namespace":"s","resourceVersion":"5","labels":7}}"#,
            "s/n",
            "5",
        ),
        (
            r#"{"metadata":{"labels":["x"],"finalizers":{},"name":"n","resourceVersion":"5","uid":{}}}"#,
            "n",
            "5",
        ),
        (r#"{"metadata":{"name":"n","deletionTimestamp":"null"},"spec":tru"#, "n", ""),
        (
            r#"{"metadata":{"name":"n","namespace":null,"resourceVersion":5,"a":1.5,"b":-1,"c":true}, oops"#,
            "n",
            "",
        ),
        (r#"{"metadata":{"name":"n","namespace":"s"}"#, "s/n", ""),
        // Here a namespace might still follow.
        (r#"{"metadata":{"name":"n","resourceVersion":"5""#, "", ""),
        (r#"{"metadata":{"name":5}}"#, "", ""),
        (r#"{"metadata":null}"#, "", ""),
        ("[1]", "", ""),
        ("null", "", ""),
        ("", "", ""),
    ] {
        let error = DecodeError::about(broken.as_bytes(), "it is broken");
        assert_eq!(error.key.as_ref().map_or("", |key| key.as_str()), key, "{broken}");
        assert_eq!(error.resource_version.as_ref().map_or("", |v| v.as_str()), version, "{broken}");
    }
    let bad_time = r#"{"metadata":{"name":"n","deletionTimestamp":"null"}}"#;
    let error = decode::<Lazy<Website>>(bad_time, plain()).unwrap_err();
    assert!(error.message.starts_with("metadata.deletionTimestamp: "), "{error}");
    assert_eq!(error.key.unwrap().as_str(), "n");
}

#[derive(Deserialize)]
struct Held {
    metadata: Option<Fields>,
}
#[derive(Deserialize)]
struct Fields(BTreeMap<String, Value>);

#[test]
fn managed_fields_are_skipped_and_nothing_else_is() {
    let text = format!(
        r#"{{"managedFields":1,"metadata":{{"name":"a","managedFields":{MANAGED},"labels":{{"managedFields":"stays"}}}},
            "spec":{{"title":"t","metadata":{{"managedFields":2}}}}}}"#
    );
    let whole: DynamicObject = decode(&with_kind(&text), plain()).unwrap();
    assert_eq!(whole.metadata.managed_fields.as_ref().map(Vec::len), Some(1));
    let mut expected = whole;
    expected.metadata.managed_fields = None;
    assert_eq!(decode::<DynamicObject>(&with_kind(&text), skipping()).unwrap(), expected);
    assert_eq!(expected.data["managedFields"], json!(1));

    let site: Website = decode(&text, skipping()).unwrap();
    assert_eq!(site.metadata, expected.metadata);

    // Whatever holds the metadata, and however the key is written.
    let escaped = text.replacen("\"managedFields\":[", "\"managed\\u0046ields\":[", 1);
    for text in [&text, &escaped] {
        let held: Held = decode(text, skipping()).unwrap();
        assert_eq!(held.metadata.unwrap().0.keys().collect::<Vec<_>>(), ["labels", "name"]);
        let value: Value = decode(text, skipping()).unwrap();
        assert_eq!(value["metadata"].as_object().unwrap().len(), 2);
        assert_eq!(value["spec"]["metadata"]["managedFields"], json!(2));
    }
    let deeper = r#"{"metadata":{"metadata":{"managedFields":3},"managedFields":[]}}"#;
    assert_eq!(
        decode::<Value>(deeper, skipping()).unwrap(),
        json!({"metadata": {"metadata": {"managedFields": 3}}})
    );
    // It need not even be of the right type; it must be JSON.
    assert!(decode::<Website>(r#"{"metadata":{"managedFields":"?","name":"a"}}"#, skipping()).is_ok());
    assert!(decode::<Website>(r#"{"metadata":{"managedFields":[}],"name":"a"}}"#, skipping()).is_err());
}

fn with_kind(text: &str) -> String {
    text.replacen('{', r#"{"apiVersion":"example.com/v1","kind":"Website","#, 1)
}

#[test]
fn a_lazy_object_cuts_managed_fields_out_of_its_bytes() {
    for (before, after) in [
        (
            r#"{"metadata":{"name":"a","managedFields":M},"spec":{}}"#,
            r#"{"metadata":{"name":"a"},"spec":{}}"#,
        ),
        (
            r#"{"metadata":{"managedFields":M,"name":"a"},"spec":{}}"#,
            r#"{"metadata":{"name":"a"},"spec":{}}"#,
        ),
        (
            r#"{"metadata":{"name":"a" , "managedFields" : M , "uid":"u"}}"#,
            r#"{"metadata":{"name":"a"  , "uid":"u"}}"#,
        ),
        (r#"{"metadata":{ "managedFields" : M , "name":"a"}}"#, r#"{"metadata":{  "name":"a"}}"#),
        (r#"{"metadata":{"managedFields":M}}"#, r#"{"metadata":{}}"#),
        (r#"{"metadata":{"name":"a","managedFields":null}}"#, r#"{"metadata":{"name":"a"}}"#),
        (r#"{"metadata":{"name":"a"}}"#, r#"{"metadata":{"name":"a"}}"#),
        (
            r#"{"metadata":{"name":"a","managed\u0046ields":M}}"#,
            r#"{"metadata":{"name":"a","managed\u0046ields":[]}}"#,
        ),
        (
            r#"{"metadata":{"name":"x","managedFields":[]},"metadata":{"name":"a"}}"#,
            r#"{"metadata":{"name":"x","managedFields":[]},"metadata":{"name":"a"}}"#,
        ),
        (
            r#"{"metadata":{"name":"x","managedFields":[]},"metadata":{"name":"a","managedFields":M}}"#,
            r#"{"metadata":{"name":"x","managedFields":[]},"metadata":{"name":"a"}}"#,
        ),
    ] {
        let text = before.replacen('M', MANAGED, 1);
        let lazy: Lazy<Website> = decode(&text, skipping()).unwrap();
        assert_eq!(std::str::from_utf8(lazy.body()).unwrap(), after);
        let whole: Lazy<Website> = decode(&text, plain()).unwrap();
        assert_eq!(whole.body(), text.as_bytes());
        assert_eq!(whole.head(), lazy.head());
    }
}

#[test]
fn what_is_read_of_a_lazy_object_is_what_its_bytes_say_wherever_managed_fields_were_cut_out() {
    let labels = r#""labels":{"zone":"é\u00e9","app":"a-name-longer-than-thirty-two-letters","b":"","long/key":"w\"x"}"#;
    let owners = r#""ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-5f","uid":"0-1","controller":true}]"#;
    let names = r#""uid":"17e757f1-6cfb-48cf-91ff-a96fc4c62cce","name":"web-0","namespace":"shop","resourceVersion":"1000","generation":3"#;
    let rest = r#""finalizers":["a/b"],"deletionTimestamp":"2026-01-01T00:00:00Z""#;
    let managed = format!(r#""managedFields":{MANAGED}"#);
    for order in [
        [names, labels, owners, rest, &managed],
        [&managed, names, labels, owners, rest],
        [labels, names, &managed, owners, rest],
        [owners, &managed, rest, labels, names],
    ] {
        let text = format!(r#" {{"spec":{{"title":"t","price":1}},"metadata":{{{}}}}} "#, order.join(","));
        let head: Head =
            serde_json::from_value(serde_json::from_str::<Value>(&text).unwrap()["metadata"].take()).unwrap();
        for context in [plain(), skipping(), skipping().for_items_of("v1", "WebsiteList")] {
            let lazy: Lazy<Website> = decode(&text, context).unwrap();
            assert_eq!(lazy.head(), head);
            assert_eq!(lazy.clone().head(), head);
            let dynamic: Lazy<DynamicObject> = decode(&text, context).unwrap();
            assert_eq!(dynamic.head(), head);
            assert_eq!(dynamic.key().as_str(), "shop/web-0");
            assert!(serde_json::from_slice::<Value>(dynamic.body()).is_ok());
        }
    }
}

#[test]
fn a_lazy_object_is_written_as_it_was_received() {
    let text = r#"{ "metadata":{"name":"a","x":1},"spec":{"title":"é","price":1.50} }"#;
    let lazy: Lazy<Website> = decode(text, plain()).unwrap();
    assert_eq!(serde_json::to_string(&lazy).unwrap(), text);
    assert_eq!(serde_json::to_value(&lazy).unwrap(), serde_json::from_str::<Value>(text).unwrap());
    assert_eq!(lazy.decode().unwrap().spec.title, "é");
    assert_eq!(lazy.view::<Website>().unwrap(), lazy.decode().unwrap());
    assert_eq!(lazy.clone(), lazy);
}

#[test]
fn what_is_not_json_is_no_lazy_object() {
    for bad in [
        "",
        "null",
        "[]",
        "7",
        "{",
        "{}",
        r#"{"metadata":{}"#,
        r#"{"metadata":{}}}"#,
        r#"{"metadata":{}} x"#,
        r#"{"metadata":{},"spec":{"a":[1,2}}"#,
        r#"{"metadata":{},"spec":tru}"#,
        r#"{"metadata":{},"spec":01}"#,
        r#"{"metadata":{},"spec":"\x"}"#,
        r#"{"metadata":{},}"#,
        r#"{"metadata":{"name":7}}"#,
        r#"{"metadata":null}"#,
        "{\"metadata\":{},\"spec\":\"\n\"}",
    ] {
        assert!(decode::<Lazy<Website>>(bad, plain()).is_err(), "{bad}");
    }
    assert!(<Lazy<Website> as Decode>::decode(b"{\"metadata\":{},\"spec\":\"\xff\"}", plain()).is_err());
}

#[test]
fn deep_nesting_is_an_error_and_not_the_end_of_the_process() {
    let depth = 200_000;
    let deep = format!(r#"{{"metadata":{{"name":"a"}},"spec":{}{}}}"#, "[".repeat(depth), "]".repeat(depth));
    assert!(decode::<DynamicObject>(&deep, plain()).is_err());
    assert!(decode::<DynamicObject>(&deep, skipping()).is_err());
    let in_head = format!(r#"{{"metadata":{{"name":"a","labels":{}}}}}"#, "{\"a\":".repeat(depth));
    assert!(decode::<Lazy<Website>>(&in_head, plain()).is_err());
    let managed = format!(
        r#"{{"metadata":{{"name":"a","managedFields":{}{}}}}}"#,
        "[".repeat(depth),
        "]".repeat(depth)
    );
    assert_eq!(
        decode::<Lazy<Website>>(&managed, skipping()).unwrap().body(),
        br#"{"metadata":{"name":"a"}}"#
    );
}

// REST-DY-05, REST-DY-06
#[test]
fn an_item_of_a_list_takes_over_the_type_that_the_list_tells() {
    let of_list = plain().for_items_of("example.com/v1", "WebsiteList");
    let bare = r#"{"metadata":{"name":"a"},"spec":{}}"#;
    let object: DynamicObject = decode(bare, of_list).unwrap();
    assert_eq!((object.api_version.as_str(), object.kind.as_str()), ("example.com/v1", "Website"));
    let lazy: Lazy<DynamicObject> = decode(bare, of_list).unwrap();
    assert_eq!(lazy.decode().unwrap(), object);
    let empty_list = plain().for_items_of("example.com/v1", "WebsiteList").skipping_managed_fields(true);
    let with_managed = format!(r#" {{"metadata":{{"name":"a","managedFields":{MANAGED}}},"spec":{{}}}}"#);
    let lazy: Lazy<DynamicObject> = decode(&with_managed, empty_list).unwrap();
    assert_eq!(lazy.decode().unwrap(), object);

    let own = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}"#;
    for object in [
        decode::<DynamicObject>(own, of_list).unwrap(),
        decode::<Lazy<DynamicObject>>(own, of_list).unwrap().decode().unwrap(),
    ] {
        assert_eq!((object.api_version.as_str(), object.kind.as_str()), ("v1", "Pod"));
    }
    // One of the two alone is not completed.
    let kind_only = decode::<DynamicObject>(r#"{"kind":"Pod","metadata":{"name":"a"}}"#, of_list).unwrap();
    assert_eq!((kind_only.api_version.as_str(), kind_only.kind.as_str()), ("", "Pod"));
    let version_only = decode::<DynamicObject>(r#"{"apiVersion":"v1","metadata":{"name":"a"}}"#, of_list);
    assert_eq!(version_only.unwrap_err().key.unwrap().as_str(), "a");
    // Without a list, a kind is needed to decode; none is needed to be sent.
    assert!(decode::<DynamicObject>(bare, plain()).is_err());
    let untyped = DynamicObject { metadata: object.metadata.clone(), ..DynamicObject::default() };
    assert_eq!(serde_json::to_string(&untyped).unwrap(), r#"{"metadata":{"name":"a"}}"#);
    // Typed forms are left alone.
    assert!(decode::<Website>(bare, of_list).is_ok());
    assert_eq!(decode::<Lazy<Website>>(bare, of_list).unwrap().body(), bare.as_bytes());
}

// REST-DY-06
#[test]
fn whole_numbers_of_a_dynamic_object_stay_whole() {
    let text = r#"{"apiVersion":"v1","kind":"K","metadata":{"generation":9007199254740993},
        "spec":{"a":9223372036854775807,"b":-9223372036854775808,"c":1.5,"d":1.0,"e":1e400}}"#;
    assert!(decode::<DynamicObject>(text, plain()).is_err());
    let object: DynamicObject = decode(&text.replace(",\"e\":1e400", ""), plain()).unwrap();
    assert_eq!(object.metadata.generation, Some(9_007_199_254_740_993));
    assert_eq!(object.field::<i64>("/spec/a").unwrap(), Some(i64::MAX));
    assert_eq!(object.field::<i64>("/spec/b").unwrap(), Some(i64::MIN));
    assert!(object.pointer("/spec/c").unwrap().is_f64() && object.pointer("/spec/d").unwrap().is_f64());
    let written = serde_json::to_string(&object).unwrap();
    assert!(written.contains("9223372036854775807") && written.contains("-9223372036854775808"));
    assert_eq!(serde_json::from_str::<DynamicObject>(&written).unwrap(), object);
}

// REST-EN-21
#[test]
fn the_fields_of_a_dynamic_object_are_read_set_and_removed_by_pointer() {
    let resource = ApiResource::new("example.com/v1", "Website", "websites", Scope::Namespaced);
    let mut site = DynamicObject::new("a", &resource).within("shop");
    assert_eq!(site.key().as_str(), "shop/a");
    assert_eq!(site.set("/spec/hosts", json!([{"name": "x"}])), Ok(None));
    assert_eq!(site.set("/spec/hosts/0/name", json!("y")), Ok(Some(json!("x"))));
    assert_eq!(site.set("/spec/hosts/-", json!({"name": "z"})), Ok(None));
    assert_eq!(site.set("/spec/a~1b/c~0d", json!(1)), Ok(None));
    assert_eq!(site.set("/spec/none", Value::Null), Ok(None));
    assert_eq!(site.set("/spec/hosts/7", json!(1)), Err(json!(1)));
    assert_eq!(site.set("/spec/hosts/0/name/deeper", json!(1)), Err(json!(1)));
    assert_eq!(site.set("spec", json!(1)), Err(json!(1)));
    assert_eq!(
        site.spec(),
        Some(&json!({"hosts": [{"name": "y"}, {"name": "z"}], "a/b": {"c~d": 1}, "none": null}))
    );
    // Missing, null and of another type are three answers.
    assert_eq!((site.pointer("/spec/nowhere"), site.pointer("/spec/none")), (None, Some(&Value::Null)));
    assert!(site.field::<i64>("/spec/hosts").is_err());
    assert_eq!(site.field::<String>("/spec/none").unwrap(), None);
    assert_eq!(site.remove("/spec/hosts/0"), Some(json!({"name": "y"})));
    assert_eq!(site.remove("/spec/a~1b/c~0d"), Some(json!(1)));
    assert_eq!((site.remove("/spec/hosts/9"), site.remove("/status"), site.remove("x")), (None, None, None));
    assert!(site.remove("/spec").is_some() && site.spec().is_none() && site.status().is_none());
    assert_eq!(site.parse::<Website>().unwrap().metadata, site.metadata);
    assert_eq!(DynamicObject::from_typed(&site).unwrap(), site);
}

#[test]
fn partial_metadata_reads_what_has_metadata_and_says_its_kind() {
    let text =
        r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","labels":{"x":"y"}},"spec":{"a":[1]}}"#;
    let partial: PartialObjectMetadata<Website> = decode(text, plain()).unwrap();
    assert_eq!(partial.metadata.labels.as_ref().unwrap()["x"], "y");
    let written = serde_json::to_value(&partial).unwrap();
    assert_eq!(
        written,
        json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1",
               "metadata": {"name": "a", "labels": {"x": "y"}}})
    );
    assert_eq!(serde_json::from_value::<PartialObjectMetadata<Website>>(written).unwrap(), partial);
    assert!(PartialObjectMetadata::<Website>::is_metadata_only() && !Website::is_metadata_only());
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "\\PC{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map("[a-zA-Z\"\\\\é]{0,6}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn garbage() -> impl Strategy<Value = Vec<u8>> {
    let near = proptest::collection::vec(
        prop_oneof![
            Just("{"),
            Just("}"),
            Just("["),
            Just("]"),
            Just(":"),
            Just(","),
            Just("\"metadata\""),
            Just("\"name\""),
            Just("\"managedFields\""),
            Just("\"labels\""),
            Just("null"),
            Just("\"a\""),
            Just("1"),
            Just("\\"),
            Just("\"kind\""),
            Just(" "),
            Just("é"),
            Just("{\"metadata\":{\"name\":\"a\","),
        ],
        0..24,
    )
    .prop_map(|parts| parts.concat().into_bytes());
    prop_oneof![near, proptest::collection::vec(any::<u8>(), 0..64)]
}

proptest! {
    #[test]
    fn garbage_is_an_error_and_never_a_panic(body in garbage()) {
        for context in [plain(), skipping(), skipping().for_items_of("v1", "List")] {
            let typed = Website::decode(&body, context);
            let dynamic = DynamicObject::decode(&body, context);
            let lazy = <Lazy<Website> as Decode>::decode(&body, context);
            _ = <Lazy<DynamicObject> as Decode>::decode(&body, context).map(|lazy| lazy.decode());
            if let Ok(lazy) = lazy {
                let kept = serde_json::from_slice::<Value>(lazy.body());
                prop_assert!(kept.is_ok(), "kept {:?}", lazy);
                prop_assert!(serde_json::to_vec(&lazy).is_ok());
            }
            if let Err(error) = typed {
                prop_assert!(!error.to_string().is_empty());
            }
            if let Ok(object) = dynamic {
                prop_assert!(!object.kind.is_empty());
            }
        }
    }

    #[test]
    fn skipping_equals_deleting_afterwards(
        metadata in json_value(), managed in json_value(), spec in json_value(), at in 0_usize..3,
    ) {
        let mut metadata = if metadata.is_object() { metadata } else { json!({"x": metadata}) };
        metadata["name"] = json!("a");
        let mut fields: Vec<(String, Value)> = metadata.as_object().unwrap().clone().into_iter().collect();
        fields.insert(at.min(fields.len()), ("managedFields".to_owned(), managed));
        let fields: Vec<String> = fields.iter().map(|(k, v)| format!("{}:{v}", json!(k))).collect();
        let text = format!(r#"{{"kind":"K","metadata":{{{}}},"spec":{spec}}}"#, fields.join(" , "));
        let expected = json!({"kind": "K", "metadata": metadata, "spec": spec});
        prop_assert_eq!(&decode::<Value>(&text, skipping()).unwrap(), &expected);
        if let Ok(head) = serde_json::from_value::<Head>(metadata) {
            let lazy: Lazy<Website> = decode(&text, skipping()).unwrap();
            prop_assert_eq!(lazy.head(), head.clone());
            prop_assert_eq!(&serde_json::from_slice::<Value>(lazy.body()).unwrap(), &expected);
            let whole: Lazy<Website> = decode(&text, plain()).unwrap();
            prop_assert_eq!(whole.body(), text.as_bytes());
            prop_assert_eq!(whole.resource_version(), head.resource_version());
        } else {
            prop_assert!(decode::<Lazy<Website>>(&text, plain()).is_err());
        }
    }
}

// F-44
#[test]
fn an_untyped_object_keeps_what_a_newer_server_put_into_its_metadata() {
    let text = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","fromTheFuture":{"a":[1,"x",null]},
        "labels":{"k":"v"},"managedFields":[{"manager":"m"}],"creationTimestamp":null},"other":1}"#;
    let object: DynamicObject = decode(text, plain()).unwrap();
    assert_eq!((object.name(), object.metadata.labels.as_ref().unwrap()["k"].as_str()), ("a", "v"));
    assert_eq!(object.unknown_metadata["fromTheFuture"]["a"][1], "x");
    let written = serde_json::to_value(&object).unwrap();
    assert_eq!(written["metadata"]["fromTheFuture"], object.unknown_metadata["fromTheFuture"]);
    assert_eq!(written["metadata"]["name"], "a");
    assert_eq!(serde_json::from_value::<DynamicObject>(written).unwrap(), object);

    let skipped: DynamicObject = decode(text, skipping()).unwrap();
    assert!(skipped.metadata.managed_fields.is_none(), "it is known, and not wanted");
    assert_eq!(skipped.unknown_metadata, object.unknown_metadata);

    let without = DynamicObject { unknown_metadata: serde_json::Map::new(), ..object };
    let written = serde_json::to_value(&without).unwrap();
    assert_eq!(written["metadata"].as_object().unwrap().len(), 3, "name, labels, managedFields");
    let empty: DynamicObject = decode(r#"{"kind":"Pod","metadata":null}"#, plain()).unwrap();
    assert_eq!((empty.name(), empty.unknown_metadata.len()), ("", 0));
}
