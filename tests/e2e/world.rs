//! A server, a client over one of the wires, and how to wait.

use std::future::Future;
use std::time::Duration;

use serde_json::{Value, json};
use steersman::rest::{Auth, ClientConfig, RetryPolicy, Secret};
use steersman::shared_informer::Config;
use steersman::{Client, ListWatch, Object, SharedInformer};
use test_apiserver::faults::{Fault, Verb, When};
use test_apiserver::{Options, Protocols, Request, TestApiServer};

/// What only a failure reaches.
pub(crate) const LIMIT: Duration = Duration::from_secs(20);

/// How client and server speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wire {
    /// TLS, HTTP/2.
    Http2,
    /// TLS, HTTP/1.1.
    Http1,
    /// HTTP/1.1 without TLS.
    Plain,
}

pub(crate) const WIRES: [Wire; 3] = [Wire::Http2, Wire::Http1, Wire::Plain];

/// A server and a client of it.
pub(crate) struct World {
    pub(crate) server: TestApiServer,
    pub(crate) client: Client,
}

impl World {
    pub(crate) async fn start(wire: Wire) -> Self {
        Self::start_with(wire, Options::default(), |_| {}).await
    }

    pub(crate) async fn start_with(
        wire: Wire,
        options: Options,
        tweak: impl FnOnce(&mut ClientConfig),
    ) -> Self {
        let server = serve(wire, options).await;
        let mut config = config_for(&server);
        tweak(&mut config);
        Self { client: client(config), server }
    }

    /// A config map of the server's, not the client's, making.
    pub(crate) fn map(&self, name: &str) -> Value {
        let made = self.server.create(config_map(name)).expect("created");
        made.value()
    }

    /// Config maps `m-0`, `m-1`, ….
    pub(crate) fn maps(&self, count: usize) {
        for at in 0..count {
            self.map(&format!("m-{at}"));
        }
    }

    pub(crate) fn plan(&self, when: When, fault: Fault) {
        self.server.faults().plan(when, fault);
    }

    /// How many requests of that verb came for config maps.
    pub(crate) fn asked(&self, verb: Verb) -> usize {
        self.requests(verb).len()
    }

    /// The requests of that verb for config maps.
    pub(crate) fn requests(&self, verb: Verb) -> Vec<Request> {
        let is_meant = |request: &Request| request.verb == verb && request.path.ends_with("/configmaps");
        self.server.requests().into_iter().filter(is_meant).collect()
    }

    /// Ends every watch in order, after an event: one that has seen none would be "very short" (CACHE-R-39), and listed for.
    pub(crate) fn end_watches(&self) {
        self.map(&format!("tick-{}", self.server.with_core(|core| core.version())));
        self.server.with_core(|core| core.end_watches(None));
    }

    /// Waits until the server has that many open watches.
    pub(crate) async fn watches(&self, count: usize) {
        until("the watches are open", || self.server.with_core(|core| core.watches().count()) == count).await;
    }
}

/// A server that speaks as the wire wants.
pub(crate) async fn serve(wire: Wire, mut options: Options) -> TestApiServer {
    (options.tls, options.protocols) = match wire {
        Wire::Http2 => (true, Protocols::Http2),
        Wire::Http1 => (true, Protocols::Http1),
        Wire::Plain => (false, Protocols::Http1),
    };
    within("the server starts", TestApiServer::start(options)).await.expect("a server")
}

/// The administrator's configuration. Without TLS the token that the kubeconfig has is not taken from it (REST-KC-18): who
/// wants it sent in the clear must say so.
pub(crate) fn config_for(server: &TestApiServer) -> ClientConfig {
    let mut config = config_of(&server.kubeconfig());
    if server.url().starts_with("http:") {
        config.auth = Auth::Token(Secret::new(server.token()));
    }
    config
}

/// The configuration that a kubeconfig file says, without a limit of requests a second.
pub(crate) fn config_of(kubeconfig: &str) -> ClientConfig {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("config");
    std::fs::write(&path, kubeconfig).expect("written");
    let mut config = ClientConfig::from_kubeconfig(path, None).expect("a good kubeconfig");
    config.qps = -1.0;
    config
}

/// A client whose second attempts come at once, as far as it may say.
pub(crate) fn client(config: ClientConfig) -> Client {
    let mut retries = RetryPolicy::default();
    retries.max_wait = Some(Duration::from_millis(5));
    Client::with_retries(config, retries).expect("a client")
}

/// A reflector's numbers, with short rests.
pub(crate) fn quick() -> Config {
    let mut config = Config::default();
    config.backoff.initial = Duration::from_millis(10);
    config.backoff.cap = Duration::from_millis(50);
    config
}

/// The same, without WatchList.
pub(crate) fn paged() -> Config {
    let mut config = quick();
    config.watch_list = false;
    config
}

/// An informer that runs until the guard is dropped.
pub(crate) fn run<T: Object>(source: impl ListWatch<T>, config: Config) -> (SharedInformer<T>, Running) {
    let informer = SharedInformer::builder(source).config(config).build();
    let running = Running(tokio::spawn(informer.run(std::future::pending())));
    (informer, running)
}

/// A task that ends with this.
pub(crate) struct Running(tokio::task::JoinHandle<()>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Any request for all config maps.
pub(crate) const MAPS: &str = "/api/v1/configmaps";

pub(crate) fn on_watch() -> When {
    When::verb(Verb::Watch).path(MAPS)
}

pub(crate) fn on_list() -> When {
    When::verb(Verb::List).path(MAPS)
}

pub(crate) fn config_map(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name, "labels": { "v": "0" } }, "data": { "v": "0" } })
}

/// Fails if the future takes longer than anything should.
pub(crate) async fn within<F: Future>(what: &str, future: F) -> F::Output {
    let output = tokio::time::timeout(LIMIT, future).await.ok();
    output.unwrap_or_else(|| panic!("not within {LIMIT:?}: {what}"))
}

/// Waits until the condition holds; it is looked at often.
pub(crate) async fn until(what: &str, mut condition: impl FnMut() -> bool) {
    within(what, async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
}

/// An error and its causes.
pub(crate) fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
