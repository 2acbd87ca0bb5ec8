//! `Environment`: what a process finds around it, as a value.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{ClientConfig, Proxy, ProxyEnvironment};

/// What a process finds around it: variables, and where a pod's credentials lie.
///
/// Everything that loads a configuration takes one, so that a test can hand in its own:
///
/// ```
/// use steersman_rest::{ClientConfig, ConfigError, Environment};
///
/// let nowhere = Environment::empty();
/// assert!(matches!(ClientConfig::in_cluster_of(&nowhere), Err(ConfigError::NotInCluster)));
/// ```
#[derive(Clone)]
pub struct Environment {
    variables: BTreeMap<String, String>,
    service_account: PathBuf,
    program: Option<String>,
}

impl Environment {
    /// That of this process.
    pub fn of_process() -> Self {
        let text = |text: std::ffi::OsString| text.to_string_lossy().into_owned();
        let program = std::env::args_os().next().map(PathBuf::from);
        Environment {
            variables: std::env::vars_os().map(|(name, value)| (text(name), text(value))).collect(),
            service_account: PathBuf::from("/var/run/secrets/kubernetes.io/serviceaccount"),
            program: program.and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned())),
        }
    }

    /// One with nothing in it.
    pub fn empty() -> Self {
        Environment { variables: BTreeMap::new(), service_account: PathBuf::new(), program: None }
    }

    /// With this variable.
    #[must_use]
    pub fn with_variable(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.variables.insert(name.into(), value.into());
        self
    }

    /// With a pod's credentials in this directory: `token`, `ca.crt`, `namespace`.
    #[must_use]
    pub fn with_service_account(mut self, directory: impl Into<PathBuf>) -> Self {
        self.service_account = directory.into();
        self
    }

    /// A variable that is there and not empty.
    pub(crate) fn variable(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    pub(crate) fn service_account(&self) -> &Path {
        &self.service_account
    }

    /// Could [`ClientConfig::in_cluster`] work here (REST-IC-06)?
    pub(crate) fn is_in_cluster_possible(&self) -> bool {
        self.variable("KUBERNETES_SERVICE_HOST").is_some()
            && self.variable("KUBERNETES_SERVICE_PORT").is_some()
            && self.service_account.join("token").is_file()
    }

    /// `~/.kube/config`, if there is a home.
    pub(crate) fn home_kubeconfig(&self) -> Option<PathBuf> {
        let home = self.variable("HOME").or_else(|| self.variable("USERPROFILE"))?;
        Some(Path::new(home).join(".kube").join("config"))
    }

    /// The files of `KUBECONFIG` (REST-KC-02); `None` if it is not set. No `~` is expanded.
    pub(crate) fn kubeconfig_list(&self) -> Option<Vec<PathBuf>> {
        let list = self.variable("KUBECONFIG")?;
        let mut paths: Vec<PathBuf> = Vec::new();
        for path in std::env::split_paths(list) {
            if !path.as_os_str().is_empty() && !paths.contains(&path) {
                paths.push(path);
            }
        }
        Some(paths)
    }

    /// A namespace that a pod knows (REST-IC-05).
    pub(crate) fn pod_namespace(&self) -> Option<String> {
        if let Some(namespace) = self.variable("POD_NAMESPACE") {
            return Some(namespace.to_owned());
        }
        let text = std::fs::read_to_string(self.service_account.join("namespace")).ok()?;
        Some(text.trim().to_owned()).filter(|namespace| !namespace.is_empty())
    }
}

impl ClientConfig {
    /// What the environment says about connections: proxies, HTTP/2 (REST-TL-13 to 15), our name.
    pub(crate) fn apply_environment(&mut self, environment: &Environment) {
        let variable = |name: &str| environment.variable(name).map(str::to_owned);
        if matches!(self.proxy, Proxy::None) {
            self.proxy = Proxy::Environment(ProxyEnvironment::of(&variable));
        }
        if environment.variable("DISABLE_HTTP2").is_some() {
            self.connections.http2 = false;
        }
        let seconds = |name: &str| {
            let text = environment.variable(name)?;
            let parsed = text.parse::<u64>().ok();
            if parsed.is_none() {
                tracing::warn!(name, text, "not a number of seconds; the default stays");
            }
            parsed.map(Duration::from_secs)
        };
        if let Some(idle) = seconds("HTTP2_READ_IDLE_TIMEOUT_SECONDS") {
            self.connections.http2_read_idle = Some(idle).filter(|idle| !idle.is_zero());
        }
        if let Some(timeout) = seconds("HTTP2_PING_TIMEOUT_SECONDS").filter(|timeout| !timeout.is_zero()) {
            self.connections.http2_ping_timeout = timeout;
        }
        let program = environment.program.as_deref().unwrap_or("unknown");
        let (os, arch, version) = (std::env::consts::OS, std::env::consts::ARCH, env!("CARGO_PKG_VERSION"));
        self.user_agent = format!("{program} ({os}/{arch}) steersman/{version}");
    }
}

impl std::fmt::Debug for Environment {
    /// Variables may hold secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Environment").field("service_account", &self.service_account).finish_non_exhaustive()
    }
}
