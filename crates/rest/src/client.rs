//! `Client`: one server, as one user. What everything else is asked of.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use apimachinery::{ApiError, ApiResource, Decode, DecodeError, Kind, Object, Status, StatusError};
use bytes::Bytes;
use http::Method;

use crate::api::Api;
use crate::config::ClientConfig;
use crate::error::ConfigError;
use crate::request::{About, Answer, Call, Limiter, Reading, Sender, check_json, check_raw};
use crate::retry::RetryPolicy;
use crate::transport::Transport;

/// One server, as one user. Cheap to clone; all clones share the connections and one rate limit.
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
}

struct Inner {
    sender: Sender,
    server: String,
    namespace: String,
    timeout: Option<Duration>,
}

impl Client {
    /// A client for the cluster that the environment names: see [`ClientConfig::from_env`]. Reads a few small files and
    /// sends nothing.
    #[expect(clippy::unused_async, reason = "a file that is slow to read may be read elsewhere some day")]
    pub async fn from_env() -> Result<Self, ConfigError> {
        Self::new(ClientConfig::from_env()?)
    }

    /// A client for this configuration. Nothing is sent yet: files, certificates and URLs are checked here, whether the
    /// server is there shows with the first request.
    pub fn new(config: ClientConfig) -> Result<Self, ConfigError> {
        Self::with_retries(config, RetryPolicy::default())
    }

    /// As [`new`](Self::new), with another idea of how requests are tried again.
    pub fn with_retries(config: ClientConfig, policy: RetryPolicy) -> Result<Self, ConfigError> {
        let wire = Transport::new(&config)?;
        let sender = Sender { wire, limiter: Limiter::new(config.qps, config.burst), policy };
        let inner = Inner {
            sender,
            server: config.server,
            namespace: config.namespace,
            timeout: config.timeout.filter(|limit| !limit.is_zero()),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// All objects of a kind, in all namespaces, or in none if the kind lives in the cluster itself.
    pub fn all<T: Object + Decode + Kind>(&self) -> Api<T> {
        self.all_of(T::resource())
    }

    /// The objects of a kind in one namespace.
    pub fn namespaced<T: Object + Decode + Kind>(&self, namespace: &str) -> Api<T> {
        self.namespaced_of(namespace, T::resource())
    }

    /// All objects of a resource that is known at run time.
    pub fn all_of<T: Object + Decode>(&self, resource: ApiResource) -> Api<T> {
        Api::new(self.clone(), resource, "")
    }

    /// The objects of a resource that is known at run time, in one namespace.
    pub fn namespaced_of<T: Object + Decode>(&self, namespace: &str, resource: ApiResource) -> Api<T> {
        Api::new(self.clone(), resource, namespace)
    }

    /// The namespace of those who name none: the kubeconfig's, or the pod's.
    pub fn default_namespace(&self) -> &str {
        &self.inner.namespace
    }

    /// A request that none of the others makes: `/version`, `/apis`, a subresource. The path, with its query, is the one
    /// below the server's base path. The answer is the JSON as it came; `Null` if there was no body. A body is sent as
    /// `application/json`; for a PATCH, as a merge patch.
    ///
    /// Refusals, second attempts and limits are those of every other request. Cancel safety: a dropped future may or
    /// may not have reached the server.
    pub async fn request(
        &self,
        method: Method,
        path: &str,
        body: Option<&serde_json::Value>,
    ) -> Result<serde_json::Value, ApiError> {
        check_raw(path)?;
        let media = if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
        let body = body.map(|body| (media, Bytes::from(body.to_string())));
        let call = Call {
            verb: "request",
            method: method.clone(),
            url: path.to_owned(),
            about: About { method: method.as_str(), ..About::default() },
            namespace: "",
            accept: "application/json, */*",
            body,
            is_watch: false,
            limit: self.timeout(),
        };
        let (answer, bytes) = self.whole(&call).await?;
        if bytes.trim_ascii().is_empty() {
            return Ok(serde_json::Value::Null);
        }
        check_json(&answer.headers)?;
        if let Some(status) = Status::from_error_body(&bytes) {
            return Err(StatusError::new(status).into());
        }
        serde_json::from_slice(&bytes)
            .map_err(|error| DecodeError::unparsed("the answer is no JSON", &error).into())
    }

    /// The time limit of a request that has none of its own.
    pub(crate) fn timeout(&self) -> Option<Duration> {
        self.inner.timeout
    }

    /// A call whose whole answer is to be read.
    pub(crate) fn reading<'a>(&'a self, call: &'a Call<'a>) -> Reading<'a> {
        self.inner.sender.reading(call)
    }

    /// Sends a call that is no watch, and reads the whole answer.
    pub(crate) async fn whole(&self, call: &Call<'_>) -> Result<(Answer, Bytes), ApiError> {
        let mut reading = self.reading(call);
        loop {
            let mut answer = reading.send().await?;
            match answer.whole().await {
                Ok(body) => return Ok((answer, body)),
                Err(error) => reading.broke_off(error).await?,
            }
        }
    }

    /// Sends a watch; `None` is one that has ended already.
    pub(crate) async fn open(&self, call: &Call<'_>) -> Result<Option<Answer>, ApiError> {
        self.inner.sender.send(call).await
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("server", &self.inner.server).finish_non_exhaustive()
    }
}
