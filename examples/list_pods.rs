//! A list, a page at a time: from a kubeconfig to what the server has.
//!
//! ```text
//! cargo run --example list_pods                                # an API server inside this process, with a few pods
//! cargo run --example list_pods -- --kubeconfig ~/.kube/config # any cluster
//! ```

#![allow(unreachable_pub, reason = "the module is shared by the examples")]

mod cluster;

use clap::Parser;
use k8s_openapi::api::core::v1::Pod;
use serde_json::json;
use steersman::{ListOptions, Object};

/// Lists pods.
#[derive(Parser)]
struct Flags {
    #[command(flatten)]
    cluster: cluster::ClusterFlags,
    /// Only of this namespace.
    #[arg(long, short)]
    namespace: Option<String>,
    /// Only with these labels: `app=web,tier!=db`.
    #[arg(long, short = 'l', default_value = "")]
    selector: String,
    /// Pods a page.
    #[arg(long, default_value_t = 2)]
    limit: u32,
}

#[tokio::main]
async fn main() -> Result<(), cluster::Error> {
    let flags = Flags::parse();
    let cluster = flags.cluster.open().await?;
    for name in ["web-0", "web-1", "web-2", "db-0", "db-1"] {
        let app = name.split('-').next();
        cluster.seed(json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name, "labels": { "app": app } },
            "spec": { "containers": [{ "name": "main", "image": "example" }] },
        }))?;
    }

    let pods = match &flags.namespace {
        Some(namespace) => cluster.client.namespaced::<Pod>(namespace),
        None => cluster.client.all::<Pod>(),
    };
    let pods = pods.labels(&flags.selector).without_managed_fields();
    let mut options = ListOptions::default();
    options.limit = flags.limit;
    loop {
        let page = pods.list(&options).await?;
        println!(
            "a page at version {}, {:?} more",
            page.resource_version,
            page.remaining_item_count.unwrap_or(0)
        );
        for pod in &page.items {
            let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref()).unwrap_or("no node");
            println!("  {} on {node}", pod.key());
        }
        // One pod that this program cannot read is no reason to stop.
        for error in &page.undecodable {
            eprintln!("  {error}");
        }
        options.continue_token = page.continue_token;
        if options.continue_token.is_none() {
            return Ok(());
        }
    }
}
