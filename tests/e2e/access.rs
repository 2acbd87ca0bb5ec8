//! Coming in: the kubeconfig that the server writes, and what is refused.

use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::{Value, json};
use steersman::rest::{Auth, Pem, Secret};
use steersman::{ApiError, ConnectKind, ListOptions};
use test_apiserver::Options;

use crate::world::{WIRES, Wire, World, chain, client, config_of, serve, within};

/// The kubeconfig with another user in it.
fn with_user(kubeconfig: &str, user: Value) -> String {
    let mut config: Value = serde_json::from_str(kubeconfig).expect("JSON is YAML, too");
    config["users"][0]["user"] = user;
    config.to_string()
}

// REST-KC-14, REST-KC-15, REST-TL-02, REST-TL-08, REST-TL-13
#[tokio::test]
async fn the_kubeconfig_of_the_server_leads_to_it_over_every_wire() {
    for wire in [Wire::Http2, Wire::Http1] {
        let world = World::start(wire).await;
        world.map("a");
        let maps = world.client.all::<ConfigMap>();
        let page = within("a list", maps.list(&ListOptions::default())).await.expect("an answer");
        assert_eq!(page.items.len(), 1, "{wire:?}");
        let request = &world.server.requests()[0];
        assert_eq!(request.user.as_deref(), Some("kubernetes-admin"), "{wire:?}");
        let version = if wire == Wire::Http2 { http::Version::HTTP_2 } else { http::Version::HTTP_11 };
        assert_eq!(request.protocol, version, "{wire:?}");
    }
}

// REST-KC-18
#[tokio::test]
async fn a_token_of_a_kubeconfig_is_not_sent_in_the_clear() {
    let server = serve(Wire::Plain, Options::default()).await;
    assert!(server.kubeconfig().contains(server.token()), "the kubeconfig has it");
    let maps = client(config_of(&server.kubeconfig())).all::<ConfigMap>();
    let refused = within("a list", maps.list(&ListOptions::default())).await.expect_err("nobody");
    assert!(refused.is_unauthorized(), "{refused:?}");
    assert_eq!(server.requests()[0].user, None);
}

// REST-AU-01
#[tokio::test]
async fn a_token_is_as_good_as_a_certificate() {
    let server = serve(Wire::Http2, Options::default()).await;
    server.allow_token("open-sesame", "ali-baba");
    let kubeconfig = with_user(&server.kubeconfig(), json!({ "token": "open-sesame" }));
    let maps = client(config_of(&kubeconfig)).all::<ConfigMap>();
    within("a list", maps.list(&ListOptions::default())).await.expect("let in");
    assert_eq!(server.requests()[0].user.as_deref(), Some("ali-baba"));
}

// REST-ER-04, REST-ER-12
#[tokio::test]
async fn a_wrong_token_is_unauthorized_and_a_revoked_one_too() {
    for wire in WIRES {
        let server = serve(wire, Options::default()).await;
        let mut config = config_of(&with_user(&server.kubeconfig(), json!({ "token": "wrong" })));
        config.auth = Auth::Token(Secret::new("wrong")); // over plain HTTP, the kubeconfig's would not be sent
        let maps = client(config).all::<ConfigMap>();
        let refused = within("a list", maps.list(&ListOptions::default())).await.expect_err("not let in");
        assert!(refused.is_unauthorized(), "{wire:?}: {refused:?}");
        assert_eq!(refused.status().map(steersman::StatusError::code), Some(401));
        server.allow_token("wrong", "somebody");
        within("a list", maps.list(&ListOptions::default())).await.expect("let in");
        assert!(server.revoke_token("wrong"));
        let refused = within("a list", maps.list(&ListOptions::default())).await.expect_err("not let in");
        assert!(refused.is_unauthorized(), "{wire:?}: {refused:?}");
    }
}

// REST-TL-02
#[tokio::test]
async fn a_server_that_another_authority_signed_is_not_spoken_to() {
    for wire in [Wire::Http2, Wire::Http1] {
        let (server, other) = (serve(wire, Options::default()).await, serve(wire, Options::default()).await);
        let mut config = config_of(&server.kubeconfig());
        config.tls.ca = Some(Pem::Data(other.ca().into_bytes()));
        let maps = client(config).all::<ConfigMap>();
        let refused = within("a list", maps.list(&ListOptions::default())).await.expect_err("not trusted");
        let ApiError::Connect { host, kind: ConnectKind::Tls, .. } = &refused else {
            panic!("{wire:?}: {refused:?}")
        };
        assert!(server.url().contains(host), "{host} names the server");
        assert!(chain(&refused).contains("certificate"), "{}", chain(&refused));
        assert_eq!(server.requests(), []);
    }
}

// REST-TL-01
#[tokio::test]
async fn who_is_nobody_is_unauthorized() {
    let server = serve(Wire::Http2, Options::default()).await;
    let mut config = config_of(&server.kubeconfig());
    (config.tls.client_cert, config.tls.client_key, config.auth) = (None, None, Auth::None);
    let maps = client(config).all::<ConfigMap>();
    let refused = within("a list", maps.list(&ListOptions::default())).await.expect_err("not let in");
    assert!(refused.is_unauthorized(), "{refused:?}");
}

// REST-CF-13
#[tokio::test]
async fn no_error_and_no_debug_form_shows_the_token() {
    let server = serve(Wire::Plain, Options::default()).await;
    let mut config = config_of(&server.kubeconfig());
    config.auth = Auth::Token(Secret::new("s3cr3t-of-mine"));
    let shown = format!("{config:?}");
    let client = client(config);
    let maps = client.all::<ConfigMap>();
    let refused = within("a list", maps.list(&ListOptions::default())).await.expect_err("not let in");
    for text in [shown, format!("{client:?} {maps:?}"), format!("{refused:?}"), chain(&refused)] {
        assert!(!text.contains("s3cr3t"), "{text}");
    }
}
