//! Connections that break, stall, close, and servers that go away.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ::http::{Request, Response};
use apimachinery::{ApiError, BrokenKind, ConnectKind};
use bytes::Bytes;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::super::{Mode, Transport};
use super::server::{Authority, TestServer, streamed, whole};
use super::{eventually, get, read, send, text};
use crate::ClientConfig;

/// A server of raw bytes: what it does with each connection, by its number.
async fn raw<F, Fut>(serve: F) -> (ClientConfig, Arc<AtomicUsize>, JoinSet<()>)
where
    F: Fn(usize, TcpStream) -> Fut + Send + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let config = ClientConfig::new(format!("http://{}", listener.local_addr().unwrap()));
    let accepted = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&accepted);
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let mut serving = JoinSet::new();
        loop {
            let (tcp, _) = listener.accept().await.unwrap();
            let n = count.fetch_add(1, Ordering::SeqCst);
            serving.spawn(serve(n, tcp));
        }
    });
    (config, accepted, tasks)
}

/// Reads one request without a body.
async fn request(tcp: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"\r\n\r\n") {
        bytes.push(tcp.read_u8().await.ok()?);
    }
    Some(String::from_utf8(bytes).unwrap())
}

fn broken_kind(error: &ApiError) -> BrokenKind {
    match error {
        ApiError::Broken { kind, .. } => *kind,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn nobody_there_is_told_as_such() {
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let transport = Transport::new(&ClientConfig::new(format!("http://{free}"))).unwrap();
    for mode in [Mode::Shared, Mode::Dedicated] {
        let error = send(&transport, "/", mode).await.unwrap_err();
        assert!(matches!(error, ApiError::Connect { kind: ConnectKind::Refused, .. }), "{error:?}");
    }
    let transport = Transport::new(&ClientConfig::new("http://name.invalid")).unwrap();
    let error = send(&transport, "/", Mode::Shared).await.unwrap_err();
    assert!(matches!(error, ApiError::Connect { kind: ConnectKind::Resolve, .. }), "{error:?}");
}

// REST-XX-04
#[tokio::test]
async fn an_answer_cut_anywhere_is_an_error_and_never_a_short_answer() {
    const ANSWER: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    const CHUNKED: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
    for whole in [ANSWER, CHUNKED] {
        for mode in [Mode::Shared, Mode::Dedicated] {
            let (config, _, _tasks) = raw(move |n, mut tcp| async move {
                request(&mut tcp).await;
                let cut = n.min(whole.len());
                tcp.write_all(&whole.as_bytes()[..cut]).await.unwrap();
            })
            .await;
            let mut cut = 0;
            while cut < whole.len() {
                // A fresh transport, for a connection a try.
                let transport = Transport::new(&config).unwrap();
                let answer = match send(&transport, "/", mode).await {
                    Ok(response) => read(response).await,
                    Err(error) => Err(error),
                };
                let error = answer.expect_err(&format!("{mode:?} cut at {cut}"));
                assert_eq!(broken_kind(&error), BrokenKind::Eof, "{mode:?} cut at {cut}: {error:?}");
                cut += 1;
            }
            let transport = Transport::new(&config).unwrap();
            assert_eq!(read(send(&transport, "/", mode).await.unwrap()).await.unwrap(), "hello");
        }
    }
}

// REST-TL-12
#[tokio::test]
async fn pooled_connections_that_the_server_closed_cost_nobody_an_error() {
    let (config, accepted, _tasks) = raw(|_, mut tcp| async move {
        // One answer, and gone without a word.
        request(&mut tcp).await;
        tcp.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await.unwrap();
    })
    .await;
    let transport = Transport::new(&config).unwrap();
    for n in 1..=20 {
        assert_eq!(text(&transport, "/").await.unwrap(), "ok");
        assert_eq!(accepted.load(Ordering::SeqCst), n);
    }
}

// REST-TL-12
#[tokio::test]
async fn a_question_on_a_connection_that_dies_under_it_is_asked_once_more_and_a_command_is_not() {
    // Each connection answers once, reads the next request, and dies.
    let (config, accepted, _tasks) = raw(|_, mut tcp| async move {
        request(&mut tcp).await;
        tcp.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await.unwrap();
        request(&mut tcp).await;
    })
    .await;
    let transport = Transport::new(&config).unwrap();
    assert_eq!(text(&transport, "/").await.unwrap(), "ok");
    assert_eq!(text(&transport, "/").await.unwrap(), "ok");
    assert_eq!(accepted.load(Ordering::SeqCst), 2);
    let post = Request::post("/").body(Bytes::new()).unwrap();
    let error = transport.send(post, Mode::Shared).await.unwrap_err();
    assert_eq!(broken_kind(&error), BrokenKind::Eof, "{error:?}");
    assert_eq!(accepted.load(Ordering::SeqCst), 2, "a POST that may have been processed is not sent again");

    // A connection that never answers at all is not tried for ever.
    let (config, accepted, _tasks) = raw(|_, mut tcp| async move {
        request(&mut tcp).await;
    })
    .await;
    let transport = Transport::new(&config).unwrap();
    assert!(text(&transport, "/").await.is_err());
    assert_eq!(accepted.load(Ordering::SeqCst), 1);
}

/// A server of HTTP/2 without TLS's help: it is given each connection after the handshake.
async fn http2<F, Fut>(serve: F) -> (ClientConfig, Arc<AtomicUsize>, JoinSet<()>)
where
    F: Fn(usize, h2::server::Connection<tokio_rustls::server::TlsStream<TcpStream>, Bytes>) -> Fut
        + Send
        + Clone
        + Sync
        + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    let ca = Authority::new();
    let tls = ca.sign(&["127.0.0.1"]).server(&["h2"], None);
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(tls));
    let (mut config, accepted, tasks) = raw(move |n, tcp| {
        let (acceptor, serve) = (acceptor.clone(), serve.clone());
        async move {
            let Ok(tls) = acceptor.accept(tcp).await else { return };
            let mut builder = h2::server::Builder::new();
            builder.max_concurrent_streams(2);
            let Ok(connection) = builder.handshake(tls).await else { return };
            serve(n, connection).await;
        }
    })
    .await;
    config.server = config.server.replace("http:", "https:");
    config.tls.ca = Some(crate::Pem::Data(ca.pem.into_bytes()));
    (config, accepted, tasks)
}

fn answer(mut respond: h2::server::SendResponse<Bytes>) {
    let mut stream = respond.send_response(Response::new(()), false).unwrap();
    stream.send_data(Bytes::from_static(b"ok"), true).unwrap();
}

// REST-TL-12
#[tokio::test]
async fn a_request_that_http2_provably_refused_is_sent_once_more_even_a_command() {
    for go_away in [false, true] {
        let processed = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&processed);
        let (config, _, _tasks) = http2(move |n, mut connection| {
            let count = Arc::clone(&count);
            async move {
                let mut first = n == 0;
                while let Some(Ok((_, mut respond))) = connection.accept().await {
                    if std::mem::take(&mut first) {
                        if go_away {
                            connection.abrupt_shutdown(h2::Reason::NO_ERROR);
                            continue;
                        }
                        respond.send_reset(h2::Reason::REFUSED_STREAM);
                        continue;
                    }
                    count.fetch_add(1, Ordering::SeqCst);
                    answer(respond);
                }
            }
        })
        .await;
        let transport = Transport::new(&config).unwrap();
        let post = Request::post("/").body(Bytes::from_static(b"{}")).unwrap();
        let sent = transport.send(post, Mode::Shared).await;
        if go_away {
            // The id of this request was below the last one named: it may have been processed.
            assert!(sent.is_err() || processed.load(Ordering::SeqCst) == 1);
        } else {
            assert_eq!(read(sent.unwrap()).await.unwrap(), "ok");
            assert_eq!(processed.load(Ordering::SeqCst), 1);
        }
        assert_eq!(text(&transport, "/").await.unwrap(), "ok", "the next one is not harmed");
    }
}

// REST-TL-23
#[tokio::test]
async fn more_streams_than_the_server_takes_open_another_connection() {
    let (config, accepted, _tasks) = http2(|_, mut connection| async move {
        let mut held = Vec::new();
        while let Some(Ok((request, mut respond))) = connection.accept().await {
            if request.uri().path() == "/hold" {
                held.push(respond.send_response(Response::new(()), false).unwrap());
            } else {
                answer(respond);
            }
        }
    })
    .await;
    let transport = Transport::new(&config).unwrap();
    text(&transport, "/").await.unwrap();
    let mut held = Vec::new();
    for _ in 0..6 {
        held.push(send(&transport, "/hold", Mode::Shared).await.unwrap());
    }
    assert_eq!(text(&transport, "/").await.unwrap(), "ok");
    assert_eq!(accepted.load(Ordering::SeqCst), 4, "two a connection");
}

// REST-TL-14
#[tokio::test]
async fn a_silent_http2_connection_is_closed_by_its_ping_and_those_who_wait_are_told() {
    let (mut config, accepted, _tasks) = http2(|n, mut connection| async move {
        if n == 0 {
            let (_, respond) = connection.accept().await.unwrap().unwrap();
            // Nothing is read or written any more, and the socket stays open.
            std::future::pending::<()>().await;
            drop(respond);
        }
        while let Some(Ok((_, respond))) = connection.accept().await {
            answer(respond);
        }
    })
    .await;
    config.connections.http2_read_idle = Some(Duration::from_millis(50));
    config.connections.http2_ping_timeout = Duration::from_millis(50);
    let transport = Transport::new(&config).unwrap();
    let error = send(&transport, "/", Mode::Shared).await.unwrap_err();
    assert_eq!(broken_kind(&error), BrokenKind::Timeout, "{error:?}");
    assert_eq!(text(&transport, "/").await.unwrap(), "ok");
    assert_eq!(accepted.load(Ordering::SeqCst), 2);
}

// REST-TL-14
#[tokio::test]
async fn after_a_request_was_given_up_in_silence_the_next_one_takes_another_connection() {
    let (config, accepted, _tasks) = http2(|n, mut connection| async move {
        if n == 0 {
            let (_, respond) = connection.accept().await.unwrap().unwrap();
            std::future::pending::<()>().await;
            drop(respond);
        }
        while let Some(Ok((_, respond))) = connection.accept().await {
            answer(respond);
        }
    })
    .await;
    let transport = Transport::new(&config).unwrap();
    let given_up =
        tokio::time::timeout(Duration::from_millis(1200), transport.send(get("/"), Mode::Shared)).await;
    assert!(given_up.is_err());
    assert_eq!(text(&transport, "/").await.unwrap(), "ok");
    assert_eq!(accepted.load(Ordering::SeqCst), 2);
}

// REST-TL-12
#[tokio::test]
async fn limits_on_dialling_and_handshakes_are_kept() {
    // Accepts, and says nothing: no handshake.
    let (mut config, _, _tasks) = raw(|_, tcp| async move {
        std::future::pending::<()>().await;
        drop(tcp);
    })
    .await;
    config.server = config.server.replace("http:", "https:");
    config.tls.insecure = true;
    config.connections.tls_timeout = Duration::from_millis(50);
    let transport = Transport::new(&config).unwrap();
    let error = send(&transport, "/", Mode::Shared).await.unwrap_err();
    assert!(matches!(error, ApiError::Connect { kind: ConnectKind::Timeout, .. }), "{error:?}");
    let defaults = crate::ConnectionOptions::default();
    assert_eq!(defaults.dial_timeout, Duration::from_secs(30));
    assert_eq!(defaults.tls_timeout, Duration::from_secs(10));
    assert_eq!(defaults.idle_timeout, Duration::from_secs(90));
    assert_eq!(defaults.max_idle, 25);
}

// REST-TL-12
#[tokio::test]
async fn idle_connections_are_closed_and_kept_only_up_to_their_number() {
    let (streams, mut started) = tokio::sync::mpsc::unbounded_channel();
    let server = TestServer::start(None, move |request| {
        if request.uri().path() != "/hold" {
            return whole("ok");
        }
        let (events, answer) = streamed();
        streams.send(events).unwrap();
        answer
    })
    .await;
    let mut config = server.http();
    config.connections.max_idle = 2;
    config.connections.idle_timeout = Duration::from_millis(200);
    let transport = Transport::new(&config).unwrap();
    text(&transport, "/").await.unwrap();
    let mut held = Vec::new();
    for _ in 0..5 {
        held.push(send(&transport, "/hold", Mode::Shared).await.unwrap());
    }
    assert_eq!(server.accepted(), 5);
    started.close();
    while started.recv().await.is_some() {}
    for response in held {
        assert_eq!(read(response).await.unwrap(), "");
    }
    server.wait_open(2).await;
    server.wait_open(0).await;
    text(&transport, "/").await.unwrap();
    assert_eq!(server.accepted(), 6);
}

// REST-XX-03
#[tokio::test]
async fn many_cancelled_requests_leave_no_connection_and_no_lock() {
    let server = TestServer::start(None, |_| whole("ok")).await;
    let transport = Transport::new(&server.http()).unwrap();
    for n in 0..200u64 {
        let limit = Duration::from_micros(n * 7);
        let mode = if n % 2 == 0 { Mode::Shared } else { Mode::Dedicated };
        let _ = tokio::time::timeout(limit, transport.send(get("/"), mode)).await;
    }
    assert_eq!(text(&transport, "/").await.unwrap(), "ok");
    let open = &server.open;
    eventually(|| open.load(Ordering::SeqCst) <= 2).await;
    drop(transport);
    server.wait_open(0).await;
}
