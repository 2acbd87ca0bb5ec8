//! The kubeconfig that leads to this server: everything inline, so that one file is enough.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::certs::ClientCertificate;

/// How the kubeconfig's user shows who it is.
pub(crate) enum Login<'a> {
    /// With a client certificate.
    Certificate(&'a ClientCertificate),
    /// With a bearer token: where there is no TLS there are no certificates.
    Token(&'a str),
}

/// The kubeconfig as JSON, which is YAML too; `ca` is PEM, and absent over plain HTTP.
pub(crate) fn kubeconfig(url: &str, ca: Option<&str>, login: &Login<'_>) -> String {
    let mut cluster = json!({ "server": url });
    if let Some(ca) = ca {
        cluster["certificate-authority-data"] = Value::String(STANDARD.encode(ca));
    }
    let user = match login {
        Login::Certificate(certificate) => json!({
            "client-certificate-data": STANDARD.encode(&certificate.certificate),
            "client-key-data": STANDARD.encode(&certificate.key),
        }),
        Login::Token(token) => json!({ "token": token }),
    };
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{ "name": "test-apiserver", "cluster": cluster }],
        "users": [{ "name": "admin", "user": user }],
        "contexts": [{
            "name": "test-apiserver",
            "context": { "cluster": "test-apiserver", "user": "admin", "namespace": "default" },
        }],
        "current-context": "test-apiserver",
        "preferences": {},
    });
    format!("{config:#}\n")
}
