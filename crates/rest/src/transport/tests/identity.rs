//! Credentials on the wire: refused, renewed, rotated.

use std::path::Path;

use ::http::StatusCode;
use hyper::body::Incoming;

use super::super::{Mode, Transport};
use super::server::{Answer, Authority, Signed, TestServer, whole};
use super::{read, send, text};
use crate::{Auth, ExecConfig, ExecVersion, InteractiveMode, Secret};

/// 401, unless this is the token.
fn guarded(request: &::http::Request<Incoming>, token: &str) -> Answer {
    let mut answer = whole("hello");
    let header = request.headers().get("authorization").map(|header| header.to_str().unwrap().to_owned());
    if header != Some(format!("Bearer {token}")) {
        *answer.status_mut() = StatusCode::UNAUTHORIZED;
    }
    answer
}

async fn status(transport: &Transport, mode: Mode) -> StatusCode {
    send(transport, "/", mode).await.unwrap().status()
}

// REST-AU-14
#[tokio::test]
async fn after_a_401_the_token_file_is_read_before_the_next_request() {
    let server = TestServer::start(None, |request| guarded(&request, "new")).await;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("token");
    std::fs::write(&path, "old\n").unwrap();
    let mut config = server.http();
    config.auth = Auth::TokenFile { path: path.clone(), initial: None };
    let transport = Transport::new(&config).unwrap();
    assert_eq!(status(&transport, Mode::Shared).await, StatusCode::UNAUTHORIZED);
    std::fs::write(&path, "new\n").unwrap();
    assert_eq!(status(&transport, Mode::Dedicated).await, StatusCode::OK);
}

fn print(dir: &Path, token: &str, identity: &Signed) {
    let answer = serde_json::json!({"kind": "ExecCredential", "apiVersion": ExecVersion::V1.as_str(),
        "status": {"token": token, "clientCertificateData": identity.cert, "clientKeyData": identity.key}});
    std::fs::write(dir.join("answer"), answer.to_string()).unwrap();
}

// REST-EX-10, REST-EX-12
#[tokio::test]
async fn a_plugins_certificate_is_shown_and_another_one_closes_what_the_old_one_opened() {
    let ca = Authority::new();
    let tls = ca.sign(&["127.0.0.1"]).server(&["h2", "http/1.1"], Some(&ca.pem));
    let server = TestServer::start(Some(tls), |request| guarded(&request, "two")).await;
    let dir = tempfile::tempdir().unwrap();
    let (old, new) = (ca.sign(&["old"]), ca.sign(&["new"]));
    print(dir.path(), "one", &old);
    let mut exec = ExecConfig::new(ExecVersion::V1, "/bin/cat");
    exec.args = vec![dir.path().join("answer").display().to_string()];
    exec.interactive_mode = InteractiveMode::Never;
    let mut config = server.https(&ca.pem);
    config.auth = Auth::Exec(Box::new(exec));
    let transport = Transport::new(&config).unwrap();
    assert_eq!(
        status(&transport, Mode::Shared).await,
        StatusCode::UNAUTHORIZED,
        "it is handed to the caller"
    );
    // The same certificate with another token closes nothing.
    print(dir.path(), "two", &old);
    assert_eq!(text(&transport, "/").await.unwrap(), "hello");
    assert_eq!(server.accepted(), 1);
    let mut config = config.clone();
    config.auth = Auth::Token("three".into());
    let error = Transport::new(&config).unwrap();
    assert!(send(&error, "/", Mode::Shared).await.is_err(), "without a certificate nobody comes in");

    print(dir.path(), "wrong", &old);
    transport.inner.auth.handle_unauthorized(&transport.inner.auth.credential().await.unwrap());
    assert_eq!(status(&transport, Mode::Shared).await, StatusCode::UNAUTHORIZED);
    print(dir.path(), "two", &new);
    let before = server.accepted();
    assert_eq!(read(send(&transport, "/", Mode::Shared).await.unwrap()).await.unwrap(), "hello");
    assert_eq!(server.accepted(), before + 1, "a new connection for the new certificate");
    server.wait_open(1).await;
}

// REST-CF-13, REST-XX-02
#[tokio::test]
async fn the_debug_form_of_a_transport_shows_no_secret() {
    let ca = Authority::new();
    let identity = ca.sign(&["client"]);
    let mut config = crate::ClientConfig::new("https://shown");
    config.tls.client_cert = Some(crate::Pem::Data(identity.cert.into_bytes()));
    config.tls.client_key = Some(crate::Pem::Data(identity.key.clone().into_bytes()));
    let mut exec = ExecConfig::new(ExecVersion::V1, "plug");
    exec.provide_cluster_info = true;
    exec.cluster_config = Some("canary".into());
    exec.env = vec![("A".into(), Secret::new("canary"))];
    config.proxy = crate::Proxy::Url("http://u:canary@p".into());
    for auth in [
        Auth::Token("canary".into()),
        Auth::Basic { username: "u".into(), password: "canary".into() },
        Auth::Exec(Box::new(exec)),
    ] {
        config.auth = auth;
        let shown = format!("{:?}", Transport::new(&config).unwrap());
        assert!(shown.contains("shown"), "{shown}");
        for hidden in [
            "canary",
            "dTpjYW5hcnk",
            &identity.key[40..60],
            &format!("{:?}", &identity.key.as_bytes()[40..60])[1..40],
        ] {
            assert!(!shown.contains(hidden), "{hidden} in {shown}");
        }
    }
}
