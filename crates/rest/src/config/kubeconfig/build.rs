//! One context of the merged files, checked as a whole, as a [`ClientConfig`].

use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_saphyr::Spanned;

use super::file::{Cluster, Context, Exec, Origin, Text, User};
use super::{Entry, KubeconfigOptions, Merged};
use crate::config::{
    Auth, ClientConfig, ExecConfig, ExecVersion, Impersonation, InteractiveMode, Pem, Proxy,
};
use crate::{ConfigError, Secret};

/// The name of the cluster's extension that is meant for its plugin (REST-KC-35).
const EXEC_EXTENSION: &str = "client.authentication.k8s.io/exec";

pub(super) struct Built {
    pub(super) config: ClientConfig,
    /// Has nobody named the namespace?
    pub(super) namespace_is_implied: bool,
}

impl Merged {
    /// Makes a configuration of the context that the options or the files name (REST-KC-27). All problems are told.
    pub(super) fn build(&self, options: &KubeconfigOptions) -> Result<Built, ConfigError> {
        let context = self.context(options)?;
        let cluster_name = options.cluster.as_deref().or(text(&context.cluster)).unwrap_or_default();
        let cluster = find(&self.clusters, cluster_name);
        let user_name = options.user.as_deref().or(text(&context.user)).unwrap_or_default();
        let user = find(&self.users, user_name);
        if options.cluster.is_some() && cluster.is_none() {
            return Err(ConfigError::NoSuchEntry { what: "cluster", name: cluster_name.to_owned() });
        }
        if options.user.is_some() && user.is_none() {
            return Err(ConfigError::NoSuchEntry { what: "user", name: user_name.to_owned() });
        }
        if user.is_none() && !user_name.is_empty() {
            tracing::warn!(
                user = user_name,
                "the context names a user that nobody defines: no credentials are sent"
            );
        }
        let mut problems = Vec::new();
        let nobody = Entry { name: String::new(), value: User::default(), origin: nowhere() };
        let user = user.unwrap_or(&nobody);
        let user = Checked::user(user, &mut problems);
        let server = options.server.as_deref().or(cluster.and_then(|cluster| text(&cluster.value.server)));
        let Some(server) = server else {
            if let Some(problems) = ConfigError::of(problems) {
                return Err(problems);
            }
            return Err(ConfigError::Empty { why: self.why_no_server(&context, cluster_name) });
        };
        let mut config = ClientConfig::new(server);
        if let Some(cluster) = cluster {
            check_cluster(cluster, &mut config, &mut problems);
        }
        if config.tls.insecure && config.tls.ca.is_some() {
            let problem =
                "not together with certificate-authority: either the server is verified or it is not";
            let origin = cluster.map_or_else(nowhere, |cluster| cluster.origin.clone());
            problems.push(origin.error("insecure-skip-tls-verify", None, problem));
        }
        if let Err(error) = crate::config::Server::of(&config) {
            let at = cluster.filter(|_| options.server.is_none());
            problems.push(match (at, error) {
                (Some(cluster), ConfigError::Invalid { problem, .. }) => {
                    cluster.origin.error("server", cluster.value.server.as_ref(), &problem)
                }
                (_, error) => error,
            });
        }
        if let Some(problems) = ConfigError::of(problems) {
            return Err(problems);
        }
        // Without an explicit https, nothing that proves who we are or who they are is used (REST-KC-18).
        let is_https = server.get(..8).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https://"));
        if is_https {
            (config.tls.client_cert, config.tls.client_key) = (user.cert, user.key);
            config.auth = user.auth;
            if let (Auth::Exec(exec), Some(cluster)) = (&mut config.auth, cluster) {
                exec.cluster_config =
                    cluster.value.extensions.iter().flatten().flatten().find_map(|extension| {
                        (extension.name.as_deref() == Some(EXEC_EXTENSION))
                            .then(|| extension.extension.clone())
                            .flatten()
                    });
            }
        } else {
            config.tls = crate::TlsOptions::default();
            if !matches!(user.auth, Auth::None) || user.cert.is_some() {
                tracing::warn!(server, "the server is not https: no credentials are sent");
            }
        }
        config.impersonate = user.impersonate;
        let namespace = options.namespace.as_deref().or(text(&context.namespace));
        namespace.unwrap_or("default").clone_into(&mut config.namespace);
        Ok(Built { config, namespace_is_implied: namespace.is_none() })
    }

    fn context(&self, options: &KubeconfigOptions) -> Result<Context, ConfigError> {
        let current = self.current_context.as_ref();
        let Some(name) = options.context.as_deref().or(current.map(|(_, name)| name.value.as_str())) else {
            return Ok(Context::default());
        };
        match find(&self.contexts, name) {
            Some(context) => Ok(context.value.clone()),
            None => Err(ConfigError::NoSuchEntry { what: "context", name: name.to_owned() }),
        }
    }

    fn why_no_server(&self, context: &Context, cluster: &str) -> String {
        if cluster.is_empty() && self.clusters.is_empty() {
            return "no kubeconfig was found, or nothing is in it".into();
        }
        match text(&context.cluster) {
            None if cluster.is_empty() => "no current context, or one without a cluster".into(),
            _ if find(&self.clusters, cluster).is_none() => {
                format!("the context names the cluster {cluster:?}, which nobody defines")
            }
            _ => format!("the cluster {cluster:?} has no server"),
        }
    }
}

/// What a user's entry comes to.
struct Checked {
    cert: Option<Pem>,
    key: Option<Pem>,
    auth: Auth,
    impersonate: Option<Impersonation>,
}

impl Checked {
    fn user(entry: &Entry<User>, problems: &mut Vec<ConfigError>) -> Self {
        let (user, origin) = (&entry.value, &entry.origin);
        let mut note = |problem: Result<Option<Pem>, ConfigError>| {
            problem.unwrap_or_else(|problem| {
                problems.push(problem);
                None
            })
        };
        let cert =
            note(pem(origin, "client-certificate", &user.client_certificate, &user.client_certificate_data));
        let key = note(pem(origin, "client-key", &user.client_key, &user.client_key_data));
        let has = |text: &Text| some(text).is_some();
        let has_cert = has(&user.client_certificate) || has(&user.client_certificate_data);
        if has_cert && !has(&user.client_key) && !has(&user.client_key_data) {
            problems.push(origin.error("client-key", None, "a client certificate needs its key"));
        }
        let token = some(&user.token);
        if let (Some(_), Some(username)) = (token, some(&user.username)) {
            let problem = "a token and a user name: more than one way to log in";
            problems.push(origin.error("username", Some(username), problem));
        }
        let exec = user.exec.as_ref().map(|exec| check_exec(exec, origin));
        if let Some(provider) = &user.auth_provider {
            let name = text(&provider.name).unwrap_or_default();
            let problem = if exec.is_some() {
                "auth-provider and exec cannot both be meant".to_owned()
            } else {
                format!("the auth provider {name:?} is not supported; use its exec plugin")
            };
            problems.push(origin.error("auth-provider", provider.name.as_ref(), &problem));
        }
        let mut auth = Auth::None;
        if let Some(file) = some(&user.token_file) {
            let path = origin.resolve(&file.value);
            let initial = token.map(|token| Secret::new(token.value.clone()));
            if initial.is_none()
                && let Err(source) = std::fs::File::open(&path)
            {
                problems.push(unreadable(origin, "tokenFile", path.clone(), source));
            }
            auth = Auth::TokenFile { path, initial };
        } else if let Some(token) = token {
            if token.value.trim().contains(['\n', '\r']) {
                problems.push(origin.error("token", Some(token), "a newline inside: not a header value"));
            }
            auth = Auth::Token(Secret::new(token.value.clone()));
        } else if let Some(username) = text(&user.username) {
            let password = text(&user.password).unwrap_or_default();
            auth = Auth::Basic { username: username.to_owned(), password: Secret::new(password) };
        }
        match exec {
            // Other credentials win, and the plugin is never run (REST-EX-11).
            Some(Ok(exec)) if matches!(auth, Auth::None) && !has_cert => auth = Auth::Exec(Box::new(exec)),
            Some(Err(problem)) => problems.push(problem),
            _ => {}
        }
        let impersonate = check_impersonation(user, origin, problems);
        Checked { cert, key, auth, impersonate }
    }
}

fn check_impersonation(
    user: &User,
    origin: &Origin,
    problems: &mut Vec<ConfigError>,
) -> Option<Impersonation> {
    let groups = user.as_groups.clone().unwrap_or_default();
    let extra: std::collections::BTreeMap<_, _> = user.as_user_extra.clone().unwrap_or_default();
    let extra: std::collections::BTreeMap<String, Vec<String>> =
        extra.into_iter().map(|(key, values)| (key, values.unwrap_or_default())).collect();
    let uid = text(&user.as_uid).map(str::to_owned);
    let Some(name) = text(&user.acting_as) else {
        if uid.is_some() || !groups.is_empty() || !extra.is_empty() {
            problems.push(origin.error("as", None, "as-uid, as-groups and as-user-extra need a user name"));
        }
        return None;
    };
    Some(Impersonation { user: name.to_owned(), uid, groups, extra })
}

fn check_exec(exec: &Exec, origin: &Origin) -> Result<ExecConfig, ConfigError> {
    let at = |key: &str, text: &Text, problem: &str| {
        Err(origin.error(&format!("exec.{key}"), text.as_ref(), problem))
    };
    let Some(command) = text(&exec.command) else {
        return at("command", &exec.command, "which program?");
    };
    let version = match text(&exec.api_version) {
        Some("client.authentication.k8s.io/v1") => ExecVersion::V1,
        Some("client.authentication.k8s.io/v1beta1") => ExecVersion::V1Beta1,
        Some(_) => {
            let problem = "only client.authentication.k8s.io/v1 and v1beta1 are spoken";
            return at("apiVersion", &exec.api_version, problem);
        }
        None => return at("apiVersion", &exec.api_version, "it must be there"),
    };
    // A name is looked for in PATH, a path begins where the file is (REST-KC-09).
    let command = if command.contains(std::path::is_separator) {
        origin.resolve(command).to_string_lossy().into_owned()
    } else {
        command.to_owned()
    };
    let mut config = ExecConfig::new(version, command);
    config.interactive_mode = match (text(&exec.interactive_mode), version) {
        (Some("Never"), _) => InteractiveMode::Never,
        (Some("IfAvailable"), _) | (None, ExecVersion::V1Beta1) => InteractiveMode::IfAvailable,
        (Some("Always"), _) => InteractiveMode::Always,
        (Some(_), _) => {
            let problem = "it must be Never, IfAvailable or Always";
            return at("interactiveMode", &exec.interactive_mode, problem);
        }
        (None, ExecVersion::V1) => {
            return at("interactiveMode", &exec.interactive_mode, "it must be there in v1");
        }
    };
    config.args = exec.args.clone().unwrap_or_default();
    for variable in exec.env.iter().flatten().flatten() {
        let name = variable.name.clone().unwrap_or_default();
        config.env.push((name, Secret::new(variable.value.clone().unwrap_or_default())));
    }
    config.install_hint = text(&exec.install_hint).map(str::to_owned);
    config.provide_cluster_info = exec.provide_cluster_info.unwrap_or_default();
    if config.validate().is_err() {
        return at("env", &None, "a variable without a usable name");
    }
    Ok(config)
}

fn check_cluster(entry: &Entry<Cluster>, config: &mut ClientConfig, problems: &mut Vec<ConfigError>) {
    let (cluster, origin) = (&entry.value, &entry.origin);
    let ca = pem(
        origin,
        "certificate-authority",
        &cluster.certificate_authority,
        &cluster.certificate_authority_data,
    );
    match ca {
        Ok(ca) => config.tls.ca = ca,
        Err(problem) => problems.push(problem),
    }
    config.tls.insecure = cluster.insecure_skip_tls_verify.unwrap_or_default();
    config.tls.server_name = text(&cluster.tls_server_name).map(str::to_owned);
    config.compression = !cluster.disable_compression.unwrap_or_default();
    if let Some(url) = some(&cluster.proxy_url) {
        match crate::transport::proxy::Proxy::parse(&url.value) {
            Ok(_) => config.proxy = Proxy::Url(Secret::new(url.value.clone())),
            Err(ConfigError::Invalid { problem, .. }) => {
                problems.push(origin.error("proxy-url", Some(url), &problem));
            }
            Err(other) => problems.push(other),
        }
    }
}

/// PEM text in a file or in the kubeconfig itself; both is an error (REST-KC-15, 16, 25).
fn pem(origin: &Origin, key: &str, file: &Text, data: &Text) -> Result<Option<Pem>, ConfigError> {
    let (file, data) = (some(file), some(data));
    if let Some(file) = file {
        let path = origin.resolve(&file.value);
        if let Err(source) = std::fs::File::open(&path) {
            return Err(unreadable(origin, key, path, source));
        }
        if data.is_some() {
            let problem = format!("{key}-data is there too: which one is meant?");
            return Err(origin.error(key, Some(file), &problem));
        }
        return Ok(Some(Pem::File(path)));
    }
    let Some(data) = data else { return Ok(None) };
    // A `!!binary` block has been decoded already.
    if data.value.contains("-----BEGIN ") {
        return Ok(Some(Pem::Data(data.value.clone().into_bytes())));
    }
    let packed: String = data.value.chars().filter(|char| !matches!(char, '\r' | '\n')).collect();
    match STANDARD.decode(packed) {
        Ok(bytes) => Ok(Some(Pem::Data(bytes))),
        Err(error) => Err(origin.error(&format!("{key}-data"), Some(data), &format!("not base64: {error}"))),
    }
}

fn unreadable(origin: &Origin, key: &str, path: PathBuf, source: std::io::Error) -> ConfigError {
    let what = format!("{}.{key} of {}:", origin.field, origin.path.display());
    ConfigError::Read { what, path, source }
}

fn find<'a, T>(entries: &'a [Entry<T>], name: &str) -> Option<&'a Entry<T>> {
    entries.iter().find(|entry| entry.name == name && !name.is_empty())
}

fn some(text: &Text) -> Option<&Spanned<String>> {
    text.as_ref().filter(|text| !text.value.is_empty())
}

fn text(text: &Text) -> Option<&str> {
    some(text).map(|text| text.value.as_str())
}

fn nowhere() -> Origin {
    Origin { path: PathBuf::new(), field: String::new() }
}
