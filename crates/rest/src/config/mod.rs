//! `ClientConfig`: where the server is, who we are, and how connections are made.
//!
//! A configuration is a plain value. It comes from a kubeconfig, from the environment of a pod, or from your own
//! hands; nothing is read after it has been made, except the files that it names (certificates, tokens).

mod environment;
mod exec;
mod in_cluster;
mod kubeconfig;
mod proxy_env;
mod secret;
mod server;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

pub use environment::Environment;
pub use exec::{ExecConfig, ExecVersion, InteractiveMode};
pub use kubeconfig::KubeconfigOptions;
pub use proxy_env::ProxyEnvironment;
pub use secret::Secret;
pub(crate) use server::Server;

/// Where the server is, who we are, and how connections are made.
///
/// Its `Debug` form shows no secret.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ClientConfig {
    /// The server: `https://10.0.0.1:6443`, with a path if every request goes below one. A `host` or `host:port`
    /// without a scheme is `https` if [`tls`](Self::tls) is set, else `http` (REST-CF-03).
    pub server: String,
    /// The namespace for those who name none.
    pub namespace: String,
    /// Whom we trust and what we show in the handshake.
    pub tls: TlsOptions,
    /// Who we are.
    pub auth: Auth,
    /// As whom we act.
    pub impersonate: Option<Impersonation>,
    /// The way to the server.
    pub proxy: Proxy,
    /// Do we ask for compressed answers?
    pub compression: bool,
    /// The `User-Agent` header.
    pub user_agent: String,
    /// Requests a second, on average; zero or less for no limit.
    pub qps: f32,
    /// Requests at once, before the average counts.
    pub burst: u32,
    /// The time limit of one request, body included; none by default.
    pub timeout: Option<Duration>,
    /// Sockets: times and numbers.
    pub connections: ConnectionOptions,
}

/// Whom we trust and what we show in the TLS handshake.
#[derive(Debug, Clone, Default)]
pub struct TlsOptions {
    /// The name that the server's certificate must carry, if it is not the one in the URL.
    pub server_name: Option<String>,
    /// Take any certificate? Then anybody in between can read the credentials.
    pub insecure: bool,
    /// Whom we trust: PEM certificates. None for the system's roots.
    pub ca: Option<Pem>,
    /// Our certificate, followed by its issuers.
    pub client_cert: Option<Pem>,
    /// The key of our certificate.
    pub client_key: Option<Pem>,
}

/// PEM text, by itself or in a file (which is read again when it changes).
#[derive(Clone, PartialEq, Eq)]
pub enum Pem {
    /// The text.
    Data(Vec<u8>),
    /// A file of it.
    File(PathBuf),
}

/// Who we are.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub enum Auth {
    /// Nobody, or whoever the client certificate says.
    #[default]
    None,
    /// A bearer token.
    Token(Secret),
    /// A bearer token in a file that changes.
    TokenFile {
        /// The file.
        path: PathBuf,
        /// What counts until the file could be read.
        initial: Option<Secret>,
    },
    /// A user name and a password.
    Basic {
        /// The user name.
        username: String,
        /// The password.
        password: Secret,
    },
    /// Whatever this program prints.
    Exec(Box<ExecConfig>),
}

/// As whom we act. A server lets only those do it who may `impersonate`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Impersonation {
    /// The user name.
    pub user: String,
    /// Its uid.
    pub uid: Option<String>,
    /// Its groups.
    pub groups: Vec<String>,
    /// What else is known of it.
    pub extra: BTreeMap<String, Vec<String>>,
}

/// The way to the server.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub enum Proxy {
    /// Straight.
    #[default]
    None,
    /// Through this proxy, whatever the environment says: `http://proxy:3128`.
    Url(Secret),
    /// As these variables say.
    Environment(ProxyEnvironment),
}

/// Sockets: times and numbers. The defaults are those of client-go (REST-TL-12, REST-TL-14).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ConnectionOptions {
    /// How long a TCP connection may take to open: 30 s.
    pub dial_timeout: Duration,
    /// How long a TLS handshake may take: 10 s.
    pub tls_timeout: Duration,
    /// How long a connection may wait for its next request: 90 s.
    pub idle_timeout: Duration,
    /// How many HTTP/1.1 connections wait for their next request: 25.
    pub max_idle: usize,
    /// Do we offer HTTP/2?
    pub http2: bool,
    /// Silence on an HTTP/2 connection before we ask whether it lives: 30 s. None for never.
    pub http2_read_idle: Option<Duration>,
    /// How long the answer to that may take: 15 s.
    pub http2_ping_timeout: Duration,
}

impl Default for ConnectionOptions {
    fn default() -> Self {
        ConnectionOptions {
            dial_timeout: Duration::from_secs(30),
            tls_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(90),
            max_idle: 25,
            http2: true,
            http2_read_idle: Some(Duration::from_secs(30)),
            http2_ping_timeout: Duration::from_secs(15),
        }
    }
}

impl ClientConfig {
    /// A configuration for this server and nothing else: no credentials, the system's roots, `default` as namespace.
    /// The environment is not looked at.
    pub fn new(server: impl Into<String>) -> Self {
        ClientConfig {
            server: server.into(),
            namespace: "default".into(),
            tls: TlsOptions::default(),
            auth: Auth::None,
            impersonate: None,
            proxy: Proxy::None,
            compression: true,
            user_agent: concat!("steersman/", env!("CARGO_PKG_VERSION")).into(),
            qps: 5.0,
            burst: 10,
            timeout: None,
            connections: ConnectionOptions::default(),
        }
    }
}

impl ClientConfig {
    /// The proxy that requests to this server go through, without its password; `None` for straight.
    ///
    /// Where the environment decides, this is what it decides for this server (REST-TL-15).
    pub fn proxy_url(&self) -> Option<String> {
        let url = match &self.proxy {
            Proxy::None => return None,
            Proxy::Url(url) => url.expose().to_owned(),
            Proxy::Environment(environment) => environment.proxy_for(&Server::of(self).ok()?)?,
        };
        let (scheme, rest) = url.split_once("://")?;
        Some(match rest.rsplit_once('@') {
            Some((user, host)) => {
                let name = user.split_once(':').map_or(user, |(name, _)| name);
                format!("{scheme}://{name}@{host}")
            }
            None => url,
        })
    }
}

impl fmt::Debug for Pem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pem::Data(data) => write!(f, "Data({} bytes)", data.len()),
            Pem::File(path) => f.debug_tuple("File").field(path).finish(),
        }
    }
}
