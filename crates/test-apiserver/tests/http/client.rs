//! A client of one connection: hyper over TLS or not, HTTP/1.1 or HTTP/2, so that each test sees what is on the wire.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use serde_json::Value;
use steersman_test_apiserver::{ClientCertificate, TestApiServer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

/// The longest that any test waits for anything.
pub(crate) const LIMIT: Duration = Duration::from_secs(20);

/// Waits for `future`, but not for ever.
pub(crate) async fn within<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(LIMIT, future).await.expect("it takes no longer than the limit")
}

/// Waits until `condition` holds, but not for ever.
pub(crate) async fn until(mut condition: impl FnMut() -> bool) {
    within(async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    Http1,
    Http2,
}

pub(crate) const BOTH: [Protocol; 2] = [Protocol::Http1, Protocol::Http2];

/// How a client shows who it is.
pub(crate) enum Login<'a> {
    Certificate(&'a ClientCertificate),
    Token(&'a str),
    Nothing,
}

enum Sender {
    Http1(http1::SendRequest<Full<Bytes>>),
    Http2(http2::SendRequest<Full<Bytes>>),
}

pub(crate) struct Client {
    sender: Sender,
    token: Option<String>,
    authority: String,
    driver: JoinHandle<()>,
}

impl Drop for Client {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

pub(crate) struct Response {
    pub(crate) code: u16,
    pub(crate) headers: http::HeaderMap,
    pub(crate) body: Incoming,
}

impl Client {
    /// As the server's administrator.
    pub(crate) async fn admin(server: &TestApiServer, protocol: Protocol) -> Self {
        Self::connect(server, protocol, &Login::Certificate(server.client_certificate())).await
    }

    pub(crate) async fn connect(server: &TestApiServer, protocol: Protocol, login: &Login<'_>) -> Self {
        let tcp = within(TcpStream::connect(server.address())).await.expect("the server listens");
        let (sender, driver) = if server.url().starts_with("https") {
            let tls = within(
                tls(server, protocol, login).connect(ServerName::try_from("127.0.0.1").expect("a name"), tcp),
            )
            .await
            .expect("a handshake");
            let agreed = tls.get_ref().1.alpn_protocol().map(<[u8]>::to_vec);
            assert_eq!(agreed.as_deref(), Some(protocol.alpn()), "what was offered is agreed");
            speak(tls, protocol).await
        } else {
            speak(tcp, protocol).await
        };
        let token = match login {
            Login::Token(token) => Some((*token).to_owned()),
            _ => None,
        };
        Self { sender, token, authority: server.address().to_string(), driver }
    }

    /// Sends a request and waits for the head of the answer.
    pub(crate) async fn send(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Result<Response, hyper::Error> {
        let mut request = http::Request::builder().method(method);
        request = match self.sender {
            Sender::Http1(_) => request.uri(path).header("host", &self.authority),
            Sender::Http2(_) => request.uri(format!("https://{}{path}", self.authority)),
        };
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(body.into())).expect("a request");
        let response = match &mut self.sender {
            Sender::Http1(sender) => within(sender.send_request(request)).await?,
            Sender::Http2(sender) => within(sender.send_request(request)).await?,
        };
        let (parts, body) = response.into_parts();
        Ok(Response { code: parts.status.as_u16(), headers: parts.headers, body })
    }

    /// A GET whose answer is JSON.
    pub(crate) async fn get(&mut self, path: &str) -> (u16, Value) {
        self.json("GET", path, &[], "").await
    }

    /// A request whose answer is JSON.
    pub(crate) async fn json(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> (u16, Value) {
        let response = self.send(method, path, headers, body).await.expect("an answer");
        let code = response.code;
        let bytes = response.bytes().await.expect("a whole body");
        let text = String::from_utf8_lossy(&bytes).into_owned();
        (code, serde_json::from_slice(&bytes).unwrap_or_else(|error| panic!("{error}: {text}")))
    }

    pub(crate) async fn watch(&mut self, path: &str) -> Frames {
        let response = self.send("GET", path, &[], "").await.expect("an answer");
        assert_eq!(response.code, 200, "the watch of {path} is accepted");
        response.frames()
    }
}

impl Response {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    pub(crate) async fn bytes(self) -> Result<Bytes, hyper::Error> {
        within(self.body.collect()).await.map(http_body_util::Collected::to_bytes)
    }

    pub(crate) async fn text(self) -> String {
        String::from_utf8_lossy(&self.bytes().await.expect("a whole body")).into_owned()
    }

    pub(crate) fn frames(self) -> Frames {
        Frames { body: self.body, buffer: Vec::new() }
    }
}

/// The lines of a watch.
pub(crate) struct Frames {
    body: Incoming,
    buffer: Vec<u8>,
}

impl Frames {
    /// The next line; none at a proper end, an error at any other.
    pub(crate) async fn line(&mut self) -> Result<Option<String>, hyper::Error> {
        loop {
            if let Some(at) = self.buffer.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = self.buffer.drain(..=at).collect();
                return Ok(Some(String::from_utf8_lossy(&line[..at]).into_owned()));
            }
            match within(self.body.frame()).await {
                None => return Ok(None),
                Some(frame) => self.buffer.extend_from_slice(&frame?.into_data().unwrap_or_default()),
            }
        }
    }

    /// The next event, which must come.
    pub(crate) async fn event(&mut self) -> Value {
        let line = self.line().await.expect("the stream goes on").expect("an event");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// `ADDED name` of the next event.
    pub(crate) async fn told(&mut self) -> String {
        let event = self.event().await;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        format!("{} {}", text(&event["type"]), text(&event["object"]["metadata"]["name"]))
    }

    /// Whether nothing comes for a while.
    pub(crate) async fn is_silent(&mut self) -> bool {
        self.buffer.is_empty()
            && tokio::time::timeout(Duration::from_millis(100), self.body.frame()).await.is_err()
    }
}

impl Protocol {
    fn alpn(self) -> &'static [u8] {
        match self {
            Self::Http1 => b"http/1.1",
            Self::Http2 => b"h2",
        }
    }
}

fn tls(server: &TestApiServer, protocol: Protocol, login: &Login<'_>) -> tokio_rustls::TlsConnector {
    let mut roots = rustls::RootCertStore::empty();
    let ca = CertificateDer::from_pem_slice(server.ca().as_bytes()).expect("a certificate");
    roots.add(ca).expect("a root");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots);
    let mut config = match login {
        Login::Certificate(certificate) => {
            let chain = vec![
                CertificateDer::from_pem_slice(certificate.certificate.as_bytes()).expect("a certificate"),
            ];
            let key = PrivateKeyDer::from_pem_slice(certificate.key.as_bytes()).expect("a key");
            builder.with_client_auth_cert(chain, key).expect("a pair")
        }
        _ => builder.with_no_client_auth(),
    };
    config.alpn_protocols = vec![protocol.alpn().to_vec()];
    tokio_rustls::TlsConnector::from(Arc::new(config))
}

async fn speak<S>(stream: S, protocol: Protocol) -> (Sender, JoinHandle<()>)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let io = TokioIo::new(stream);
    match protocol {
        Protocol::Http1 => {
            let (sender, connection) = within(http1::handshake(io)).await.expect("a handshake");
            (Sender::Http1(sender), tokio::spawn(async move { drop(connection.await) }))
        }
        Protocol::Http2 => {
            let (sender, connection) =
                within(http2::handshake(TokioExecutor::new(), io)).await.expect("a handshake");
            (Sender::Http2(sender), tokio::spawn(async move { drop(connection.await) }))
        }
    }
}
