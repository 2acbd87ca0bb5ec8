//! `Api<T>`: the objects of one resource, listed, watched, read and written.

mod objects;
mod pager;
#[cfg(test)]
mod tests;

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use apimachinery::{ApiError, ApiResource, Decode, ListOptions, ListWatch, Object, Page};
use http::Method;

pub use pager::{each_page, list_all};

use crate::client::Client;
use crate::list::ListReader;
use crate::request::{
    ACCEPT_JSON, ACCEPT_METADATA, ACCEPT_METADATA_LIST, About, Answer, Call, Target, check_json, options,
};
use crate::watch::{Events, Expected};

/// How much later than asked for a server may end a watch before we do.
const WATCH_MARGIN: Duration = Duration::from_secs(30);

/// The objects of one resource: all of them, or those of one namespace; narrowed by selectors, if you like.
///
/// It is a value: cheap to clone, without state, made by [`Client::all`](crate::Client::all) and its sisters. It is the
/// source that a reflector wants ([`ListWatch`]) and what a reconciler writes with ([`Objects`](apimachinery::Objects)).
///
/// ```no_run
/// # use k8s_openapi::api::core::v1::Pod; use apimachinery::ListOptions;
/// # async fn example(client: steersman_rest::Client) -> Result<(), apimachinery::ApiError> {
/// let pods = client.namespaced::<Pod>("shop").labels("app=web").without_managed_fields();
/// for pod in pods.list_all(&ListOptions::default()).await?.items {
///     println!("{}", pod.metadata.name.unwrap_or_default());
/// }
/// # Ok(()) }
/// ```
pub struct Api<T> {
    client: Client,
    collection: Arc<Collection>,
    typed: PhantomData<fn() -> T>,
}

/// Which objects.
#[derive(Debug, Clone)]
struct Collection {
    resource: ApiResource,
    /// `""` for all.
    namespace: String,
    labels: Option<String>,
    fields: Option<String>,
    expected: Expected,
}

impl<T: Object + Decode> Api<T> {
    pub(crate) fn new(client: Client, resource: ApiResource, namespace: &str) -> Self {
        let expected = Expected {
            kind: resource.kind.clone().into_owned(),
            api_version: resource.api_version().into_owned(),
            is_metadata_only: T::is_metadata_only(),
            skip_managed_fields: false,
        };
        let collection =
            Collection { resource, namespace: namespace.to_owned(), labels: None, fields: None, expected };
        Self { client, collection: Arc::new(collection), typed: PhantomData }
    }

    /// Only objects with these labels: `app=web,tier!=db`. For lists and watches.
    #[must_use]
    pub fn labels(mut self, selector: impl fmt::Display) -> Self {
        Arc::make_mut(&mut self.collection).labels = Some(selector.to_string());
        self
    }

    /// Only objects with these fields: `spec.nodeName=n1`. The server says which fields it can select. For lists and
    /// watches.
    #[must_use]
    pub fn fields(mut self, selector: impl fmt::Display) -> Self {
        Arc::make_mut(&mut self.collection).fields = Some(selector.to_string());
        self
    }

    /// `metadata.managedFields` is skipped while objects are read, where the kept form can do that.
    #[must_use]
    pub fn without_managed_fields(mut self) -> Self {
        Arc::make_mut(&mut self.collection).expected.skip_managed_fields = true;
        self
    }

    /// The resource.
    pub fn resource(&self) -> &ApiResource {
        &self.collection.resource
    }

    /// One page, in one request: see [`ListWatch::list`].
    pub async fn list(&self, options: &ListOptions) -> Result<Page<T>, ApiError> {
        let options = self.narrowed(options);
        let limit = options::own_limit(&options).or(self.client.timeout());
        let accept = if T::is_metadata_only() { ACCEPT_METADATA_LIST } else { ACCEPT_JSON };
        let query = options::list(&options, self.client.timeout());
        let call =
            Call { accept, limit, ..self.call("list", Method::GET, query.onto(self.target().path()?)) };
        let mut reading = self.client.reading(&call);
        loop {
            match self.read_page(reading.send().await?).await {
                Ok(page) => return Ok(page),
                Err(error) => reading.broke_off(error).await?,
            }
        }
    }

    async fn read_page(&self, mut answer: Answer) -> Result<Page<T>, ApiError> {
        check_json(&answer.headers)?;
        let mut reader = ListReader::new(&self.collection.expected);
        while let Some(piece) = answer.chunk().await? {
            reader.push(&piece)?;
        }
        reader.finish()
    }

    /// All pages, 500 objects each unless `options` say otherwise: see [`list_all`].
    pub async fn list_all(&self, options: &ListOptions) -> Result<Page<T>, ApiError> {
        list_all(self, options).await
    }

    /// Opens a watch: see [`ListWatch::watch`].
    ///
    /// With `timeout_seconds` a server that neither speaks nor ends the watch in time is given 30 s more, and then the
    /// stream ends with [`BrokenKind::Timeout`](apimachinery::BrokenKind::Timeout). Without it, a silent server is
    /// waited for until the connection itself is found dead.
    pub async fn watch(&self, options: &ListOptions) -> Result<Events<T>, ApiError> {
        let options = self.narrowed(options);
        let limit = options::own_limit(&options);
        let mut query = options::list(&options, None);
        query.add("watch", "true");
        let call = Call {
            accept: if T::is_metadata_only() { ACCEPT_METADATA } else { ACCEPT_JSON },
            is_watch: true,
            // For the headers: all attempts together may take no longer than the watch itself would have.
            limit: limit.map(|limit| limit + WATCH_MARGIN),
            ..self.call("watch", Method::GET, query.onto(self.target().path()?))
        };
        let Some(answer) = self.client.open(&call).await? else { return Ok(Events::ended()) };
        check_json(&answer.headers)?;
        let limit = limit.map(|limit| limit + WATCH_MARGIN);
        Ok(Events::new(self.client.clone(), answer.body, self.collection.expected.clone(), limit))
    }

    fn target(&self) -> Target<'_> {
        let collection = &*self.collection;
        Target { resource: &collection.resource, namespace: &collection.namespace, name: "", subresource: "" }
    }

    fn call(&self, verb: &'static str, method: Method, url: String) -> Call<'_> {
        let resource = &self.collection.resource;
        let about = About {
            method: method_text(&method),
            group: &resource.group,
            resource: &resource.plural,
            name: "",
        };
        Call {
            verb,
            method,
            url,
            about,
            namespace: &self.collection.namespace,
            accept: if T::is_metadata_only() { ACCEPT_METADATA } else { ACCEPT_JSON },
            body: None,
            is_watch: false,
            limit: self.client.timeout(),
        }
    }

    /// The options, and the selectors of this collection.
    fn narrowed(&self, options: &ListOptions) -> ListOptions {
        let mut options = options.clone();
        both(&mut options.label_selector, self.collection.labels.as_deref());
        both(&mut options.field_selector, self.collection.fields.as_deref());
        options
    }
}

/// The methods that are used here.
fn method_text(method: &Method) -> &'static str {
    match *method {
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        _ => "GET",
    }
}

/// Both selectors must hold.
fn both(selector: &mut Option<String>, other: Option<&str>) {
    let Some(other) = other.filter(|other| !other.is_empty()) else { return };
    match selector {
        Some(selector) if !selector.is_empty() => {
            selector.push(',');
            selector.push_str(other);
        }
        selector => *selector = Some(other.to_owned()),
    }
}

impl<T: Object + Decode> ListWatch<T> for Api<T> {
    type Events = Events<T>;

    async fn list(&self, options: &ListOptions) -> Result<Page<T>, ApiError> {
        Api::list(self, options).await
    }

    async fn watch(&self, options: &ListOptions) -> Result<Events<T>, ApiError> {
        Api::watch(self, options).await
    }

    fn describe(&self) -> String {
        let Collection { resource, namespace, labels, fields, .. } = &*self.collection;
        let mut text = resource.group_resource().into_owned();
        for (word, value) in [
            (" in namespace ", Some(namespace.as_str())),
            (" with labels ", labels.as_deref()),
            (" with fields ", fields.as_deref()),
        ] {
            if let Some(value) = value.filter(|value| !value.is_empty()) {
                text.push_str(word);
                text.push_str(value);
            }
        }
        text
    }
}

impl<T> Clone for Api<T> {
    fn clone(&self) -> Self {
        Self { client: self.client.clone(), collection: self.collection.clone(), typed: PhantomData }
    }
}

impl<T> fmt::Debug for Api<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Api").field("client", &self.client).field("collection", &self.collection).finish()
    }
}
