use steersman_test_apiserver::faults::Verb;
use steersman_test_apiserver::{Error, Options, TestApiServer};
use tokio::net::TcpStream;

use crate::client::{BOTH, Client, Protocol, within};

async fn start(options: Options) -> TestApiServer {
    within(TestApiServer::start(options)).await.expect("the server starts")
}

#[tokio::test]
async fn stopping_ends_watches_connections_and_the_listener() {
    for protocol in BOTH {
        let server = start(Options::default()).await;
        let address = server.address();
        let mut client = Client::admin(&server, protocol).await;
        let mut frames = client.watch("/api/v1/nodes?watch=1").await;
        within(server.stop()).await;
        frames.line().await.expect_err("the watch is not complete");
        TcpStream::connect(address).await.expect_err("nobody listens");
    }
}

#[tokio::test]
async fn disconnecting_breaks_every_connection_and_the_server_goes_on() {
    for protocol in BOTH {
        let server = start(Options::default()).await;
        let mut client = Client::admin(&server, protocol).await;
        let mut frames = client.watch("/api/v1/nodes?watch=1").await;
        server.disconnect();
        frames.line().await.expect_err("the watch is not complete");
        assert_eq!(Client::admin(&server, protocol).await.get("/version").await.0, 200);
    }
}

#[tokio::test]
async fn dropping_the_handle_ends_the_server_as_well() {
    let server = start(Options::default()).await;
    let mut client = Client::admin(&server, Protocol::Http2).await;
    let mut frames = client.watch("/api/v1/nodes?watch=1").await;
    drop(server);
    frames.line().await.expect_err("the watch is not complete");
}

#[tokio::test]
async fn a_port_that_is_taken_is_an_error_with_its_address() {
    let server = start(Options::default()).await;
    let port = server.address().port();
    let error =
        TestApiServer::start(Options { port, ..Options::default() }).await.expect_err("the port is taken");
    assert!(
        matches!(&error, Error::Bind { address, .. } if address.ends_with(&port.to_string())),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_test_can_wait_for_a_request() {
    let server = start(Options::default()).await;
    let mut client = Client::admin(&server, Protocol::Http1).await;
    let waiting =
        within(server.requested(|request| request.verb == Verb::Watch && request.path == "/api/v1/pods"));
    let asking = async {
        client.get("/api/v1/pods").await;
        client.watch("/api/v1/pods?watch=1").await
    };
    let (request, _frames) = tokio::join!(waiting, asking);
    assert_eq!((request.method.as_str(), request.query.as_str()), ("GET", "watch=1"));
    server.clear_requests();
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn the_kubeconfig_file_is_for_its_owner_alone() {
    let server = start(Options::default()).await;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("kubeconfig");
    server.write_kubeconfig(&path).expect("written");
    let text = std::fs::read_to_string(&path).expect("readable");
    assert_eq!(text, server.kubeconfig());
    let config: serde_json::Value = serde_json::from_str(&text).expect("JSON, which is YAML");
    assert_eq!(config["clusters"][0]["cluster"]["server"], server.url());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(&path).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    let missing = folder.path().join("none").join("kubeconfig");
    assert!(matches!(server.write_kubeconfig(missing), Err(Error::Write { .. })));
}
