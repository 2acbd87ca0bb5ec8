//! URLs, queries, refusals.

use std::time::Duration;

use apimachinery::{
    ApiError, ApiResource, CreateOptions, DeleteOptions, FieldValidation, GetOptions, ListOptions, ObjectKey,
    PatchOptions, Preconditions, PropagationPolicy, ResourceVersionMatch, Scope, StatusError,
};
use http::HeaderMap;

use super::answer::{check_json, check_object, refusal, retry_after};
use super::url::go_duration;
use super::*;

fn resource(api_version: &'static str, plural: &'static str, scope: Scope) -> ApiResource {
    ApiResource::new(api_version, "Kind", plural, scope)
}

// REST-RQ-01, REST-RQ-08, REST-DY-01
#[test]
fn paths_are_those_of_the_table() {
    use Scope::{Cluster, Namespaced};
    for (api_version, plural, scope, [namespace, name, subresource], path) in [
        ("v1", "pods", Namespaced, ["", "", ""], "/api/v1/pods"),
        ("v1", "pods", Namespaced, ["shop", "", ""], "/api/v1/namespaces/shop/pods"),
        ("v1", "pods", Namespaced, ["shop", "p-0", ""], "/api/v1/namespaces/shop/pods/p-0"),
        ("v1", "pods", Namespaced, ["shop", "p-0", "log"], "/api/v1/namespaces/shop/pods/p-0/log"),
        ("apps/v1", "deployments", Namespaced, ["", "", ""], "/apis/apps/v1/deployments"),
        (
            "apps/v1",
            "deployments",
            Namespaced,
            ["a", "b", "scale"],
            "/apis/apps/v1/namespaces/a/deployments/b/scale",
        ),
        ("v1", "nodes", Cluster, ["", "n1", "status"], "/api/v1/nodes/n1/status"),
        ("v1", "nodes", Cluster, ["", "n1", "proxy/metrics"], "/api/v1/nodes/n1/proxy/metrics"),
        (
            "rbac.authorization.k8s.io/v1",
            "clusterroles",
            Cluster,
            ["", "system:controller:a", ""],
            "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:controller:a",
        ),
        ("x.io/v1", "Things", Namespaced, ["a", "b c", ""], "/apis/x.io/v1/namespaces/a/Things/b%20c"),
        ("x.io/v1", "things", Cluster, ["", "$&+,:;=@", ""], "/apis/x.io/v1/things/$&+,:;=@"),
        ("x.io/v1", "things", Cluster, ["", "é?#\"<>", ""], "/apis/x.io/v1/things/%C3%A9%3F%23%22%3C%3E"),
    ] {
        let resource = resource(api_version, plural, scope);
        let target = Target { resource: &resource, namespace, name, subresource };
        assert_eq!(target.path().unwrap(), path);
    }
}

// REST-RQ-02, REST-RQ-18, REST-DY-03
#[test]
fn a_word_that_would_climb_or_split_the_path_is_refused() {
    for word in [".", "..", "a/b", "a%2fb", "%", "/"] {
        for at in 0..3 {
            let mut words = ["shop", "web", "status"];
            words[at] = word;
            let [namespace, name, subresource] = words;
            let resource = resource("v1", "pods", Scope::Namespaced);
            let target = Target { resource: &resource, namespace, name, subresource };
            let answer = target.path();
            // A subresource may have several steps, each of which is a word.
            let may_split = at == 2 && word == "a/b";
            assert_eq!(
                matches!(answer, Err(ApiError::InvalidRequest(_))),
                !may_split,
                "{words:?}: {answer:?}"
            );
        }
        let resource = ApiResource::dynamic("v1", "X", word, Scope::Cluster);
        let target = Target { resource: &resource, namespace: "", name: "", subresource: "" };
        assert!(target.path().is_err(), "{word}");
    }
    let resource = resource("v1", "nodes", Scope::Cluster);
    let target = Target { resource: &resource, namespace: "", name: "n", subresource: "proxy/../../x" };
    assert!(target.path().is_err());
}

// REST-RQ-04, REST-RQ-02
#[test]
fn an_object_needs_a_name_and_its_namespace() {
    let pods = resource("v1", "pods", Scope::Namespaced);
    let nodes = resource("v1", "nodes", Scope::Cluster);
    let target = |resource, namespace, name| Target { resource, namespace, name, subresource: "" };
    assert!(target(&pods, "", "p").object_path().is_err());
    assert!(target(&pods, "", "p").create_path().is_err());
    assert!(target(&pods, "shop", "").object_path().is_err());
    assert!(target(&nodes, "", "").object_path().is_err());
    assert!(target(&nodes, "shop", "n").object_path().is_err());
    assert!(target(&nodes, "shop", "").path().is_err());
    assert_eq!(target(&pods, "shop", "p").create_path().unwrap(), "/api/v1/namespaces/shop/pods");
    assert_eq!(target(&nodes, "", "n").create_path().unwrap(), "/api/v1/nodes");
}

// REST-RQ-18, REST-RQ-06
#[test]
fn a_raw_path_may_go_anywhere_below_the_base_and_not_above_it() {
    for path in ["/version", "/apis/a/v1/x?b=c/../d", "/", "/api/v1/nodes/n/proxy/a.b/..c"] {
        assert!(check_raw(path).is_ok(), "{path}");
    }
    for path in ["", "version", "/a/../b", "/a/./b", "/..", "/a/%2e%2E/b", "/a/.%2e", "https://x/", "?a=b"] {
        assert!(check_raw(path).is_err(), "{path}");
    }
}

// REST-RQ-07, REST-RQ-10, REST-OP-01, REST-RV-01
#[test]
fn a_list_says_what_was_asked_for_and_nothing_else() {
    let url = |options: &ListOptions| options::list(options, None).onto("/p".to_owned());
    assert_eq!(url(&ListOptions::default()), "/p");
    let mut all = ListOptions::default();
    all.label_selector = Some("a in (b,c), d!=e".into());
    all.field_selector = Some("metadata.name=x".into());
    all.limit = 500;
    all.continue_token = Some("to/k+en==".into());
    all.resource_version = "12".into();
    all.resource_version_match = Some(ResourceVersionMatch::NotOlderThan);
    all.timeout_seconds = Some(383);
    all.allow_watch_bookmarks = true;
    all.send_initial_events = Some(false);
    assert_eq!(
        url(&all),
        "/p?allowWatchBookmarks=true&continue=to%2Fk%2Ben%3D%3D&fieldSelector=metadata.name%3Dx\
         &labelSelector=a+in+%28b%2Cc%29%2C+d%21%3De&limit=500&resourceVersion=12\
         &resourceVersionMatch=NotOlderThan&sendInitialEvents=false&timeout=6m23s&timeoutSeconds=383"
    );
    let mut zero = ListOptions::default();
    zero.resource_version = "0".into();
    zero.timeout_seconds = Some(0);
    zero.label_selector = Some(String::new());
    assert_eq!(url(&zero), "/p?resourceVersion=0&timeoutSeconds=0");
}

// REST-RQ-09, REST-CL-02
#[test]
fn the_clients_time_limit_is_told_to_the_server_unless_the_request_has_its_own() {
    let limit = Some(Duration::from_secs(32));
    let mut options = ListOptions::default();
    assert_eq!(options::list(&options, limit).onto(String::new()), "?timeout=32s");
    options.timeout_seconds = Some(60);
    assert_eq!(options::list(&options, limit).onto(String::new()), "?timeout=1m0s&timeoutSeconds=60");
    assert_eq!(options::own_limit(&options), Some(Duration::from_mins(1)));
}

// REST-RQ-09
#[test]
fn durations_are_written_as_go_writes_them() {
    for (nanos, text) in [
        (0, "0s"),
        (1, "1ns"),
        (1_500, "1.5µs"),
        (500_000_000, "500ms"),
        (1_000_000_000, "1s"),
        (32_000_000_000, "32s"),
        (60_000_000_000, "1m0s"),
        (61_050_000_000, "1m1.05s"),
        (3_600_000_000_000, "1h0m0s"),
        (90_061_000_000_001, "25h1m1.000000001s"),
    ] {
        assert_eq!(go_duration(Duration::from_nanos(nanos)), text);
    }
}

// REST-OP-02, REST-OP-04, REST-AP-01
#[test]
fn writes_say_how_they_are_meant() {
    let mut get = GetOptions::default();
    get.resource_version = "0".into();
    assert_eq!(options::get(&get).onto(String::new()), "?resourceVersion=0");

    let mut create = CreateOptions::default();
    create.dry_run = true;
    create.field_manager = Some("me".into());
    create.field_validation = Some(FieldValidation::Strict);
    assert_eq!(
        options::create(&create).onto(String::new()),
        "?dryRun=All&fieldManager=me&fieldValidation=Strict"
    );

    let apply = PatchOptions::apply("me");
    let query = |options: &PatchOptions, is_apply| {
        options::patch(options, is_apply).map(|query| query.onto(String::new()))
    };
    assert_eq!(query(&apply, true).unwrap(), "?fieldManager=me&force=false");
    assert_eq!(query(&apply.clone().force(), true).unwrap(), "?fieldManager=me&force=true");
    assert_eq!(query(&PatchOptions::default(), false).unwrap(), "");
    assert!(query(&apply.force(), false).is_err(), "only an apply can be forced");
}

// REST-OP-03, REST-DY-04
#[test]
fn a_deletion_says_zero_where_zero_was_said() {
    let body = |options: &DeleteOptions| -> serde_json::Value {
        serde_json::from_slice(&options::delete_body(options).unwrap()).unwrap()
    };
    assert_eq!(
        body(&DeleteOptions::default()),
        serde_json::json!({ "apiVersion": "v1", "kind": "DeleteOptions" })
    );
    let mut options = DeleteOptions::default();
    options.grace_period_seconds = Some(0);
    options.preconditions = Some(Preconditions { uid: Some("u".into()), resource_version: None });
    options.propagation_policy = Some(PropagationPolicy::Foreground);
    options.dry_run = true;
    assert_eq!(
        body(&options),
        serde_json::json!({
            "apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0, "preconditions": { "uid": "u" },
            "propagationPolicy": "Foreground", "dryRun": ["All"],
        })
    );
}

fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
}

const PODS: About<'_> = About { method: "GET", group: "", resource: "pods", name: "p" };

fn refused(code: u16, media: &str, body: &str, about: About<'_>) -> StatusError {
    let headers = if media.is_empty() { HeaderMap::new() } else { headers(&[("content-type", media)]) };
    refusal(code, &headers, body.as_bytes(), about)
}

// REST-ER-09, REST-ER-11
#[test]
fn a_refusal_without_a_status_is_made_of_the_code_and_the_text() {
    let deployments = |method| About { method, group: "apps", resource: "deployments", name: "" };
    for (code, about, text, reason, message) in [
        (
            409,
            deployments("POST"),
            "x",
            "AlreadyExists",
            "the server reported a conflict (post deployments.apps)",
        ),
        (409, deployments("PUT"), "x", "Conflict", "the server reported a conflict (put deployments.apps)"),
        (404, PODS, "x", "NotFound", "the server could not find the requested resource (get pods p)"),
        (400, PODS, "x", "BadRequest", "the server rejected our request for an unknown reason (get pods p)"),
        (
            401,
            PODS,
            "x",
            "Unauthorized",
            "the server has asked for the client to provide credentials (get pods p)",
        ),
        (403, PODS, "not you", "Forbidden", "not you (get pods p)"),
        (
            405,
            PODS,
            "x",
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource (get pods p)",
        ),
        (
            406,
            PODS,
            "",
            "NotAcceptable",
            "the server was unable to respond with a content type that the client supports (get pods p)",
        ),
        (406, PODS, "only xml", "NotAcceptable", "only xml (get pods p)"),
        (415, PODS, "no json", "UnsupportedMediaType", "no json (get pods p)"),
        (
            422,
            PODS,
            "x",
            "Invalid",
            "the server rejected our request due to an error in our request (get pods p)",
        ),
        (
            429,
            PODS,
            "x",
            "TooManyRequests",
            "the server has received too many requests and has asked us to try again later (get pods p)",
        ),
        (
            503,
            PODS,
            "x",
            "ServiceUnavailable",
            "the server is currently unable to handle the request (get pods p)",
        ),
        (
            504,
            PODS,
            "x",
            "Timeout",
            "the server was unable to return a response in the time allotted, but may still be processing the request (get pods p)",
        ),
        (
            502,
            PODS,
            "bad \"gateway\"",
            "InternalError",
            r#"an error on the server ("bad \"gateway\"") has prevented the request from succeeding (get pods p)"#,
        ),
        (
            418,
            About { method: "GET", ..About::default() },
            "x",
            "",
            "the server responded with the status code 418 but did not return more information",
        ),
    ] {
        let error = refused(code, "text/plain; charset=utf-8", text, about);
        assert_eq!(error.to_string(), message, "{code}");
        let status = error.status();
        assert_eq!(status.reason.as_deref().unwrap_or_default(), reason, "{code}");
        assert_eq!(status.code, Some(code));
        let details = status.details.as_ref().unwrap();
        assert_eq!(details.kind.as_deref().unwrap_or_default(), about.resource, "{code}");
        assert_eq!(details.group.as_deref().unwrap_or_default(), about.group, "{code}");
        assert_eq!(details.name.as_deref().unwrap_or_default(), about.name, "{code}");
        assert_eq!(error.cause("UnexpectedServerResponse").unwrap().message.as_deref(), Some(text), "{code}");
        assert!(error.is_unexpected_server_response(), "{code}");
    }
}

// REST-ER-10
#[test]
fn only_text_is_shown_and_not_too_much_of_it() {
    let shown = |media: &str, body: &str| {
        let error = refused(502, media, body, PODS);
        error.causes()[0].message.clone().unwrap()
    };
    assert_eq!(shown("text/html", " <html>\n"), "<html>");
    assert_eq!(shown("", "plain"), "plain");
    assert_eq!(shown("Text/Plain", "plain"), "plain");
    assert_eq!(shown("application/octet-stream", "\u{1}\u{2}"), "unknown");
    assert_eq!(shown("application/json", "{\"no\":\"kind\"}"), "unknown");
    assert_eq!(shown("text/plain", &"x".repeat(5_000_000)).len(), 2048);
    // Cut inside of a character: that one is lost, and nothing else.
    assert_eq!(shown("text/plain", &format!("x{}", "é".repeat(2000))).len(), 2047);
    assert_eq!(shown("text/plain", ""), "");
}

// REST-ER-12, REST-RS-08
#[test]
fn a_status_in_the_body_is_the_refusal() {
    for (media, body) in [
        (
            "application/json",
            r#"{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no","reason":"Gone","code":410}"#,
        ),
        (
            "application/json; charset=utf-8",
            "{\n  \"kind\": \"Status\",\n  \"status\": \"Failure\",\n  \"message\": \"no\",\n  \"reason\": \"Gone\",\n  \"code\": 410\n}",
        ),
        (
            "",
            r#"{"kind":"Status","apiVersion":"","status":"Failure","message":"no","reason":"Gone","code":410}"#,
        ),
    ] {
        let error = refused(400, media, body, PODS);
        assert_eq!((error.to_string().as_str(), error.code()), ("no", 410), "{body}");
        assert!(error.is_gone() && !error.is_unexpected_server_response());
    }
}

// REST-ER-13
#[test]
fn a_body_that_tells_of_no_failure_leaves_the_code_as_the_answer() {
    for (media, body) in [
        ("application/json", r#"{"kind":"Status","apiVersion":"v1","status":"Success","code":200}"#),
        ("application/json", r#"{"kind":"Pod","apiVersion":"v1","status":"Failure"}"#),
        ("application/json", r#"{"status":"Failure","code":404,"message":"a proxy's own"}"#),
        ("application/json", "{"),
        ("application/json", ""),
        ("text/html", r#"{"kind":"Status","apiVersion":"v1","status":"Failure","code":404}"#),
    ] {
        let error = refused(400, media, body, PODS);
        assert!(error.is_bad_request() && error.code() == 400, "{body}: {error:?}");
        assert!(error.is_unexpected_server_response(), "{body}");
    }
}

// REST-ER-09, REST-RT-11
#[test]
fn the_wait_that_a_header_asks_for_is_in_the_error() {
    let with = |body: &str| {
        let headers = headers(&[("content-type", "application/json"), ("retry-after", "7")]);
        refusal(429, &headers, body.as_bytes(), PODS).suggests_delay()
    };
    let seven = Some(Duration::from_secs(7));
    assert_eq!(with(""), seven);
    assert_eq!(with(r#"{"kind":"Status","status":"Failure","code":429}"#), seven);
    let own = r#"{"kind":"Status","status":"Failure","code":429,"details":{"retryAfterSeconds":3}}"#;
    assert_eq!(with(own), Some(Duration::from_secs(3)));
}

// REST-RT-02
#[test]
fn only_a_number_of_seconds_is_a_wait() {
    for (text, seconds) in [
        ("1", Some(1)),
        ("0", Some(0)),
        ("-5", Some(-5)),
        ("120", Some(120)),
        ("1.5", None),
        ("soon", None),
        ("", None),
        ("Wed, 21 Oct 2026 07:28:00 GMT", None),
        ("99999999999999999999", None),
    ] {
        assert_eq!(retry_after(&headers(&[("retry-after", text)])), seconds, "{text}");
    }
    assert_eq!(retry_after(&HeaderMap::new()), None);
}

// REST-RS-02, REST-RS-03
#[test]
fn an_answer_must_be_json_or_not_say_what_it_is() {
    for media in ["application/json", "application/json;charset=utf-8", "APPLICATION/JSON; a=b"] {
        assert!(check_json(&headers(&[("content-type", media)])).is_ok(), "{media}");
    }
    assert!(check_json(&HeaderMap::new()).is_ok());
    for media in ["text/html", "application/vnd.kubernetes.protobuf", "application/jsonx", "json", ";"] {
        let error = check_json(&headers(&[("content-type", media)])).unwrap_err();
        assert!(error.to_string().contains(media), "{error}");
    }
}

// REST-RS-04, REST-RS-05, REST-RS-06, REST-EN-04
#[test]
fn an_object_must_be_there_and_of_the_kind_that_was_asked_for() {
    let json = headers(&[("content-type", "application/json")]);
    let check = |body: &str| check_object(200, &json, body.as_bytes(), |kind| kind == "Pod");
    assert!(check(r#"{"kind":"Pod","metadata":{}}"#).is_ok());
    assert!(check(r#"{"metadata":{},"spec":{"kind":"X"},"kind":"Pod"}"#).is_ok());
    let error = check(" ").unwrap_err().to_string();
    assert!(error.contains("200") && error.contains("application/json"), "{error}");
    for body in ["{", "[]", "null", "<html>", "{}", r#"{"kind":""}"#, r#"{"kind":null}"#] {
        assert!(matches!(check(body), Err(ApiError::Decode(_))), "{body}");
    }
    let error = check(r#"{"kind":"Secret","metadata":{"name":"s","namespace":"a"}}"#).unwrap_err();
    let ApiError::Decode(error) = error else { panic!("{error:?}") };
    assert_eq!(error.key.as_ref().map(ObjectKey::as_str), Some("a/s"));
    assert!(error.message.contains("Secret"));
    let error =
        check(r#"{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}"#);
    assert!(error.unwrap_err().is_expired());
    assert!(matches!(check(r#"{"kind":"Status","status":"Success"}"#), Err(ApiError::Decode(_))));
}

// REST-RS-01
#[test]
fn which_codes_are_a_success_depends_on_what_was_asked() {
    let call = |is_watch| Call {
        verb: "get",
        method: Method::GET,
        url: "/".into(),
        about: PODS,
        namespace: "",
        accept: ACCEPT_JSON,
        body: None,
        is_watch,
        limit: None,
    };
    for code in 100..600 {
        assert_eq!(call(false).is_success(code), (200..=206).contains(&code), "{code}");
        assert_eq!(call(true).is_success(code), code == 200, "{code}");
    }
}
