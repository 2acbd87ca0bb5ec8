use std::time::Duration;

use serde_json::{Value, json};
use steersman_test_apiserver::faults::{After, End, Expired, Fault, NoWatchList, Verb, When};
use steersman_test_apiserver::{Options, TestApiServer};

use crate::client::{BOTH, Client, Frames, Protocol, within};

async fn start() -> TestApiServer {
    let server = within(TestApiServer::start(Options::default())).await.expect("the server starts");
    for name in ["a", "b", "c"] {
        server
            .create(json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": name } }))
            .expect("created");
    }
    server
}

const NODES: &str = "/api/v1/nodes";
const WATCH: &str = "/api/v1/nodes?watch=1";

fn on_watch() -> When {
    When::verb(Verb::Watch).path(NODES)
}

async fn two(frames: &mut Frames) {
    assert_eq!(frames.told().await, "ADDED a");
    assert_eq!(frames.told().await, "ADDED b");
}

#[tokio::test]
async fn a_refusal_has_its_code_and_says_when_to_come_back() {
    let server = start().await;
    server.faults().plan(When::verb(Verb::List), Fault::too_many_requests(7));
    server.faults().plan(When::verb(Verb::List), Fault::refuse(503));
    let mut client = Client::admin(&server, Protocol::Http1).await;
    let first = client.send("GET", NODES, &[], "").await.expect("an answer");
    assert_eq!((first.code, first.header("retry-after")), (429, Some("7")));
    let status: Value = serde_json::from_slice(&first.bytes().await.expect("a body")).expect("JSON");
    assert_eq!(status["details"]["retryAfterSeconds"], json!(7));
    let second = client.send("GET", NODES, &[], "").await.expect("an answer");
    assert_eq!((second.code, second.header("retry-after")), (503, None));
    drop(second.bytes().await);
    assert_eq!(client.get(NODES).await.0, 200);
    assert_eq!(server.faults().left(), 0);
}

#[tokio::test]
async fn a_cut_watch_gives_its_frames_and_then_breaks() {
    for protocol in BOTH {
        let server = start().await;
        server.faults().plan(on_watch(), Fault::cut_after_frames(2));
        let mut client = Client::admin(&server, protocol).await;
        let mut frames = client.watch(WATCH).await;
        two(&mut frames).await;
        frames.line().await.expect_err("the body is not complete");
    }
}

#[tokio::test]
async fn a_cut_in_the_middle_of_a_frame_gives_the_bytes_before_it() {
    for protocol in BOTH {
        let server = start().await;
        let mut client = Client::admin(&server, protocol).await;
        server.faults().plan(When::verb(Verb::List), Fault::cut_after_bytes(10));
        let answer = client.send("GET", NODES, &[], "").await.expect("a head");
        assert_eq!(answer.code, 200);
        answer.bytes().await.expect_err("the body is not complete");
    }
}

#[tokio::test]
async fn an_early_end_looks_like_a_proper_one() {
    for protocol in BOTH {
        let server = start().await;
        server.faults().plan(on_watch(), Fault::end_after_frames(2));
        let cut = Fault::Cut { after: After::Bytes(10), end: End::Clean };
        server.faults().plan(When::verb(Verb::Get), cut);
        let mut client = Client::admin(&server, protocol).await;
        let mut frames = client.watch(WATCH).await;
        two(&mut frames).await;
        assert_eq!(frames.line().await.expect("a proper end"), None);
        let answer = client.send("GET", "/api/v1/nodes/a", &[], "").await.expect("a head");
        assert_eq!(answer.bytes().await.expect("it looks whole").len(), 10);
    }
}

#[tokio::test]
async fn a_reset_takes_the_connection_with_it() {
    for protocol in BOTH {
        let server = start().await;
        let reset = Fault::Cut { after: After::Frames(2), end: End::Reset };
        server.faults().plan(on_watch(), reset);
        let mut client = Client::admin(&server, protocol).await;
        let mut frames = client.watch(WATCH).await;
        two(&mut frames).await;
        frames.line().await.expect_err("reset");
        assert!(client.send("GET", "/version", &[], "").await.is_err());
        server.faults().plan(When::any(), Fault::Reset);
        assert!(Client::admin(&server, protocol).await.send("GET", NODES, &[], "").await.is_err());
    }
}

#[tokio::test]
async fn a_connection_that_goes_away_answers_what_it_has_taken() {
    let server = start().await;
    let mut client = Client::admin(&server, Protocol::Http2).await;
    let mut frames = client.watch(WATCH).await;
    two(&mut frames).await;
    server.faults().plan(When::verb(Verb::Get), Fault::GoAway);
    assert_eq!(client.get("/api/v1/nodes/a").await.0, 200);
    within(async { while client.send("GET", "/version", &[], "").await.is_ok() {} }).await;
    assert_eq!(frames.told().await, "ADDED c", "the watch goes on");

    let mut client = Client::admin(&server, Protocol::Http1).await;
    server.faults().plan(When::verb(Verb::Get), Fault::GoAway);
    let answer = client.send("GET", "/api/v1/nodes/a", &[], "").await.expect("an answer");
    assert_eq!((answer.code, answer.header("connection")), (200, Some("close")));
}

#[tokio::test]
async fn a_closed_connection_gives_no_answer() {
    for protocol in BOTH {
        let server = start().await;
        server.faults().plan(When::any(), Fault::Close);
        assert!(Client::admin(&server, protocol).await.send("GET", NODES, &[], "").await.is_err());
        assert_eq!(Client::admin(&server, protocol).await.get(NODES).await.0, 200);
    }
}

#[tokio::test]
async fn a_stalled_watch_is_silent_while_its_connection_lives() {
    let server = start().await;
    server.faults().plan(on_watch(), Fault::stall_after_frames(2));
    let mut client = Client::admin(&server, Protocol::Http2).await;
    let mut frames = client.watch(WATCH).await;
    two(&mut frames).await;
    assert!(frames.is_silent().await);
    assert_eq!(client.get("/version").await.0, 200);
}

#[tokio::test]
async fn silence_takes_every_answer_of_the_connection() {
    let server = start().await;
    let mut client = Client::admin(&server, Protocol::Http2).await;
    let mut frames = client.watch(WATCH).await;
    two(&mut frames).await;
    assert_eq!(frames.told().await, "ADDED c");
    server.faults().plan(When::verb(Verb::Get), Fault::Silence);
    let wait = Duration::from_millis(200);
    assert!(tokio::time::timeout(wait, client.send("GET", "/api/v1/nodes/a", &[], "")).await.is_err());
    server
        .create(json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": "d" } }))
        .expect("created");
    assert!(frames.is_silent().await, "the watch over the same connection is silent too");
}

#[tokio::test]
async fn each_shape_of_expiry_can_be_planned() {
    let server = start().await;
    let mut client = Client::admin(&server, Protocol::Http2).await;
    for (shape, reason) in [(Expired::Answer, "Expired"), (Expired::AnswerGone, "Gone")] {
        server.faults().plan(on_watch(), Fault::Expire(shape));
        let (code, status) = client.get(WATCH).await;
        assert_eq!((code, &status["reason"], &status["code"]), (410, &json!(reason), &json!(410)));
    }
    for (shape, reason) in [(Expired::Event, "Expired"), (Expired::EventGone, "Gone")] {
        server.faults().plan(on_watch(), Fault::Expire(shape));
        let mut frames = client.watch(WATCH).await;
        let event = frames.event().await;
        assert_eq!((&event["type"], &event["object"]["reason"]), (&json!("ERROR"), &json!(reason)));
        assert_eq!(frames.line().await.expect("a proper end"), None);
    }
}

#[tokio::test]
async fn garbage_stands_between_good_frames() {
    for protocol in BOTH {
        let server = start().await;
        server.faults().plan(on_watch(), Fault::garbage_after_frames(2));
        let mut client = Client::admin(&server, protocol).await;
        let mut frames = client.watch(WATCH).await;
        two(&mut frames).await;
        let line = frames.line().await.expect("the stream goes on").expect("a line");
        serde_json::from_str::<Value>(&line).expect_err("garbage");
        assert_eq!(frames.told().await, "ADDED c");
    }
}

#[tokio::test]
async fn a_proxy_answers_with_html_and_a_body_is_not_what_it_says() {
    let server = start().await;
    let mut client = Client::admin(&server, Protocol::Http1).await;
    server.faults().plan(When::any(), Fault::Html { code: 502 });
    let page = client.send("GET", NODES, &[], "").await.expect("an answer");
    assert_eq!((page.code, page.header("content-type")), (502, Some("text/html; charset=utf-8")));
    assert!(page.text().await.contains("<html>"));
    server.faults().plan(When::any(), Fault::Body(b"not json".to_vec()));
    let lie = client.send("GET", NODES, &[], "").await.expect("an answer");
    assert_eq!((lie.code, lie.header("content-type")), (200, Some("application/json")));
    assert_eq!(lie.text().await, "not json");
}

#[tokio::test]
async fn the_bookmark_after_the_initial_events_can_be_withheld() {
    let server = start().await;
    server.faults().plan(on_watch(), Fault::NoInitialEventsEnd);
    let query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let mut client = Client::admin(&server, Protocol::Http2).await;
    let mut frames = client.watch(&format!("{WATCH}&{query}")).await;
    two(&mut frames).await;
    assert_eq!(frames.told().await, "ADDED c");
    assert!(frames.is_silent().await);
}

#[tokio::test]
async fn a_server_without_watch_list_refuses_it_or_does_not_know_it() {
    let server = start().await;
    let query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let path = format!("{WATCH}&{query}");
    let mut client = Client::admin(&server, Protocol::Http2).await;
    server.faults().plan(on_watch(), Fault::NoWatchList(NoWatchList::Refused));
    let (code, status) = client.get(&path).await;
    assert_eq!((code, &status["reason"]), (422, &json!("Invalid")));
    server.faults().plan(on_watch(), Fault::NoWatchList(NoWatchList::Ignored));
    let mut frames = client.watch(&path).await;
    two(&mut frames).await;
    assert_eq!(frames.told().await, "ADDED c");
    assert!(frames.is_silent().await, "no bookmark tells the end");
}

#[tokio::test]
async fn a_delayed_request_is_answered_after_its_delay_and_others_are_not_held() {
    let server = start().await;
    server.faults().plan(When::verb(Verb::List), Fault::Delay(Duration::from_millis(150)));
    let mut slow = Client::admin(&server, Protocol::Http1).await;
    let mut quick = Client::admin(&server, Protocol::Http1).await;
    let held = slow.get(NODES);
    tokio::pin!(held);
    tokio::select! {
        biased;
        _ = &mut held => panic!("the list is answered before its delay is over"),
        (code, _) = async {
            server.requested(|request| request.verb == Verb::List).await;
            quick.get("/version").await
        } => assert_eq!(code, 200),
    }
    assert_eq!(held.await.0, 200);
}
