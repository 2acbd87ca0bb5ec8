//! `Informers`: the factory of the cache half, wired to a client of the network half.

use std::time::Duration;

use apimachinery::{ApiResource, Decode, Kind, Object, Scope};
use rest::{Api, Client};
use shared_informer::{NotAllSynced, SharedInformer};

/// One informer per kind, shared by all who ask: client-go's `SharedInformerFactory`. Cheap to clone.
///
/// ```no_run
/// # use k8s_openapi::api::core::v1::{ConfigMap, Pod};
/// # async fn example(client: steersman::Client) -> Result<(), Box<dyn std::error::Error>> {
/// let informers = steersman::Informers::new(&client);
/// let pods = informers.of::<Pod>().lister();
/// let maps = informers.of::<ConfigMap>().lister();
/// let running = tokio::spawn(informers.run(steersman::shutdown_signal()));
/// informers.synced().await?;
/// println!("{} pods, {} config maps", pods.len(), maps.len());
/// # running.await?; Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Informers {
    client: Client,
    namespace: Option<String>,
    factory: shared_informer::Informers,
}

impl Informers {
    /// Informers over all namespaces, without resync.
    pub fn new(client: &Client) -> Self {
        Self { client: client.clone(), namespace: None, factory: shared_informer::Informers::new() }
    }

    /// Informers over all namespaces that resync this often.
    pub fn with_resync(client: &Client, period: Duration) -> Self {
        Self {
            client: client.clone(),
            namespace: None,
            factory: shared_informer::Informers::with_resync(period),
        }
    }

    /// Informers over one namespace; kinds of the cluster itself are whole all the same. To be said before the first
    /// informer is asked for.
    #[must_use]
    pub fn in_namespace(mut self, namespace: &str) -> Self {
        self.namespace = Some(namespace.to_owned());
        self
    }

    /// The informer of `T`: made on the first request, the same ever after.
    pub fn of<T: Object + Decode + Kind>(&self) -> SharedInformer<T> {
        self.of_with(|api| api)
    }

    /// As [`of`](Self::of), with a say in what is listed and watched: selectors, managed fields.
    pub fn of_with<T: Object + Decode + Kind>(
        &self,
        tweak: impl FnOnce(Api<T>) -> Api<T>,
    ) -> SharedInformer<T> {
        self.factory.of(|| SharedInformer::builder(tweak(self.api(T::resource()))))
    }

    /// The informer of a resource known at run time.
    pub fn of_resource<T: Object + Decode>(&self, resource: &ApiResource) -> SharedInformer<T> {
        self.factory.of_resource(resource, || SharedInformer::builder(self.api(resource.clone())))
    }

    fn api<T: Object + Decode>(&self, resource: ApiResource) -> Api<T> {
        match &self.namespace {
            Some(namespace) if resource.scope == Scope::Namespaced => {
                self.client.namespaced_of(namespace, resource)
            }
            _ => self.client.all_of(resource),
        }
    }

    /// Runs every informer that was asked for, and those that will be, until `shutdown` is done. Dropping the future
    /// stops them.
    pub fn run<S>(&self, shutdown: S) -> impl Future<Output = ()> + Send + use<S>
    where
        S: Future<Output = ()> + Send,
    {
        self.factory.run(shutdown)
    }

    /// Waits until every informer that was asked for so far is synced; says which are not, and why.
    pub fn synced(&self) -> impl Future<Output = Result<(), NotAllSynced>> + Send + use<> {
        self.factory.synced()
    }

    /// Stops the informers and waits until they have.
    pub async fn shutdown(&self) {
        self.factory.shutdown().await;
    }
}
