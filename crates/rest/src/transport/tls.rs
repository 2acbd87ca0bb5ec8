//! TLS material: what the configuration names, read and checked, and read again when its files change.

#![expect(clippy::disallowed_types, reason = "material is swapped under a lock that is held for a moment")]

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use rustls::client::ResolvesClientCert;
use rustls::crypto::ring;
use rustls::sign::CertifiedKey;
use rustls::{ClientConfig as RustlsConfig, RootCertStore, SignatureScheme};
use rustls_pki_types::{CertificateDer, ServerName};
use tokio::time::Instant;

use super::{pem, verify};
use crate::auth::Identity;
use crate::config::Server;
use crate::{ConfigError, Pem, TlsOptions};

/// A changed pair of certificate and key is noticed by the next handshake, at most this long after the last look.
const IDENTITY_EVERY: Duration = Duration::from_secs(1);
/// A changed bundle of roots is noticed by the next handshake, at most as long after the last look; by a request that
/// opens no connection, at most this long after it.
const ROOTS_EVERY: Duration = Duration::from_mins(5);

/// Ready for handshakes: the same material, once with HTTP/2 offered and once without.
#[derive(Debug, Clone)]
pub(super) struct Handshakes {
    pub(super) any: Arc<RustlsConfig>,
    pub(super) http1: Arc<RustlsConfig>,
    pub(super) server_name: ServerName<'static>,
}

/// Are the files other than they were?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Changed {
    No,
    Yes,
}

/// TLS material and where it comes from. A plain value: the time and the bytes of files are given.
pub(super) struct Material {
    options: TlsOptions,
    server_name: ServerName<'static>,
    http2: bool,
    roots: Roots,
    identity: Option<Arc<CertifiedKey>>,
    /// From a plugin; counts when there is no other.
    given: Option<(Arc<Identity>, Arc<CertifiedKey>)>,
    handshakes: Handshakes,
    identity_bytes: (Vec<u8>, Vec<u8>),
    roots_bytes: Vec<u8>,
    identity_looked: Option<Instant>,
    roots_looked: Option<Instant>,
}

impl std::fmt::Debug for Material {
    /// The bytes of a key are not shown.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Material").field("options", &self.options).finish_non_exhaustive()
    }
}

/// Material that requests share.
#[derive(Debug)]
pub(super) struct SharedMaterial(Mutex<Material>);

impl SharedMaterial {
    pub(super) fn new(material: Material) -> Self {
        SharedMaterial(Mutex::new(material))
    }

    /// Held for a moment, never while waiting.
    pub(super) fn lock(&self) -> MutexGuard<'_, Material> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug, Clone)]
enum Roots {
    System,
    Listed(Vec<CertificateDer<'static>>),
    Anybody,
}

impl Material {
    /// Reads and checks everything that the options name.
    pub(super) fn new(options: &TlsOptions, server: &Server, http2: bool) -> Result<Self, ConfigError> {
        let name = options.server_name.as_deref().filter(|name| !name.is_empty()).unwrap_or(server.host());
        let server_name = ServerName::try_from(name.to_owned()).map_err(|_| {
            ConfigError::invalid(
                "tls-server-name",
                format!("{name:?} is neither a host name nor an IP address"),
            )
        })?;
        if options.insecure && options.ca.is_some() {
            return Err(ConfigError::invalid(
                "insecure-skip-tls-verify",
                "a CA and no verification at all cannot both be meant",
            ));
        }
        let (roots, roots_bytes) = match &options.ca {
            _ if options.insecure => (Roots::Anybody, Vec::new()),
            None => (Roots::System, Vec::new()),
            Some(ca) => {
                let bytes = read(ca, "certificate-authority")?;
                let roots =
                    parse_roots(&bytes).map_err(|problem| bad(ca, "certificate-authority", &problem))?;
                (roots, bytes)
            }
        };
        let (identity, identity_bytes) = match (&options.client_cert, &options.client_key) {
            (None, None) => (None, Default::default()),
            (Some(_), None) => {
                return Err(ConfigError::invalid("client-key", "a client certificate needs its key"));
            }
            (None, Some(_)) => {
                return Err(ConfigError::invalid("client-certificate", "a client key needs its certificate"));
            }
            (Some(cert), Some(key)) => {
                let bytes = (read(cert, "client-certificate")?, read(key, "client-key")?);
                let identity = pem::identity(&bytes.0, &bytes.1).map_err(|problem| {
                    let of_key = problem.contains("private key");
                    let (pem, field) =
                        if of_key { (key, "client-key") } else { (cert, "client-certificate") };
                    bad(pem, field, &problem)
                })?;
                (Some(Arc::new(identity)), bytes)
            }
        };
        let handshakes = handshakes(&roots, identity.clone(), server_name.clone(), http2)
            .map_err(|problem| ConfigError::invalid("tls", problem))?;
        Ok(Material {
            options: options.clone(),
            server_name,
            http2,
            roots,
            identity,
            given: None,
            handshakes,
            identity_bytes,
            roots_bytes,
            identity_looked: None,
            roots_looked: None,
        })
    }

    pub(super) fn handshakes(&self) -> Handshakes {
        self.handshakes.clone()
    }

    /// The files whose bytes [`handle_identity`](Self::handle_identity) wants, if it is time to look at them.
    pub(super) fn poll_identity(&mut self, now: Instant) -> Option<(std::path::PathBuf, std::path::PathBuf)> {
        let (Some(Pem::File(cert)), Some(Pem::File(key))) =
            (&self.options.client_cert, &self.options.client_key)
        else {
            return None;
        };
        due(&mut self.identity_looked, now, IDENTITY_EVERY).then(|| (cert.clone(), key.clone()))
    }

    /// The file whose bytes [`handle_roots`](Self::handle_roots) wants, if it is time to look at it.
    pub(super) fn poll_roots(&mut self, now: Instant, is_handshake: bool) -> Option<std::path::PathBuf> {
        let Some(Pem::File(ca)) = &self.options.ca else { return None };
        let every = if is_handshake { IDENTITY_EVERY } else { ROOTS_EVERY };
        due(&mut self.roots_looked, now, every).then(|| ca.clone())
    }

    /// The pair of files as it is now. A pair that does not fit together (half replaced) is an error, and the old one
    /// stays.
    pub(super) fn handle_identity(&mut self, cert: Vec<u8>, key: Vec<u8>) -> Result<Changed, String> {
        if (&cert, &key) == (&self.identity_bytes.0, &self.identity_bytes.1) {
            return Ok(Changed::No);
        }
        let identity = Arc::new(pem::identity(&cert, &key)?);
        self.rebuild(&self.roots.clone(), Some(identity.clone()))?;
        self.identity = Some(identity);
        self.identity_bytes = (cert, key);
        Ok(Changed::Yes)
    }

    /// The bundle of roots as it is now. An empty or unreadable one changes nothing.
    pub(super) fn handle_roots(&mut self, ca: Vec<u8>) -> Result<Changed, String> {
        if ca == self.roots_bytes {
            return Ok(Changed::No);
        }
        let roots = parse_roots(&ca)?;
        let identity =
            self.identity.clone().or_else(|| self.given.as_ref().map(|given| Arc::clone(&given.1)));
        self.rebuild(&roots, identity)?;
        self.roots = roots;
        self.roots_bytes = ca;
        Ok(Changed::Yes)
    }

    /// The certificate that came with a plugin's credentials. Is it another one than before?
    pub(super) fn handle_given(&mut self, identity: &Arc<Identity>) -> Result<bool, String> {
        if self.given.as_ref().is_some_and(|given| given.0 == *identity) {
            return Ok(false);
        }
        let key = Arc::new(pem::identity(identity.cert.as_bytes(), identity.key.expose().as_bytes())?);
        let first = self.given.is_none();
        self.rebuild(&self.roots.clone(), self.identity.clone().or_else(|| Some(Arc::clone(&key))))?;
        self.given = Some((Arc::clone(identity), key));
        Ok(!first)
    }

    #[cfg(test)]
    pub(super) fn forget_looks(&mut self) {
        (self.identity_looked, self.roots_looked) = (None, None);
    }

    /// Does the pair of certificate and key come from files?
    pub(super) fn has_identity_files(&self) -> bool {
        matches!(
            (&self.options.client_cert, &self.options.client_key),
            (Some(Pem::File(_)), Some(Pem::File(_)))
        )
    }

    fn rebuild(&mut self, roots: &Roots, identity: Option<Arc<CertifiedKey>>) -> Result<(), String> {
        self.handshakes = handshakes(roots, identity, self.server_name.clone(), self.http2)?;
        Ok(())
    }
}

fn due(looked: &mut Option<Instant>, now: Instant, every: Duration) -> bool {
    let due = looked.is_none_or(|looked| now.saturating_duration_since(looked) >= every);
    if due {
        *looked = Some(now);
    }
    due
}

fn parse_roots(bytes: &[u8]) -> Result<Roots, String> {
    let listed = pem::certificates(bytes);
    if listed.is_empty() {
        return Err("no certificate in the PEM text".into());
    }
    Ok(Roots::Listed(listed))
}

fn read(pem: &Pem, field: &str) -> Result<Vec<u8>, ConfigError> {
    match pem {
        Pem::Data(data) => Ok(data.clone()),
        Pem::File(path) => read_file(path, field),
    }
}

fn read_file(path: &Path, field: &str) -> Result<Vec<u8>, ConfigError> {
    std::fs::read(path).map_err(|source| ConfigError::Read {
        what: field.to_owned(),
        path: path.to_owned(),
        source,
    })
}

fn bad(pem: &Pem, field: &str, problem: &str) -> ConfigError {
    match pem {
        Pem::Data(_) => ConfigError::invalid(format!("{field}-data"), problem),
        Pem::File(path) => ConfigError::invalid(field, format!("{}: {problem}", path.display())),
    }
}

fn handshakes(
    roots: &Roots,
    identity: Option<Arc<CertifiedKey>>,
    server_name: ServerName<'static>,
    http2: bool,
) -> Result<Handshakes, String> {
    let provider = Arc::new(ring::default_provider());
    let builder = RustlsConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let builder = match roots {
        Roots::System => builder.with_root_certificates(system_roots()),
        Roots::Anybody => {
            builder.dangerous().with_custom_certificate_verifier(Arc::new(verify::Anybody::new()))
        }
        Roots::Listed(listed) => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verify::Listed::new(listed.clone())?)),
    };
    let mut http1 = match identity {
        Some(identity) => builder.with_client_cert_resolver(Arc::new(Always(identity))),
        None => builder.with_no_client_auth(),
    };
    http1.alpn_protocols = vec![b"http/1.1".to_vec()];
    let mut any = http1.clone();
    if http2 {
        any.alpn_protocols.insert(0, b"h2".to_vec());
    }
    Ok(Handshakes { any: Arc::new(any), http1: Arc::new(http1), server_name })
}

/// The system's roots, read once in a process: they are some hundred files' worth.
fn system_roots() -> Arc<RootCertStore> {
    static ROOTS: OnceLock<Arc<RootCertStore>> = OnceLock::new();
    Arc::clone(ROOTS.get_or_init(|| {
        let found = rustls_native_certs::load_native_certs();
        for error in &found.errors {
            tracing::warn!(%error, "some of the system's root certificates cannot be read");
        }
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(found.certs);
        Arc::new(roots)
    }))
}

/// Shows this certificate to whoever asks for one, as Go does: the server may name its CAs wrongly.
#[derive(Debug)]
struct Always(Arc<CertifiedKey>);

impl ResolvesClientCert for Always {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0))
    }

    fn has_certs(&self) -> bool {
        true
    }
}

/// For a proxy that is spoken to over TLS: the system's roots, HTTP/1.1.
pub(super) fn of_proxy() -> Result<Arc<RustlsConfig>, String> {
    let builder = RustlsConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    Ok(Arc::new(builder.with_root_certificates(system_roots()).with_no_client_auth()))
}
