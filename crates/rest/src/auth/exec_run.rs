//! One run of a credential plugin: what it is told, and what its answer means.

use std::process::Stdio;

use jiff::Timestamp;
use serde::Deserialize;

use super::{Credential, Identity, bearer};
use crate::Secret;
use crate::config::{ExecConfig, InteractiveMode, Server};

/// What a plugin's answer comes to.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    pub(super) credential: Credential,
    /// After this it counts no more; None for never.
    pub(super) expires: Option<Timestamp>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExecCredential {
    #[serde(default)]
    kind: Option<String>,
    #[serde(default)]
    api_version: Option<String>,
    #[serde(default)]
    status: Option<Status>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    #[serde(default)]
    token: Option<String>,
    #[serde(default)]
    client_certificate_data: Option<String>,
    #[serde(default)]
    client_key_data: Option<String>,
    #[serde(default)]
    expiration_timestamp: Option<String>,
}

/// What `spec.cluster` of `KUBERNETES_EXEC_INFO` says.
pub(super) struct ClusterInfo<'a> {
    pub(super) server: &'a Server,
    pub(super) config: &'a crate::ClientConfig,
    pub(super) ca: Option<Vec<u8>>,
    pub(super) proxy: Option<String>,
}

impl ClusterInfo<'_> {
    /// REST-EX-04.
    pub(super) fn to_json(&self, extension: Option<&serde_json::Value>) -> serde_json::Value {
        use base64::Engine as _;
        let mut cluster = serde_json::Map::new();
        let server = &self.server;
        let scheme = if server.tls { "https" } else { "http" };
        cluster.insert("server".into(), format!("{scheme}://{}{}", server.authority, server.prefix).into());
        let tls = &self.config.tls;
        if let Some(name) = &tls.server_name {
            cluster.insert("tls-server-name".into(), name.clone().into());
        }
        if tls.insecure {
            cluster.insert("insecure-skip-tls-verify".into(), true.into());
        }
        if let Some(ca) = &self.ca {
            let data = base64::engine::general_purpose::STANDARD.encode(ca);
            cluster.insert("certificate-authority-data".into(), data.into());
        }
        if let Some(proxy) = &self.proxy {
            cluster.insert("proxy-url".into(), proxy.clone().into());
        }
        if !self.config.compression {
            cluster.insert("disable-compression".into(), true.into());
        }
        cluster.insert("config".into(), extension.cloned().unwrap_or_default());
        cluster.into()
    }
}

/// The text of `KUBERNETES_EXEC_INFO` (REST-EX-03).
pub(super) fn info(exec: &ExecConfig, cluster: Option<&serde_json::Value>, interactive: bool) -> String {
    let mut spec = serde_json::Map::new();
    if let Some(cluster) = cluster {
        spec.insert("cluster".into(), cluster.clone());
    }
    spec.insert("interactive".into(), interactive.into());
    serde_json::json!({"kind": "ExecCredential", "apiVersion": exec.api_version.as_str(), "spec": spec})
        .to_string()
}

/// May the plugin talk to the user (REST-EX-05)?
pub(super) fn is_interactive(mode: InteractiveMode, is_terminal: bool) -> Result<bool, String> {
    match mode {
        InteractiveMode::Never => Ok(false),
        InteractiveMode::IfAvailable => Ok(is_terminal),
        InteractiveMode::Always if is_terminal => Ok(true),
        InteractiveMode::Always => Err(
            "the plugin must talk to the user (interactiveMode: Always), and standard input is no terminal"
                .into(),
        ),
    }
}

/// What the plugin printed, judged (REST-EX-06 to 08).
pub(super) fn parse(exec: &ExecConfig, stdout: &[u8], serial: u64) -> Result<Answer, String> {
    let command = &exec.command;
    let text = std::str::from_utf8(stdout).map_err(|_| format!("{command:?} printed no text"))?;
    // Nothing of the text goes into the message: it holds secrets.
    let answer: ExecCredential = serde_json::from_str(text)
        .ok()
        .or_else(|| serde_saphyr::from_str(text).ok())
        .ok_or_else(|| format!("{command:?} printed no ExecCredential"))?;
    let expected = exec.api_version.as_str();
    let kind = answer.kind.as_deref().unwrap_or_default();
    let version = answer.api_version.as_deref().unwrap_or_default();
    if kind != "ExecCredential" || version != expected {
        return Err(format!(
            "{command:?} printed {kind:?} of {version:?}; the kubeconfig asks for ExecCredential of {expected:?}"
        ));
    }
    let status =
        answer.status.ok_or_else(|| format!("{command:?} printed an ExecCredential without a status"))?;
    let some = |text: Option<String>| text.filter(|text| !text.is_empty());
    let token = some(status.token);
    let identity = match (some(status.client_certificate_data), some(status.client_key_data)) {
        (Some(cert), Some(key)) => Some(std::sync::Arc::new(Identity { cert, key: Secret::new(key) })),
        (None, None) => None,
        _ => return Err(format!("{command:?} printed one of certificate and key without the other")),
    };
    if token.is_none() && identity.is_none() {
        return Err(format!("{command:?} printed neither a token nor a certificate"));
    }
    let header = match token {
        Some(token) => Some(
            bearer(&token).ok_or_else(|| format!("{command:?} printed a token that is no header value"))?,
        ),
        None => None,
    };
    let expires =
        match some(status.expiration_timestamp) {
            Some(text) => Some(text.parse::<Timestamp>().map_err(|_| {
                format!("{command:?} printed an expirationTimestamp that is no time: {text:?}")
            })?),
            None => None,
        };
    Ok(Answer { credential: Credential { header, identity, serial }, expires })
}

/// Runs the plugin once. Dropping the future kills it.
pub(super) async fn run(
    exec: &ExecConfig,
    cluster: Option<&serde_json::Value>,
    serial: u64,
) -> Result<Answer, String> {
    use std::io::IsTerminal as _;
    let interactive = is_interactive(exec.interactive_mode, std::io::stdin().is_terminal())?;
    let mut command = tokio::process::Command::new(&exec.command);
    command.args(&exec.args);
    for (name, value) in &exec.env {
        command.env(name, value.expose());
    }
    command
        .env("KUBERNETES_EXEC_INFO", info(exec, cluster, interactive))
        .stdin(if interactive { Stdio::inherit() } else { Stdio::null() })
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .kill_on_drop(true);
    let child = command.spawn().map_err(|error| {
        let mut problem = format!("cannot run the credential plugin {:?}: {error}", exec.command);
        if error.kind() == std::io::ErrorKind::NotFound {
            problem.push_str(
                "; the kubeconfig names it as the way to log in, and it is not installed or not in PATH",
            );
            if let Some(hint) = &exec.install_hint {
                problem.push_str(": ");
                problem.push_str(&plain(hint));
            }
        }
        problem
    })?;
    let output = tokio::time::timeout(exec.time_limit, child.wait_with_output())
        .await
        .map_err(|_| {
            let limit = exec.time_limit.as_secs();
            format!("the credential plugin {:?} took longer than {limit} s", exec.command)
        })?
        .map_err(|error| format!("the credential plugin {:?}: {error}", exec.command))?;
    if !output.status.success() {
        return Err(format!("the credential plugin {:?} failed: {}", exec.command, output.status));
    }
    parse(exec, &output.stdout, serial)
}

/// Text from a file, safe for a terminal (REST-KC-34).
fn plain(text: &str) -> String {
    use std::fmt::Write as _;
    let mut out = String::new();
    for char in text.chars() {
        if char.is_control() && !('\t'..='\r').contains(&char) {
            let _ = write!(out, "U+{:04X}", u32::from(char));
        } else {
            out.push(char);
        }
    }
    out
}
