//! Requests and answers on connections that work.

use std::sync::Arc;

use ::http::{Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use tokio::sync::mpsc;

use super::super::{Mode, Transport};
use super::server::{Authority, TestServer, streamed, whole};
use super::{eventually, read, send, text};
use crate::{Auth, Impersonation, Secret};

/// Answers with what it was asked.
fn echo(request: &Request<hyper::body::Incoming>) -> super::server::Answer {
    let mut lines = vec![format!("{:?} {} {}", request.version(), request.method(), request.uri())];
    lines
        .extend(request.headers().iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap())));
    whole(&lines.join("\n"))
}

// REST-CF-02, REST-AU-09, REST-AU-10, REST-AU-14, REST-TL-16
#[tokio::test]
async fn a_request_goes_below_the_base_path_and_says_who_asks() {
    let server = TestServer::start(None, |request| echo(&request)).await;
    let mut config = server.http();
    config.server.push_str("/k8s/c-1/?drop=me");
    config.auth = Auth::Token(Secret::new(" canary \n"));
    config.user_agent = "test/1".into();
    config.impersonate = Some(Impersonation {
        user: "jane".into(),
        uid: Some("7".into()),
        groups: vec!["a".into(), "b".into()],
        extra: [("scopes%/x".to_owned(), vec!["one".to_owned(), "two".to_owned()])].into(),
    });
    let transport = Transport::new(&config).unwrap();
    let seen = text(&transport, "/api/v1/pods?limit=5").await.unwrap();
    for line in [
        "HTTP/1.1 GET /k8s/c-1/api/v1/pods?limit=5",
        &format!("host: {}", server.addr),
        "authorization: Bearer canary",
        "user-agent: test/1",
        "accept-encoding: gzip",
        "impersonate-user: jane",
        "impersonate-uid: 7",
        "impersonate-group: a",
        "impersonate-group: b",
        "impersonate-extra-scopes%25%2fx: one",
        "impersonate-extra-scopes%25%2fx: two",
    ] {
        assert!(seen.lines().any(|seen| seen == line), "{line} is not in\n{seen}");
    }
}

// REST-AU-03, REST-TL-16
#[tokio::test]
async fn what_the_request_says_itself_is_left_alone() {
    let server = TestServer::start(None, |request| echo(&request)).await;
    let mut config = server.http();
    config.auth = Auth::Basic { username: "u".into(), password: "p".into() };
    config.impersonate = Some(Impersonation { user: "jane".into(), ..Default::default() });
    let transport = Transport::new(&config).unwrap();
    let request = Request::get("/x")
        .header("authorization", "Bearer mine")
        .header("user-agent", "mine")
        .header("accept-encoding", "identity")
        .header("impersonate-user", "me")
        .body(bytes::Bytes::new())
        .unwrap();
    let seen = read(transport.send(request, Mode::Shared).await.unwrap()).await.unwrap();
    for line in [
        "authorization: Bearer mine",
        "user-agent: mine",
        "accept-encoding: identity",
        "impersonate-user: me",
    ] {
        assert!(seen.contains(line), "{line} is not in\n{seen}");
    }
    assert!(!seen.contains("jane") && !seen.contains("Basic"), "{seen}");
    let seen = text(&transport, "/x").await.unwrap();
    assert!(seen.contains("authorization: Basic dTpw"), "{seen}");
}

// REST-TL-12
#[tokio::test]
async fn requests_one_after_another_use_one_connection() {
    let server = TestServer::start(None, |request| echo(&request)).await;
    let transport = Transport::new(&server.http()).unwrap();
    for _ in 0..20 {
        text(&transport, "/x").await.unwrap();
    }
    assert_eq!(server.accepted(), 1);
    drop(transport);
    server.wait_open(0).await;
}

// REST-TL-13
#[tokio::test]
async fn http2_is_spoken_where_the_server_does_and_one_connection_serves_many_requests() {
    let ca = Authority::new();
    let tls = ca.sign(&["127.0.0.1"]).server(&["h2", "http/1.1"], None);
    let server = TestServer::start(Some(tls), |request| echo(&request)).await;
    let transport = Transport::new(&server.https(&ca.pem)).unwrap();
    let mut all = tokio::task::JoinSet::new();
    for n in 0..30 {
        let transport = transport.clone();
        all.spawn(async move { text(&transport, &format!("/{n}")).await.unwrap() });
    }
    while let Some(seen) = all.join_next().await {
        let seen = seen.unwrap();
        assert!(seen.starts_with("HTTP/2.0 GET https://127.0.0.1:"), "{seen}");
    }
    assert_eq!(server.accepted(), 1);

    let mut config = server.https(&ca.pem);
    config.connections.http2 = false;
    let transport = Transport::new(&config).unwrap();
    let seen = text(&transport, "/x").await.unwrap();
    assert!(seen.starts_with("HTTP/1.1 GET /x"), "{seen}");
    drop(transport);
}

// REST-TL-13
#[tokio::test]
async fn a_dedicated_answer_has_its_own_http1_connection_and_comes_as_it_is_sent() {
    let ca = Authority::new();
    let tls = ca.sign(&["127.0.0.1"]).server(&["h2", "http/1.1"], None);
    let (streams, mut started) = mpsc::unbounded_channel();
    let server = TestServer::start(Some(tls), move |request| {
        assert_eq!(request.version(), ::http::Version::HTTP_11);
        let (sender, answer) = streamed();
        streams.send(sender).unwrap();
        answer
    })
    .await;
    let transport = Transport::new(&server.https(&ca.pem)).unwrap();
    let response = send(&transport, "/watch", Mode::Dedicated).await.unwrap();
    let events = started.recv().await.unwrap();
    let mut body = response.into_body();
    for event in ["one", "two", "three"] {
        events.send(event).unwrap();
        assert_eq!(crate::chunks::next(&mut body).await.unwrap().unwrap(), event);
    }
    let second = send(&transport, "/watch", Mode::Dedicated).await.unwrap();
    assert_eq!(server.accepted(), 2);
    drop(second);
    server.wait_open(1).await;
    drop(events);
    assert!(crate::chunks::next(&mut body).await.is_none());
    assert!(crate::chunks::next(&mut body).await.is_none());
}

// REST-TL-13
#[tokio::test]
async fn a_server_of_http2_alone_serves_a_dedicated_request_too() {
    let ca = Authority::new();
    let tls = ca.sign(&["127.0.0.1"]).server(&["h2"], None);
    let server = TestServer::start(Some(tls), |request| echo(&request)).await;
    let transport = Transport::new(&server.https(&ca.pem)).unwrap();
    let seen = read(send(&transport, "/x", Mode::Dedicated).await.unwrap()).await.unwrap();
    assert!(seen.starts_with("HTTP/2.0"), "{seen}");
}

// REST-XX-03
#[tokio::test]
async fn dropping_an_answer_cancels_it_and_leaves_the_others_alone() {
    let ca = Authority::new();
    let tls = ca.sign(&["127.0.0.1"]).server(&["h2", "http/1.1"], None);
    let (streams, mut started) = mpsc::unbounded_channel();
    let server = TestServer::start(Some(tls), move |request| {
        if request.uri().path() != "/stream" {
            return echo(&request);
        }
        let (sender, answer) = streamed();
        streams.send(sender).unwrap();
        answer
    })
    .await;
    let transport = Transport::new(&server.https(&ca.pem)).unwrap();
    let response = send(&transport, "/stream", Mode::Shared).await.unwrap();
    let events = started.recv().await.unwrap();
    drop(response);
    eventually(|| events.is_closed()).await;
    text(&transport, "/x").await.unwrap();
    assert_eq!(server.accepted(), 1);
}

// REST-XX-03
#[test]
fn an_answer_may_be_dropped_outside_of_the_runtime() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let (transport, response, _server) = runtime.block_on(async {
        let ca = Authority::new();
        let tls = ca.sign(&["127.0.0.1"]).server(&["h2"], None);
        let server = TestServer::start(Some(tls), move |request| match request.uri().path() {
            "/stream" => streamed().1,
            _ => echo(&request),
        })
        .await;
        let transport = Transport::new(&server.https(&ca.pem)).unwrap();
        let response = send(&transport, "/stream", Mode::Shared).await.unwrap();
        (transport, response, server)
    });
    drop(response);
    assert!(runtime.block_on(text(&transport, "/x")).unwrap().starts_with("HTTP/2.0"));
}

// REST-TL-16
#[tokio::test]
async fn compressed_answers_come_out_plain() {
    use std::io::Write as _;
    let server = TestServer::start(None, |request| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(b"plain text").unwrap();
        let mut bytes = encoder.finish().unwrap();
        if request.uri().path() == "/cut" {
            bytes.truncate(bytes.len() - 3);
        }
        let length = bytes.len();
        let body = http_body_util::Full::new(bytes::Bytes::from(bytes));
        Response::builder()
            .header("content-encoding", "gzip")
            .header("content-length", length)
            .body(body.map_err(|never| match never {}).boxed())
            .unwrap()
    })
    .await;
    let transport = Transport::new(&server.http()).unwrap();
    let response = send(&transport, "/x", Mode::Shared).await.unwrap();
    assert!(!response.headers().contains_key("content-encoding"));
    assert!(!response.headers().contains_key("content-length"));
    assert_eq!(read(response).await.unwrap(), "plain text");
    let cut = text(&transport, "/cut").await.unwrap_err();
    let kind = apimachinery::BrokenKind::Eof;
    assert!(matches!(cut, apimachinery::ApiError::Broken { kind: found, .. } if found == kind), "{cut:?}");

    let mut config = server.http();
    config.compression = false;
    let plain = Transport::new(&config).unwrap();
    let response = send(&plain, "/x", Mode::Shared).await.unwrap();
    assert!(response.headers().contains_key("content-encoding"), "not asked for, not touched");
}

// REST-TL-22
#[tokio::test]
async fn redirects_stay_at_the_origin() {
    let elsewhere = TestServer::start(None, |request| echo(&request)).await;
    let other = elsewhere.addr;
    let server = TestServer::start(None, move |request| {
        let host = request.headers()["host"].to_str().unwrap().to_owned();
        let to = match request.uri().path() {
            "/near" => "/there?a=b".to_owned(),
            "/full" => format!("http://{host}/there"),
            "/far" => format!("http://{other}/there"),
            "/round" => "/round".to_owned(),
            "//else/x" => "//else/x".to_owned(),
            _ => return echo(&request),
        };
        let mut answer = whole("");
        *answer.status_mut() = StatusCode::FOUND;
        answer.headers_mut().insert("location", to.parse().unwrap());
        answer
    })
    .await;
    let mut config = server.http();
    config.auth = Auth::Token("canary".into());
    let transport = Transport::new(&config).unwrap();
    assert!(text(&transport, "/near").await.unwrap().starts_with("HTTP/1.1 GET /there?a=b"));
    assert!(text(&transport, "/full").await.unwrap().starts_with("HTTP/1.1 GET /there"));
    assert_eq!(send(&transport, "/far", Mode::Shared).await.unwrap().status(), StatusCode::FOUND);
    assert!(send(&transport, "/round", Mode::Shared).await.is_err());
    assert_eq!(elsewhere.accepted(), 0, "the token went to another origin");
    let post = Request::post("/near").body(bytes::Bytes::from_static(b"{}")).unwrap();
    assert_eq!(transport.send(post, Mode::Shared).await.unwrap().status(), StatusCode::FOUND);
    drop(Arc::new(transport));
}
