//! Servers that go away and come back: on the same port, with another history, with another authority.

use k8s_openapi::api::core::v1::ConfigMap;
use steersman::rest::{Auth, Pem, Secret};
use test_apiserver::{Options, TestApiServer};

use crate::mirror::Mirror;
use crate::world::{WIRES, Wire, client, config_map, config_of, paged, quick, serve, until, within};

const TOKEN: &str = "the-same-for-both";

/// Another server where the first one was.
async fn again(wire: Wire, port: u16) -> TestApiServer {
    let mut options = Options { port, ..Options::default() };
    options.core.first_version = if port == 0 { 1 } else { 1_000_000 };
    let server = serve(wire, options).await;
    server.allow_token(TOKEN, "admin");
    server
}

// CACHE-R-23, CACHE-R-47, REST-TL-11
#[tokio::test]
async fn a_server_that_comes_back_with_another_history_is_caught_up_with() {
    for wire in WIRES {
        for reflector in [quick(), paged()] {
            let when = format!("{wire:?} watch_list {}", reflector.watch_list);
            let server = again(wire, 0).await;
            let port = server.address().port();
            let directory = tempfile::tempdir().expect("a directory");
            let ca = directory.path().join("ca.crt");
            std::fs::write(&ca, server.ca()).expect("written");
            let mut config = config_of(&server.kubeconfig());
            config.auth = Auth::Token(Secret::new(TOKEN));
            if wire != Wire::Plain {
                config.tls.ca = Some(Pem::File(ca.clone()));
                (config.tls.client_cert, config.tls.client_key) = (None, None);
            }
            let client = client(config);
            for name in ["old", "both"] {
                server.create(config_map(name)).expect("created");
            }
            server.create(config_map("later")).expect("created");
            let mut mirror = Mirror::<ConfigMap>::start(&client, reflector);
            mirror.agrees_with(&server, &format!("{when}, the first")).await;

            within("it stops", server.stop()).await;
            until("it is missed", || mirror.informer.status().last_error.is_some()).await;
            assert_eq!(mirror.lister.len(), 3, "{when}: what was seen stays");
            let server = again(wire, port).await;
            std::fs::write(&ca, server.ca()).expect("written");
            for name in ["both", "new"] {
                server.create(config_map(name)).expect("created");
            }
            // Its history is another, and begins later, as that of a restored etcd should (`--bump-revision`).
            mirror.agrees_with(&server, &format!("{when}, the second")).await;
            server.create(config_map("newer")).expect("created");
            mirror.agrees_with(&server, &format!("{when}, later")).await;
            let requests = server.requests().len();
            assert!(requests <= 12, "{when}: {requests} requests");
        }
    }
}

// CACHE-I-04, CACHE-R-13
#[tokio::test]
async fn an_informer_of_a_server_that_is_down_can_be_stopped_and_says_why_it_is_not_synced() {
    for wire in WIRES {
        let server = again(wire, 0).await;
        let config = crate::world::config_for(&server);
        within("it stops", server.stop()).await;
        let (informer, running) = crate::world::run(client(config).all::<ConfigMap>(), quick());
        let limit = std::time::Duration::from_millis(50);
        let why = within("an answer", informer.synced_within(limit)).await.expect_err("nobody listens");
        let why = why.api_error().unwrap_or_else(|| panic!("{wire:?}: {why:?}"));
        assert!(why.is_connection_refused(), "{wire:?}: {why:?}");
        drop(running);
        within("it stops", informer.stopped()).await;
    }
}
