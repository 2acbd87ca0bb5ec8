//! A certificate authority of its own: the server's certificate, and those of its clients.
//!
//! Made anew at every start, so that no key ever lies in a repository. Certificates that the authority did not sign are
//! let through the handshake and refused with 401 afterwards, as kube-apiserver does (it asks for a client certificate
//! and verifies it when it authenticates the request).

mod verify;

use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};
use rustls::RootCertStore;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;

use crate::Error;
use crate::certs::verify::Lenient;

/// A client certificate and its key, both PEM.
#[derive(Clone, PartialEq, Eq)]
pub struct ClientCertificate {
    /// The certificate, PEM.
    pub certificate: String,
    /// Its private key, PKCS #8 in PEM.
    pub key: String,
    der: CertificateDer<'static>,
}

impl std::fmt::Debug for ClientCertificate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientCertificate").field("certificate", &self.certificate).finish_non_exhaustive()
    }
}

impl ClientCertificate {
    pub(crate) fn der(&self) -> &CertificateDer<'static> {
        &self.der
    }
}

/// The authority, and what it has signed for the server itself.
pub(crate) struct Authority {
    ca: CertifiedIssuer<'static, KeyPair>,
    server: CertificateDer<'static>,
    server_key: Vec<u8>,
    verifier: Arc<dyn ClientCertVerifier>,
}

impl Authority {
    /// A new authority, with a server certificate for loopback.
    pub(crate) fn new() -> Result<Self, Error> {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "test-apiserver CA");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let ca_key = KeyPair::generate().map_err(Error::certificates)?;
        let ca = CertifiedIssuer::self_signed(params, ca_key).map_err(Error::certificates)?;

        let names = ["127.0.0.1", "::1", "localhost", "kubernetes", "kubernetes.default.svc"];
        let mut params = CertificateParams::new(names.map(str::to_owned)).map_err(Error::certificates)?;
        params.distinguished_name.push(DnType::CommonName, "test-apiserver");
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        let key = KeyPair::generate().map_err(Error::certificates)?;
        let server = params.signed_by(&key, &ca).map_err(Error::certificates)?;

        let mut roots = RootCertStore::empty();
        roots.add(ca.der().clone()).map_err(Error::certificates)?;
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider())
            .allow_unauthenticated()
            .build()
            .map_err(Error::certificates)?;
        Ok(Self { server: server.der().clone(), server_key: key.serialize_der(), ca, verifier })
    }

    /// A certificate for a client: `user` becomes its common name, each group an organisation.
    pub(crate) fn sign_client(&self, user: &str, groups: &[&str]) -> Result<ClientCertificate, Error> {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, user);
        for group in groups {
            params.distinguished_name.push(DnType::OrganizationName, *group);
        }
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        let key = KeyPair::generate().map_err(Error::certificates)?;
        let certificate = params.signed_by(&key, &self.ca).map_err(Error::certificates)?;
        Ok(ClientCertificate {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
            der: certificate.der().clone(),
        })
    }

    /// The authority's own certificate, PEM: what a client must trust.
    pub(crate) fn ca_pem(&self) -> String {
        self.ca.pem()
    }

    /// Whether this authority signed `chain[0]`, and it may be used now.
    pub(crate) fn vouches_for(&self, chain: &[CertificateDer<'static>]) -> bool {
        let Some((leaf, intermediates)) = chain.split_first() else { return false };
        let now = rustls::pki_types::UnixTime::now();
        self.verifier.verify_client_cert(leaf, intermediates, now).is_ok()
    }

    /// The TLS side of the listener, offering `protocols` by ALPN.
    pub(crate) fn tls(&self, protocols: &[&str]) -> Result<rustls::ServerConfig, Error> {
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(self.server_key.clone()));
        let mut config = rustls::ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(Error::certificates)?
            .with_client_cert_verifier(Arc::new(Lenient::new(Arc::clone(&self.verifier))))
            .with_single_cert(vec![self.server.clone(), self.ca.der().clone()], key)
            .map_err(Error::certificates)?;
        config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
        Ok(config)
    }
}

fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}
