//! Who we are: client certificate, token, a pod's environment; and what the server refuses.

use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use k8s_openapi::api::core::v1::{ConfigMap, ServiceAccount};
use serde_json::json;
use steersman::rest::{Environment, Method};
use steersman::{
    Api, Client, ClientConfig, CreateOptions, GetOptions, ListOptions, ObjectKey, SharedInformer,
};

use crate::world::{run, world};
use crate::{client, namespace};

/// What the server calls us.
async fn who_am_i(client: &Client) -> String {
    let reviews: Api<SelfSubjectReview> = client.all();
    let answer = reviews.create(&SelfSubjectReview::default(), &CreateOptions::default()).await;
    let user = answer.expect("everybody may ask").status.and_then(|status| status.user_info);
    user.and_then(|user| user.username).expect("the server knows us")
}

// REST-TL-07, REST-AU-02
#[test]
#[ignore = "needs a real control plane: tests/real/run"]
fn a_client_certificate_says_who_we_are() {
    run(async { assert_eq!(who_am_i(&client("admin").await).await, "admin") });
}

// REST-AU-14
#[test]
#[ignore = "needs a real control plane: tests/real/run"]
fn a_token_says_who_we_are() {
    run(async { assert_eq!(who_am_i(&client("token-admin").await).await, "token-admin") });
}

// REST-IC-01, REST-IC-02, REST-IC-03, REST-IC-04, REST-IC-05
#[test]
#[ignore = "needs a real control plane: tests/real/run"]
fn a_pods_environment_is_a_configuration() {
    run(async {
        let admin = client("admin").await;
        let namespace = namespace(&admin, "in-cluster").await;
        let accounts: Api<ServiceAccount> = admin.namespaced(&namespace);
        let mut account = ServiceAccount::default();
        account.metadata.name = Some("robot".to_owned());
        account.metadata.namespace = Some(namespace.to_string());
        accounts.create(&account, &CreateOptions::default()).await.expect("a service account");
        let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/robot/token");
        let request = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {} });
        let answer = admin.request(Method::POST, &path, Some(&request)).await.expect("a token");
        let token = answer["status"]["token"].as_str().expect("a token").to_owned();

        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("token"), format!("{token}\n")).expect("written");
        std::fs::copy(&world().await.ca_file, folder.path().join("ca.crt")).expect("copied");
        std::fs::write(folder.path().join("namespace"), &*namespace).expect("written");
        let (host, port) =
            world().await.server.trim_start_matches("https://").split_once(':').expect("a port");
        let pod = Environment::empty()
            .with_variable("KUBERNETES_SERVICE_HOST", host)
            .with_variable("KUBERNETES_SERVICE_PORT", port)
            .with_service_account(folder.path());
        let config = ClientConfig::in_cluster_of(&pod).expect("a configuration");
        assert_eq!(config.namespace, *namespace);
        let robot = Client::new(config).expect("a client");
        assert_eq!(who_am_i(&robot).await, format!("system:serviceaccount:{namespace}:robot"));
    });
}

// REST-ER-04, REST-ER-12
#[test]
#[ignore = "needs a real control plane: tests/real/run"]
fn a_refusal_is_typed_and_has_the_servers_words() {
    run(async {
        let nobody = client("nobody").await;
        let maps: Api<ConfigMap> = nobody.namespaced("default");
        let refused = maps.list(&ListOptions::default()).await.expect_err("nobody may not list");
        assert!(refused.is_forbidden(), "{refused:?}");
        let text = refused.to_string();
        assert!(text.contains("configmaps is forbidden") && text.contains("\"nobody\""), "{text}");

        let admin: Api<ConfigMap> = client("admin").await.namespaced("default");
        let key = ObjectKey::new("default", "no-such-map");
        let missing = admin.get(&key, &GetOptions::default()).await.expect_err("there is none");
        assert!(missing.is_not_found() && !missing.is_conflict(), "{missing:?}");
        assert_eq!(missing.to_string(), "configmaps \"no-such-map\" not found");
    });
}

// CACHE-R-11; design: synced() says why
#[test]
#[ignore = "needs a real control plane: tests/real/run"]
fn an_informer_without_rights_says_so_by_name() {
    run(async {
        let nobody = client("nobody").await;
        let maps = SharedInformer::new(nobody.all::<ConfigMap>());
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let running = tokio::spawn(maps.run(async move { drop(stopped.await) }));
        let why = maps.synced().await.expect_err("it cannot sync");
        assert!(why.what().contains("configmaps"), "{why}");
        let answer = why.api_error().expect("the server answered");
        assert!(answer.is_forbidden(), "{answer:?}");
        assert!(answer.to_string().contains("configmaps is forbidden"), "{answer}");
        drop(stop);
        running.await.expect("it stops in order");
    });
}
