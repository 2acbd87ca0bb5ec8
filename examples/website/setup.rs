//! What stands around the controller: a cluster, the resource's definition, a sample, and when to stop.

use std::path::PathBuf;
use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use steersman::rest::KubeconfigOptions;
use steersman::{
    Api, Client, ClientConfig, DynamicObject, GetOptions, Kind, Object, ObjectKey, Patch, PatchOptions,
};
use test_apiserver::TestApiServer;

use crate::api::Website;
use crate::children::MANAGER;
use crate::reconcile::Error;

/// How long a cluster may take to serve a new resource.
const ESTABLISHED_WITHIN: Duration = Duration::from_secs(30);

/// A cluster, and the server inside this process if it is that one.
pub struct Cluster {
    pub client: Client,
    embedded: Option<(TestApiServer, PathBuf)>,
}

/// The cluster that the flags name, or a new one inside this process.
pub async fn cluster(kubeconfig: Option<PathBuf>, context: Option<String>) -> Result<Cluster, Error> {
    if kubeconfig.is_some() || context.is_some() {
        let options = KubeconfigOptions { path: kubeconfig, context, ..KubeconfigOptions::default() };
        let config = ClientConfig::from_kubeconfig_options(&options)?;
        println!("using {}", config.server);
        return Ok(Cluster { client: Client::new(config)?, embedded: None });
    }
    let server = TestApiServer::start(test_apiserver::Options::default()).await?;
    let path = std::env::temp_dir().join(format!("steersman-website-{}.kubeconfig", std::process::id()));
    server.write_kubeconfig(&path)?;
    println!("an API server listens on {}; try this in another terminal:", server.url());
    println!("  kubectl --kubeconfig {} get websites,deployments,services,configmaps", path.display());
    println!(
        "  kubectl --kubeconfig {} patch website hello --type merge -p '{{\"spec\":{{\"replicas\":3}}}}'",
        path.display()
    );
    let client = Client::new(ClientConfig::from_kubeconfig(&path, None)?)?;
    Ok(Cluster { client, embedded: Some((server, path)) })
}

impl Cluster {
    /// Ends what was started for us.
    pub async fn stop(self) {
        let Some((server, path)) = self.embedded else { return };
        server.stop().await;
        if let Err(error) = std::fs::remove_file(&path) {
            eprintln!("{}: {error}", path.display());
        }
    }
}

/// Installs the resource's definition, waits until it is served, and applies the sample.
pub async fn install(client: &Client) -> Result<(), Error> {
    let definition: DynamicObject = serde_saphyr::from_str(include_str!("crd.yaml"))?;
    let sample: DynamicObject = serde_saphyr::from_str(include_str!("sample.yaml"))?;
    let definitions: Api<CustomResourceDefinition> = client.all();
    let key = definition.key();
    definitions.patch(&key, None, &Patch::apply(&definition)?, &PatchOptions::apply(MANAGER).force()).await?;
    tokio::time::timeout(ESTABLISHED_WITHIN, established(&definitions, &key))
        .await
        .map_err(|_| format!("{key} was not established within {ESTABLISHED_WITHIN:?}"))??;
    println!("CustomResourceDefinition {key}: established");
    let sites: Api<DynamicObject> = client.all_of(Website::resource());
    let key = sample.key();
    sites.patch(&key, None, &Patch::apply(&sample)?, &PatchOptions::apply("website-sample").force()).await?;
    println!("Website {key}: applied");
    Ok(())
}

async fn established(definitions: &Api<CustomResourceDefinition>, key: &ObjectKey) -> Result<(), Error> {
    loop {
        let definition = definitions.get(key, &GetOptions::default()).await?;
        let conditions = definition.status.and_then(|status| status.conditions).unwrap_or_default();
        if conditions.iter().any(|condition| condition.type_ == "Established" && condition.status == "True") {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Done at SIGINT or SIGTERM, or when the time is up.
pub fn shutdown(after: Option<Duration>) -> impl Future<Output = ()> + Send + 'static {
    let signal = steersman::shutdown_signal();
    async move {
        match after {
            Some(after) => {
                tokio::select! {
                    () = signal => {}
                    () = tokio::time::sleep(after) => println!("time is up"),
                }
            }
            None => signal.await,
        }
    }
}

/// `10s`, `2m`, `500ms`.
pub fn duration(text: &str) -> Result<Duration, String> {
    let at = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(at);
    let number: u64 = number.parse().map_err(|_| format!("{text:?} is not a duration such as 10s"))?;
    match unit {
        "ms" => Ok(Duration::from_millis(number)),
        "s" => Ok(Duration::from_secs(number)),
        "m" => Ok(Duration::from_secs(number.saturating_mul(60))),
        _ => Err(format!("{text:?} needs a unit: ms, s or m")),
    }
}
