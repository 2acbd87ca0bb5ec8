use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::KubeconfigOptions;
use crate::{Auth, ClientConfig, ConfigError, Environment, ExecVersion, InteractiveMode, Pem, Proxy};

/// A directory of files, and an environment that points to it.
struct World {
    dir: TempDir,
}

impl World {
    fn new(files: &[(&str, &str)]) -> Self {
        let world = World { dir: tempfile::tempdir().unwrap() };
        for (name, text) in files {
            world.write(name, text.as_bytes());
        }
        world
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn list(&self, names: &[&str]) -> Environment {
        let list: Vec<String> = names
            .iter()
            .map(|name| if name.is_empty() { String::new() } else { self.path(name).display().to_string() })
            .collect();
        Environment::empty().with_variable("KUBECONFIG", list.join(":"))
    }

    fn load(&self, names: &[&str]) -> Result<ClientConfig, ConfigError> {
        ClientConfig::from_environment(&self.list(names), &KubeconfigOptions::default())
    }

    fn pod(&self) -> Environment {
        Environment::empty()
            .with_variable("KUBERNETES_SERVICE_HOST", "fd00::1")
            .with_variable("KUBERNETES_SERVICE_PORT", "443")
            .with_service_account(self.path("sa"))
    }
}

/// One file, one cluster, one user, one context.
fn one(cluster: &str, user: &str) -> String {
    format!(
        "current-context: c\ncontexts:\n- name: c\n  context: {{cluster: k, user: u, namespace: n}}\n\
         clusters:\n- name: k\n  cluster: {{{cluster}}}\nusers:\n- name: u\n  user: {{{user}}}\n"
    )
}

fn load_one(cluster: &str, user: &str) -> Result<ClientConfig, ConfigError> {
    World::new(&[("a", &one(cluster, user))]).load(&["a"])
}

fn refused(cluster: &str, user: &str) -> String {
    load_one(cluster, user).expect_err(&format!("{cluster} | {user}")).to_string()
}

const A: &str = "clusters:\n- name: kubernetes\n  cluster: {server: 'https://a'}\nusers:\n- name: admin\n  user: {token: of-a}\n";
const B: &str = "clusters:\n- name: kubernetes\n  cluster: {server: 'https://b', tls-server-name: b}\n- name: other\n  cluster: {server: 'https://other'}\n\
    users:\n- name: admin\n  user: {username: u, password: of-b}\ncontexts:\n- name: b\n  context: {cluster: kubernetes, user: admin, namespace: nb}\n\
    - name: o\n  context: {cluster: other}\ncurrent-context: b\n";
const C: &str = "current-context: o\ncontexts:\n- name: b\n  context: {cluster: other}\n";

// REST-KC-02, REST-KC-04, REST-KC-06, REST-KC-07
#[test]
fn the_first_file_that_names_an_entry_wins_with_all_of_it() {
    let world = World::new(&[("a", A), ("b", B), ("c", C), ("empty", "")]);
    let table: [(&[&str], &str, &str); 6] = [
        (&["a", "b", "c"], "https://a", "nb"),
        (&["b", "a", "c"], "https://b", "nb"),
        (&["c", "b", "a"], "https://other", "default"),
        (&["missing", "a", "b"], "https://a", "nb"),
        (&["empty", "", "a", "b", "a"], "https://a", "nb"),
        (&["b", "c"], "https://b", "nb"),
    ];
    for (files, server, namespace) in table {
        let config = world.load(files).unwrap();
        assert_eq!((config.server.as_str(), config.namespace.as_str()), (server, namespace), "{files:?}");
    }
    let config = world.load(&["a", "b"]).unwrap();
    assert!(matches!(config.auth, Auth::Token(ref token) if token.expose() == "of-a"));
    assert_eq!(config.tls.server_name, None, "no field of another file's entry is mixed in");
}

// REST-KC-04
#[test]
fn a_broken_file_of_the_list_is_told_with_the_others() {
    let world = World::new(&[("a", A), ("broken", "clusters: [\n"), ("b", B), ("number", "contexts: 5\n")]);
    let error = world.load(&["a", "broken", "b", "number"]).unwrap_err();
    let ConfigError::Several(errors) = error else { panic!("{error}") };
    let told: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert!(told[0].starts_with(&format!("{}:1:11: ", world.path("broken").display())), "{told:?}");
    assert!(told[1].starts_with(&format!("{}:1:11: contexts: ", world.path("number").display())), "{told:?}");
}

// REST-KC-01
#[test]
fn a_file_that_was_asked_for_must_be_there() {
    let error = ClientConfig::from_kubeconfig("/nowhere/config", None).unwrap_err();
    assert!(error.is_not_found(), "{error}");
    assert_eq!(error.to_string(), "/nowhere/config: no such file");
}

// REST-KC-03
#[test]
fn without_a_list_the_home_file_counts() {
    let world = World::new(&[("home/.kube/config", B)]);
    let env = Environment::empty().with_variable("HOME", world.path("home").display().to_string());
    let config = ClientConfig::from_environment(&env, &KubeconfigOptions::default()).unwrap();
    assert_eq!(config.server, "https://b");
}

// REST-KC-27
#[test]
fn names_that_nobody_defines_are_told_unless_the_context_names_the_user() {
    let world = World::new(&[("b", B), ("dangling", "current-context: gone\n")]);
    let load = |options: &KubeconfigOptions| ClientConfig::from_environment(&world.list(&["b"]), options);
    let with = |set: &dyn Fn(&mut KubeconfigOptions)| {
        let mut options = KubeconfigOptions::default();
        set(&mut options);
        load(&options)
    };
    let context = with(&|options| options.context = Some("x".into())).unwrap_err();
    assert_eq!(context.to_string(), "context \"x\" does not exist");
    let cluster = with(&|options| options.cluster = Some("x".into())).unwrap_err();
    assert_eq!(cluster.to_string(), "cluster \"x\" does not exist");
    let user = with(&|options| options.user = Some("x".into())).unwrap_err();
    assert_eq!(user.to_string(), "user \"x\" does not exist");
    let dangling = world.load(&["dangling"]).unwrap_err();
    assert!(matches!(dangling, ConfigError::NoSuchEntry { what: "context", .. }), "{dangling}");

    let other = with(&|options| options.cluster = Some("other".into())).unwrap();
    assert_eq!(other.server, "https://other");
    let anonymous = load_one("server: 'https://s'", "").unwrap();
    assert!(matches!(anonymous.auth, Auth::None));
    let text = one("server: 'https://s'", "").replace("user: u,", "user: nobody,");
    let config = World::new(&[("a", &text)]).load(&["a"]).unwrap();
    assert!(matches!(config.auth, Auth::None));
    let text = one("server: 'https://s'", "").replace("cluster: k,", "cluster: gone,");
    let error = World::new(&[("a", &text)]).load(&["a"]).unwrap_err();
    assert!(error.is_empty_configuration() && error.to_string().contains("\"gone\""), "{error}");
}

// REST-KC-11, REST-KC-12, REST-KC-14
#[test]
fn what_tools_write_is_read() {
    let good = one("server: 'https://s'", "token: t");
    let json = r#"{"apiVersion":"v1","kind":"Config","current-context":"c","preferences":{},
        "contexts":[{"name":"c","context":{"cluster":"k","user":"u"}}],
        "clusters":[{"name":"k","cluster":{"server":"https://s","extensions":[{"name":"x","extension":{"a":[1,null]}}]}}],
        "users":[{"name":"u","user":{"token":"t"}}]}"#;
    let utf16: Vec<u8> =
        [0xff, 0xfe].into_iter().chain(good.encode_utf16().flat_map(u16::to_le_bytes)).collect();
    let files: Vec<(&str, Vec<u8>)> = vec![
        ("plain", good.clone().into_bytes()),
        ("json", json.as_bytes().to_vec()),
        ("bom", format!("\u{feff}{good}").into_bytes()),
        ("utf-16", utf16),
        ("crlf", good.replace('\n', "\r\n").into_bytes()),
        ("marker", format!("---\n{good}").into_bytes()),
        ("two documents", format!("{good}---\nkind: Pod\n").into_bytes()),
        ("broken second document", format!("{good}---\n[\n").into_bytes()),
        ("unknown keys", format!("whatever: {{x: 1}}\n{good}").into_bytes()),
        ("key twice", format!("current-context: gone\n{good}").into_bytes()),
        (
            "null entries",
            good.replace("clusters:\n", "clusters:\n- null\n- name: z\n  cluster: null\n").into_bytes(),
        ),
        (
            "null texts",
            good.replace("token: t", "token: t, tokenFile: null, exec: null, as-groups: ~").into_bytes(),
        ),
        (
            "others broken",
            good.replace("users:\n", "users:\n- name: z\n  user: {client-key-data: '%'}\n").into_bytes(),
        ),
    ];
    for (what, bytes) in files {
        let world = World::new(&[]);
        world.write("a", &bytes);
        let config = world.load(&["a"]).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(config.server, "https://s", "{what}");
        assert!(matches!(config.auth, Auth::Token(ref token) if token.expose() == "t"), "{what}");
    }
    for empty in ["", "# nothing\n", "---\n", "clusters: null\ncontexts: null\nusers: null\n", "{}"] {
        let error = World::new(&[("a", empty)]).load(&["a"]).unwrap_err();
        assert!(error.is_empty_configuration(), "{empty:?}: {error}");
    }
}

// REST-KC-11, REST-KC-13
#[test]
fn what_is_no_kubeconfig_is_refused_with_its_place() {
    let table = [
        ("kind: Pod\n", "1:7: not a kubeconfig"),
        ("apiVersion: v2\n", "1:13: not a kubeconfig"),
        ("clusters:\n\t- name: a\n", "2:2: "),
        ("clusters:\n- name: a\n- name: b\n- name: a\n", "4:9: clusters[2].name: \"a\" is defined twice"),
        ("clusters:\n- name: a\n  cluster:\n    server: [x]\n", "4:13: clusters[0].cluster.server: "),
        ("users:\n- name: a\n  user: canary-secret\n", "3:9: users[0].user: unexpected value"),
        ("clusters:\n- name: a\n  cluster: {insecure-skip-tls-verify: maybe}\n", "3:39: clusters[0].cluster"),
    ];
    for (text, expected) in table {
        let world = World::new(&[("a", text)]);
        let error = world.load(&["a"]).unwrap_err().to_string();
        let error =
            error.strip_prefix(&format!("{}:", world.path("a").display())).unwrap_or(&error).to_owned();
        assert!(error.starts_with(expected), "{text:?}: {error}");
        assert!(!error.contains("canary"), "{error}");
    }
}

// REST-KC-15
#[test]
fn base64_may_have_newlines_and_nothing_else() {
    for good in ["'aGVsbG8gd29ybGQ='", "\"aGVsbG8g\\r\\nd29ybGQ=\\n\"", "!!binary LS0tLS1CRUdJTiBYLS0tLS0="] {
        let config =
            load_one(&format!("server: 'https://s', certificate-authority-data: {good}"), "").unwrap();
        let Some(Pem::Data(data)) = config.tls.ca else { panic!("{good}") };
        assert!(data == b"hello world" || data == b"-----BEGIN X-----", "{good}");
    }
    for bad in ["'aGVs bG8='", "' aGVsbG8='", "'aGVsbG8'", "'a-_sbG8='"] {
        let told = refused(&format!("server: 'https://s', certificate-authority-data: {bad}"), "");
        assert!(told.contains(":6:") || told.contains(":7:"), "{told}");
        assert!(told.contains("clusters[0].cluster.certificate-authority-data: not base64"), "{told}");
    }
}

// REST-KC-09, REST-KC-08
#[test]
fn relative_paths_begin_at_the_file_that_holds_them() {
    let one = "clusters:\n- name: k\n  cluster: {server: 'https://s', certificate-authority: ../pki/ca.crt}\n\
        users:\n- name: e\n  user: {exec: {command: ../bin/plug, apiVersion: client.authentication.k8s.io/v1beta1}}\n\
        - name: p\n  user: {exec: {command: plug, apiVersion: client.authentication.k8s.io/v1beta1}}\n";
    let two = "current-context: c\ncontexts:\n- name: c\n  context: {cluster: k, user: u}\nusers:\n- name: u\n  user: {tokenFile: token, client-certificate: c.crt, client-key: c.key}\n";
    let world = World::new(&[
        ("one/config", one),
        ("two/config", two),
        ("pki/ca.crt", ""),
        ("two/token", "t"),
        ("two/c.crt", ""),
        ("two/c.key", ""),
    ]);
    let files = ["one/config", "two/config"];
    let config = world.load(&files).unwrap();
    assert_eq!(config.tls.ca, Some(Pem::File(world.path("one/../pki/ca.crt"))));
    assert_eq!(config.tls.client_cert, Some(Pem::File(world.path("two/c.crt"))));
    assert_eq!(config.tls.client_key, Some(Pem::File(world.path("two/c.key"))));
    assert!(matches!(config.auth, Auth::TokenFile { ref path, .. } if *path == world.path("two/token")));
    let exec = |user: &str| {
        let options = KubeconfigOptions { user: Some(user.into()), ..Default::default() };
        match ClientConfig::from_environment(&world.list(&files), &options).unwrap().auth {
            Auth::Exec(exec) => exec.command,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(Path::new(&exec("e")), world.path("one/../bin/plug"));
    assert_eq!(exec("p"), "plug");
}

// REST-KC-16, REST-KC-21, REST-KC-24, REST-KC-25, REST-KC-26, REST-CF-14, REST-KC-23
#[test]
fn contradictions_are_refused_with_the_field() {
    let s = "server: 'https://s'";
    for (cluster, user, told) in [
        (
            "server: 'https://s', insecure-skip-tls-verify: true, certificate-authority-data: aGk=",
            "",
            "insecure-skip-tls-verify",
        ),
        ("server: 'https://s', certificate-authority: /nowhere/ca", "", "/nowhere/ca"),
        ("server: 'https://s '", "", "clusters[0].cluster.server: "),
        (
            "server: 'https://s', proxy-url: 'ftp://p'",
            "",
            "clusters[0].cluster.proxy-url: the scheme must be",
        ),
        ("server: 'https://s', proxy-url: 'socks4://p'", "", "proxy-url"),
        ("server: 'https://s', proxy-url: 'p:3128'", "", "proxy-url"),
        (s, "token: canary, username: u", "users[0].user.username: a token and a user name"),
        (s, "token: \"can\\nary\"", "users[0].user.token: a newline"),
        (s, "tokenFile: /nowhere/token", "/nowhere/token"),
        (s, "client-certificate-data: aGk=", "users[0].user.client-key: a client certificate needs its key"),
        (s, "client-key: /nowhere/key, client-key-data: aGk=", "/nowhere/key"),
        (s, "as-groups: [a]", "users[0].user.as: "),
        (s, "as-uid: x", "users[0].user.as: "),
        (s, "as-user-extra: {a: [b]}", "users[0].user.as: "),
        (s, "auth-provider: {name: gcp}", "users[0].user.auth-provider: the auth provider \"gcp\""),
        (
            s,
            "auth-provider: {name: x}, exec: {command: c, apiVersion: client.authentication.k8s.io/v1beta1}",
            "cannot both",
        ),
        (s, "exec: {apiVersion: client.authentication.k8s.io/v1beta1}", "exec.command: "),
        (s, "exec: {command: c}", "exec.apiVersion: "),
        (s, "exec: {command: c, apiVersion: client.authentication.k8s.io/v1alpha1}", "exec.apiVersion: "),
        (s, "exec: {command: c, apiVersion: client.authentication.k8s.io/v1}", "exec.interactiveMode: "),
        (
            s,
            "exec: {command: c, apiVersion: client.authentication.k8s.io/v1, interactiveMode: Sometimes}",
            "exec.interactiveMode: ",
        ),
        (
            s,
            "exec: {command: c, apiVersion: client.authentication.k8s.io/v1beta1, env: [{name: '', value: canary}]}",
            "exec.env: ",
        ),
    ] {
        let error = refused(cluster, user);
        assert!(error.contains(told), "{cluster} {user}: {error}");
        assert!(!error.contains("canary"), "{error}");
    }
    let world = World::new(&[
        ("ca", "x"),
        ("a", &one("server: 'https://s', certificate-authority: ca, certificate-authority-data: aGk=", "")),
    ]);
    assert!(world.load(&["a"]).unwrap_err().to_string().contains("certificate-authority-data is there too"));
    let several = refused("server: 'https://s', proxy-url: 'ftp://p'", "as-uid: x");
    assert!(several.contains("proxy-url") && several.contains("as: "), "{several}");
}

// REST-KC-17, REST-KC-22, REST-KC-35, REST-EX-11
#[test]
fn each_way_to_log_in_is_taken_over() {
    let s = "server: 'https://s', extensions: [{name: client.authentication.k8s.io/exec, extension: {audience: x}}]";
    let exec = "exec: {command: c, args: null, env: [{name: A, value: b}, null], apiVersion: client.authentication.k8s.io/v1beta1, provideClusterInfo: true, installHint: get it}";
    let Auth::Exec(found) = load_one(s, exec).unwrap().auth else { panic!("no plugin") };
    assert_eq!(found.api_version, ExecVersion::V1Beta1);
    assert_eq!(found.interactive_mode, InteractiveMode::IfAvailable);
    assert!(found.args.is_empty() && found.provide_cluster_info);
    assert_eq!((found.env[0].0.as_str(), found.env[0].1.expose()), ("A", "b"));
    assert_eq!(found.cluster_config, Some(serde_json::json!({"audience": "x"})));
    let both = load_one(s, &format!("token: t, {exec}")).unwrap().auth;
    assert!(matches!(both, Auth::Token(_)), "the token wins and the plugin is not run");
    let basic = load_one(s, "username: u").unwrap().auth;
    assert!(matches!(basic, Auth::Basic { ref password, .. } if password.expose().is_empty()));
    let world = World::new(&[("token", "new"), ("a", &one(s, "token: old, tokenFile: token"))]);
    let file = world.load(&["a"]).unwrap().auth;
    assert!(matches!(file, Auth::TokenFile { initial: Some(ref old), .. } if old.expose() == "old"));
    let number = load_one(s, "token: 0123, username: ~").unwrap().auth;
    assert!(matches!(number, Auth::Token(ref token) if token.expose() == "0123"), "never another spelling");
}

// REST-KC-18, REST-KC-19
#[test]
fn without_https_nothing_is_sent_but_impersonation() {
    let user = "token: canary, as: jane, as-uid: '7', as-groups: [a], as-user-extra: {k: [v], n: null}";
    for server in ["http://s", "s:8080", "s"] {
        let cluster = format!("server: '{server}', insecure-skip-tls-verify: true, tls-server-name: x");
        let config = load_one(&cluster, user).unwrap();
        assert!(matches!(config.auth, Auth::None), "{server}");
        assert!(!config.tls.insecure && config.tls.server_name.is_none(), "{server}");
        let whom = config.impersonate.unwrap();
        assert_eq!((whom.user.as_str(), whom.uid.as_deref()), ("jane", Some("7")));
        assert_eq!(whom.groups, ["a"]);
        assert_eq!(whom.extra["k"], ["v"]);
    }
    let config = load_one("server: 'HTTPS://s', tls-server-name: x", user).unwrap();
    assert!(matches!(config.auth, Auth::Token(_)));
    assert_eq!(config.tls.server_name.as_deref(), Some("x"));
}

// REST-KC-21
#[test]
fn the_clusters_proxy_beats_the_environments() {
    let world = World::new(&[(
        "a",
        &one("server: 'https://s', proxy-url: 'socks5://user:canary@p:1', disable-compression: true", ""),
    )]);
    let env = world.list(&["a"]).with_variable("HTTPS_PROXY", "http://env");
    let config = ClientConfig::from_environment(&env, &KubeconfigOptions::default()).unwrap();
    assert!(matches!(config.proxy, Proxy::Url(ref url) if url.expose().starts_with("socks5://")));
    assert!(!config.compression);
    assert_eq!(config.proxy_url().as_deref(), Some("socks5://user@p:1"));
    let mut config = config;
    config.proxy = Proxy::None;
    assert_eq!(config.proxy_url(), None);
    config.apply_environment(&env);
    assert_eq!(config.proxy_url().as_deref(), Some("http://env"));
    config.apply_environment(&env.with_variable("NO_PROXY", "s"));
    config.proxy = Proxy::None;
    config.apply_environment(&Environment::empty());
    assert_eq!(config.proxy_url(), None);
}

// REST-KC-28, REST-KC-29, REST-KC-31, REST-IC-02, REST-IC-03, REST-IC-05
#[test]
fn without_a_kubeconfig_the_pod_counts() {
    let world = World::new(&[
        ("sa/token", "pod-token\n"),
        ("sa/namespace", " pod-ns\n"),
        ("b", B),
        ("implied", &B.replace(", namespace: nb", "")),
        ("bad", "kind: Pod"),
    ]);
    let none = KubeconfigOptions::default();
    let config = ClientConfig::from_environment(&world.pod(), &none).unwrap();
    assert_eq!(config.server, "https://[fd00::1]:443");
    assert_eq!(config.namespace, "pod-ns");
    let Auth::TokenFile { path, initial } = config.auth else { panic!("no token") };
    assert_eq!(path, world.path("sa/token"));
    assert_eq!(initial.unwrap().expose(), "pod-token");

    let with = |name: &str| world.pod().with_variable("KUBECONFIG", world.path(name).display().to_string());
    let load = |name: &str| ClientConfig::from_environment(&with(name), &none);
    assert_eq!(load("b").unwrap().server, "https://b");
    assert_eq!(load("b").unwrap().namespace, "nb");
    assert_eq!(load("implied").unwrap().namespace, "pod-ns");
    assert_eq!(load("missing").unwrap().server, "https://[fd00::1]:443");
    assert!(load("bad").is_err(), "any other problem is told");
    let options = KubeconfigOptions { namespace: Some("default".into()), ..Default::default() };
    assert_eq!(ClientConfig::from_environment(&with("implied"), &options).unwrap().namespace, "default");
    let nowhere = ClientConfig::from_environment(&Environment::empty(), &none).unwrap_err();
    assert!(nowhere.is_empty_configuration(), "{nowhere}");
}

// REST-IC-01, REST-IC-03, REST-IC-04, REST-IC-05, REST-IC-06
#[test]
fn a_pod_needs_its_address_and_its_token_but_not_its_ca() {
    let world = World::new(&[("sa/ca.crt", "no PEM")]);
    let host = Environment::empty().with_variable("KUBERNETES_SERVICE_HOST", "h");
    assert!(matches!(ClientConfig::in_cluster_of(&host), Err(ConfigError::NotInCluster)));
    let port = host.clone().with_variable("KUBERNETES_SERVICE_PORT", "");
    assert!(matches!(ClientConfig::in_cluster_of(&port), Err(ConfigError::NotInCluster)));
    let error = ClientConfig::in_cluster_of(&world.pod()).unwrap_err();
    assert!(error.to_string().contains("sa/token"), "{error}");
    assert!(!world.pod().is_in_cluster_possible());
    world.write("sa/token", b"t");
    assert!(world.pod().is_in_cluster_possible());
    let config = ClientConfig::in_cluster_of(&world.pod()).unwrap();
    assert_eq!((config.tls.ca, config.namespace.as_str()), (None, "default"));
    let key = rcgen::KeyPair::generate().unwrap();
    let ca = rcgen::CertificateParams::new(vec!["ca".to_owned()]).unwrap().self_signed(&key).unwrap();
    world.write("sa/ca.crt", ca.pem().as_bytes());
    let config = ClientConfig::in_cluster_of(&world.pod().with_variable("POD_NAMESPACE", "mine")).unwrap();
    assert_eq!(config.tls.ca, Some(Pem::File(world.path("sa/ca.crt"))));
    assert_eq!(config.namespace, "mine");
}

// REST-TL-13, REST-TL-14
#[test]
fn the_environment_tunes_http2_and_nonsense_changes_nothing() {
    let world = World::new(&[("b", B)]);
    let with = |name: &str, value: &str| {
        let env = world.list(&["b"]).with_variable(name, value);
        ClientConfig::from_environment(&env, &KubeconfigOptions::default()).unwrap().connections
    };
    assert!(!with("DISABLE_HTTP2", "1").http2);
    assert!(with("DISABLE_HTTP2", "").http2);
    let secs = std::time::Duration::from_secs;
    assert_eq!(with("HTTP2_READ_IDLE_TIMEOUT_SECONDS", "7").http2_read_idle, Some(secs(7)));
    assert_eq!(with("HTTP2_READ_IDLE_TIMEOUT_SECONDS", "0").http2_read_idle, None);
    assert_eq!(with("HTTP2_READ_IDLE_TIMEOUT_SECONDS", "soon").http2_read_idle, Some(secs(30)));
    assert_eq!(with("HTTP2_PING_TIMEOUT_SECONDS", "3").http2_ping_timeout, secs(3));
    assert_eq!(with("HTTP2_PING_TIMEOUT_SECONDS", "-1").http2_ping_timeout, secs(15));
}

// REST-CF-13, REST-XX-02
#[test]
fn no_debug_form_shows_a_secret() {
    let exec = "exec: {command: c, args: [canary], env: [{name: A, value: canary}], apiVersion: client.authentication.k8s.io/v1beta1}";
    for user in [
        "token: canary",
        "username: u, password: canary",
        exec,
        "client-certificate-data: Y2FuYXJ5, client-key-data: Y2FuYXJ5",
    ] {
        let config = load_one("server: 'https://shown', proxy-url: 'http://u:canary@p'", user).unwrap();
        let text = format!("{config:?}");
        assert!(text.contains("https://shown"), "{text}");
        assert!(!text.contains("canary") && !text.contains("Y2FuYXJ5"), "{text}");
    }
    let env = Environment::empty().with_variable("TOKEN", "canary");
    assert!(!format!("{env:?}").contains("canary"));
}

// REST-XX-05
#[test]
fn garbage_is_an_error_and_never_a_panic() {
    let good =
        one("server: 'https://s', certificate-authority-data: aGk=", "token: t, as: x, as-groups: [a, b]");
    for cut in 0..good.len() {
        let world = World::new(&[]);
        world.write("a", &good.as_bytes()[..cut]);
        let _ = world.load(&["a"]);
        let mut bad = good.clone().into_bytes();
        bad[cut] = b"\0[{:\"'\t\xff"[cut % 8];
        world.write("a", &bad);
        let _ = world.load(&["a"]);
    }
}
