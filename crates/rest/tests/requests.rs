//! Requests as they stand on the wire, and answers as they come from it.

mod common;

use apimachinery::{
    ApiError, ApiResource, BrokenKind, CreateOptions, DeleteOptions, DynamicObject, GetOptions, Head, Lazy,
    ListOptions, ListWatch, Object, ObjectKey, Objects, PartialObjectMetadata, Patch, PatchOptions,
    Preconditions, PropagationPolicy, Scope, UpdateOptions, WatchEvent,
};
use futures_util::StreamExt;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::json;
use steersman_rest::{Client, ClientConfig, Method};

use common::{Seen, Server, Then, answer, cut, stream};

fn client(server: &Server) -> Client {
    let mut config = ClientConfig::new(&server.url);
    config.qps = 0.0;
    config.compression = false;
    Client::new(config).unwrap()
}

const MAP: &str = r#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"m","namespace":"shop","uid":"u","resourceVersion":"4"},"data":{"a":"b"}}"#;

fn map() -> ConfigMap {
    serde_json::from_str(MAP).unwrap()
}

fn line(seen: &Seen) -> String {
    format!("{} {}", seen.method, seen.url)
}

/// A server that answers everything with this.
async fn saying(body: &'static str) -> Server {
    Server::start(move |_, _| common::json(200, body)).await
}

// REST-CL-01, REST-RQ-12, REST-RQ-14, REST-RQ-15, REST-AP-01, REST-OP-03, REST-RQ-11, REST-DY-02
#[tokio::test]
async fn each_verb_is_sent_as_the_server_expects_it() {
    let server = saying(MAP).await;
    let maps = client(&server).all::<ConfigMap>();
    let key = ObjectKey::new("shop", "m");
    let map = map();

    let mut get = GetOptions::default();
    get.resource_version = "0".into();
    assert_eq!(maps.get(&key, &get).await.unwrap(), map);
    let mut create = CreateOptions::default();
    create.field_manager = Some("me".into());
    maps.create(&map, &create).await.unwrap();
    maps.update(&map, &UpdateOptions::default()).await.unwrap();
    maps.update_status(&map, &UpdateOptions::default()).await.unwrap();
    for patch in [
        Patch::Json(json!([{ "op": "remove", "path": "/data" }])),
        Patch::Merge(json!({ "data": null })),
        Patch::Strategic(json!({ "data": { "x": "y" } })),
    ] {
        maps.patch(&key, None, &patch, &PatchOptions::default()).await.unwrap();
    }
    let apply = Patch::Apply(json!({ "metadata": { "name": "m" } }));
    maps.patch(&key, Some("status"), &apply, &PatchOptions::apply("me").force()).await.unwrap();
    let mut delete = DeleteOptions::default();
    delete.grace_period_seconds = Some(0);
    delete.propagation_policy = Some(PropagationPolicy::Background);
    delete.preconditions = Some(Preconditions { uid: Some("u".into()), resource_version: None });
    maps.delete(&key, &delete).await.unwrap();
    let mut which = ListOptions::default();
    which.label_selector = Some("a=b".into());
    client(&server)
        .namespaced::<ConfigMap>("shop")
        .labels("c")
        .delete_collection(&DeleteOptions::default(), &which)
        .await
        .unwrap();

    let seen = server.seen();
    let path = "/api/v1/namespaces/shop/configmaps";
    assert_eq!(
        seen.iter().map(line).collect::<Vec<_>>(),
        [
            format!("GET {path}/m?resourceVersion=0"),
            format!("POST {path}?fieldManager=me"),
            format!("PUT {path}/m"),
            format!("PUT {path}/m/status"),
            format!("PATCH {path}/m"),
            format!("PATCH {path}/m"),
            format!("PATCH {path}/m"),
            format!("PATCH {path}/m/status?fieldManager=me&force=true"),
            format!("DELETE {path}/m"),
            format!("DELETE {path}?labelSelector=a%3Db%2Cc"),
        ]
    );
    assert!(seen.iter().all(|seen| seen.header("accept") == Some("application/json")));
    let media: Vec<Option<&str>> = seen.iter().map(|seen| seen.header("content-type")).collect();
    let json_type = Some("application/json");
    assert_eq!(
        media,
        [
            None,
            json_type,
            json_type,
            json_type,
            Some("application/json-patch+json"),
            Some("application/merge-patch+json"),
            Some("application/strategic-merge-patch+json"),
            Some("application/apply-patch+yaml"),
            json_type,
            json_type,
        ]
    );
    assert_eq!(seen[0].body, "");
    for write in &seen[1..4] {
        assert_eq!(write.json(), serde_json::to_value(&map).unwrap());
        assert_eq!(write.json()["kind"], "ConfigMap");
    }
    assert_eq!(seen[4].json(), json!([{ "op": "remove", "path": "/data" }]));
    assert_eq!(
        seen[7].json(),
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "m" } })
    );
    assert_eq!(
        seen[8].json(),
        json!({
            "apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0,
            "propagationPolicy": "Background", "preconditions": { "uid": "u" },
        })
    );
    assert_eq!(seen[9].json(), json!({ "apiVersion": "v1", "kind": "DeleteOptions" }));
}

#[derive(Debug, serde::Serialize, serde::Deserialize)]
struct Website {
    metadata: ObjectMeta,
    spec: String,
}
apimachinery::object!(Website, "example.com/v1", "Website", "websites", Namespaced);

// REST-RQ-15
#[tokio::test]
async fn a_struct_without_a_kind_is_sent_with_one() {
    let server =
        saying(r#"{"kind":"Website","apiVersion":"example.com/v1","metadata":{"name":"w"},"spec":"x"}"#)
            .await;
    let site = Website { metadata: ObjectMeta::default(), spec: "x".into() };
    client(&server).namespaced::<Website>("shop").create(&site, &CreateOptions::default()).await.unwrap();
    let seen = &server.seen()[0];
    assert_eq!(line(seen), "POST /apis/example.com/v1/namespaces/shop/websites");
    assert_eq!(
        seen.json(),
        json!({ "apiVersion": "example.com/v1", "kind": "Website", "metadata": {}, "spec": "x" })
    );
}

// REST-RQ-04, REST-DY-03, REST-DY-07, REST-AP-02
#[tokio::test]
async fn what_cannot_be_asked_is_not_sent() {
    let server = saying(MAP).await;
    let client = client(&server);
    let maps = client.all::<ConfigMap>();
    let get = GetOptions::default();
    let patch = PatchOptions::default();
    let nameless = ConfigMap::default();
    let managed = json!({ "metadata": { "managedFields": [{ "manager": "x" }] } });
    let key = ObjectKey::new("shop", "m");
    let here = client.namespaced::<ConfigMap>("here");
    for answer in [
        maps.get(&ObjectKey::cluster("m"), &get).await.map(drop),
        maps.get(&ObjectKey::new("shop", ""), &get).await.map(drop),
        maps.get(&ObjectKey::new("shop", ".."), &get).await.map(drop),
        maps.get(&ObjectKey::new("a%b", "m"), &get).await.map(drop),
        maps.update(&nameless, &UpdateOptions::default()).await.map(drop),
        maps.create(&nameless, &CreateOptions::default()).await.map(drop),
        maps.patch(&ObjectKey::cluster("m"), None, &Patch::Merge(json!({})), &patch).await.map(drop),
        maps.patch(&key, None, &Patch::Apply(json!(null)), &patch).await.map(drop),
        maps.patch(&key, None, &Patch::Apply(managed), &patch).await.map(drop),
        maps.patch(&key, Some("a/../b"), &Patch::Merge(json!({})), &patch).await.map(drop),
        maps.delete(&ObjectKey::cluster("m"), &DeleteOptions::default()).await,
        here.get(&key, &get).await.map(drop),
        client.namespaced::<Node>("here").list(&ListOptions::default()).await.map(drop),
        client.request(Method::GET, "/a/../b", None).await.map(drop),
    ] {
        assert!(matches!(answer, Err(ApiError::InvalidRequest(_))), "{answer:?}");
    }
    assert!(server.seen().is_empty());
    here.get(&ObjectKey::cluster("m"), &get).await.unwrap();
    assert_eq!(server.seen()[0].url, "/api/v1/namespaces/here/configmaps/m", "the collection's namespace");
}

// REST-RS-06
#[tokio::test]
async fn an_answer_of_another_kind_is_an_error_for_a_form_that_would_take_anything() {
    let server = saying(MAP).await;
    let client = client(&server);
    let key = ObjectKey::new("shop", "m");
    let error = client.all::<Lazy<Pod>>().get(&key, &GetOptions::default()).await.unwrap_err();
    assert!(error.to_string().contains("ConfigMap"), "{error}");
    let resource = ApiResource::new("a.io/v1", "Widget", "widgets", Scope::Namespaced);
    let widgets = client.all_of::<DynamicObject>(resource);
    assert!(matches!(widgets.get(&key, &GetOptions::default()).await, Err(ApiError::Decode(_))));
    let object = client
        .all_of::<DynamicObject>(ApiResource::new("v1", "ConfigMap", "configmaps", Scope::Namespaced))
        .get(&key, &GetOptions::default())
        .await
        .unwrap();
    assert_eq!(object.data["data"]["a"], "b");
}

// REST-ER-12, REST-ER-11, REST-ER-09
#[tokio::test]
async fn a_refusal_is_told_by_reason_whoever_wrote_it() {
    let server = Server::start(|number, _| match number {
        0 => common::json(
            404,
            r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"configmaps \"m\" not found","reason":"NotFound","details":{"name":"m","kind":"configmaps"},"code":404}"#,
        ),
        1 => answer(404, &[("content-type", "text/plain")], "404 page not found\n"),
        2 => answer(502, &[("content-type", "text/html")], &"<html>".repeat(200_000)),
        _ => answer(403, &[], "not you"),
    })
    .await;
    let maps = client(&server).all::<ConfigMap>();
    let key = ObjectKey::new("shop", "m");
    let options = GetOptions::default();
    let get = async || maps.get(&key, &options).await.unwrap_err();
    let error = get().await;
    assert_eq!(error.to_string(), "configmaps \"m\" not found");
    let status = error.status().unwrap();
    assert!(status.is_not_found() && !status.is_unexpected_server_response());
    let error = get().await;
    let status = error.status().unwrap();
    assert!(status.is_not_found() && status.is_unexpected_server_response());
    assert_eq!(error.to_string(), "the server could not find the requested resource (get configmaps m)");
    let error = get().await;
    assert_eq!(error.status().unwrap().code(), 502);
    assert!(error.to_string().len() < 3000);
    assert_eq!(get().await.to_string(), "not you (get configmaps m)");
}

// REST-RS-05, REST-RS-04, REST-RS-03
#[tokio::test]
async fn a_success_that_is_none_is_an_error() {
    let server = Server::start(|number, _| match number {
        0 => common::json(
            200,
            r#"{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Conflict","code":409,"message":"no"}"#,
        ),
        1 => common::json(200, ""),
        2 => answer(200, &[("content-type", "text/html")], "<html>"),
        3 => answer(200, &[("content-type", "application/vnd.kubernetes.protobuf")], "k8s"),
        _ => common::json(200, "{"),
    })
    .await;
    let maps = client(&server).all::<ConfigMap>();
    let key = ObjectKey::new("shop", "m");
    let error = maps.get(&key, &GetOptions::default()).await.unwrap_err();
    assert!(error.status().unwrap().is_conflict());
    for _ in 1..5 {
        let answer = maps.get(&key, &GetOptions::default()).await;
        assert!(matches!(answer, Err(ApiError::Decode(_))), "{answer:?}");
    }
}

// REST-RT-07, REST-RT-03
#[tokio::test]
async fn a_body_is_sent_again_with_each_attempt() {
    let server = Server::start(|number, _| match number {
        0 => answer(429, &[("retry-after", "0")], "busy"),
        _ => common::json(201, MAP),
    })
    .await;
    client(&server).all::<ConfigMap>().create(&map(), &CreateOptions::default()).await.unwrap();
    let seen = server.seen();
    assert_eq!(seen.len(), 2);
    assert_eq!(seen[0].json(), seen[1].json());
    assert_eq!(seen[1].header("content-type"), Some("application/json"));
}

// REST-CL-03, REST-CF-09
#[tokio::test]
async fn all_that_comes_from_one_client_shares_its_connections_and_its_rate_limit() {
    let server = saying(MAP).await;
    let mut config = ClientConfig::new(&server.url);
    (config.qps, config.burst) = (0.001, 2);
    let client = Client::new(config).unwrap();
    let key = ObjectKey::new("shop", "m");
    let options = GetOptions::default();
    client.all::<ConfigMap>().get(&key, &options).await.unwrap();
    client.clone().namespaced::<ConfigMap>("shop").get(&key, &options).await.unwrap();
    let other = client.clone().all::<ConfigMap>();
    let third = tokio::time::timeout(std::time::Duration::from_millis(50), other.get(&key, &options)).await;
    assert!(third.is_err(), "the third request took a token that is not there");
    assert_eq!(server.seen().len(), 2);
}

// REST-MD-03
#[tokio::test]
async fn metadata_alone_deletes_with_a_body_of_json() {
    let server = saying(r#"{"kind":"Status","apiVersion":"v1","status":"Success"}"#).await;
    let maps = client(&server).all::<PartialObjectMetadata<ConfigMap>>();
    maps.delete(&ObjectKey::new("shop", "m"), &DeleteOptions::default()).await.unwrap();
    let seen = &server.seen()[0];
    assert_eq!(seen.header("content-type"), Some("application/json"));
    assert_eq!(seen.json(), json!({ "apiVersion": "v1", "kind": "DeleteOptions" }));
}

// REST-RT-04, REST-RT-02
#[tokio::test]
async fn a_cut_connection_is_tried_again_for_a_read_and_not_for_a_write() {
    let server = Server::start(|number, seen| match (seen.method.as_str(), number) {
        ("GET", 1) => common::json(200, MAP),
        _ => cut(),
    })
    .await;
    let maps = client(&server).all::<ConfigMap>();
    let key = ObjectKey::new("shop", "m");
    assert!(maps.get(&key, &GetOptions::default()).await.is_ok());
    assert_eq!(server.seen().len(), 2);

    let server = Server::start(|_, _| cut()).await;
    let maps = client(&server).all::<ConfigMap>();
    let error = maps.create(&map(), &CreateOptions::default()).await.unwrap_err();
    assert!(error.is_probable_eof(), "{error:?}");
    assert_eq!(server.seen().len(), 1);
}

// REST-CL-01, REST-OP-01, REST-MD-01, REST-MD-02
#[tokio::test]
async fn a_list_is_decoded_item_by_item_and_metadata_is_asked_for_as_such() {
    let server = Server::start(|_, _| {
        let pieces = [
            r#"{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"9","continue":"c","rem"#,
            r#"ainingItemCount":3},"items":[{"metadata":{"name":"a","namespace":"x"}},{"metadata":{"na"#,
            r#"me":"b","namespace":"x"},"data":[]},{"metadata":{"name":"c","namespace":"x"},"data":{"k":"v"}}]}"#,
        ];
        stream(&pieces, true, Then::KeepAlive)
    })
    .await;
    let client = client(&server);
    let mut options = ListOptions::default();
    options.limit = 3;
    let page = client.namespaced::<ConfigMap>("x").fields("metadata.name!=z").list(&options).await.unwrap();
    assert_eq!(page.items.iter().map(Object::name).collect::<Vec<_>>(), ["a", "c"]);
    assert_eq!(page.undecodable[0].key, Some(ObjectKey::new("x", "b")));
    assert_eq!((page.continue_token.as_deref(), page.remaining_item_count), (Some("c"), Some(3)));

    let maps = client.all::<PartialObjectMetadata<ConfigMap>>();
    assert_eq!(maps.list(&options).await.unwrap().items.len(), 3);
    let seen = server.seen();
    assert_eq!(
        line(&seen[0]),
        "GET /api/v1/namespaces/x/configmaps?fieldSelector=metadata.name%21%3Dz&limit=3"
    );
    assert_eq!(seen[0].header("accept"), Some("application/json"));
    assert_eq!(line(&seen[1]), "GET /api/v1/configmaps?limit=3");
    assert_eq!(
        seen[1].header("accept"),
        Some("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json")
    );
}

// REST-RS-09
#[tokio::test]
async fn a_list_that_is_cut_is_an_error_and_never_a_short_list() {
    let server = Server::start(|_, _| {
        let pieces =
            [r#"{"kind":"ConfigMapList","apiVersion":"v1","metadata":{},"items":[{"metadata":{"name":"a"}}"#];
        stream(&pieces, false, Then::Close)
    })
    .await;
    let error = client(&server).all::<ConfigMap>().list(&ListOptions::default()).await.unwrap_err();
    assert!(matches!(error, ApiError::Broken { kind: BrokenKind::Eof, .. }), "{error:?}");
    assert!(error.is_probable_eof());
}

// REST-PG-01, REST-PG-03, REST-PG-04, REST-PG-05
#[tokio::test]
async fn pages_are_turned_and_a_forgotten_rest_is_asked_for_as_a_whole() {
    let page = |version: &str, next: &str, name: &str| {
        common::json(
            200,
            &format!(
                r#"{{"kind":"ConfigMapList","apiVersion":"v1","metadata":{{"resourceVersion":"{version}","continue":"{next}"}},"items":[{{"metadata":{{"name":"{name}"}}}}]}}"#
            ),
        )
    };
    let server = Server::start(move |number, _| match number {
        0 | 3 => page("5", "t1", "a"),
        1 => page("6", "t2", "b"),
        2 => page("7", "", "c"),
        4 => common::json(
            410,
            r#"{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410,"message":"old"}"#,
        ),
        _ => page("8", "", "whole"),
    })
    .await;
    let maps = client(&server).all::<ConfigMap>();
    let mut options = ListOptions::default();
    options.resource_version = "3".into();
    let all = maps.list_all(&options).await.unwrap();
    assert_eq!(all.items.iter().map(Object::name).collect::<Vec<_>>(), ["a", "b", "c"]);
    assert_eq!((all.resource_version.as_str(), all.continue_token), ("5", None));
    let whole = maps.list_all(&options).await.unwrap();
    assert_eq!(whole.items.iter().map(Object::name).collect::<Vec<_>>(), ["whole"]);
    assert_eq!(
        server.seen().iter().map(|seen| seen.url.clone()).collect::<Vec<_>>(),
        [
            "/api/v1/configmaps?limit=500&resourceVersion=3",
            "/api/v1/configmaps?continue=t1&limit=500",
            "/api/v1/configmaps?continue=t2&limit=500",
            "/api/v1/configmaps?limit=500&resourceVersion=3",
            "/api/v1/configmaps?continue=t1&limit=500",
            "/api/v1/configmaps?resourceVersion=3",
        ]
    );
}

const ADDED: &str = r#"{"type":"ADDED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"x","resourceVersion":"5"}}}"#;

// REST-CL-01, REST-WA-06, REST-WA-10, REST-CL-02, REST-MD-01
#[tokio::test]
async fn a_watch_is_a_stream_of_events_until_the_server_ends_it() {
    let server = Server::start(|_, _| {
        let gone = r#"{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410,"message":"too old"}}"#;
        let events = format!("{ADDED}\n{gone}\n");
        let (a, b) = events.split_at(40);
        stream(&[a, b], true, Then::KeepAlive)
    })
    .await;
    let maps = client(&server).namespaced::<Lazy<ConfigMap>>("x").labels("a=b");
    let mut options = ListOptions::default();
    options.resource_version = "4".into();
    options.timeout_seconds = Some(300);
    options.allow_watch_bookmarks = true;
    let mut events = ListWatch::watch(&maps, &options).await.unwrap();
    let Some(Ok(WatchEvent::Added(map))) = events.next().await else { panic!("no event") };
    assert_eq!((map.name(), map.resource_version()), ("a", "5"));
    let Some(Err(error)) = events.next().await else { panic!("no error") };
    assert!(error.is_expired());
    assert!(events.next().await.is_none());
    let seen = &server.seen()[0];
    assert_eq!(
        seen.url,
        "/api/v1/namespaces/x/configmaps?allowWatchBookmarks=true&labelSelector=a%3Db&resourceVersion=4\
         &timeout=5m0s&timeoutSeconds=300&watch=true"
    );
    let nodes = client(&server).all::<PartialObjectMetadata<Node>>();
    nodes.watch(&ListOptions::default()).await.unwrap();
    let seen = &server.seen()[1];
    assert_eq!(line(seen), "GET /api/v1/nodes?watch=true");
    assert_eq!(
        seen.header("accept"),
        Some("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json")
    );
}

// REST-WA-06
#[tokio::test]
async fn a_watch_that_is_cut_has_ended() {
    for is_whole in [true, false] {
        let server = Server::start(move |_, _| {
            let half = r#"{"type":"MODIFIED","obj"#;
            stream(&[ADDED, "\n", half], is_whole, Then::Close)
        })
        .await;
        let events = client(&server).all::<ConfigMap>().watch(&ListOptions::default()).await.unwrap();
        let events: Vec<_> = events.collect().await;
        assert!(matches!(&events[..], [Ok(WatchEvent::Added(_))]), "{events:?}");
    }
}

// REST-ER-12, REST-RS-01, REST-WA-09
#[tokio::test]
async fn a_refused_watch_is_one_error_and_not_a_stream_of_them() {
    let server = Server::start(|number, _| match number {
        0 => common::json(
            403,
            "{\n  \"kind\": \"Status\",\n  \"apiVersion\": \"v1\",\n  \"status\": \"Failure\",\n  \"reason\": \"Forbidden\",\n  \"message\": \"not you\",\n  \"code\": 403\n}",
        ),
        1 => answer(404, &[("content-type", "text/plain")], "404 page not found\n"),
        2 => answer(502, &[("content-type", "text/html")], &"x\n".repeat(500_000)),
        3 => common::json(
            429,
            r#"{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"TooManyRequests","details":{"retryAfterSeconds":1},"code":429}"#,
        ),
        _ => answer(200, &[("content-type", "text/html")], "<html>welcome</html>"),
    })
    .await;
    let maps = client(&server).all::<ConfigMap>();
    let mut codes = Vec::new();
    for _ in 0..4 {
        let error = maps.watch(&ListOptions::default()).await.unwrap_err();
        codes.push((error.status().unwrap().code(), error.suggests_delay().map(|delay| delay.as_secs())));
    }
    assert_eq!(codes, [(403, None), (404, None), (502, None), (429, Some(1))]);
    let error = maps.watch(&ListOptions::default()).await.unwrap_err();
    assert!(matches!(&error, ApiError::Decode(_)) && error.to_string().contains("text/html"), "{error:?}");
    assert_eq!(server.seen().len(), 5);
}

// REST-WA-13, REST-XX-03
#[tokio::test]
async fn dropping_a_watch_closes_its_connection() {
    let server = Server::start(|_, _| stream(&[ADDED, "\n"], false, Then::Silence)).await;
    let mut events = client(&server).all::<ConfigMap>().watch(&ListOptions::default()).await.unwrap();
    assert!(matches!(events.next().await, Some(Ok(WatchEvent::Added(_)))));
    drop(events);
    let closed = tokio::time::timeout(std::time::Duration::from_secs(20), server.closed()).await;
    assert!(closed.is_ok(), "the connection is still open");
}

// REST-RQ-06, REST-RQ-11
#[tokio::test]
async fn a_raw_request_goes_below_the_base_path() {
    let server = Server::start(|number, _| match number {
        0 => common::json(200, r#"{"major":"1"}"#),
        1 => answer(200, &[], ""),
        _ => common::json(
            404,
            r#"{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}"#,
        ),
    })
    .await;
    let mut config = ClientConfig::new(format!("{}/clusters/one/", server.url));
    config.qps = 0.0;
    let client = Client::new(config).unwrap();
    let version = client.request(Method::GET, "/version?timeout=32s", None).await.unwrap();
    assert_eq!(version["major"], "1");
    let answer = client.request(Method::POST, "/x", Some(&json!({ "a": 1 }))).await.unwrap();
    assert!(answer.is_null());
    assert!(client.request(Method::GET, "/y", None).await.unwrap_err().status().unwrap().is_not_found());
    client.all::<Pod>().get(&ObjectKey::new("a", "b"), &GetOptions::default()).await.unwrap_err();
    let seen = server.seen();
    assert_eq!(
        seen.iter().map(line).collect::<Vec<_>>(),
        [
            "GET /clusters/one/version?timeout=32s",
            "POST /clusters/one/x",
            "GET /clusters/one/y",
            "GET /clusters/one/api/v1/namespaces/a/pods/b",
        ]
    );
    assert_eq!(seen[0].header("accept"), Some("application/json, */*"));
    assert_eq!(seen[1].json(), json!({ "a": 1 }));
}

// REST-RQ-09
#[tokio::test]
async fn the_clients_time_limit_is_a_parameter_and_a_deadline() {
    let server = Server::start(|_, _| common::Reply { pieces: Vec::new(), then: Then::Silence }).await;
    let mut config = ClientConfig::new(&server.url);
    config.timeout = Some(std::time::Duration::from_millis(50));
    let maps = Client::new(config).unwrap().all::<ConfigMap>();
    let error = maps.get(&ObjectKey::new("a", "b"), &GetOptions::default()).await.unwrap_err();
    assert!(matches!(error, ApiError::Timeout { .. }), "{error:?}");
    let error = maps.list(&ListOptions::default()).await.unwrap_err();
    assert!(error.is_network_timeout(), "{error:?}");
    let urls: Vec<String> = server.seen().into_iter().map(|seen| seen.url).collect();
    assert_eq!(urls, ["/api/v1/namespaces/a/configmaps/b?timeout=50ms", "/api/v1/configmaps?timeout=50ms"]);
}

#[tokio::test]
async fn both_seams_are_there_for_every_kind_of_form() {
    fn source<T: Send>(_: &impl ListWatch<T>) {}
    fn objects<T>(_: &impl Objects<T>) {}
    #[derive(serde::Deserialize)]
    struct Slim {
        metadata: Head,
    }
    apimachinery::object!(Slim, "v1", "Pod", "pods", Namespaced);
    let client = Client::new(ClientConfig::new("http://127.0.0.1:1")).unwrap();
    source::<Pod>(&client.all());
    source::<Lazy<Pod>>(&client.all());
    source::<Slim>(&client.all());
    source::<PartialObjectMetadata<Pod>>(&client.all());
    objects::<Deployment>(&client.all());
    objects::<DynamicObject>(&client.all_of(ApiResource::new("v1", "Pod", "pods", Scope::Namespaced)));
    let pods = client.namespaced::<Deployment>("shop").labels("a=b").without_managed_fields();
    assert_eq!(ListWatch::describe(&pods), "deployments.apps in namespace shop with labels a=b");
    assert!(pods.supports_watch_list());
}
