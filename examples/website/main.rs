//! The main job: a controller for a custom resource that owns other objects.
//!
//! ```text
//! cargo run --example website                               # on an API server inside this process
//! cargo run --example website -- --kubeconfig ~/.kube/config # on any cluster
//! ```
//!
//! A `Website` owns a `ConfigMap` (the page), a `Deployment` (the servers) and a `Service` (the address). The controller
//! creates and adopts them, repairs drift, cleans up with a finalizer, and says in the status how it went.

#![allow(unreachable_pub, reason = "the modules of one program")]

mod api;
mod children;
mod reconcile;
mod setup;

use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use steersman::controller::Controller;
use steersman::{Client, Informers};

use crate::api::Website;
use crate::children::Children;
use crate::reconcile::{Error, WebsiteReconciler};

/// A controller for websites.
#[derive(Parser)]
struct Flags {
    /// Run on the cluster of this kubeconfig instead of an API server inside this process.
    #[arg(long)]
    kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig; alone, of the usual kubeconfig.
    #[arg(long)]
    context: Option<String>,
    /// Stop by itself after this long: `10s`, `2m`.
    #[arg(long = "for", value_parser = setup::duration)]
    run_for: Option<Duration>,
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let flags = Flags::parse();
    let shutdown = setup::shutdown(flags.run_for);
    let cluster = setup::cluster(flags.kubeconfig, flags.context).await?;
    setup::install(&cluster.client).await?;
    run(&cluster.client, shutdown).await?;
    println!("stopped");
    cluster.stop().await;
    Ok(())
}

/// The controller: four informers, one reconciler.
async fn run(client: &Client, shutdown: impl Future<Output = ()> + Send + 'static) -> Result<(), Error> {
    let informers = Informers::new(client);
    let (sites, maps) = (informers.of::<Website>(), informers.of());
    let (deployments, services) = (informers.of(), informers.of());
    let reconciler = WebsiteReconciler {
        sites: sites.lister(),
        api: client.all(),
        pages: Children { cached: maps.lister(), api: client.all() },
        servers: Children { cached: deployments.lister(), api: client.all() },
        addresses: Children { cached: services.lister(), api: client.all() },
    };
    Controller::new("website")
        .watches(sites)
        .owns(maps)
        .owns(deployments)
        .owns(services)
        .workers(4)
        .run(reconciler, shutdown)
        .await?;
    Ok(())
}
