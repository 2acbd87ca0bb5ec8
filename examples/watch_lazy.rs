//! An informer that keeps bytes: an index over it, and typed looks at a few fields.
//!
//! ```text
//! cargo run --example watch_lazy                                # an API server inside this process
//! cargo run --example watch_lazy -- --kubeconfig ~/.kube/config # any cluster
//! ```

#![allow(unreachable_pub, reason = "the module is shared by the examples")]

mod cluster;

use std::collections::BTreeMap;
use std::time::Duration;

use clap::Parser;
use k8s_openapi::api::core::v1::ConfigMap;
use serde::Deserialize;
use serde_json::json;
use steersman::{Lazy, Notification, Object, SharedInformer};

/// Watches config maps and tells which namespace has which keys.
#[derive(Parser)]
struct Flags {
    #[command(flatten)]
    cluster: cluster::ClusterFlags,
    /// End when nothing has happened for so many milliseconds.
    #[arg(long, default_value_t = 500)]
    quiet: u64,
}

/// What this program reads of a config map. All else stays bytes.
#[derive(Deserialize)]
struct Keys {
    #[serde(default)]
    data: BTreeMap<String, String>,
}

#[tokio::main]
async fn main() -> Result<(), cluster::Error> {
    let flags = Flags::parse();
    let cluster = flags.cluster.open().await?;
    for (name, key) in [("page", "index.html"), ("settings", "colour"), ("more-settings", "colour")] {
        let data = json!({ key: "…" });
        cluster.seed(
            json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name }, "data": data }),
        )?;
    }

    let maps = SharedInformer::new(cluster.client.all::<Lazy<ConfigMap>>().without_managed_fields());
    // A map that is no map of texts is in the index under nothing.
    let by_key = maps.index(|map: &Lazy<ConfigMap>| {
        map.view::<Keys>().map_or_else(|_| Vec::new(), |keys| keys.data.into_keys().collect())
    });
    let mut told = maps.subscribe();
    let running = tokio::spawn(maps.run(std::future::pending()));
    maps.synced().await?;

    let quiet = Duration::from_millis(flags.quiet);
    while let Ok(Some(notification)) = tokio::time::timeout(quiet, told.next()).await {
        match notification {
            Notification::Added { object, .. } => {
                println!("{} is there, {} bytes", object.key(), object.body().len());
            }
            Notification::Updated { new, .. } => println!("{} has changed", new.key()),
            Notification::Deleted(gone) => println!("{} is gone", gone.key()),
        }
    }
    let mut keys = by_key.values();
    keys.sort();
    for key in keys {
        let maps: Vec<_> = by_key.keys(&key).iter().map(ToString::to_string).collect();
        println!("{key:?} stands in {}", maps.join(", "));
    }
    running.abort();
    Ok(())
}
