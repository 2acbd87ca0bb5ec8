//! Times, durations and bytes as the typed forms read and write them.

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, Time};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde_json::{from_value, json, to_value};

// REST-EN-07
#[test]
fn a_time_is_written_in_whole_seconds_and_read_with_fractions() {
    for (text, written) in [
        ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z"),
        ("2026-01-02T03:04:05.678901234Z", "2026-01-02T03:04:05Z"),
        ("2026-01-02T05:04:05+02:00", "2026-01-02T03:04:05Z"),
    ] {
        let time: Time = from_value(json!(text)).unwrap();
        assert_eq!(to_value(&time).unwrap(), json!(written), "{text}");
    }
    let map: ConfigMap = from_value(json!({ "metadata": { "creationTimestamp": null } })).unwrap();
    assert!(map.metadata.creation_timestamp.is_none());
}

// REST-EN-08
#[test]
fn a_micro_time_has_six_digits() {
    for text in ["2026-01-02T03:04:05.678901Z", "2026-01-02T03:04:05.000000Z", "2026-01-02T03:04:05.100000Z"]
    {
        let time: MicroTime = from_value(json!(text)).unwrap();
        assert_eq!(to_value(&time).unwrap(), json!(text));
    }
}

// REST-EN-09
#[test]
fn numbers_or_texts_and_bytes_are_what_they_are() {
    for value in [json!(8080), json!("http"), json!("50%")] {
        let either: IntOrString = from_value(value.clone()).unwrap();
        assert_eq!(to_value(&either).unwrap(), value);
    }
    let bytes: ByteString = from_value(json!("aGk=")).unwrap();
    assert_eq!(bytes.0, b"hi");
    assert_eq!(to_value(&bytes).unwrap(), json!("aGk="));
    let secret: Secret = from_value(json!({ "data": { "a": "" }, "metadata": {} })).unwrap();
    assert_eq!(secret.data.unwrap()["a"].0, b"");
}

// REST-EN-10
#[test]
fn what_is_not_set_is_not_written() {
    let written = to_value(ConfigMap::default()).unwrap();
    assert_eq!(written, json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": {} }));
}
