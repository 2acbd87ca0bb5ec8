//! The factory, wired to a client.

use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Node};
use steersman::{ApiError, Client, ClientConfig, Informers, SharedInformer};

/// A client of a server that is not there.
fn client() -> Client {
    let address = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    Client::new(ClientConfig::new(format!("http://{address}"))).unwrap()
}

// CACHE-F-02
#[tokio::test]
async fn in_a_namespace_the_kinds_of_the_cluster_itself_are_whole_all_the_same() {
    let informers = Informers::new(&client()).in_namespace("shop");
    let maps: SharedInformer<ConfigMap> = informers.of();
    let nodes: SharedInformer<Node> = informers.of();
    assert_eq!((maps.describe(), nodes.describe()), ("configmaps in namespace shop", "nodes"));

    // The request for nodes is one that can be sent.
    let running = tokio::spawn(informers.run(std::future::pending()));
    let failed = async {
        loop {
            if let Some(error) = nodes.status().last_error {
                return error;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let error = tokio::time::timeout(Duration::from_secs(30), failed).await.expect("an error in time");
    assert!(matches!(error.api_error(), Some(ApiError::Connect { .. })), "{error:?}");
    running.abort();
}
