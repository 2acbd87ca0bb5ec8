//! `config`, and the configuration that every mode with a server begins with.

use serde_json::json;
use steersman::rest::{Auth, KubeconfigOptions, Pem};
use steersman::{ClientConfig, ConfigError};

use crate::args::Args;
use crate::out::{chain, emit};

/// The configuration that the global options ask for, as a program with kubectl's flags loads it.
pub(crate) fn load(args: &Args) -> Result<ClientConfig, ConfigError> {
    let options = KubeconfigOptions {
        path: args.get("kubeconfig").filter(|path| !path.is_empty()).map(Into::into),
        context: args.get("context").filter(|context| !context.is_empty()).map(str::to_owned),
        namespace: args.get("namespace").filter(|namespace| !namespace.is_empty()).map(str::to_owned),
        ..KubeconfigOptions::default()
    };
    ClientConfig::from_kubeconfig_options(&options)
}

/// Says why there is no configuration, and ends the process.
pub(crate) fn refuse(error: &ConfigError) -> ! {
    let message = chain(error);
    emit(
        "failed",
        json!({ "during": "connect", "code": null, "reason": null, "message": message, "object": null }),
    );
    std::process::exit(1);
}

/// `config`: what would be used, without a request.
pub(crate) fn print(config: &ClientConfig) {
    let mut auth = Vec::new();
    match &config.auth {
        Auth::Token(_) | Auth::TokenFile { .. } => auth.push("token"),
        Auth::Basic { .. } => auth.push("basic"),
        _ => {}
    }
    if config.tls.client_cert.is_some() {
        auth.push("cert");
    }
    if matches!(config.auth, Auth::Exec(_)) {
        auth.push("exec");
    }
    if auth.is_empty() {
        auth.push("none");
    }
    let ca_bytes = match &config.tls.ca {
        None => 0,
        Some(Pem::Data(text)) => text.len(),
        Some(Pem::File(path)) => std::fs::read(path).map_or(0, |text| text.len()),
    };
    emit(
        "config",
        json!({
            "server": config.server.trim_end_matches('/'),
            "namespace": config.namespace,
            "tlsServerName": config.tls.server_name,
            "insecure": config.tls.insecure,
            "caBytes": ca_bytes,
            "auth": auth.join("+"),
            "impersonate": config.impersonate.as_ref().map(|who| &who.user),
            "proxy": config.proxy_url(),
        }),
    );
}
