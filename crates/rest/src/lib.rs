//! Kubernetes over HTTP: bytes on a socket become typed answers and watch events.
//!
//! ```text
//! socket ─► frame ─► event ─┃─► delta ─► change ─► notification ─► key ─► reconcile
//!           rest     rest   ┃ reflector  indexer  shared-informer  work-  controller
//! ▲▲▲▲▲▲▲▲▲▲▲▲▲▲▲▲▲▲▲▲▲▲▲▲▲ ┃ deltafifo                            queue
//!         network half  ListWatch             cache half
//! ```
//!
//! * **In / out.** A kubeconfig or a pod's environment in ([`ClientConfig`]); answers and events of a resource out,
//!   through the seam's `ListWatch` and `Objects`.
//! * **May touch.** Sockets, TLS, files of credentials, plugins that print credentials.
//! * **Never touches.** The cache half: no delta, no store, no queue.
//! * **Promises.** A request is sent to the server that was configured, by the name that was configured, with the
//!   credentials of that user, and nowhere else. Dropping a future stops what it was doing. No secret is ever printed.
//!
//! Two rooms that do not mix: `transport` (sockets, rustls, hyper) knows no Kubernetes type; `watch` (bytes into
//! events) knows no socket. Between them, `request` writes URLs and `retry` decides about a second attempt.

mod api;
mod auth;
mod chunks;
mod client;
mod config;
mod error;
mod excerpt;
mod json;
mod list;
mod request;
mod retry;
mod transport;
mod watch;

pub use api::{Api, each_page, list_all};
pub use client::Client;
pub use config::{
    Auth, ClientConfig, ConnectionOptions, Environment, ExecConfig, ExecVersion, Impersonation,
    InteractiveMode, KubeconfigOptions, Pem, Proxy, ProxyEnvironment, Secret, TlsOptions,
};
pub use error::ConfigError;
pub use http::Method;
pub use retry::{ConflictRetry, RetryPolicy, retry_on_conflict};
pub use watch::Events;
