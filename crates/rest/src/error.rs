//! `ConfigError`: why no client can be made of a configuration.

use std::io;
use std::path::PathBuf;

/// Why no client can be made of a configuration. Nothing has been sent to any server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The file that was asked for is not there.
    #[error("{}: no such file", path.display())]
    NotFound {
        /// The file.
        path: PathBuf,
    },
    /// A file that the configuration needs cannot be read.
    #[error("cannot read {what} {}", path.display())]
    Read {
        /// What it is: `kubeconfig`, `clusters[0].cluster.certificate-authority`.
        what: String,
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A file is not what it should be, at this place. Lines and columns count from 1.
    #[error("{}:{line}:{column}: {problem}", path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// The line.
        line: usize,
        /// The column.
        column: usize,
        /// The field (if it is known) and what is wrong with it.
        problem: String,
    },
    /// A context, cluster or user is named that nobody defines.
    #[error("{what} {name:?} does not exist")]
    NoSuchEntry {
        /// `context`, `cluster` or `user`.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A value that cannot be used.
    #[error("{field}: {problem}")]
    Invalid {
        /// The field, as the kubeconfig writes it.
        field: String,
        /// What is wrong with it.
        problem: String,
    },
    /// No file, no entry: there is nothing that says where the server is.
    #[error("no server is configured: {why}")]
    Empty {
        /// What was found instead.
        why: String,
    },
    /// The environment of a pod is not there (`KUBERNETES_SERVICE_HOST` and `KUBERNETES_SERVICE_PORT`).
    #[error("not in a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be set")]
    NotInCluster,
    /// More than one problem.
    #[error("{}", join(.0))]
    Several(Vec<ConfigError>),
}

impl ConfigError {
    pub(crate) fn invalid(field: impl Into<String>, problem: impl Into<String>) -> Self {
        ConfigError::Invalid { field: field.into(), problem: problem.into() }
    }

    /// One error for all of these; `None` for none.
    pub(crate) fn of(mut errors: Vec<ConfigError>) -> Option<Self> {
        match errors.len() {
            0 => None,
            1 => errors.pop(),
            _ => Some(ConfigError::Several(errors)),
        }
    }

    /// Is nothing configured at all?
    pub fn is_empty_configuration(&self) -> bool {
        matches!(self, ConfigError::Empty { .. })
    }

    /// Is the file that was asked for missing?
    pub fn is_not_found(&self) -> bool {
        matches!(self, ConfigError::NotFound { .. })
    }
}

fn join(errors: &[ConfigError]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
