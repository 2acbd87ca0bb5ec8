//! Whom we trust, what we show.

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use apimachinery::{ApiError, ConnectKind};
use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};

use super::super::pem;
use super::super::{Mode, Transport};
use super::server::{Authority, Signed, TestServer, whole};
use super::{eventually, send, text};
use crate::{ClientConfig, Pem};

#[expect(clippy::unnecessary_wraps, reason = "the field is an option")]
fn data(text: &str) -> Option<Pem> {
    Some(Pem::Data(text.as_bytes().to_vec()))
}

async fn serve(tls: rustls::ServerConfig) -> TestServer {
    TestServer::start(Some(tls), |_| whole("hello")).await
}

fn assert_tls(error: &ApiError) {
    assert!(matches!(error, ApiError::Connect { kind: ConnectKind::Tls, .. }), "{error:?}");
}

/// Signed by itself, with or without saying that it is a CA.
fn self_signed(names: &[&str], is_ca: bool, expired: bool) -> Signed {
    let key = KeyPair::generate().unwrap();
    let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
    let mut params = CertificateParams::new(names).unwrap();
    if is_ca {
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    }
    if expired {
        params.not_after = rcgen::date_time_ymd(2020, 1, 1);
        params.not_before = rcgen::date_time_ymd(2019, 1, 1);
    }
    Signed { cert: params.self_signed(&key).unwrap().pem(), key: key.serialize_pem() }
}

// REST-TL-02, REST-TL-05
#[tokio::test]
async fn only_the_given_ca_is_trusted_and_only_for_the_right_name() {
    let (ours, other) = (Authority::new(), Authority::new());
    for (signer, names, ca, ok) in [
        (&ours, &["127.0.0.1"][..], &ours, true),
        (&ours, &["127.0.0.1", "localhost"], &ours, true),
        (&ours, &["127.0.0.2"], &ours, false),
        (&ours, &["localhost"], &ours, false),
        (&ours, &[], &ours, false),
        (&other, &["127.0.0.1"], &ours, false),
    ] {
        let server = serve(signer.sign(names).server(&["h2", "http/1.1"], None)).await;
        let transport = Transport::new(&server.https(&ca.pem)).unwrap();
        for mode in [Mode::Shared, Mode::Dedicated] {
            match send(&transport, "/", mode).await {
                Ok(_) => assert!(ok, "{names:?}"),
                Err(error) if ok => panic!("{names:?}: {error:?}"),
                Err(error) => assert_tls(&error),
            }
        }
    }
}

// REST-TL-02
#[tokio::test]
async fn without_a_ca_an_unknown_server_is_refused() {
    let server = serve(Authority::new().sign(&["127.0.0.1"]).server(&["h2"], None)).await;
    let transport = Transport::new(&ClientConfig::new(format!("https://{}", server.addr))).unwrap();
    assert_tls(&text(&transport, "/").await.unwrap_err());
}

// REST-TL-05
#[tokio::test]
async fn the_server_name_replaces_the_host_in_the_handshake_and_in_the_check() {
    let ca = Authority::new();
    let server = serve(ca.sign(&["api.internal"]).server(&["h2"], None)).await;
    let mut config = server.https(&ca.pem);
    assert_tls(&text(&Transport::new(&config).unwrap(), "/").await.unwrap_err());
    config.tls.server_name = Some("other.internal".into());
    assert_tls(&text(&Transport::new(&config).unwrap(), "/").await.unwrap_err());
    config.tls.server_name = Some("api.internal".into());
    assert_eq!(text(&Transport::new(&config).unwrap(), "/").await.unwrap(), "hello");
    let names = server.names.lock().unwrap().clone();
    assert_eq!(
        names,
        [Some("api.internal".to_owned())],
        "refused ones never finish; an address is never sent"
    );

    let ip = serve(ca.sign(&["127.0.0.1"]).server(&["h2"], None)).await;
    config = ip.https(&ca.pem);
    config.tls.server_name = Some(String::new());
    assert_eq!(text(&Transport::new(&config).unwrap(), "/").await.unwrap(), "hello");
    assert_eq!(*ip.names.lock().unwrap(), [None], "no name is sent for an address");
    config.tls.server_name = Some("not a name".into());
    assert!(Transport::new(&config).unwrap_err().to_string().starts_with("tls-server-name: "));
}

// REST-TL-06
#[tokio::test]
async fn a_certificate_that_is_listed_itself_is_trusted_with_its_name_and_time_still_checked() {
    let other = Authority::new();
    let leaf = Authority::new().sign(&["127.0.0.1"]);
    for (server, ok) in [
        (self_signed(&["127.0.0.1"], false, false), true),
        (self_signed(&["127.0.0.1"], true, false), true),
        (leaf, true),
        (self_signed(&["127.0.0.2"], true, false), false),
        (self_signed(&["127.0.0.1"], true, true), false),
        (self_signed(&["127.0.0.1"], false, true), false),
    ] {
        let listening = serve(server.server(&["h2", "http/1.1"], None)).await;
        let bundle = format!("{}{}", other.pem, server.cert);
        let answer = text(&Transport::new(&listening.https(&bundle)).unwrap(), "/").await;
        match answer {
            Ok(_) => assert!(ok, "{}", server.cert),
            Err(error) if ok => panic!("{error:?}"),
            Err(error) => assert_tls(&error),
        }
        assert_tls(&text(&Transport::new(&listening.https(&other.pem)).unwrap(), "/").await.unwrap_err());
    }
}

// REST-TL-01
#[tokio::test]
async fn insecure_takes_anybody_and_excludes_a_ca() {
    let server = serve(self_signed(&["elsewhere"], false, true).server(&["h2"], None)).await;
    let mut config = ClientConfig::new(format!("https://{}", server.addr));
    config.tls.insecure = true;
    assert_eq!(text(&Transport::new(&config).unwrap(), "/").await.unwrap(), "hello");
    config.tls.ca = data(&Authority::new().pem);
    let error = Transport::new(&config).unwrap_err().to_string();
    assert!(error.starts_with("insecure-skip-tls-verify: "), "{error}");
}

// REST-TL-03
#[test]
fn a_bundle_needs_one_certificate_and_may_hold_anything_else() {
    let ca = Authority::new().pem;
    let key = KeyPair::generate().unwrap().serialize_pem();
    let with_header = ca.replace("CERTIFICATE-----\n", "CERTIFICATE-----\nX-Note: y\n\n");
    for good in [
        ca.clone(),
        format!("some words\n{key}{ca}more words"),
        ca.replace('\n', "\r\n"),
        format!("-----BEGIN CERTIFICATE-----\n!!!\n-----END CERTIFICATE-----\n{ca}"),
        format!("{with_header}{ca}"),
    ] {
        assert_eq!(pem::certificates(good.as_bytes()).len(), 1, "{good}");
    }
    for bad in [
        "",
        "words",
        &key,
        &with_header,
        &ca.replace('\n', " "),
        "-----BEGIN CERTIFICATE-----\naGk=\n-----END CERTIFICATE-----",
    ] {
        assert!(pem::certificates(bad.as_bytes()).is_empty(), "{bad}");
        let mut config = ClientConfig::new("https://h");
        config.tls.ca = data(bad);
        let error = Transport::new(&config).unwrap_err().to_string();
        assert_eq!(error, "certificate-authority-data: no certificate in the PEM text");
    }
}

const RSA: &str = include_str!("pem/rsa.crt");
const P256: &str = include_str!("pem/p256.crt");
const P256_KEY: &str = include_str!("pem/p256-sec1.key");
const P384: &str = include_str!("pem/p384.crt");
const ED25519: &str = include_str!("pem/ed25519.crt");

// REST-TL-08
#[tokio::test]
async fn client_keys_of_every_usual_form_log_in() {
    let ca = Authority::new();
    let tls = ca.sign(&["127.0.0.1"]);
    let trusted = format!("{RSA}{P256}{P384}{ED25519}");
    let pkcs1 = include_str!("pem/rsa-pkcs1.key");
    let forms = [
        (RSA, pkcs1.to_owned()),
        (RSA, include_str!("pem/rsa-pkcs8.key").to_owned()),
        (RSA, pkcs1.replace("RSA PRIVATE", "PRIVATE")),
        (RSA, include_str!("pem/rsa-pkcs8.key").replace("PRIVATE", "RSA PRIVATE")),
        (P256, P256_KEY.to_owned()),
        (P256, include_str!("pem/p256-pkcs8.key").to_owned()),
        (P256, P256_KEY.replace('\n', "\r\n")),
        (P256, format!("some words\n{P256}{P256_KEY}")),
        (P384, include_str!("pem/p384-sec1.key").to_owned()),
        (ED25519, include_str!("pem/ed25519.key").to_owned()),
    ];
    // The server trusts exactly the four client certificates: webpki takes a listed one as its own root.
    let server = serve(tls.server(&["h2", "http/1.1"], Some(&trusted))).await;
    for (cert, key) in &forms {
        let mut config = server.https(&ca.pem);
        (config.tls.client_cert, config.tls.client_key) = (data(cert), data(key));
        let transport = Transport::new(&config).unwrap_or_else(|error| panic!("{error}\n{key}"));
        let identity = pem::identity(cert.as_bytes(), key.as_bytes()).unwrap();
        assert!(identity.keys_match().is_ok(), "{key}");
        drop(transport);
    }
    let signed = ca.sign(&["client"]);
    let server = serve(tls.server(&["h2", "http/1.1"], Some(&ca.pem))).await;
    let mut config = server.https(&ca.pem);
    (config.tls.client_cert, config.tls.client_key) = (data(&signed.cert), data(&signed.key));
    let transport = Transport::new(&config).unwrap();
    for mode in [Mode::Shared, Mode::Dedicated] {
        assert!(send(&transport, "/", mode).await.is_ok());
    }
    (config.tls.client_cert, config.tls.client_key) = (None, None);
    let anonymous = Transport::new(&config).unwrap();
    for mode in [Mode::Shared, Mode::Dedicated] {
        assert_tls(&send(&anonymous, "/", mode).await.unwrap_err());
    }
}

// REST-TL-08
#[test]
fn keys_that_cannot_be_used_are_told_before_any_handshake() {
    let ca_first = format!("{RSA}{P256}");
    for (cert, key, told) in [
        (P256, include_str!("pem/encrypted-pkcs8.key"), "client-key-data: the private key is encrypted"),
        (P256, include_str!("pem/encrypted-legacy.key"), "client-key-data: the private key is encrypted"),
        (RSA, P256_KEY, "client-key-data: the private key does not belong"),
        (&ca_first, P256_KEY, "client-key-data: the private key does not belong"),
        (P256, P256, "client-key-data: no private key in the PEM text"),
        (P256_KEY, P256_KEY, "client-certificate-data: no certificate in the PEM text"),
        (P256, &P256_KEY.replace('\n', ""), "client-key-data: no private key in the PEM text"),
    ] {
        let mut config = ClientConfig::new("https://h");
        (config.tls.client_cert, config.tls.client_key) = (data(cert), data(key));
        let error = Transport::new(&config).unwrap_err().to_string();
        assert!(error.starts_with(told), "{error}");
        (config.tls.client_cert, config.tls.client_key) = (data(cert), None);
        assert!(Transport::new(&config).is_err());
    }
    let mut config = ClientConfig::new("https://h");
    config.tls.ca = Some(Pem::File("/nowhere/ca.crt".into()));
    assert!(Transport::new(&config).unwrap_err().to_string().contains("/nowhere/ca.crt"));
}

fn write(path: &Path, text: &str) {
    std::fs::File::create(path).unwrap().write_all(text.as_bytes()).unwrap();
}

// REST-TL-07, REST-TL-09, REST-TL-10
#[tokio::test]
async fn a_changed_pair_of_files_closes_what_the_old_one_opened_and_half_a_pair_is_never_used() {
    let ca = Authority::new();
    let (old, new) = (ca.sign(&["old"]), ca.sign(&["new"]));
    let tls = ca.sign(&["127.0.0.1"]).server(&["h2", "http/1.1"], Some(&ca.pem));
    let (streams, mut started) = tokio::sync::mpsc::unbounded_channel();
    let server = TestServer::start(Some(tls), move |request| {
        if request.uri().path() == "/watch" {
            let (events, answer) = super::server::streamed();
            streams.send(events).unwrap();
            return answer;
        }
        whole("hello")
    })
    .await;
    let dir = tempfile::tempdir().unwrap();
    let (cert, key) = (dir.path().join("c.crt"), dir.path().join("c.key"));
    write(&cert, &old.cert);
    write(&key, &old.key);
    let mut config = server.https(&ca.pem);
    (config.tls.client_cert, config.tls.client_key) =
        (Some(Pem::File(cert.clone())), Some(Pem::File(key.clone())));
    let transport = Transport::new(&config).unwrap();
    text(&transport, "/").await.unwrap();
    let mut watch = send(&transport, "/watch", Mode::Dedicated).await.unwrap().into_body();
    let events = started.recv().await.unwrap();
    assert_eq!(server.accepted(), 2);

    // Half of the new pair: handshakes tell it, connections that stand go on.
    write(&cert, &new.cert);
    let inner = Arc::clone(&transport.inner);
    let failed = inner.force_identity_look().await.unwrap_err();
    assert!(failed.contains("does not belong"), "{failed}");
    text(&transport, "/").await.unwrap();
    events.send("still here").unwrap();
    assert_eq!(crate::chunks::next(&mut watch).await.unwrap().unwrap(), "still here");
    assert_eq!(server.accepted(), 2);

    write(&key, &new.key);
    inner.force_identity_look().await.unwrap();
    let error = tokio::time::timeout(super::LIMIT, crate::chunks::next(&mut watch))
        .await
        .unwrap()
        .unwrap()
        .unwrap_err();
    assert!(matches!(error, ApiError::Broken { .. }), "{error:?}");
    drop(watch);
    server.wait_open(0).await;
    text(&transport, "/").await.unwrap();
    assert_eq!(server.accepted(), 3);
}

// REST-TL-11
#[tokio::test]
async fn changed_roots_count_for_new_connections_and_a_bad_file_changes_nothing() {
    let (old, new) = (Authority::new(), Authority::new());
    let first = serve(old.sign(&["127.0.0.1"]).server(&["h2"], None)).await;
    let dir = tempfile::tempdir().unwrap();
    let ca = dir.path().join("ca.crt");
    write(&ca, &old.pem);
    let mut config = first.https("");
    config.tls.ca = Some(Pem::File(ca.clone()));
    let transport = Transport::new(&config).unwrap();
    text(&transport, "/").await.unwrap();
    for bad in ["", "garbage"] {
        write(&ca, bad);
        transport.inner.force_roots_look().await;
        text(&transport, "/").await.unwrap();
        assert_eq!(first.accepted(), 1, "{bad:?}");
    }
    write(&ca, &new.pem);
    transport.inner.force_roots_look().await;
    eventually(|| first.open.load(std::sync::atomic::Ordering::SeqCst) == 0).await;
    assert_tls(&text(&transport, "/").await.unwrap_err());
    write(&ca, &format!("{}{}", new.pem, old.pem));
    transport.inner.force_roots_look().await;
    text(&transport, "/").await.unwrap();
}
