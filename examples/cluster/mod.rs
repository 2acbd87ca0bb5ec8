//! Which cluster: that of a kubeconfig, or a new one inside this process.

use std::path::PathBuf;

use clap::Args;
use serde_json::Value;
use steersman::{Client, ClientConfig};
use test_apiserver::{Options, TestApiServer};

pub type Error = Box<dyn std::error::Error + Send + Sync>;

#[derive(Args)]
pub struct ClusterFlags {
    /// The cluster of this kubeconfig instead of an API server inside this process.
    #[arg(long)]
    kubeconfig: Option<PathBuf>,
}

/// A client, and the server inside this process if it is that one.
pub struct Cluster {
    pub client: Client,
    embedded: Option<TestApiServer>,
}

impl ClusterFlags {
    pub async fn open(&self) -> Result<Cluster, Error> {
        if let Some(path) = &self.kubeconfig {
            let client = Client::new(ClientConfig::from_kubeconfig(path, None)?)?;
            return Ok(Cluster { client, embedded: None });
        }
        let server = TestApiServer::start(Options::default()).await?;
        let path = std::env::temp_dir().join(format!("steersman-example-{}.kubeconfig", std::process::id()));
        server.write_kubeconfig(&path)?;
        let config = ClientConfig::from_kubeconfig(&path, None);
        std::fs::remove_file(&path)?;
        Ok(Cluster { client: Client::new(config?)?, embedded: Some(server) })
    }
}

impl Cluster {
    /// Something to look at; not in other people's clusters.
    pub fn seed(&self, object: Value) -> Result<(), Error> {
        if let Some(server) = &self.embedded {
            server.create(object)?;
        }
        Ok(())
    }
}
