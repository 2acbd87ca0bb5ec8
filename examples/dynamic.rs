//! Any resource, known only when the program runs.
//!
//! ```text
//! cargo run --example dynamic                                    # config maps of an API server inside this process
//! cargo run --example dynamic -- --kubeconfig ~/.kube/config apps/v1 Deployment deployments /spec/replicas
//! ```

#![allow(unreachable_pub, reason = "the module is shared by the examples")]

mod cluster;

use clap::Parser;
use serde_json::json;
use steersman::{Api, ApiResource, DynamicObject, ListOptions, Object, Scope};

/// Lists objects of a resource and shows one field of each.
#[derive(Parser)]
struct Flags {
    #[command(flatten)]
    cluster: cluster::ClusterFlags,
    /// `v1` or `group/version`.
    #[arg(default_value = "v1")]
    api_version: String,
    /// The kind.
    #[arg(default_value = "ConfigMap")]
    kind: String,
    /// The resource as it stands in a URL.
    #[arg(default_value = "configmaps")]
    plural: String,
    /// Which field, as a JSON pointer.
    #[arg(default_value = "/data")]
    pointer: String,
    /// The resource lives in the cluster itself.
    #[arg(long)]
    cluster_scoped: bool,
}

#[tokio::main]
async fn main() -> Result<(), cluster::Error> {
    let flags = Flags::parse();
    let cluster = flags.cluster.open().await?;
    for (name, colour) in [("here", "red"), ("there", "blue")] {
        let data = json!({ "colour": colour });
        cluster.seed(
            json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name }, "data": data }),
        )?;
    }

    let scope = if flags.cluster_scoped { Scope::Cluster } else { Scope::Namespaced };
    let resource = ApiResource::dynamic(&flags.api_version, &flags.kind, &flags.plural, scope);
    let objects: Api<DynamicObject> = cluster.client.all_of(resource);
    for object in objects.list_all(&ListOptions::default()).await?.items {
        let value = object.pointer(&flags.pointer).map_or_else(|| "nothing".to_owned(), ToString::to_string);
        println!("{} {}: {} = {value}", object.kind, object.key(), flags.pointer);
    }
    Ok(())
}
