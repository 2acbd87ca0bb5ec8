use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::exec_run;
use super::{Authenticator, Credential, escape};
use crate::config::Server;
use crate::{Auth, ClientConfig, ConfigError, ExecConfig, ExecVersion, InteractiveMode, Secret};

const V1: &str = "client.authentication.k8s.io/v1";

fn authenticator(auth: Auth) -> Result<Authenticator, ConfigError> {
    let mut config = ClientConfig::new("https://api:6443/base");
    config.auth = auth;
    Authenticator::new(&config, &Server::of(&config).unwrap())
}

fn shown(credential: &Credential) -> String {
    credential.header.as_ref().map(|header| header.to_str().unwrap().to_owned()).unwrap_or_default()
}

async fn ask(authenticator: &Authenticator) -> Result<String, String> {
    let asked = tokio::time::timeout(Duration::from_mins(10), authenticator.credential()).await.unwrap();
    asked
        .map(|credential| shown(&credential))
        .map_err(|error| format!("{}", std::error::Error::source(&error).unwrap()))
}

// REST-AU-14
#[tokio::test]
async fn a_token_is_trimmed_and_one_with_a_newline_inside_is_refused() {
    assert_eq!(ask(&authenticator(Auth::Token(" t\n".into())).unwrap()).await.unwrap(), "Bearer t");
    let error = authenticator(Auth::Token("can\nary".into())).unwrap_err().to_string();
    assert!(error.starts_with("token: ") && !error.contains("can"), "{error}");
}

// REST-AU-09, REST-AU-10
#[test]
fn extra_keys_are_escaped_byte_by_byte() {
    assert_eq!(escape("a.b-c_d"), "a.b-c_d");
    assert_eq!(escape("a/b%c d\u{e9}:"), "a%2Fb%25c%20d%C3%A9%3A");
    let nobody = crate::Impersonation { uid: Some("7".into()), ..Default::default() };
    assert!(super::impersonation_headers(Some(&nobody)).is_err());
    let bad = crate::Impersonation { user: "a\nb".into(), ..Default::default() };
    assert!(super::impersonation_headers(Some(&bad)).is_err());
}

fn file_world(text: &str) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("token");
    std::fs::write(&path, text).unwrap();
    (dir, path)
}

// REST-AU-05, REST-AU-07
#[tokio::test(start_paused = true)]
async fn a_token_file_is_read_again_after_fifty_seconds_and_the_last_good_token_goes_on() {
    let (_dir, path) = file_world("one\n");
    let auth =
        authenticator(Auth::TokenFile { path: path.clone(), initial: Some("initial".into()) }).unwrap();
    assert_eq!(ask(&auth).await.unwrap(), "Bearer one");
    std::fs::write(&path, "two").unwrap();
    tokio::time::advance(Duration::from_secs(49)).await;
    assert_eq!(ask(&auth).await.unwrap(), "Bearer one");
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(ask(&auth).await.unwrap(), "Bearer two");
    for bad in ["", " \n", "can\nary"] {
        std::fs::write(&path, bad).unwrap();
        tokio::time::advance(Duration::from_secs(51)).await;
        assert_eq!(ask(&auth).await.unwrap(), "Bearer two", "{bad:?}");
    }
    std::fs::remove_file(&path).unwrap();
    tokio::time::advance(Duration::from_secs(51)).await;
    assert_eq!(ask(&auth).await.unwrap(), "Bearer two");
    std::fs::write(&path, "three").unwrap();
    tokio::time::advance(Duration::from_secs(2)).await;
    assert_eq!(ask(&auth).await.unwrap(), "Bearer three", "soon after the failure");
}

// REST-AU-14
#[tokio::test(start_paused = true)]
async fn a_refused_token_is_read_again_before_the_next_request() {
    let (_dir, path) = file_world("one");
    let auth = authenticator(Auth::TokenFile { path: path.clone(), initial: None }).unwrap();
    let used = auth.credential().await.unwrap();
    std::fs::write(&path, "two").unwrap();
    auth.handle_unauthorized(&used);
    assert_eq!(ask(&auth).await.unwrap(), "Bearer two");
    // A late 401 of the old token says nothing about the new one.
    std::fs::write(&path, "three").unwrap();
    auth.handle_unauthorized(&used);
    assert_eq!(ask(&auth).await.unwrap(), "Bearer two");
}

// REST-AU-06, REST-KC-17
#[tokio::test(start_paused = true)]
async fn the_initial_token_counts_until_the_file_can_be_read() {
    let (_dir, path) = file_world("");
    let missing = path.with_file_name("missing");
    assert!(matches!(
        authenticator(Auth::TokenFile { path: missing.clone(), initial: None }),
        Err(ConfigError::Read { .. })
    ));
    assert!(authenticator(Auth::TokenFile { path, initial: None }).is_err());
    let auth =
        authenticator(Auth::TokenFile { path: missing.clone(), initial: Some(" first\n".into()) }).unwrap();
    assert_eq!(ask(&auth).await.unwrap(), "Bearer first");
    std::fs::write(&missing, "second").unwrap();
    tokio::time::advance(Duration::from_secs(2)).await;
    assert_eq!(ask(&auth).await.unwrap(), "Bearer second");
}

/// A plugin: a shell script that counts its runs.
struct Plugin {
    dir: tempfile::TempDir,
}

impl Plugin {
    fn new(script: &str) -> Self {
        let plugin = Plugin { dir: tempfile::tempdir().unwrap() };
        let path = plugin.path();
        let text = format!("#!/bin/sh\ncd '{}'\necho run >> runs\n{script}\n", plugin.dir.path().display());
        std::fs::write(&path, text).unwrap();
        plugin
    }

    fn printing(answer: &serde_json::Value) -> Self {
        Self::new(&format!("cat <<'END'\n{answer}\nEND"))
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("plugin")
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.dir.path().join(name)).unwrap_or_default()
    }

    fn runs(&self) -> usize {
        self.read("runs").lines().count()
    }

    fn config(&self) -> ExecConfig {
        // Through the shell: a file that has just been written may be busy while another test forks.
        let mut config = ExecConfig::new(ExecVersion::V1, "/bin/sh");
        config.args = vec![self.path().display().to_string()];
        config.interactive_mode = InteractiveMode::Never;
        config
    }

    fn auth(&self) -> Authenticator {
        authenticator(Auth::Exec(Box::new(self.config()))).unwrap()
    }
}

fn credential(status: &serde_json::Value) -> serde_json::Value {
    serde_json::json!({"kind": "ExecCredential", "apiVersion": V1, "status": status})
}

// REST-EX-08, REST-EX-09
#[tokio::test]
async fn a_plugin_runs_once_for_all_who_wait_and_its_token_is_kept() {
    let plugin = Plugin::printing(&credential(
        &serde_json::json!({"token": " t ", "expirationTimestamp": "2999-01-01T00:00:00Z"}),
    ));
    let auth = Arc::new(plugin.auth());
    let mut all = tokio::task::JoinSet::new();
    for _ in 0..50 {
        let auth = Arc::clone(&auth);
        all.spawn(async move { ask(&auth).await });
    }
    while let Some(asked) = all.join_next().await {
        assert_eq!(asked.unwrap().unwrap(), "Bearer t");
    }
    assert_eq!(ask(&auth).await.unwrap(), "Bearer t");
    assert_eq!(plugin.runs(), 1);
}

// REST-EX-08
#[tokio::test]
async fn an_expired_token_is_asked_for_again() {
    let plugin = Plugin::printing(&credential(
        &serde_json::json!({"token": "t", "expirationTimestamp": "2001-01-01T00:00:00Z"}),
    ));
    let auth = plugin.auth();
    for runs in 1..=3 {
        ask(&auth).await.unwrap();
        assert_eq!(plugin.runs(), runs);
    }
}

// REST-EX-10
#[tokio::test]
async fn many_refusals_of_one_token_run_the_plugin_once() {
    let plugin = Plugin::printing(&credential(&serde_json::json!({"token": "t"})));
    let auth = plugin.auth();
    let used = auth.credential().await.unwrap();
    for _ in 0..5 {
        auth.handle_unauthorized(&used);
    }
    ask(&auth).await.unwrap();
    auth.handle_unauthorized(&used);
    ask(&auth).await.unwrap();
    assert_eq!(plugin.runs(), 2);
}

// REST-EX-18
#[tokio::test]
async fn who_goes_away_neither_stops_the_plugin_nor_the_others() {
    let plugin = Plugin::new(&format!(
        "while [ ! -e go ]; do sleep 0.01; done\necho '{}'",
        credential(&serde_json::json!({"token": "t"}))
    ));
    let auth = Arc::new(plugin.auth());
    let first = Arc::clone(&auth);
    let first = tokio::spawn(async move { ask(&first).await });
    let limit = tokio::time::Instant::now() + Duration::from_secs(20);
    while plugin.runs() == 0 {
        assert!(tokio::time::Instant::now() < limit);
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let second = Arc::clone(&auth);
    let second = tokio::spawn(async move { ask(&second).await });
    tokio::task::yield_now().await;
    first.abort();
    assert!(first.await.unwrap_err().is_cancelled());
    std::fs::write(plugin.dir.path().join("go"), "").unwrap();
    assert_eq!(second.await.unwrap().unwrap(), "Bearer t");
    assert_eq!(plugin.runs(), 1);
}

// REST-EX-18
#[tokio::test]
async fn a_plugin_that_hangs_is_ended() {
    let plugin = Plugin::new("exec sleep 1000");
    let mut config = plugin.config();
    config.time_limit = Duration::from_millis(100);
    let auth = authenticator(Auth::Exec(Box::new(config))).unwrap();
    let error = ask(&auth).await.unwrap_err();
    assert!(error.contains("took longer than"), "{error}");
    assert!(error.contains("plugin"), "{error}");
}

// REST-EX-02, REST-EX-03, REST-EX-04, REST-EX-05
#[tokio::test]
async fn a_plugin_is_told_the_cluster_in_a_variable_that_cannot_be_shadowed() {
    let plugin = Plugin::new(&format!(
        "printf '%s' \"$KUBERNETES_EXEC_INFO\" > info\nprintf '%s' \"$A $1\" > seen\nif read x; then echo input >> seen; fi\necho '{}'",
        credential(&serde_json::json!({"token": "t"}))
    ));
    let mut exec = plugin.config();
    exec.args.push("arg".into());
    exec.env = vec![("A".into(), Secret::new("b")), ("KUBERNETES_EXEC_INFO".into(), Secret::new("shadow"))];
    exec.provide_cluster_info = true;
    exec.cluster_config = Some(serde_json::json!({"audience": "x"}));
    let mut config = ClientConfig::new("https://api:6443/base/");
    config.tls.server_name = Some("name".into());
    config.tls.ca = Some(crate::Pem::Data(b"PEM".to_vec()));
    config.compression = false;
    config.proxy = crate::Proxy::Url("http://p:1".into());
    config.auth = Auth::Exec(Box::new(exec));
    let auth = Authenticator::new(&config, &Server::of(&config).unwrap()).unwrap();
    assert_eq!(ask(&auth).await.unwrap(), "Bearer t");
    assert_eq!(plugin.read("seen"), "b arg");
    let info = plugin.read("info");
    assert!(!info.contains('\n'), "{info}");
    let info: serde_json::Value = serde_json::from_str(&info).unwrap();
    let expected = serde_json::json!({"kind": "ExecCredential", "apiVersion": V1, "spec": {"interactive": false, "cluster": {
        "server": "https://api:6443/base", "tls-server-name": "name", "certificate-authority-data": "UEVN",
        "proxy-url": "http://p:1", "disable-compression": true, "config": {"audience": "x"}}}});
    assert_eq!(info, expected);
    let without = exec_run::info(&plugin.config(), None, true);
    assert_eq!(
        without,
        format!("{{\"apiVersion\":\"{V1}\",\"kind\":\"ExecCredential\",\"spec\":{{\"interactive\":true}}}}")
    );
}

// REST-EX-05
#[test]
fn a_plugin_talks_to_the_user_as_its_mode_and_the_terminal_allow() {
    use InteractiveMode::{Always, IfAvailable, Never};
    for (mode, terminal, expected) in [
        (Never, true, Some(false)),
        (Never, false, Some(false)),
        (IfAvailable, true, Some(true)),
        (IfAvailable, false, Some(false)),
        (Always, true, Some(true)),
        (Always, false, None),
    ] {
        assert_eq!(exec_run::is_interactive(mode, terminal).ok(), expected, "{mode:?} {terminal}");
    }
}

// REST-EX-06, REST-EX-07
#[test]
fn what_a_plugin_prints_is_judged_and_never_quoted() {
    let exec = ExecConfig::new(ExecVersion::V1, "plug");
    let parse = |text: &str| exec_run::parse(&exec, text.as_bytes(), 1);
    let token = parse(&credential(&serde_json::json!({"token": "t"})).to_string()).unwrap();
    assert_eq!(shown(&token.credential), "Bearer t");
    let yaml = parse(&format!("kind: ExecCredential\napiVersion: {V1}\nstatus:\n  token: t\n")).unwrap();
    assert_eq!(shown(&yaml.credential), "Bearer t");
    let pair = serde_json::json!({"clientCertificateData": "c", "clientKeyData": "k"});
    let pair = parse(&credential(&pair).to_string()).unwrap().credential;
    assert_eq!((pair.header, pair.identity.unwrap().cert.as_str()), (None, "c"));
    for bad in [
        "canary".to_owned(),
        String::new(),
        "{}".to_owned(),
        credential(&serde_json::json!({"token": "canary"})).to_string().replace("/v1", "/v1beta1"),
        credential(&serde_json::json!({"token": "canary"})).to_string().replace("ExecCredential", "Secret"),
        credential(&serde_json::json!({"clientCertificateData": "canary"})).to_string(),
        credential(&serde_json::json!({"token": "canary", "clientKeyData": "canary"})).to_string(),
        credential(&serde_json::json!({"token": "can\nary"})).to_string(),
        credential(&serde_json::json!({"token": "canary", "expirationTimestamp": "soon"})).to_string(),
        credential(&serde_json::json!({})).to_string(),
        credential(&serde_json::Value::Null).to_string(),
    ] {
        let error = parse(&bad).expect_err(&bad);
        assert!(error.contains("\"plug\"") && !error.contains("canary"), "{error}");
    }
}

// REST-EX-15, REST-KC-34
#[tokio::test]
async fn a_plugin_that_is_missing_or_fails_is_named() {
    let mut missing = ExecConfig::new(ExecVersion::V1, "no-such-plugin-anywhere");
    missing.install_hint = Some("get it\u{1b}[31m here".into());
    missing.interactive_mode = InteractiveMode::Never;
    let error = ask(&authenticator(Auth::Exec(Box::new(missing))).unwrap()).await.unwrap_err();
    assert!(error.contains("no-such-plugin-anywhere"), "{error}");
    assert!(error.ends_with("get itU+001B[31m here"), "{error}");
    let failing = Plugin::new("exit 7");
    let error = ask(&failing.auth()).await.unwrap_err();
    assert!(error.contains("plugin") && error.contains('7'), "{error}");
    assert!(ask(&failing.auth()).await.is_err());
    assert_eq!(failing.runs(), 2, "a failure is not kept");
}
