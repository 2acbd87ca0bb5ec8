use steersman_test_apiserver::{Options, Protocols, TestApiServer};

use crate::client::{BOTH, Client, Login, Protocol, within};

async fn start(options: Options) -> TestApiServer {
    within(TestApiServer::start(options)).await.expect("the server starts")
}

#[tokio::test]
async fn both_protocols_are_agreed_by_alpn_and_stand_in_the_log() {
    let server = start(Options::default()).await;
    for protocol in BOTH {
        let (code, version) = Client::admin(&server, protocol).await.get("/version").await;
        assert_eq!((code, &version["major"]), (200, &"1".into()));
    }
    let protocols: Vec<_> = server.requests().iter().map(|request| request.protocol).collect();
    assert_eq!(protocols, [http::Version::HTTP_11, http::Version::HTTP_2]);
    let users: Vec<_> = server.requests().into_iter().filter_map(|request| request.user).collect();
    assert_eq!(users, ["kubernetes-admin", "kubernetes-admin"]);
    server.stop().await;
}

#[tokio::test]
async fn plain_http_takes_the_token_in_both_protocols() {
    let server = start(Options { tls: false, ..Options::default() }).await;
    assert!(server.url().starts_with("http://127.0.0.1:"));
    for protocol in BOTH {
        let mut client = Client::connect(&server, protocol, &Login::Token(server.token())).await;
        assert_eq!(client.get("/api/v1/pods").await.0, 200);
    }
    assert!(
        server.kubeconfig().contains(server.token()),
        "without certificates the kubeconfig has the token"
    );
    server.stop().await;
}

#[tokio::test]
async fn a_server_of_one_protocol_offers_no_other() {
    for (protocols, protocol) in [(Protocols::Http1, Protocol::Http1), (Protocols::Http2, Protocol::Http2)] {
        let server = start(Options { protocols, ..Options::default() }).await;
        assert_eq!(Client::admin(&server, protocol).await.get("/version").await.0, 200);
        server.stop().await;
    }
}

#[tokio::test]
async fn who_shows_nothing_good_is_401() {
    let server = start(Options::default()).await;
    let stranger = start(Options::default()).await;
    let stray = stranger.client_certificate();
    for login in [Login::Nothing, Login::Token("wrong"), Login::Certificate(stray)] {
        let mut client = Client::connect(&server, Protocol::Http1, &login).await;
        let (code, status) = client.get("/api/v1/pods").await;
        assert_eq!(
            (code, &status["reason"], &status["kind"]),
            (401, &"Unauthorized".into(), &"Status".into())
        );
    }
    assert!(server.requests().iter().all(|request| request.user.is_none()));
}

#[tokio::test]
async fn anonymous_is_an_option_and_a_bad_token_is_not_anonymous() {
    let server = start(Options { anonymous: true, ..Options::default() }).await;
    assert_eq!(Client::connect(&server, Protocol::Http2, &Login::Nothing).await.get("/version").await.0, 200);
    assert_eq!(server.requests()[0].user.as_deref(), Some("system:anonymous"));
    assert_eq!(
        Client::connect(&server, Protocol::Http2, &Login::Token("bad")).await.get("/version").await.0,
        401
    );
}

#[tokio::test]
async fn a_revoked_token_is_401_and_a_new_one_is_its_user() {
    let server = start(Options::default()).await;
    server.allow_token("t1", "alice");
    let mut client = Client::connect(&server, Protocol::Http2, &Login::Token("t1")).await;
    assert_eq!(client.get("/version").await.0, 200);
    assert!(server.revoke_token("t1"));
    assert!(!server.revoke_token("t1"));
    assert_eq!(client.get("/version").await.0, 401);
    let users: Vec<_> = server.requests().into_iter().map(|request| request.user).collect();
    assert_eq!(users, [Some("alice".to_owned()), None]);
}

#[tokio::test]
async fn an_issued_certificate_names_its_user() {
    let server = start(Options::default()).await;
    let certificate = server.issue_client_certificate("bob", &["builders"]).expect("a certificate");
    let mut client = Client::connect(&server, Protocol::Http1, &Login::Certificate(&certificate)).await;
    let (code, review) = client
        .json(
            "POST",
            "/apis/authentication.k8s.io/v1/selfsubjectreviews",
            &[],
            r#"{"kind":"SelfSubjectReview"}"#,
        )
        .await;
    assert_eq!((code, &review["status"]["userInfo"]["username"]), (201, &"bob".into()));
}

#[tokio::test]
async fn the_log_keeps_headers_but_no_credentials() {
    let server = start(Options::default()).await;
    let mut client = Client::connect(&server, Protocol::Http1, &Login::Token(server.token())).await;
    let answer =
        client.send("GET", "/api/v1/pods?limit=3&labelSelector=a%3Db", &[("user-agent", "me/1")], "").await;
    assert_eq!(answer.expect("an answer").code, 200);
    let request = server.requests().remove(0);
    assert_eq!(request.header("user-agent"), Some("me/1"));
    assert_eq!(request.header("authorization"), None);
    assert_eq!(request.parameter("labelSelector").as_deref(), Some("a=b"));
    assert_eq!(request.path, "/api/v1/pods");
}
