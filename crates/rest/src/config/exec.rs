//! A credential plugin, as the kubeconfig describes it.

use std::fmt;
use std::time::Duration;

use crate::{ConfigError, Secret};

/// A program that prints credentials.
#[derive(Clone)]
#[non_exhaustive]
pub struct ExecConfig {
    /// Which version of the protocol it speaks.
    pub api_version: ExecVersion,
    /// The program: a path, or a name to be looked for in `PATH`.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// What it finds in its environment besides ours.
    pub env: Vec<(String, Secret)>,
    /// What to tell somebody who has not got it.
    pub install_hint: Option<String>,
    /// Does it want to know the cluster?
    pub provide_cluster_info: bool,
    /// May it talk to the user?
    pub interactive_mode: InteractiveMode,
    /// What the cluster's entry holds for it.
    pub cluster_config: Option<serde_json::Value>,
    /// How long it may take: a minute.
    pub time_limit: Duration,
}

/// Which version of the protocol a plugin speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExecVersion {
    /// `client.authentication.k8s.io/v1`
    V1,
    /// `client.authentication.k8s.io/v1beta1`
    V1Beta1,
}

/// May a plugin talk to the user?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum InteractiveMode {
    /// No.
    Never,
    /// If there is a terminal.
    IfAvailable,
    /// It must: without a terminal it is not run.
    Always,
}

impl ExecConfig {
    /// A plugin that may talk to the user if there is a terminal.
    pub fn new(api_version: ExecVersion, command: impl Into<String>) -> Self {
        ExecConfig {
            api_version,
            command: command.into(),
            args: Vec::new(),
            env: Vec::new(),
            install_hint: None,
            provide_cluster_info: false,
            interactive_mode: InteractiveMode::IfAvailable,
            cluster_config: None,
            time_limit: Duration::from_mins(1),
        }
    }

    /// REST-KC-23.
    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        if self.command.is_empty() {
            return Err(ConfigError::invalid("exec.command", "it is empty"));
        }
        if self.env.iter().any(|(name, _)| name.is_empty() || name.contains(['=', '\0'])) {
            return Err(ConfigError::invalid("exec.env", "a variable without a usable name"));
        }
        Ok(())
    }
}

impl ExecVersion {
    /// As it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            ExecVersion::V1 => "client.authentication.k8s.io/v1",
            ExecVersion::V1Beta1 => "client.authentication.k8s.io/v1beta1",
        }
    }
}

impl fmt::Debug for ExecConfig {
    /// Arguments, environment and the cluster's data may hold secrets (REST-CF-13).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExecConfig")
            .field("api_version", &self.api_version)
            .field("command", &self.command)
            .field("interactive_mode", &self.interactive_mode)
            .finish_non_exhaustive()
    }
}
