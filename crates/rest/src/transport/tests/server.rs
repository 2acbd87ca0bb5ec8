//! A server in the test: plain or TLS, HTTP/1.1 or HTTP/2, with an answer for every path.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, StreamBody, combinators::BoxBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use crate::{ClientConfig, Pem};

pub(super) type Answer = Response<BoxBody<Bytes, std::io::Error>>;

/// A server that runs until it is dropped.
pub(super) struct TestServer {
    pub(super) addr: SocketAddr,
    /// How many connections have been accepted.
    pub(super) connections: Arc<AtomicUsize>,
    /// How many of them are still open.
    pub(super) open: Arc<AtomicUsize>,
    /// The server names that came with the handshakes.
    pub(super) names: Arc<std::sync::Mutex<Vec<Option<String>>>>,
    _tasks: JoinSet<()>,
}

impl TestServer {
    pub(super) async fn start<F>(tls: Option<rustls::ServerConfig>, answer: F) -> Self
    where
        F: Fn(Request<Incoming>) -> Answer + Clone + Send + Sync + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let (connections, open) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let names: Arc<std::sync::Mutex<Vec<Option<String>>>> = Arc::default();
        let acceptor = tls.map(|config| TlsAcceptor::from(Arc::new(config)));
        let mut tasks = JoinSet::new();
        let (count, count_open, seen) = (Arc::clone(&connections), Arc::clone(&open), Arc::clone(&names));
        tasks.spawn(async move {
            let mut serving = JoinSet::new();
            loop {
                let (tcp, _) = listener.accept().await.unwrap();
                count.fetch_add(1, Ordering::SeqCst);
                count_open.fetch_add(1, Ordering::SeqCst);
                let closing = Closing(Arc::clone(&count_open));
                let (acceptor, answer, seen) = (acceptor.clone(), answer.clone(), Arc::clone(&seen));
                serving.spawn(async move {
                    let _closing = closing;
                    let service = service_fn(move |request| {
                        let answer = answer(request);
                        async move { Ok::<_, std::convert::Infallible>(answer) }
                    });
                    let Some(acceptor) = acceptor else {
                        let http1 = hyper::server::conn::http1::Builder::new();
                        let _ = http1.serve_connection(TokioIo::new(tcp), service).await;
                        return;
                    };
                    let Ok(tls) = acceptor.accept(tcp).await else { return };
                    let session = tls.get_ref().1;
                    seen.lock().unwrap().push(session.server_name().map(str::to_owned));
                    if session.alpn_protocol() == Some(b"h2") {
                        let http2 = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                        let _ = http2.serve_connection(TokioIo::new(tls), service).await;
                    } else {
                        let http1 = hyper::server::conn::http1::Builder::new();
                        let _ = http1.serve_connection(TokioIo::new(tls), service).await;
                    }
                });
            }
        });
        TestServer { addr, connections, open, names, _tasks: tasks }
    }

    pub(super) fn accepted(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// Waits until this many connections are open.
    pub(super) async fn wait_open(&self, wanted: usize) {
        super::eventually(|| self.open.load(Ordering::SeqCst) == wanted).await;
    }

    pub(super) fn http(&self) -> ClientConfig {
        ClientConfig::new(format!("http://{}", self.addr))
    }

    pub(super) fn https(&self, ca: &str) -> ClientConfig {
        let mut config = ClientConfig::new(format!("https://{}", self.addr));
        config.tls.ca = Some(Pem::Data(ca.as_bytes().to_vec()));
        config
    }
}

struct Closing(Arc<AtomicUsize>);

impl Drop for Closing {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// An answer that is whole.
pub(super) fn whole(text: &str) -> Answer {
    let body = http_body_util::Full::new(Bytes::copy_from_slice(text.as_bytes()));
    Response::new(body.map_err(|never| match never {}).boxed())
}

/// An answer that is whatever is sent; the end of the sender is its end.
pub(super) fn streamed() -> (mpsc::UnboundedSender<&'static str>, Answer) {
    let (sender, mut receiver) = mpsc::unbounded_channel::<&'static str>();
    let stream = futures_util::stream::poll_fn(move |cx| {
        receiver
            .poll_recv(cx)
            .map(|text| text.map(|text| Ok(Frame::data(Bytes::from_static(text.as_bytes())))))
    });
    (sender, Response::new(http_body_util::combinators::BoxBody::new(StreamBody::new(stream))))
}

/// A CA and what it signs.
pub(super) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pub(super) pem: String,
}

/// A certificate with its key.
pub(super) struct Signed {
    pub(super) cert: String,
    pub(super) key: String,
}

impl Authority {
    pub(super) fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let pem = params.self_signed(&key).unwrap().pem();
        Authority { issuer: Issuer::new(params, key), pem }
    }

    /// For these names and IP addresses.
    pub(super) fn sign(&self, names: &[&str]) -> Signed {
        let key = KeyPair::generate().unwrap();
        let params =
            CertificateParams::new(names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>()).unwrap();
        let cert = params.signed_by(&key, &self.issuer).unwrap().pem();
        Signed { cert, key: key.serialize_pem() }
    }
}

impl Signed {
    /// A server with this certificate that speaks these protocols. With a CA, it asks for client certificates.
    pub(super) fn server(&self, alpn: &[&str], client_ca: Option<&str>) -> rustls::ServerConfig {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = rustls::ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .unwrap();
        let builder = match client_ca {
            None => builder.with_no_client_auth(),
            Some(ca) => {
                let mut roots = rustls::RootCertStore::empty();
                roots.add_parsable_certificates(super::super::pem::certificates(ca.as_bytes()));
                let verifier =
                    rustls::server::WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
                builder.with_client_cert_verifier(verifier.build().unwrap())
            }
        };
        let identity = super::super::pem::identity(self.cert.as_bytes(), self.key.as_bytes()).unwrap();
        let mut config = builder.with_cert_resolver(Arc::new(One(Arc::new(identity))));
        config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
        config
    }
}

#[derive(Debug)]
struct One(Arc<rustls::sign::CertifiedKey>);

impl rustls::server::ResolvesServerCert for One {
    fn resolve(&self, _: rustls::server::ClientHello<'_>) -> Option<Arc<rustls::sign::CertifiedKey>> {
        Some(Arc::clone(&self.0))
    }
}
