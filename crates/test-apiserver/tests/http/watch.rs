use serde_json::{Value, json};
use steersman_test_apiserver::{Options, TestApiServer};

use crate::client::{BOTH, Client, Protocol, until, within};

async fn start(options: Options) -> TestApiServer {
    within(TestApiServer::start(options)).await.expect("the server starts")
}

fn node(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": name } })
}

const NODES: &str = "/api/v1/nodes";

#[tokio::test]
async fn each_event_is_a_line_that_is_sent_at_once() {
    for protocol in BOTH {
        let server = start(Options::default()).await;
        server.create(node("a")).expect("created");
        let mut client = Client::admin(&server, protocol).await;
        let mut frames = client.watch(&format!("{NODES}?watch=1")).await;
        assert_eq!(frames.told().await, "ADDED a");
        assert!(frames.is_silent().await);
        server.create(node("b")).expect("created");
        assert_eq!(frames.told().await, "ADDED b");
        let mut other = Client::admin(&server, protocol).await;
        let merge = [("content-type", "application/merge-patch+json")];
        other.json("PATCH", &format!("{NODES}/b"), &merge, r#"{"metadata":{"labels":{"x":"y"}}}"#).await;
        assert_eq!(frames.told().await, "MODIFIED b");
        other.json("DELETE", &format!("{NODES}/b"), &[], "").await;
        let event = frames.event().await;
        assert_eq!((&event["type"], &event["object"]["kind"]), (&json!("DELETED"), &json!("Node")));
        server.stop().await;
    }
}

#[tokio::test]
async fn a_streamed_list_ends_with_its_bookmark() {
    let server = start(Options::default()).await;
    server.create(node("a")).expect("created");
    let mut client = Client::admin(&server, Protocol::Http2).await;
    let query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let mut frames = client.watch(&format!("{NODES}?{query}")).await;
    assert_eq!(frames.told().await, "ADDED a");
    let end = frames.event().await;
    assert_eq!(end["type"], json!("BOOKMARK"));
    assert_eq!(end["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"], json!("true"));
}

#[tokio::test]
async fn a_watch_that_asked_for_a_second_ends_properly_after_it() {
    for protocol in BOTH {
        let server = start(Options::default()).await;
        let mut client = Client::admin(&server, protocol).await;
        let mut frames = client.watch(&format!("{NODES}?watch=1&timeoutSeconds=1")).await;
        assert_eq!(frames.line().await.expect("a proper end"), None);
        assert_eq!(client.get("/version").await.0, 200, "the connection lives on");
    }
}

#[tokio::test]
async fn a_watch_of_one_name_sees_that_object_alone() {
    let server = start(Options::default()).await;
    let mut client = Client::admin(&server, Protocol::Http1).await;
    let mut frames = client.watch(&format!("{NODES}/b?watch=true&resourceVersion=1")).await;
    server.create(node("a")).expect("created");
    server.create(node("b")).expect("created");
    assert_eq!(frames.told().await, "ADDED b");
}

#[tokio::test]
async fn a_version_that_is_gone_is_an_error_event() {
    let server = start(Options::default()).await;
    server.create(node("a")).expect("created");
    server.with_core(|core| core.compact(core.version()));
    let mut client = Client::admin(&server, Protocol::Http2).await;
    let mut frames = client.watch(&format!("{NODES}?watch=1&resourceVersion=1")).await;
    let event = frames.event().await;
    assert_eq!((&event["type"], &event["object"]["code"]), (&json!("ERROR"), &json!(410)));
    assert_eq!((&event["object"]["kind"], &event["object"]["reason"]), (&json!("Status"), &json!("Expired")));
    assert_eq!(frames.line().await.expect("a proper end"), None);
}

#[tokio::test]
async fn a_table_watch_tells_its_columns_once() {
    let server = start(Options::default()).await;
    server.create(node("a")).expect("created");
    let mut client = Client::admin(&server, Protocol::Http1).await;
    let accept = [("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")];
    let answer = client.send("GET", &format!("{NODES}?watch=1"), &accept, "").await.expect("an answer");
    let mut frames = answer.frames();
    let first = frames.event().await;
    assert_eq!(first["object"]["rows"][0]["cells"][0], json!("a"));
    assert_eq!(first["object"]["columnDefinitions"][0]["name"], json!("Name"));
    server.create(node("b")).expect("created");
    let second = frames.event().await;
    assert_eq!(second["object"]["rows"][0]["cells"][0], json!("b"));
    assert_eq!(second["object"]["columnDefinitions"], Value::Null);
}

#[tokio::test]
async fn a_client_that_leaves_leaves_no_watch_behind() {
    for protocol in BOTH {
        let server = start(Options::default()).await;
        let mut client = Client::admin(&server, protocol).await;
        let frames = client.watch(&format!("{NODES}?watch=1")).await;
        assert_eq!(server.with_core(|core| core.watches().count()), 1);
        drop(frames);
        drop(client);
        until(|| server.with_core(|core| core.watches().count()) == 0).await;
        until(|| server.tasks() == 2).await; // the accept loop and the clock
    }
}

#[tokio::test]
async fn many_watches_over_one_connection_all_hear_of_a_change() {
    let server = start(Options { http2_max_streams: 1000, ..Options::default() }).await;
    let mut client = Client::admin(&server, Protocol::Http2).await;
    let mut watches = Vec::new();
    for _ in 0..300 {
        watches.push(client.watch(&format!("{NODES}?watch=1")).await);
    }
    server.create(node("a")).expect("created");
    for frames in &mut watches {
        assert_eq!(frames.told().await, "ADDED a");
    }
    let connections: std::collections::HashSet<_> =
        server.requests().iter().map(|request| request.connection).collect();
    assert_eq!(connections.len(), 1);
}

#[tokio::test]
async fn a_refused_watch_is_a_plain_answer() {
    let server = start(Options::default()).await;
    let mut client = Client::admin(&server, Protocol::Http1).await;
    let (code, status) = client.get(&format!("{NODES}?watch=1&resourceVersion=x")).await;
    assert_eq!((code, &status["kind"]), (400, &json!("Status")));
    let answer = client.send("GET", "/api/v1/nothings?watch=1", &[], "").await.expect("an answer");
    assert_eq!(answer.code, 404);
}
