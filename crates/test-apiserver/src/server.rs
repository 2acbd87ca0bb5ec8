//! `TestApiServer`: the handle that tests and demonstrations hold.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use apimachinery::{CreateOptions, StatusError};
use jiff::Timestamp;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::Error;
use crate::certs::{Authority, ClientCertificate};
use crate::core::{Core, CoreOptions, Stored, Target, errors};
use crate::faults::{Fault, When};
use crate::http::{self, Authenticator, Request, Service, Shared, Speech, Tasks};
use crate::kubeconfig::{Login, kubeconfig};

/// Which HTTP the server speaks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Protocols {
    /// What the client wants: ALPN over TLS, the preface without.
    #[default]
    Both,
    /// HTTP/1.1 alone.
    Http1,
    /// HTTP/2 alone.
    Http2,
}

/// How the server is started. The defaults are what most tests want: a free port, TLS, both protocols.
#[derive(Debug, Clone)]
pub struct Options {
    /// The port on loopback; 0 takes a free one.
    pub port: u16,
    /// Whether TLS is spoken. Without it there are no client certificates, and the kubeconfig carries the token.
    pub tls: bool,
    /// HTTP/1.1, HTTP/2, or both.
    pub protocols: Protocols,
    /// Whether a request that shows nothing is let in, as `system:anonymous`.
    pub anonymous: bool,
    /// Requests at once over one HTTP/2 connection (`SETTINGS_MAX_CONCURRENT_STREAMS`).
    pub http2_max_streams: u32,
    /// What is behind it. `now` is set when the server starts.
    pub core: CoreOptions,
}

impl Default for Options {
    fn default() -> Self {
        let seed = uuid::Uuid::new_v4().as_u64_pair().0;
        Self {
            port: 0,
            tls: true,
            protocols: Protocols::Both,
            anonymous: false,
            http2_max_streams: 100,
            core: CoreOptions { seed, ..CoreOptions::default() },
        }
    }
}

/// A Kubernetes API server on loopback, owned by whoever holds it: dropping it ends all of its tasks and connections.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// # use steersman_test_apiserver as test_apiserver;
/// use test_apiserver::{Options, TestApiServer};
///
/// let server = TestApiServer::start(Options::default()).await?;
/// server.create(serde_json::json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" } }))?;
/// let kubeconfig = server.kubeconfig(); // for any client of Kubernetes
/// # assert!(kubeconfig.contains(server.url()));
/// # server.stop().await;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
pub struct TestApiServer {
    service: Arc<Service>,
    tasks: Tasks,
    address: SocketAddr,
    url: String,
    certificate: ClientCertificate,
    token: String,
    tls: bool,
}

impl std::fmt::Debug for TestApiServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TestApiServer").field("url", &self.url).finish_non_exhaustive()
    }
}

impl TestApiServer {
    /// Binds loopback, makes the certificates and starts to accept. Must be called inside a tokio runtime.
    pub async fn start(mut options: Options) -> Result<Self, Error> {
        let wanted = SocketAddr::from((Ipv4Addr::LOCALHOST, options.port));
        let bound = |source| Error::Bind { address: wanted.to_string(), source };
        let listener = TcpListener::bind(wanted).await.map_err(bound)?;
        let address = listener.local_addr().map_err(bound)?;
        let authority = Authority::new()?;
        let (http1, http2) = match options.protocols {
            Protocols::Both => (true, true),
            Protocols::Http1 => (true, false),
            Protocols::Http2 => (false, true),
        };
        let alpn: Vec<&str> =
            [http2.then_some("h2"), http1.then_some("http/1.1")].into_iter().flatten().collect();
        let tls = if options.tls { Some(TlsAcceptor::from(Arc::new(authority.tls(&alpn)?))) } else { None };

        options.core.now = Timestamp::now();
        let shared = Arc::new(Shared::new(Core::new(options.core)));
        let service =
            Arc::new(Service::new(Arc::clone(&shared), Authenticator::new(authority, options.anonymous)));
        let certificate = service.auth.sign("kubernetes-admin", &["system:masters"])?;
        let token = uuid::Uuid::new_v4().simple().to_string();
        service.auth.allow_token(&token, "kubernetes-admin");

        let tasks = Tasks::default();
        tasks.spawn(async move { shared.keep_time().await });
        let speech = Speech { tls, http1, http2, max_streams: options.http2_max_streams };
        tasks.spawn(http::accept(listener, speech, Arc::clone(&service), tasks.clone()));
        let scheme = if options.tls { "https" } else { "http" };
        let url = format!("{scheme}://{address}");
        Ok(Self { service, tasks, address, url, certificate, token, tls: options.tls })
    }

    /// `https://127.0.0.1:PORT`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// A kubeconfig for an administrator, everything inline.
    pub fn kubeconfig(&self) -> String {
        let (ca, login) = if self.tls {
            (Some(self.ca()), Login::Certificate(&self.certificate))
        } else {
            (None, Login::Token(&self.token))
        };
        kubeconfig(&self.url, ca.as_deref(), &login)
    }

    /// Writes the kubeconfig for its owner alone to read; a file that is there is replaced.
    pub fn write_kubeconfig(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref();
        write_private(path, &self.kubeconfig())
            .map_err(|source| Error::Write { path: path.display().to_string(), source })
    }

    /// The certificate to trust, PEM.
    pub fn ca(&self) -> String {
        self.service.auth.authority().ca_pem()
    }

    /// The administrator's client certificate.
    pub fn client_certificate(&self) -> &ClientCertificate {
        &self.certificate
    }

    /// The administrator's bearer token.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// A client certificate for another user.
    pub fn issue_client_certificate(&self, user: &str, groups: &[&str]) -> Result<ClientCertificate, Error> {
        self.service.auth.sign(user, groups)
    }

    /// Lets `token` in as `user`.
    pub fn allow_token(&self, token: &str, user: &str) {
        self.service.auth.allow_token(token, user);
    }

    /// From now on `token` is 401; says whether it was known. Running watches go on, as with a real server.
    pub fn revoke_token(&self, token: &str) -> bool {
        self.service.auth.revoke_token(token)
    }

    /// Runs `operation` on the core under its lock, then wakes the watches that have something new.
    ///
    /// Nothing is served meanwhile: keep it short, and do not call the server from inside.
    pub fn with_core<R>(&self, operation: impl FnOnce(&mut Core) -> R) -> R {
        self.service.shared.with(operation)
    }

    /// Creates an object; its `apiVersion` and `kind` say where, and a missing namespace is `default`.
    pub fn create(&self, object: Value) -> Result<Arc<Stored>, StatusError> {
        let (api_version, kind) = (text(&object["apiVersion"]), text(&object["kind"]));
        self.with_core(|core| {
            let resource = core
                .resources()
                .find(|resource| resource.api_version() == api_version && resource.kind == kind)
                .ok_or_else(errors::no_such_path)?;
            let mut target = Target::new(&api_version, &resource.plural);
            if resource.is_namespaced() {
                let namespace = text(&object["metadata"]["namespace"]);
                target = target.namespaced(if namespace.is_empty() { "default" } else { &namespace });
            }
            core.create(&target, object, &CreateOptions::default(), Timestamp::now())
                .map(|written| written.object)
        })
    }

    /// The plan of faults.
    pub fn faults(&self) -> Faults {
        Faults { service: Arc::clone(&self.service) }
    }

    /// The requests so far, oldest first; the log keeps the last 100 000.
    pub fn requests(&self) -> Vec<Request> {
        self.service.bench(|bench| bench.log.requests().cloned().collect())
    }

    /// Forgets the requests so far.
    pub fn clear_requests(&self) {
        self.service.bench(|bench| bench.log.clear());
    }

    /// The first request in the log that `matches`, as soon as there is one. Cancel safe; put a limit around it.
    pub async fn requested(&self, matches: impl Fn(&Request) -> bool) -> Request {
        loop {
            let arrived = self.service.arrived.notified();
            tokio::pin!(arrived);
            arrived.as_mut().enable();
            let found =
                self.service.bench(|bench| bench.log.requests().find(|request| matches(request)).cloned());
            match found {
                Some(request) => return request,
                None => arrived.await,
            }
        }
    }

    /// Closes every connection where it is; the server goes on and takes new ones.
    pub fn disconnect(&self) {
        self.service.cut.notify_waiters();
    }

    /// Tasks that run now: the accept loop, the clock, and those of each connection.
    pub fn tasks(&self) -> usize {
        self.tasks.len()
    }

    /// Ends everything and waits until it has ended; connections are closed where they are.
    pub async fn stop(self) {
        self.tasks.stop();
        self.tasks.stopped().await;
    }
}

impl Drop for TestApiServer {
    fn drop(&mut self) {
        self.tasks.stop();
    }
}

/// The plan of faults of one server; see [`crate::faults`].
#[derive(Clone)]
pub struct Faults {
    service: Arc<Service>,
}

impl std::fmt::Debug for Faults {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Faults").field("left", &self.left()).finish()
    }
}

impl Faults {
    /// Appends to the plan.
    pub fn plan(&self, when: When, fault: Fault) {
        self.service.bench(|bench| bench.script.push(when, fault));
    }

    /// Rules that are not used up.
    pub fn left(&self) -> usize {
        self.service.bench(|bench| bench.script.len())
    }

    /// Forgets the plan. What already strikes goes on.
    pub fn clear(&self) {
        self.service.bench(|bench| bench.script.clear());
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn write_private(path: &Path, text: &str) -> std::io::Result<()> {
    use std::io::Write;

    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)?.write_all(text.as_bytes())
}
