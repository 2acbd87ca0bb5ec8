use serde_json::{Value, json};
use steersman_test_apiserver::{Options, TestApiServer};

use crate::client::{BOTH, Client, Protocol, within};

async fn start() -> TestApiServer {
    within(TestApiServer::start(Options::default())).await.expect("the server starts")
}

fn config_map(name: &str, value: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name }, "data": { "k": value } })
}

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

#[tokio::test]
async fn an_object_is_created_read_replaced_and_deleted() {
    for protocol in BOTH {
        let server = start().await;
        let mut client = Client::admin(&server, protocol).await;
        let (code, made) = client.json("POST", MAPS, &[], config_map("a", "1").to_string()).await;
        assert_eq!((code, &made["data"]["k"]), (201, &json!("1")));
        let one = format!("{MAPS}/a");
        assert_eq!(client.get(&one).await, (200, made.clone()));

        let (code, again) = client.json("POST", MAPS, &[], config_map("a", "1").to_string()).await;
        assert_eq!((code, &again["reason"]), (409, &json!("AlreadyExists")));

        let mut newer = made.clone();
        newer["data"]["k"] = json!("2");
        assert_eq!(client.json("PUT", &one, &[], newer.to_string()).await.0, 200);
        let (code, stale) = client.json("PUT", &one, &[], newer.to_string()).await;
        assert_eq!((code, &stale["reason"], &stale["code"]), (409, &json!("Conflict"), &json!(409)));

        let merge = [("content-type", "application/merge-patch+json")];
        let (code, patched) = client.json("PATCH", &one, &merge, r#"{"data":{"k":null,"n":"3"}}"#).await;
        assert_eq!((code, &patched["data"]), (200, &json!({ "n": "3" })));

        let (code, gone) = client.json("DELETE", &one, &[], r#"{"propagationPolicy":"Background"}"#).await;
        assert_eq!((code, &gone["status"], &gone["details"]["name"]), (200, &json!("Success"), &json!("a")));
        let (code, missing) = client.get(&one).await;
        assert_eq!((code, &missing["message"]), (404, &json!("configmaps \"a\" not found")));
        server.stop().await;
    }
}

#[tokio::test]
async fn yaml_is_a_body_and_a_dry_run_stores_nothing() {
    let server = start().await;
    let mut client = Client::admin(&server, Protocol::Http2).await;
    let yaml = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  k: v\n";
    let kind = [("content-type", "application/yaml")];
    let (code, made) = client.json("POST", &format!("{MAPS}?dryRun=All"), &kind, yaml).await;
    assert_eq!((code, &made["data"]["k"]), (201, &json!("v")));
    assert_eq!(client.get(&format!("{MAPS}/a")).await.0, 404);
}

#[tokio::test]
async fn a_list_has_the_collections_version_and_its_items_say_no_kind() {
    let server = start().await;
    for name in ["a", "b", "c"] {
        server.create(config_map(name, "v")).expect("created");
        server
            .create(json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": name } }))
            .expect("created");
    }
    let version = server.with_core(|core| core.version()).to_string();
    for protocol in BOTH {
        let mut client = Client::admin(&server, protocol).await;
        for (path, kind) in [(MAPS, "ConfigMapList"), ("/api/v1/nodes", "NodeList")] {
            let (code, list) = client.get(path).await;
            assert_eq!((code, &list["kind"], &list["apiVersion"]), (200, &json!(kind), &json!("v1")));
            assert_eq!(list["metadata"]["resourceVersion"], json!(version));
            let items = list["items"].as_array().expect("items");
            let names: Vec<_> = items.iter().filter_map(|item| item["metadata"]["name"].as_str()).collect();
            assert_eq!(names, ["a", "b", "c"]);
            assert!(items.iter().all(|item| item.get("kind").is_none() && item.get("apiVersion").is_none()));
        }
    }
}

#[tokio::test]
async fn a_list_longer_than_a_piece_arrives_whole() {
    let server = start().await;
    let filling = "x".repeat(3000);
    for index in 0..100 {
        server.create(config_map(&format!("m{index:03}"), &filling)).expect("created");
    }
    for protocol in BOTH {
        let (_, list) = Client::admin(&server, protocol).await.get(MAPS).await;
        let items = list["items"].as_array().expect("items");
        assert_eq!(items.len(), 100);
        assert!(items.iter().all(|item| item["data"]["k"] == json!(filling)));
    }
}

#[tokio::test]
async fn a_pod_is_bound_and_evicted_by_what_is_posted_below_it() {
    let server = start().await;
    server
        .create(json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "p" }, "spec": { "containers": [] } }))
        .expect("created");
    let mut client = Client::admin(&server, Protocol::Http1).await;
    let pod = "/api/v1/namespaces/default/pods/p";
    let binding =
        r#"{"apiVersion":"v1","kind":"Binding","metadata":{"name":"p"},"target":{"kind":"Node","name":"n"}}"#;
    assert_eq!(client.json("POST", &format!("{pod}/binding"), &[], binding).await.0, 201);
    assert_eq!(client.get(pod).await.1["spec"]["nodeName"], json!("n"));
    let eviction = r#"{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"p"}}"#;
    assert_eq!(client.json("POST", &format!("{pod}/eviction"), &[], eviction).await.0, 201);
    assert!(client.get(pod).await.1["metadata"]["deletionTimestamp"].is_string());
}

#[tokio::test]
async fn a_large_answer_is_compressed_for_who_can_read_it() {
    let server = start().await;
    let mut client = Client::admin(&server, Protocol::Http2).await;
    let gzip = [("accept-encoding", "gzip")];
    let small = client.send("GET", MAPS, &gzip, "").await.expect("an answer");
    assert_eq!(small.header("content-encoding"), None);
    for index in 0..50 {
        server.create(config_map(&format!("m{index:03}"), &"x".repeat(3000))).expect("created");
    }
    let large = client.send("GET", MAPS, &gzip, "").await.expect("an answer");
    assert_eq!(large.header("content-encoding"), Some("gzip"));
    let bytes = large.bytes().await.expect("a body");
    let list: Value =
        serde_json::from_reader(flate2::read::GzDecoder::new(&bytes[..])).expect("compressed JSON");
    assert_eq!(list["items"].as_array().map(Vec::len), Some(50));
    let plain = client.send("GET", MAPS, &[], "").await.expect("an answer");
    assert_eq!(plain.header("content-encoding"), None);
    assert!(plain.bytes().await.expect("a body").len() > 10 * bytes.len());
}

#[tokio::test]
async fn pages_follow_their_token() {
    let server = start().await;
    for name in ["a", "b", "c"] {
        server.create(config_map(name, "v")).expect("created");
    }
    let mut client = Client::admin(&server, Protocol::Http2).await;
    let (_, first) = client.get(&format!("{MAPS}?limit=2")).await;
    assert_eq!(first["metadata"]["remainingItemCount"], json!(1));
    let token = first["metadata"]["continue"].as_str().expect("a token");
    let (_, second) = client.get(&format!("{MAPS}?limit=2&continue={token}")).await;
    assert_eq!(second["items"][0]["metadata"]["name"], json!("c"));
    assert_eq!(second["metadata"]["resourceVersion"], first["metadata"]["resourceVersion"]);
    assert_eq!(second["metadata"].get("continue"), None);
}

#[tokio::test]
async fn objects_are_shown_in_the_form_that_is_asked_for() {
    let server = start().await;
    server.create(config_map("a", "v")).expect("created");
    let mut client = Client::admin(&server, Protocol::Http1).await;
    let table = [("accept", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json")];
    let (_, rows) = client.json("GET", MAPS, &table, "").await;
    assert_eq!(rows["kind"], json!("Table"));
    assert_eq!(rows["columnDefinitions"][1]["name"], json!("Data"));
    let cells = &rows["rows"][0]["cells"];
    assert_eq!((&cells[0], &cells[1]), (&json!("a"), &json!(1)));
    assert_eq!(rows["rows"][0]["object"]["kind"], json!("PartialObjectMetadata"));

    let partial = [("accept", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io")];
    let (_, list) = client.json("GET", MAPS, &partial, "").await;
    assert_eq!(list["kind"], json!("PartialObjectMetadataList"));
    assert_eq!(list["items"][0].get("data"), None);

    let protobuf = [("accept", "application/vnd.kubernetes.protobuf")];
    let (code, refused) = client.json("GET", MAPS, &protobuf, "").await;
    assert_eq!((code, &refused["reason"]), (406, &json!("NotAcceptable")));
}

#[tokio::test]
async fn what_cannot_be_served_is_refused_in_the_servers_words() {
    let server = start().await;
    let mut client = Client::admin(&server, Protocol::Http1).await;
    let answer = client.send("GET", "/apis/nowhere.io/v1/things", &[], "").await.expect("an answer");
    assert_eq!(answer.code, 404);
    assert_eq!(answer.text().await, "404 page not found\n");

    let (code, status) = client.json("POST", MAPS, &[], "{").await;
    assert_eq!((code, &status["reason"]), (400, &json!("BadRequest")));
    let (code, status) = client.json("POST", MAPS, &[("content-type", "text/csv")], "a,b").await;
    assert_eq!((code, &status["reason"]), (415, &json!("UnsupportedMediaType")));
    let (code, status) =
        client.json("PATCH", &format!("{MAPS}/a"), &[("content-type", "application/json")], "{}").await;
    assert_eq!((code, &status["reason"]), (415, &json!("UnsupportedMediaType")));
    let (code, status) = client.get(&format!("{MAPS}?limit=many")).await;
    assert_eq!((code, &status["reason"]), (400, &json!("BadRequest")));
    let (code, status) = client.json("POST", &format!("{MAPS}/a"), &[], "{}").await;
    assert_eq!((code, &status["reason"]), (405, &json!("MethodNotAllowed")));
    let (code, status) = client.get("/api/v1/pods?fieldSelector=spec.bad%3Dx").await;
    assert_eq!((code, &status["reason"]), (400, &json!("BadRequest")));
}

#[tokio::test]
async fn a_body_beyond_the_limit_is_413() {
    let server = start().await;
    let mut client = Client::admin(&server, Protocol::Http2).await;
    let large = config_map("a", &"x".repeat(4 * 1024 * 1024)).to_string();
    let (code, status) = client.json("POST", MAPS, &[], large).await;
    assert_eq!((code, &status["reason"]), (413, &json!("RequestEntityTooLarge")));
}

#[tokio::test]
async fn old_and_aggregated_discovery_tell_the_same() {
    let server = start().await;
    let mut client = Client::admin(&server, Protocol::Http1).await;
    let wanted = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    let answer = client.send("GET", "/apis", &[("accept", wanted)], "").await.expect("an answer");
    assert_eq!(answer.header("content-type"), Some(wanted));
    let aggregated: Value = serde_json::from_slice(&answer.bytes().await.expect("a body")).expect("JSON");
    let mut told = Vec::new();
    for group in aggregated["items"].as_array().expect("items") {
        let group_name = group["metadata"]["name"].as_str().expect("a name");
        for version in group["versions"].as_array().expect("versions") {
            let version_name = version["version"].as_str().expect("a version");
            for resource in version["resources"].as_array().expect("resources") {
                told.push(format!(
                    "{group_name}/{version_name}/{}",
                    resource["resource"].as_str().expect("a name")
                ));
            }
        }
    }
    let (_, groups) = client.get("/apis").await;
    let mut old = Vec::new();
    for group in groups["groups"].as_array().expect("groups") {
        for version in group["versions"].as_array().expect("versions") {
            let group_version = version["groupVersion"].as_str().expect("a version");
            let (_, list) = client.get(&format!("/apis/{group_version}")).await;
            let resources = list["resources"].as_array().expect("resources").iter();
            let names = resources.filter_map(|resource| resource["name"].as_str());
            old.extend(
                names.filter(|name| !name.contains('/')).map(|name| format!("{group_version}/{name}")),
            );
        }
    }
    assert!(told.contains(&"apps/v1/deployments".to_owned()));
    assert_eq!(told, old);
    assert_eq!(client.get("/api").await.1["versions"], json!(["v1"]));
}
