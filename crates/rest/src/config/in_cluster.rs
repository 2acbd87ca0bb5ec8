//! The configuration of a pod (REST-IC).

use super::{Auth, ClientConfig, Environment, Pem, Secret};
use crate::ConfigError;
use crate::transport::pem;

impl ClientConfig {
    /// The configuration of the pod that this process runs in.
    ///
    /// Source: REST-IC-01 to 05; client-go `rest/config.go`, `InClusterConfig`.
    pub fn in_cluster() -> Result<Self, ConfigError> {
        Self::in_cluster_of(&Environment::of_process())
    }

    /// The configuration of a pod with this environment.
    pub fn in_cluster_of(environment: &Environment) -> Result<Self, ConfigError> {
        let host = environment.variable("KUBERNETES_SERVICE_HOST").ok_or(ConfigError::NotInCluster)?;
        let port = environment.variable("KUBERNETES_SERVICE_PORT").ok_or(ConfigError::NotInCluster)?;
        let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
        let mut config = ClientConfig::new(format!("https://{host}:{port}"));

        let path = environment.service_account().join("token");
        let token = std::fs::read_to_string(&path).map_err(|source| ConfigError::Read {
            what: "the token of the service account".into(),
            path: path.clone(),
            source,
        })?;
        config.auth = Auth::TokenFile { path, initial: Some(Secret::new(token.trim())) };

        let ca = environment.service_account().join("ca.crt");
        match std::fs::read(&ca) {
            Ok(bytes) if !pem::certificates(&bytes).is_empty() => config.tls.ca = Some(Pem::File(ca)),
            Ok(_) => {
                tracing::error!(file = %ca.display(), "no certificate in it: the system's roots are trusted");
            }
            Err(error) => {
                tracing::error!(file = %ca.display(), %error, "cannot be read: the system's roots are trusted");
            }
        }
        config.namespace = environment.pod_namespace().unwrap_or_else(|| "default".into());
        config.apply_environment(environment);
        Ok(config)
    }
}
