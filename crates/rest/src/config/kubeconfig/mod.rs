//! kubeconfig files: found, read, merged (REST-KC), and one context of them made into a [`ClientConfig`].

mod build;
mod file;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use serde_saphyr::Spanned;

use self::file::{Cluster, Context, File, Origin, Text, User};
use super::{ClientConfig, Environment};
use crate::ConfigError;

/// Which file, and which of its contexts; what is `None` is as the file says.
///
/// ```no_run
/// use steersman_rest::{ClientConfig, KubeconfigOptions};
///
/// let options = KubeconfigOptions { context: Some("staging".into()), ..KubeconfigOptions::default() };
/// let config = ClientConfig::from_kubeconfig_options(&options)?;
/// # Ok::<(), steersman_rest::ConfigError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct KubeconfigOptions {
    /// Only this file; else those of `KUBECONFIG`, else `~/.kube/config`.
    pub path: Option<PathBuf>,
    /// Not the current context, but this one.
    pub context: Option<String>,
    /// Not the context's cluster, but this one.
    pub cluster: Option<String>,
    /// Not the context's user, but this one.
    pub user: Option<String>,
    /// Not the context's namespace, but this one.
    pub namespace: Option<String>,
    /// Not the cluster's server, but this one.
    pub server: Option<String>,
}

impl ClientConfig {
    /// What the environment says: the files of `KUBECONFIG`, else `~/.kube/config`; if they name no server, the pod
    /// that this process runs in.
    ///
    /// Source: REST-KC-02 to 07, REST-KC-29.
    pub fn from_env() -> Result<Self, ConfigError> {
        Self::from_environment(&Environment::of_process(), &KubeconfigOptions::default())
    }

    /// One file, and one of its contexts (the current one, if none is named). A missing file is
    /// [`ConfigError::NotFound`].
    pub fn from_kubeconfig(path: impl Into<PathBuf>, context: Option<&str>) -> Result<Self, ConfigError> {
        let path = Some(path.into());
        let options = KubeconfigOptions { path, context: context.map(str::to_owned), ..Default::default() };
        Self::from_kubeconfig_options(&options)
    }

    /// As these options say. Without a path, as [`from_env`](Self::from_env) does.
    pub fn from_kubeconfig_options(options: &KubeconfigOptions) -> Result<Self, ConfigError> {
        Self::from_environment(&Environment::of_process(), options)
    }

    /// As these options say, in this environment.
    pub fn from_environment(
        environment: &Environment,
        options: &KubeconfigOptions,
    ) -> Result<Self, ConfigError> {
        let merged = match &options.path {
            Some(path) => Merged::read_one(path)?,
            None => Merged::read_list(&files(environment))?,
        };
        match merged.build(options) {
            Ok(built) => {
                let mut config = built.config;
                config.apply_environment(environment);
                if built.namespace_is_implied && environment.is_in_cluster_possible() {
                    config.namespace = environment.pod_namespace().unwrap_or(config.namespace);
                }
                Ok(config)
            }
            Err(empty) if empty.is_empty_configuration() && options.path.is_none() => {
                if !environment.is_in_cluster_possible() {
                    return Err(empty);
                }
                tracing::debug!("no kubeconfig names a server: the pod's own configuration is used");
                let mut config = Self::in_cluster_of(environment)?;
                if let Some(namespace) = &options.namespace {
                    config.namespace.clone_from(namespace);
                }
                Ok(config)
            }
            Err(error) => Err(error),
        }
    }
}

fn files(environment: &Environment) -> Vec<PathBuf> {
    let list = environment.kubeconfig_list();
    if let Some(list) = &list
        && !list.is_empty()
        && list.iter().all(|path| !path.exists())
    {
        tracing::warn!(files = ?list, "KUBECONFIG is set, and none of its files exists");
    }
    list.unwrap_or_else(|| environment.home_kubeconfig().into_iter().collect())
}

/// An entry with a name, and where it was written.
#[derive(Clone)]
struct Entry<T> {
    name: String,
    value: T,
    origin: Origin,
}

/// Several files, as one: the first that defines a name wins with its whole entry (REST-KC-06).
#[derive(Default)]
struct Merged {
    current_context: Option<(PathBuf, Spanned<String>)>,
    clusters: Vec<Entry<Cluster>>,
    contexts: Vec<Entry<Context>>,
    users: Vec<Entry<User>>,
}

impl Merged {
    fn read_one(path: &Path) -> Result<Self, ConfigError> {
        let mut merged = Merged::default();
        match std::fs::read(path) {
            Ok(bytes) => merged.add(path, file::parse(path, &bytes)?),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(ConfigError::NotFound { path: path.to_owned() });
            }
            Err(error) => return Err(unreadable(path, error)),
        }
        Ok(merged)
    }

    /// Missing files are passed over; every other problem is told.
    fn read_list(paths: &[PathBuf]) -> Result<Self, ConfigError> {
        let mut merged = Merged::default();
        let mut errors = Vec::new();
        for path in paths {
            match std::fs::read(path) {
                Ok(bytes) => match file::parse(path, &bytes) {
                    Ok(file) => merged.add(path, file),
                    Err(error) => errors.push(error),
                },
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => errors.push(unreadable(path, error)),
            }
        }
        ConfigError::of(errors).map_or(Ok(merged), Err)
    }

    fn add(&mut self, path: &Path, file: File) {
        let File { current_context, clusters, contexts, users, .. } = file;
        if self.current_context.is_none()
            && let Some(current) = current_context.filter(|current| !current.value.is_empty())
        {
            self.current_context = Some((path.to_owned(), current));
        }
        add(path, "clusters", "cluster", &mut self.clusters, clusters, |entry| (entry.name, entry.cluster));
        add(path, "contexts", "context", &mut self.contexts, contexts, |entry| (entry.name, entry.context));
        add(path, "users", "user", &mut self.users, users, |entry| (entry.name, entry.user));
    }
}

fn add<N, T: Default>(
    path: &Path,
    list: &str,
    key: &str,
    known: &mut Vec<Entry<T>>,
    entries: Option<Vec<Option<N>>>,
    open: impl Fn(N) -> (Text, Option<T>),
) {
    for (index, entry) in entries.into_iter().flatten().enumerate() {
        let Some(entry) = entry else { continue };
        let (name, value) = open(entry);
        let name = name.map(|name| name.value).unwrap_or_default();
        if known.iter().any(|known| known.name == name) {
            continue;
        }
        let origin = Origin { path: path.to_owned(), field: format!("{list}[{index}].{key}") };
        known.push(Entry { name, value: value.unwrap_or_default(), origin });
    }
}

fn unreadable(path: &Path, source: std::io::Error) -> ConfigError {
    ConfigError::Read { what: "kubeconfig".into(), path: path.to_owned(), source }
}
