//! The way through a proxy.

use std::sync::Arc;

use apimachinery::{ApiError, ConnectKind};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::super::{Mode, Transport};
use super::server::{Authority, TestServer, whole};
use super::{read, send, text};
use crate::{ClientConfig, Proxy};

/// A proxy that sends every connection to `to`, whatever name is asked for; what it was asked goes into `seen`.
struct FakeProxy {
    port: u16,
    seen: Arc<std::sync::Mutex<Vec<String>>>,
    _tasks: JoinSet<()>,
}

impl FakeProxy {
    async fn start(socks: bool, to: std::net::SocketAddr, refuse: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen: Arc<std::sync::Mutex<Vec<String>>> = Arc::default();
        let log = Arc::clone(&seen);
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut serving = JoinSet::new();
            loop {
                let (mut tcp, _) = listener.accept().await.unwrap();
                let log = Arc::clone(&log);
                serving.spawn(async move {
                    let asked =
                        if socks { socks5(&mut tcp, refuse).await } else { connect(&mut tcp, refuse).await };
                    log.lock().unwrap().push(asked);
                    if !refuse {
                        let mut server = TcpStream::connect(to).await.unwrap();
                        let _ = tokio::io::copy_bidirectional(&mut tcp, &mut server).await;
                    }
                });
            }
        });
        FakeProxy { port, seen, _tasks: tasks }
    }
}

async fn connect(tcp: &mut TcpStream, refuse: bool) -> String {
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"\r\n\r\n") {
        bytes.push(tcp.read_u8().await.unwrap());
    }
    let answer = if refuse { "HTTP/1.1 403 Forbidden\r\n\r\n" } else { "HTTP/1.1 200 Fine\r\nX: y\r\n\r\n" };
    tcp.write_all(answer.as_bytes()).await.unwrap();
    String::from_utf8(bytes).unwrap()
}

async fn socks5(tcp: &mut TcpStream, refuse: bool) -> String {
    let mut greeting = vec![0; 2];
    tcp.read_exact(&mut greeting).await.unwrap();
    let mut methods = vec![0; greeting[1].into()];
    tcp.read_exact(&mut methods).await.unwrap();
    let mut asked = String::new();
    if methods.contains(&2) {
        tcp.write_all(&[5, 2]).await.unwrap();
        tcp.read_u8().await.unwrap();
        for _ in 0..2 {
            let mut text = vec![0; tcp.read_u8().await.unwrap().into()];
            tcp.read_exact(&mut text).await.unwrap();
            asked.push_str(&String::from_utf8(text).unwrap());
            asked.push(':');
        }
        tcp.write_all(&[1, 0]).await.unwrap();
    } else {
        tcp.write_all(&[5, 0]).await.unwrap();
    }
    let mut head = [0; 4];
    tcp.read_exact(&mut head).await.unwrap();
    assert_eq!(head, [5, 1, 0, 3], "a name, for the proxy to resolve");
    let mut name = vec![0; tcp.read_u8().await.unwrap().into()];
    tcp.read_exact(&mut name).await.unwrap();
    let port = tcp.read_u16().await.unwrap();
    asked.push_str(&String::from_utf8(name).unwrap());
    asked.push(':');
    asked.push_str(&port.to_string());
    let code = if refuse { 5 } else { 0 };
    tcp.write_all(&[5, code, 0, 1, 0, 0, 0, 0, 0, 0]).await.unwrap();
    asked
}

fn config(ca: &Authority, url: String) -> ClientConfig {
    let mut config = ClientConfig::new("https://api.invalid:6443");
    config.tls.ca = Some(crate::Pem::Data(ca.pem.as_bytes().to_vec()));
    config.proxy = Proxy::Url(url.into());
    config
}

// REST-TL-15, REST-KC-21
#[tokio::test]
async fn http_and_socks_proxies_resolve_the_name_and_carry_both_kinds_of_request() {
    let ca = Authority::new();
    let server = TestServer::start(Some(ca.sign(&["api.invalid"]).server(&["h2", "http/1.1"], None)), |_| {
        whole("hello")
    })
    .await;
    for (socks, user, asked) in [
        (false, "", "CONNECT api.invalid:6443 HTTP/1.1\r\nHost: api.invalid:6443\r\n\r\n"),
        (
            false,
            "u:p%40@",
            "CONNECT api.invalid:6443 HTTP/1.1\r\nHost: api.invalid:6443\r\nProxy-Authorization: Basic dTpwQA==\r\n\r\n",
        ),
        (true, "", "api.invalid:6443"),
        (true, "u:p@", "u:p:api.invalid:6443"),
    ] {
        let proxy = FakeProxy::start(socks, server.addr, false).await;
        let scheme = if socks { "socks5" } else { "http" };
        let transport =
            Transport::new(&config(&ca, format!("{scheme}://{user}127.0.0.1:{}", proxy.port))).unwrap();
        assert_eq!(text(&transport, "/").await.unwrap(), "hello");
        assert_eq!(read(send(&transport, "/", Mode::Dedicated).await.unwrap()).await.unwrap(), "hello");
        assert_eq!(*proxy.seen.lock().unwrap(), [asked, asked]);
    }
}

// REST-TL-15
#[tokio::test]
async fn a_proxy_that_refuses_is_told_and_nothing_goes_around_it() {
    let ca = Authority::new();
    let server = TestServer::start(None, |_| whole("hello")).await;
    for socks in [false, true] {
        let proxy = FakeProxy::start(socks, server.addr, true).await;
        let scheme = if socks { "socks5" } else { "http" };
        let mut config = config(&ca, format!("{scheme}://u:canary@127.0.0.1:{}", proxy.port));
        config.server = format!("https://localhost:{}", server.addr.port());
        let error = text(&Transport::new(&config).unwrap(), "/").await.unwrap_err();
        assert!(matches!(error, ApiError::Connect { kind: ConnectKind::Proxy, .. }), "{error:?}");
        assert!(!format!("{error:?}").contains("canary"));
    }
    assert_eq!(server.accepted(), 0);
}

// REST-TL-15
#[tokio::test]
async fn a_plain_request_is_handed_to_the_proxy_with_its_whole_url() {
    let proxy = TestServer::start(None, |request| {
        whole(&format!("{} {:?}", request.uri(), request.headers().get("proxy-authorization")))
    })
    .await;
    let mut config = ClientConfig::new("http://api.invalid/base");
    config.proxy = Proxy::Url(format!("http://u:p@{}", proxy.addr).into());
    let seen = text(&Transport::new(&config).unwrap(), "/x?y=z").await.unwrap();
    assert_eq!(seen, "http://api.invalid/base/x?y=z Some(\"Basic dTpw\")");
}
