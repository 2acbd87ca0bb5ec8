//! Sockets: one request in, one answer out. No Kubernetes type is known here.
//!
//! [`Transport::send`] is one attempt. It connects, secures, authenticates, sends, and gives the answer's head; the
//! rest of the answer comes out of [`Body`] as it arrives.
//!
//! ```text
//! send ─► auth (who we are) ─► pool (a connection that is there) ─► hyper ─► Body
//!                                └► connect (name, proxy, TLS: a new one)
//! ```
//!
//! A dedicated connection is never in the pool: it offers HTTP/1.1 alone, and is driven by whoever polls its body.

mod body;
mod connect;
mod fault;
mod gunzip;
mod p521_key;
pub(crate) mod pem;
mod pool;
pub(crate) mod proxy;
mod tls;
mod verify;

#[cfg(test)]
mod tests;

use std::sync::{Arc, Weak};
use std::task::Poll;
use std::time::Duration;

use apimachinery::{ApiError, ConnectKind};
use bytes::Bytes;
use http::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CONTENT_ENCODING, CONTENT_LENGTH, HOST, LOCATION, USER_AGENT,
};
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::time::Instant;

pub(crate) use body::Body;

use self::body::{Driver, Source};
use self::connect::{Connected, Target};
use self::pool::{Lease, Pool};
use self::proxy::Via;
use self::tls::{Changed, Handshakes, Material, SharedMaterial};
use crate::auth::{Authenticator, Credential};
use crate::config::Server;
use crate::{ClientConfig, ConfigError, ConnectionOptions};

const MAX_REDIRECTS: usize = 10;
/// Files of a client certificate are looked at this often, even if no connection is opened.
const IDENTITY_POLL: Duration = Duration::from_mins(5);
/// How much of a dedicated connection is read at once: a few events, so that what is read and what is made of it are
/// still in the processor's cache, and that an idle watch holds no more. Large buffers, as hyper's own of 400 KiB, come
/// from the system and go back to it each time.
const READ_BUFFER: usize = 64 * 1024;
const SENDING: &str = "sending the request";

/// Connections to one server, as one user. Cheap to clone; the last clone closes them.
#[derive(Debug, Clone)]
pub(crate) struct Transport {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    server: Server,
    via: Via,
    options: ConnectionOptions,
    compression: bool,
    user_agent: HeaderValue,
    impersonation: HeaderMap,
    auth: Authenticator,
    material: Option<SharedMaterial>,
    pool: Arc<Pool>,
    polling: std::sync::Once,
}

/// Which connection a request goes over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// One that others use too.
    Shared,
    /// Its own, read on the task that reads the body: for a watch, where a hand-over to another task costs more than
    /// the event. A server that speaks HTTP/2 alone gets it over a shared one.
    Dedicated,
}

/// Why one try on one connection gave no answer.
struct Failed {
    error: ApiError,
    /// Has the server provably not processed it?
    unprocessed: bool,
}

impl Transport {
    /// Checks everything that can be checked without a connection: server URL, certificates, keys, credentials.
    ///
    /// Reads the files that the configuration names. Needs no runtime.
    pub(crate) fn new(config: &ClientConfig) -> Result<Self, ConfigError> {
        let server = Server::of(config)?;
        let material = if server.tls {
            Some(SharedMaterial::new(Material::new(&config.tls, &server, config.connections.http2)?))
        } else {
            None
        };
        let via = Via::of(config, &server)?;
        let impersonation = crate::auth::impersonation_headers(config.impersonate.as_ref())?;
        let user_agent = HeaderValue::try_from(&config.user_agent)
            .map_err(|_| ConfigError::invalid("user agent", "not a header value"))?;
        let pool = Pool::new(config.connections.clone(), server.authority.as_str().to_owned());
        let auth = Authenticator::new(config, &server)?;
        let inner = Inner {
            server,
            via,
            options: config.connections.clone(),
            compression: config.compression,
            user_agent,
            impersonation,
            auth,
            material,
            pool,
            polling: std::sync::Once::new(),
        };
        Ok(Transport { inner: Arc::new(inner) })
    }

    /// Sends this request once. Its URI is path-and-query below the server's base path (`/api/v1/pods?limit=500`).
    ///
    /// Adds what the request does not carry itself: `Authorization`, `User-Agent`, `Impersonate-*`, `Accept-Encoding`,
    /// `Host`. There is no time limit for the answer here: drop the future, and the request is cancelled.
    ///
    /// A request that the server provably did not process (a pooled connection that was dead, HTTP/2's GOAWAY and
    /// REFUSED_STREAM) is sent once more over another connection. Redirects of GET and HEAD to the same origin are
    /// followed, ten at most; others are answers.
    ///
    /// An answer of any status is `Ok`. Errors are `Connect` (nothing was processed), `Broken` (a write may or may not
    /// have happened, except with `BrokenKind::GoAway`) and `InvalidRequest`.
    pub(crate) async fn send(
        &self,
        request: http::Request<Bytes>,
        mode: Mode,
    ) -> Result<http::Response<Body>, ApiError> {
        let (mut parts, body) = request.into_parts();
        let inner = &self.inner;
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        let mut path = format!("{}{path}", inner.server.prefix);
        parts.headers.entry(USER_AGENT).or_insert_with(|| inner.user_agent.clone());
        if !parts.headers.contains_key("impersonate-user") {
            for (name, value) in &inner.impersonation {
                parts.headers.append(name, value.clone());
            }
        }
        let ask_gzip =
            inner.compression && parts.method != Method::HEAD && !parts.headers.contains_key(ACCEPT_ENCODING);
        if ask_gzip {
            parts.headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
        }
        let credential = if parts.headers.contains_key(AUTHORIZATION) {
            Credential::default()
        } else {
            inner.auth.credential().await?
        };
        if let Some(header) = &credential.header {
            parts.headers.insert(AUTHORIZATION, header.clone());
        }
        self.take_identity(&credential)?;
        inner.refresh_roots(false).await;
        for _ in 0..=MAX_REDIRECTS {
            let (response, source) = self.attempt(&parts, &path, &body, mode).await?;
            if response.status() == StatusCode::UNAUTHORIZED {
                inner.auth.handle_unauthorized(&credential);
            }
            if let Some(next) = inner.server.redirect(&parts.method, &response) {
                path = next;
                continue;
            }
            let (mut head, incoming) = response.into_parts();
            let gzip = ask_gzip
                && head
                    .headers
                    .get(CONTENT_ENCODING)
                    .is_some_and(|v| v.as_bytes().eq_ignore_ascii_case(b"gzip"));
            if gzip {
                head.headers.remove(CONTENT_ENCODING);
                head.headers.remove(CONTENT_LENGTH);
            }
            let host = inner.server.authority.as_str().to_owned();
            return Ok(http::Response::from_parts(head, Body::new(incoming, gzip, source, host)));
        }
        Err(ApiError::InvalidRequest(format!("more than {MAX_REDIRECTS} redirects")))
    }

    /// One try, and another if the first was provably not processed.
    async fn attempt(
        &self,
        parts: &http::request::Parts,
        path: &str,
        body: &Bytes,
        mode: Mode,
    ) -> Result<(http::Response<Incoming>, Source), ApiError> {
        if mode == Mode::Dedicated {
            match self.dedicated(parts, path, body).await {
                Err(error) if fault::is_no_protocol(&error) => {}
                done => return done,
            }
        }
        match self.shared(parts, path, body, false).await {
            Err(failed) if failed.unprocessed => {
                tracing::debug!(error = %failed.error, "not processed by the server; sent again");
                self.shared(parts, path, body, true).await.map_err(|failed| failed.error)
            }
            done => done.map_err(|failed| failed.error),
        }
    }

    async fn dedicated(
        &self,
        parts: &http::request::Parts,
        path: &str,
        body: &Bytes,
    ) -> Result<(http::Response<Incoming>, Source), ApiError> {
        let host = self.inner.server.authority.as_str();
        let connected = self.connect(true).await?;
        let io = TokioIo::new(connected.stream);
        let (mut sender, connection) = http1::Builder::new()
            .max_buf_size(READ_BUFFER)
            .handshake(io)
            .await
            .map_err(|error| fault::connect(host, ConnectKind::Other, error))?;
        let closed = self.inner.pool.register_dedicated();
        let request = self.inner.request(parts, path, body, false)?;
        let mut response = Box::pin(sender.send_request(request));
        let mut driver = Driver { connection: Some(connection), sender: None, closed };
        let response = std::future::poll_fn(|cx| {
            if let Poll::Ready(response) = response.as_mut().poll(cx) {
                return Poll::Ready(response.map_err(|error| fault::broken(host, SENDING, error)));
            }
            if let Poll::Ready(Some(error)) = driver.poll(cx) {
                return Poll::Ready(Err(error));
            }
            response.as_mut().poll(cx).map_err(|error| fault::broken(host, SENDING, error))
        })
        .await?;
        driver.sender = Some(sender);
        Ok((response, Source::Dedicated(Box::new(driver))))
    }

    async fn shared(
        &self,
        parts: &http::request::Parts,
        path: &str,
        body: &Bytes,
        fresh: bool,
    ) -> Result<(http::Response<Incoming>, Source), Failed> {
        let inner = &self.inner;
        let host = inner.server.authority.as_str();
        let lost = |error| Failed { error, unprocessed: false };
        let lease = inner.pool.lease(fresh, || self.connect(false)).await.map_err(lost)?;
        match lease {
            Lease::Http2(mut lease) => {
                let request = inner.request(parts, path, body, true).map_err(lost)?;
                match lease.sender().try_send_request(request).await {
                    Ok(response) => {
                        lease.handle_answer();
                        Ok((response, Source::Shared(Some(Lease::Http2(lease)))))
                    }
                    Err(mut failed) => {
                        let unsent = failed.take_message().is_some();
                        let error = failed.into_error();
                        if lease.is_refused() {
                            lease.condemn();
                            return Err(lost(fault::connect(host, ConnectKind::Tls, error)));
                        }
                        let unprocessed = unsent || fault::is_unprocessed(&error);
                        if unprocessed && !fault::is_refused_stream(&error) || error.is_timeout() {
                            lease.condemn();
                        }
                        Err(Failed { error: fault::broken(host, SENDING, error), unprocessed })
                    }
                }
            }
            Lease::Http1 { mut sender, pool, reused, generation } => {
                let request = inner.request(parts, path, body, false).map_err(lost)?;
                match sender.try_send_request(request).await {
                    Ok(response) => {
                        let lease = Lease::Http1 { sender, pool, reused, generation };
                        Ok((response, Source::Shared(Some(lease))))
                    }
                    Err(mut failed) => {
                        let unsent = failed.take_message().is_some();
                        let error = failed.into_error();
                        // The server closed a connection that it thought idle; a question may be asked again.
                        let question = parts.method == Method::GET || parts.method == Method::HEAD;
                        let stale = reused && question && fault::is_closed_before_answer(&error);
                        Err(Failed {
                            error: fault::broken(host, SENDING, error),
                            unprocessed: unsent || stale,
                        })
                    }
                }
            }
        }
    }

    /// A new connection, with the certificates as they are now.
    async fn connect(&self, only_http1: bool) -> Result<Connected, ApiError> {
        let inner = &self.inner;
        let handshakes = inner.handshakes().await?;
        self.poll_files();
        let target = Target {
            server: &inner.server,
            via: &inner.via,
            options: &inner.options,
            handshakes: handshakes.as_ref(),
            only_http1,
        };
        target.connect().await
    }

    /// Looks at the files of the client certificate from time to time, as long as the transport lives.
    fn poll_files(&self) {
        let Some(material) = &self.inner.material else { return };
        if !material.lock().has_identity_files() {
            return;
        }
        self.inner.polling.call_once(|| {
            let inner: Weak<Inner> = Arc::downgrade(&self.inner);
            self.inner.pool.keep_house(async move {
                loop {
                    tokio::time::sleep(IDENTITY_POLL).await;
                    let Some(inner) = inner.upgrade() else { return };
                    if let Err(error) = inner.refresh_identity().await {
                        tracing::warn!(%error, "cannot use the client certificate as it is now");
                    }
                }
            });
        });
    }

    /// Takes over the certificate that came with a plugin's credentials.
    fn take_identity(&self, credential: &Credential) -> Result<(), ApiError> {
        let Some(material) = &self.inner.material else { return Ok(()) };
        let Some(identity) = &credential.identity else { return Ok(()) };
        let changed = material.lock().handle_given(identity);
        match changed {
            Ok(false) => {}
            Ok(true) => self.inner.pool.close_all(),
            Err(problem) => {
                return Err(fault::connect(self.inner.server.authority.as_str(), ConnectKind::Auth, problem));
            }
        }
        Ok(())
    }
}

impl Inner {
    async fn handshakes(&self) -> Result<Option<Handshakes>, ApiError> {
        let Some(material) = &self.material else { return Ok(None) };
        self.refresh_roots(true).await;
        if let Err(problem) = self.refresh_identity().await {
            return Err(fault::connect(self.server.authority.as_str(), ConnectKind::Auth, problem));
        }
        Ok(Some(material.lock().handshakes()))
    }

    async fn refresh_identity(&self) -> Result<(), String> {
        let Some(material) = &self.material else { return Ok(()) };
        let Some((cert, key)) = material.lock().poll_identity(Instant::now()) else { return Ok(()) };
        let cert = read(&cert).await?;
        let key = read(&key).await?;
        let changed = material.lock().handle_identity(cert, key)?;
        if changed == Changed::Yes {
            tracing::info!("the client certificate has changed: connections with the old one are closed");
            self.pool.close_all();
        }
        Ok(())
    }

    /// A bundle that cannot be used now changes nothing (REST-TL-11). Handshakes look more often than the reference's
    /// five minutes: a server whose CA has changed is unreachable until somebody looks (F-36).
    async fn refresh_roots(&self, is_handshake: bool) {
        let Some(material) = &self.material else { return };
        let Some(ca) = material.lock().poll_roots(Instant::now(), is_handshake) else { return };
        let changed = match read(&ca).await {
            Ok(bytes) => material.lock().handle_roots(bytes),
            Err(problem) => Err(problem),
        };
        match changed {
            Ok(Changed::No) => {}
            Ok(Changed::Yes) => self.pool.close_idle(),
            Err(error) => tracing::warn!(%error, file = %ca.display(), "the old certificate authority stays"),
        }
    }

    /// Looks at the files of the client certificate now, whenever the last look was.
    #[cfg(test)]
    async fn force_identity_look(&self) -> Result<(), String> {
        self.material.as_ref().expect("TLS").lock().forget_looks();
        self.refresh_identity().await
    }

    /// Looks at the file of the roots now, whenever the last look was.
    #[cfg(test)]
    async fn force_roots_look(&self) {
        self.material.as_ref().expect("TLS").lock().forget_looks();
        self.refresh_roots(false).await;
    }

    /// The request as it goes on the wire.
    fn request(
        &self,
        parts: &http::request::Parts,
        path: &str,
        body: &Bytes,
        http2: bool,
    ) -> Result<http::Request<Full<Bytes>>, ApiError> {
        let mut request = http::Request::new(Full::new(body.clone()));
        request.method_mut().clone_from(&parts.method);
        request.headers_mut().clone_from(&parts.headers);
        let forwarded = self.via.forwarding(&self.server);
        let uri = if http2 || forwarded.is_some() {
            let scheme = if self.server.tls { "https" } else { "http" };
            Uri::builder()
                .scheme(scheme)
                .authority(self.server.authority.clone())
                .path_and_query(path)
                .build()
                .map_err(|error| ApiError::InvalidRequest(error.to_string()))?
        } else {
            path.parse().map_err(|error| ApiError::InvalidRequest(format!("{path:?}: {error}")))?
        };
        *request.uri_mut() = uri;
        if !http2 && !request.headers().contains_key(HOST) {
            let host = HeaderValue::from_str(self.server.authority.as_str())
                .map_err(|error| ApiError::InvalidRequest(error.to_string()))?;
            request.headers_mut().insert(HOST, host);
        }
        if let Some(authorization) = forwarded.and_then(|forwarding| forwarding.authorization) {
            request.headers_mut().insert(http::header::PROXY_AUTHORIZATION, authorization);
        }
        Ok(request)
    }
}

impl Server {
    /// Where this answer sends us, if we go there (REST-TL-22): a question, and the same origin.
    fn redirect(&self, method: &Method, response: &http::Response<Incoming>) -> Option<String> {
        let moved = matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308);
        if !moved || (method != Method::GET && method != Method::HEAD) {
            return None;
        }
        let to = response.headers().get(LOCATION)?.to_str().ok()?;
        if to.starts_with('/') && !to.starts_with("//") {
            return Some(to.to_owned());
        }
        let to: Uri = to.parse().ok()?;
        let scheme = if self.tls { "https" } else { "http" };
        let port = to.port_u16().unwrap_or(if self.tls { 443 } else { 80 });
        let same = to.scheme_str() == Some(scheme)
            && to.host().is_some_and(|host| host.eq_ignore_ascii_case(self.authority.host()))
            && port == self.port();
        same.then(|| to.path_and_query().map_or("/", |path| path.as_str()).to_owned())
    }
}

async fn read(path: &std::path::Path) -> Result<Vec<u8>, String> {
    tokio::fs::read(path).await.map_err(|error| format!("{}: {error}", path.display()))
}
