//! Refusals and broken connections: what they answer about themselves.

use std::error::Error;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use steersman_apimachinery::{
    ApiError, ApiResource, BrokenKind, ConnectKind, Reason, Scope, Status, StatusCause, StatusDetails,
    StatusError, cause,
};

fn refusal(reason: &str, code: u16) -> StatusError {
    StatusError::new(Status {
        reason: (!reason.is_empty()).then(|| reason.to_owned()),
        code: (code != 0).then_some(code),
        ..Status::default()
    })
}

fn pods() -> ApiResource {
    ApiResource::new("v1", "Pod", "pods", Scope::Namespaced)
}
fn deployments() -> ApiResource {
    ApiResource::new("apps/v1", "Deployment", "deployments", Scope::Namespaced)
}

type Predicate = fn(&StatusError) -> bool;

const REASON_OR_CODE: &[(&str, u16, Predicate)] = &[
    ("NotFound", 404, StatusError::is_not_found),
    ("Conflict", 409, StatusError::is_conflict),
    ("Invalid", 422, StatusError::is_invalid),
    ("Gone", 410, StatusError::is_gone),
    ("NotAcceptable", 406, StatusError::is_not_acceptable),
    ("UnsupportedMediaType", 415, StatusError::is_unsupported_media_type),
    ("MethodNotAllowed", 405, StatusError::is_method_not_supported),
    ("ServiceUnavailable", 503, StatusError::is_service_unavailable),
    ("BadRequest", 400, StatusError::is_bad_request),
    ("Unauthorized", 401, StatusError::is_unauthorized),
    ("Forbidden", 403, StatusError::is_forbidden),
    ("Timeout", 504, StatusError::is_timeout),
    ("InternalError", 500, StatusError::is_internal_error),
];

// REST-ER-02
#[test]
fn every_reason_of_the_api_is_read_and_written_by_its_wire_word() {
    let words = [
        "Unauthorized",
        "Forbidden",
        "NotFound",
        "AlreadyExists",
        "Conflict",
        "Gone",
        "Invalid",
        "ServerTimeout",
        "StorageReadError",
        "Timeout",
        "TooManyRequests",
        "BadRequest",
        "MethodNotAllowed",
        "NotAcceptable",
        "RequestEntityTooLarge",
        "UnsupportedMediaType",
        "InternalError",
        "Expired",
        "ServiceUnavailable",
    ];
    assert_eq!(Reason::KNOWN.iter().map(|reason| reason.as_str()).collect::<Vec<_>>(), words);
    for (word, reason) in words.iter().zip(Reason::KNOWN) {
        assert_eq!(Reason::parse(word), *reason);
    }
    for unknown in ["", "notfound", "StoreReadError", "FromANewerServer"] {
        assert_eq!(Reason::parse(unknown), Reason::Unknown);
    }
    assert_eq!(refusal("FromANewerServer", 418).status().reason.as_deref(), Some("FromANewerServer"));
}

// REST-ER-04
#[test]
fn a_code_speaks_only_where_the_reason_is_not_a_known_one() {
    for (reason, code, predicate) in REASON_OR_CODE {
        assert!(predicate(&refusal(reason, 0)), "{reason} alone");
        assert!(predicate(&refusal(reason, 200)), "{reason} with another code");
        assert!(predicate(&refusal("", *code)), "{code} alone");
        assert!(predicate(&refusal("FromANewerServer", *code)), "{code} with an unknown reason");
        assert!(!predicate(&refusal("Expired", *code)), "{code} with the reason Expired");
        assert!(!predicate(&refusal("", 299)) && !predicate(&refusal("", 0)), "{reason} of nothing");
        for (other, other_code, _) in REASON_OR_CODE {
            if other != reason {
                assert!(!predicate(&refusal(other, *other_code)), "{reason} of {other}");
            }
        }
    }
}

// REST-ER-05
#[test]
fn some_refusals_are_known_by_their_reason_alone() {
    let by_reason: [(&str, u16, Predicate); 4] = [
        ("AlreadyExists", 409, StatusError::is_already_exists),
        ("Expired", 410, StatusError::is_resource_expired),
        ("ServerTimeout", 500, StatusError::is_server_timeout),
        ("StorageReadError", 500, StatusError::is_store_read_error),
    ];
    for (reason, code, predicate) in by_reason {
        assert!(predicate(&refusal(reason, code)) && predicate(&refusal(reason, 0)), "{reason}");
        assert!(!predicate(&refusal("", code)), "{code} alone");
    }
    assert!(!refusal("AlreadyExists", 409).is_conflict());
}

// REST-ER-06
#[test]
fn two_codes_count_whatever_the_reason() {
    for reason in ["", "NotFound", "Timeout", "FromANewerServer"] {
        assert!(refusal(reason, 429).is_too_many_requests());
        assert!(refusal(reason, 413).is_request_entity_too_large());
    }
    assert!(refusal("TooManyRequests", 0).is_too_many_requests());
    assert!(refusal("RequestEntityTooLarge", 0).is_request_entity_too_large());
    assert!(!refusal("NotFound", 404).is_too_many_requests());
}

// CACHE-R-23
#[test]
fn expired_is_the_reason_or_gone_in_any_way() {
    for (reason, code, expired, gone) in [
        ("Expired", 410, true, false),
        ("Expired", 0, true, false),
        ("Gone", 410, true, true),
        ("Gone", 0, true, true),
        ("", 410, true, true),
        ("FromANewerServer", 410, true, true),
        ("NotFound", 410, false, false),
        ("Timeout", 504, false, false),
        ("", 0, false, false),
    ] {
        let refusal = refusal(reason, code);
        assert_eq!((refusal.is_expired(), refusal.is_gone()), (expired, gone), "{reason:?} {code}");
    }
}

fn with_causes(mut error: StatusError, causes: &[(&str, &str)], message: &str) -> StatusError {
    let mut status = error.status().clone();
    status.message = Some(message.to_owned());
    let causes = causes.iter().map(|(reason, message)| StatusCause {
        reason: Some((*reason).to_owned()),
        message: Some((*message).to_owned()),
        field: None,
    });
    status.details = Some(StatusDetails { causes: causes.collect(), ..StatusDetails::default() });
    error = StatusError::new(status);
    error
}

// CACHE-R-24, REST-RV-02
#[test]
fn a_version_that_is_too_large_is_understood_from_servers_of_every_age() {
    let large = |error: &StatusError| error.is_too_large_resource_version();
    assert!(large(&StatusError::too_large_resource_version("9", "5", 1)));
    assert!(StatusError::too_large_resource_version("9", "5", 1).is_timeout());
    // The cause counts alone.
    assert!(large(&with_causes(refusal("", 500), &[(cause::RESOURCE_VERSION_TOO_LARGE, "")], "")));
    // 1.17.0 to 1.18.5: a cause without its word.
    let text = "Too large resource version";
    assert!(large(&with_causes(refusal("Timeout", 504), &[("", "other"), ("", text)], "")));
    assert!(!large(&with_causes(refusal("Timeout", 504), &[("", "Too large resource version: 9")], "")));
    // Before: in the message.
    assert!(large(&with_causes(refusal("", 504), &[], "Timeout: Too large resource version: 9, current: 5")));
    // A text in an error that is no timeout says nothing.
    assert!(!large(&with_causes(refusal("InternalError", 500), &[("", text)], text)));
    assert!(!large(&refusal("Timeout", 504)));
}

// REST-ER-07
#[test]
fn a_delay_is_suggested_by_a_server_timeout_or_a_number_of_seconds() {
    let after = |reason: &str, seconds: Option<u32>| {
        let mut status = refusal(reason, 0).into_status();
        status.details = Some(StatusDetails { retry_after_seconds: seconds, ..StatusDetails::default() });
        StatusError::new(status).suggests_delay()
    };
    assert_eq!(after("ServerTimeout", Some(0)), Some(Duration::ZERO));
    assert_eq!(after("ServerTimeout", None), Some(Duration::ZERO));
    assert_eq!(after("ServerTimeout", Some(3)), Some(Duration::from_secs(3)));
    assert_eq!(after("TooManyRequests", Some(2)), Some(Duration::from_secs(2)));
    assert_eq!(after("TooManyRequests", Some(0)), None);
    assert_eq!(after("NotFound", None), None);
    assert_eq!(refusal("ServerTimeout", 500).suggests_delay(), Some(Duration::ZERO));
}

// REST-ER-08
#[test]
fn the_first_cause_of_a_word_is_found() {
    let words = [
        (cause::FIELD_VALUE_NOT_FOUND, "FieldValueNotFound"),
        (cause::FIELD_VALUE_REQUIRED, "FieldValueRequired"),
        (cause::FIELD_VALUE_DUPLICATE, "FieldValueDuplicate"),
        (cause::FIELD_VALUE_INVALID, "FieldValueInvalid"),
        (cause::FIELD_VALUE_NOT_SUPPORTED, "FieldValueNotSupported"),
        (cause::FIELD_VALUE_FORBIDDEN, "FieldValueForbidden"),
        (cause::FIELD_VALUE_TOO_LONG, "FieldValueTooLong"),
        (cause::FIELD_VALUE_TOO_MANY, "FieldValueTooMany"),
        (cause::INTERNAL_ERROR, "InternalError"),
        (cause::FIELD_VALUE_TYPE_INVALID, "FieldValueTypeInvalid"),
        (cause::UNEXPECTED_SERVER_RESPONSE, "UnexpectedServerResponse"),
        (cause::FIELD_MANAGER_CONFLICT, "FieldManagerConflict"),
        (cause::RESOURCE_VERSION_TOO_LARGE, "ResourceVersionTooLarge"),
    ];
    for (word, text) in words {
        let error = with_causes(refusal("", 500), &[("Other", "0"), (text, "1"), (text, "2")], "");
        assert_eq!(error.cause(word).and_then(|cause| cause.message.as_deref()), Some("1"), "{text}");
        assert_eq!(refusal("", 500).cause(word), None);
    }
}

#[derive(Debug, thiserror::Error)]
#[error("outer")]
struct Outer(#[source] Box<dyn Error + Send + Sync>);

#[derive(Debug, thiserror::Error)]
#[error("shared")]
struct Shared(#[source] Arc<ApiError>);

// REST-ER-03
#[test]
fn a_refusal_is_found_in_whatever_wraps_it() {
    let refusal = || StatusError::not_found(&pods(), "web");
    let wrapped: Vec<Box<dyn Error + Send + Sync>> = vec![
        Box::new(refusal()),
        Box::new(ApiError::from(refusal())),
        Box::new(Outer(Box::new(refusal()))),
        Box::new(Outer(Box::new(Outer(Box::new(ApiError::from(refusal())))))),
        Box::new(Shared(Arc::new(ApiError::from(refusal())))),
        Box::new(io::Error::other(refusal())),
        Box::new(Outer(Box::new(io::Error::other(ApiError::from(refusal()))))),
        Box::new(ApiError::Timeout { during: "waiting", earlier: Some(Box::new(refusal().into())) }),
        Box::new(ApiError::Broken {
            during: "reading",
            kind: BrokenKind::Other,
            source: Box::new(refusal()),
        }),
    ];
    for error in &wrapped {
        let found = StatusError::find(error.as_ref()).unwrap_or_else(|| panic!("{error:?}"));
        assert!(found.is_not_found());
    }
    let none: [Box<dyn Error>; 2] = [Box::new(io::Error::other("text")), Box::new(Outer("text".into()))];
    for error in &none {
        assert_eq!(StatusError::find(error.as_ref()), None);
    }
    let timeout = ApiError::Timeout { during: "waiting", earlier: Some(Box::new(refusal().into())) };
    assert!(timeout.is_not_found() && timeout.is_network_timeout() && !timeout.is_conflict());
    let silent = ApiError::Timeout { during: "waiting", earlier: None };
    assert!(!silent.is_not_found() && !silent.is_expired() && silent.status().is_none());
}

// REST-ER-01
#[test]
fn a_refusal_prints_the_servers_message_and_keeps_its_details() {
    let body = r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",
        "message":"pods \"web\" not found","reason":"NotFound","code":404,
        "details":{"name":"web","group":"","kind":"pods","uid":"u","retryAfterSeconds":7,
                   "causes":[{"reason":"FieldValueInvalid","message":"no","field":"spec.x"}]}}"#;
    let error = StatusError::from_object(body.as_bytes()).unwrap();
    assert_eq!(error.to_string(), "pods \"web\" not found");
    assert_eq!(
        (error.code(), error.reason(), error.message()),
        (404, Reason::NotFound, "pods \"web\" not found")
    );
    let details = error.status().details.as_ref().unwrap();
    assert_eq!((details.name.as_deref(), details.kind.as_deref()), (Some("web"), Some("pods")));
    assert_eq!((details.uid.as_deref(), details.retry_after_seconds), (Some("u"), Some(7)));
    assert_eq!(error.causes()[0].field.as_deref(), Some("spec.x"));
    assert_eq!(ApiError::from(error.clone()).to_string(), error.to_string());

    let written = serde_json::to_vec(error.status()).unwrap();
    assert_eq!(StatusError::from_object(&written).unwrap(), error);
}

#[test]
fn a_refusal_is_not_lost_over_a_detail_of_itself() {
    let body = r#"{"kind":"Status","apiVersion":"v1","status":"Failure","message":null,"reason":null,"code":-1,
        "details":{"causes":[null,{"reason":null}],"retryAfterSeconds":-5,"name":null,"new":{}},"new":[]}"#;
    let error = StatusError::from_object(body.as_bytes()).unwrap();
    assert_eq!((error.code(), error.causes().len(), error.suggests_delay()), (0, 2, None));
    assert_eq!(error.to_string(), "the server answered with code 0 and no reason");
    let nulls = br#"{"kind":"Status","apiVersion":"v1","details":{"causes":null},"code":null}"#;
    assert!(StatusError::from_object(nulls).is_ok());
    let none = br#"{"kind":"Status","apiVersion":"v1","details":null}"#;
    assert!(StatusError::from_object(none).is_ok());
}

// REST-ER-14
#[test]
fn only_a_status_makes_an_error_and_anything_else_is_carried() {
    for good in
        [r#"{"kind":"Status","apiVersion":"v1"}"#, r#"{"kind":"Status","apiVersion":"meta.k8s.io/v1"}"#]
    {
        assert!(StatusError::from_object(good.as_bytes()).is_ok(), "{good}");
    }
    for bad in [
        r#"{"kind":"Status"}"#,
        r#"{"kind":"Status","apiVersion":"v2"}"#,
        r#"{"kind":"Pod","apiVersion":"v1"}"#,
        r#"{"apiVersion":"v1","message":"x"}"#,
        "null",
        "[]",
        "not JSON",
        "",
    ] {
        let error = StatusError::from_object(bad.as_bytes()).unwrap_err();
        assert_eq!(error.body(), bad.as_bytes());
        assert_eq!(error.to_string(), format!("unexpected object: {bad}"));
    }
}

// REST-ER-12, REST-ER-13
#[test]
fn an_error_body_is_a_failure_of_kind_status_or_nothing() {
    let read = |body: &str| Status::from_error_body(body.as_bytes());
    assert!(read(r#"{"kind":"Status","status":"Failure"}"#).is_some());
    assert_eq!(
        read(r#"{"kind":"Status","apiVersion":"v1","status":"Failure","code":418}"#).unwrap().code,
        Some(418)
    );
    for other in [
        r#"{"kind":"Status","apiVersion":"v1","status":"Success"}"#,
        r#"{"kind":"Status","apiVersion":"v1"}"#,
        r#"{"kind":"Status","apiVersion":"example.com/v1","status":"Failure"}"#,
        r#"{"kind":"Pod","apiVersion":"v1","status":"Failure"}"#,
        r#"{"status":"Failure"}"#,
        "<html>502</html>",
        "",
    ] {
        assert_eq!(read(other), None, "{other}");
    }
}

// REST-ER-16
#[test]
fn each_constructor_answers_for_itself_with_the_reference_code_and_text() {
    let cases: Vec<(StatusError, Predicate, u16, &str)> = vec![
        (StatusError::not_found(&pods(), "web"), StatusError::is_not_found, 404, "pods \"web\" not found"),
        (
            StatusError::already_exists(&deployments(), "web"),
            StatusError::is_already_exists,
            409,
            "deployments.apps \"web\" already exists",
        ),
        (
            StatusError::conflict(&pods(), "web", "too late"),
            StatusError::is_conflict,
            409,
            "Operation cannot be fulfilled on pods \"web\": too late",
        ),
        (StatusError::forbidden(&pods(), "", "no"), StatusError::is_forbidden, 403, "pods is forbidden: no"),
        (
            StatusError::forbidden(&pods(), "web", "no"),
            StatusError::is_forbidden,
            403,
            "pods \"web\" is forbidden: no",
        ),
        (
            StatusError::method_not_supported(&pods(), "patch"),
            StatusError::is_method_not_supported,
            405,
            "patch is not supported on resources of kind \"pods\"",
        ),
        (
            StatusError::server_timeout(&pods(), "list", 2),
            StatusError::is_server_timeout,
            500,
            "The list operation against pods could not be completed at this time, please try again.",
        ),
        (StatusError::unauthorized(""), StatusError::is_unauthorized, 401, "not authorized"),
        (StatusError::bad_request("odd"), StatusError::is_bad_request, 400, "odd"),
        (StatusError::gone("old"), StatusError::is_gone, 410, "old"),
        (StatusError::expired("old"), StatusError::is_resource_expired, 410, "old"),
        (StatusError::timeout("slow", 1), StatusError::is_timeout, 504, "Timeout: slow"),
        (StatusError::too_many_requests("wait", 1), StatusError::is_too_many_requests, 429, "wait"),
        (
            StatusError::request_entity_too_large("big"),
            StatusError::is_request_entity_too_large,
            413,
            "Request entity too large: big",
        ),
        (StatusError::not_acceptable("a"), StatusError::is_not_acceptable, 406, "a"),
        (StatusError::unsupported_media_type("b"), StatusError::is_unsupported_media_type, 415, "b"),
        (StatusError::service_unavailable("c"), StatusError::is_service_unavailable, 503, "c"),
        (StatusError::internal_error("d"), StatusError::is_internal_error, 500, "Internal error occurred: d"),
        (StatusError::store_read_error("e"), StatusError::is_store_read_error, 500, "e"),
    ];
    for (error, predicate, code, text) in cases {
        assert!(predicate(&error), "{error:?}");
        assert_eq!((error.code(), error.to_string().as_str()), (code, text));
        assert_eq!(error.status().status.as_deref(), Some("Failure"));
    }
    let wrong = |field: &str| StatusCause {
        reason: Some(cause::FIELD_VALUE_INVALID.to_owned()),
        message: Some("bad".to_owned()),
        field: Some(field.to_owned()),
    };
    let one = StatusError::invalid(&deployments(), "web", vec![wrong("spec.a")]);
    assert_eq!(one.to_string(), "Deployment.apps \"web\" is invalid: spec.a: bad");
    let two = StatusError::invalid(&deployments(), "web", vec![wrong("spec.a"), wrong("spec.b")]);
    assert_eq!(two.to_string(), "Deployment.apps \"web\" is invalid: [spec.a: bad, spec.b: bad]");
    let twice = StatusError::invalid(&deployments(), "web", vec![wrong("spec.a"), wrong("spec.a")]);
    assert_eq!(twice.to_string(), one.to_string());
    let none = StatusError::invalid(&deployments(), "web", Vec::new());
    assert_eq!(none.to_string(), "Deployment.apps \"web\" is invalid");
    assert!(two.is_invalid() && two.code() == 422 && two.causes().len() == 2);
}

// REST-ER-17
#[test]
fn a_broken_connection_says_how_it_broke() {
    let io = |kind: io::ErrorKind| Box::new(Outer(Box::new(io::Error::from(kind))));
    let connect = |kind, io_kind| ApiError::Connect { host: "h".to_owned(), kind, source: io(io_kind) };
    let broken = |kind, io_kind| ApiError::Broken { during: "reading", kind, source: io(io_kind) };
    let answers = |error: &ApiError| {
        [
            error.is_timeout(),
            error.is_connection_refused(),
            error.is_reset(),
            error.is_probable_eof(),
            error.is_connection_lost(),
        ]
    };
    let other = io::ErrorKind::Other;
    for (error, expected) in [
        (connect(ConnectKind::Refused, other), [false, true, false, false, false]),
        (connect(ConnectKind::Other, io::ErrorKind::ConnectionRefused), [false, true, false, false, false]),
        (connect(ConnectKind::Timeout, other), [true, false, false, false, false]),
        (connect(ConnectKind::Tls, io::ErrorKind::ConnectionReset), [false, false, true, true, false]),
        (connect(ConnectKind::Resolve, other), [false; 5]),
        (broken(BrokenKind::Reset, other), [false, false, true, true, false]),
        (broken(BrokenKind::Other, io::ErrorKind::ConnectionReset), [false, false, true, true, false]),
        (broken(BrokenKind::Eof, other), [false, false, false, true, false]),
        (broken(BrokenKind::Other, io::ErrorKind::UnexpectedEof), [false, false, false, true, false]),
        (broken(BrokenKind::Other, io::ErrorKind::BrokenPipe), [false, false, false, true, false]),
        (broken(BrokenKind::GoAway, other), [false, false, false, true, false]),
        (broken(BrokenKind::Timeout, other), [true, false, false, false, true]),
        (broken(BrokenKind::TooLarge, other), [false; 5]),
        (ApiError::Timeout { during: "waiting", earlier: None }, [true, false, false, false, false]),
        (StatusError::timeout("slow", 0).into(), [true, false, false, false, false]),
        (StatusError::not_found(&pods(), "x").into(), [false; 5]),
        (ApiError::InvalidRequest("no".to_owned()), [false; 5]),
    ] {
        assert_eq!(answers(&error), expected, "{error:?}");
    }
    assert!(!ApiError::from(StatusError::timeout("slow", 0)).is_network_timeout());
}
