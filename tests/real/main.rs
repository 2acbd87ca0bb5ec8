//! Against a real kube-apiserver and etcd, with kubectl as the judge: `tests/real/run`.
//!
//! Without a control plane these tests are ignored, and say so.

#![allow(unreachable_pub, reason = "the modules of one program")]

mod access;
mod cache;
mod definitions;
mod example;
mod line;
mod restart;
mod world;

use std::sync::Arc;

use steersman::{Client, ClientConfig};

/// A client of the control plane, by a context of its kubeconfig.
async fn client(context: &str) -> Client {
    let world = world::world().await;
    let mut config =
        ClientConfig::from_kubeconfig(&world.kubeconfig, Some(context)).expect("a valid kubeconfig");
    config.qps = -1.0;
    Client::new(config).expect("a client")
}

/// A new namespace for one test.
async fn namespace(client: &Client, name: &str) -> Arc<str> {
    use k8s_openapi::api::core::v1::Namespace;
    use steersman::{Api, CreateOptions};
    let mut wanted = Namespace::default();
    wanted.metadata.generate_name = Some(format!("{name}-"));
    let namespaces: Api<Namespace> = client.all();
    let made = namespaces.create(&wanted, &CreateOptions::default()).await.expect("a namespace");
    made.metadata.name.expect("the server names it").into()
}

/// The server's own list of a resource in a namespace, as kubectl prints it: `name resourceVersion`, sorted.
async fn kubectl_list(resource: &str, namespace: &str) -> Vec<String> {
    let columns = "jsonpath={range .items[*]}{.metadata.name} {.metadata.resourceVersion}{\"\\n\"}{end}";
    let text = world::kubectl(&["get", resource, "--namespace", namespace, "--output", columns]).await;
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

/// The same of a cache.
fn cached_list<T: steersman::Object>(lister: &steersman::Lister<T>) -> Vec<String> {
    let mut lines: Vec<String> = lister
        .list()
        .iter()
        .map(|object| format!("{} {}", object.name(), object.resource_version()))
        .collect();
    lines.sort();
    lines
}
