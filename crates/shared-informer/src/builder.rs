//! [`Builder`]: what is set before an informer exists, and so cannot be set afterwards.

use std::sync::Arc;
use std::time::Duration;

use apimachinery::{BoxError, ListWatch, Object};
use reflector::{Config, Monitor, Reflector, ReflectorError};

use crate::SharedInformer;
use crate::hub::Hub;
use crate::informer::Reflect;

/// What is set before an informer exists.
pub struct Builder<T: Object> {
    what: Arc<str>,
    make: Make<T>,
    config: Config,
    on_error: Option<OnError>,
    resync: Option<Duration>,
}

type Make<T> = Box<dyn FnOnce(Config, Option<OnError>) -> (Monitor, Reflect<T>) + Send>;

type OnError = Box<dyn FnMut(&Arc<ReflectorError>) + Send>;

impl<T: Object> Builder<T> {
    pub(crate) fn new(source: impl ListWatch<T>) -> Self {
        let what = source.describe();
        Self::making(what, |config| Reflector::new(source, config))
    }

    pub(crate) fn transforming<In: Object>(
        source: impl ListWatch<In>,
        transform: impl FnMut(In) -> Result<T, BoxError> + Send + 'static,
    ) -> Self {
        let what = source.describe();
        Self::making(what, |config| Reflector::new(source, config).transform(transform))
    }

    fn making<S: ListWatch<In>, In: Object>(
        what: String,
        make: impl FnOnce(Config) -> Reflector<S, In, T> + Send + 'static,
    ) -> Self {
        Self {
            what: what.into(),
            make: Box::new(|config, on_error| {
                let mut reflector = make(config);
                if let Some(on_error) = on_error {
                    reflector = reflector.on_error(on_error);
                }
                (reflector.monitor(), Box::new(|sender| Box::pin(reflector.run(sender))))
            }),
            config: Config::default(),
            on_error: None,
            resync: None,
        }
    }

    /// Tells every cached object again this often to listeners that do not ask for another period (CACHE-I-35). Zero,
    /// the default: never, not even to listeners that ask for it (CACHE-I-37).
    #[must_use]
    pub fn resync_every(mut self, period: Duration) -> Self {
        self.resync = Some(period);
        self
    }

    /// As [`resync_every`](Self::resync_every), unless that was set.
    #[must_use]
    pub(crate) fn or_resync_every(mut self, period: Duration) -> Self {
        self.resync.get_or_insert(period);
        self
    }

    /// The numbers of the reflector.
    #[must_use]
    pub fn config(mut self, config: Config) -> Self {
        self.config = config;
        self
    }

    /// Is told of each list and each opening of a watch that failed, on the informer's task: client-go's watch error
    /// handler. The last one set counts.
    #[must_use]
    pub fn on_error(mut self, told: impl FnMut(&Arc<ReflectorError>) + Send + 'static) -> Self {
        self.on_error = Some(Box::new(told));
        self
    }

    /// The informer; it does nothing until it is run.
    pub fn build(self) -> SharedInformer<T> {
        let (monitor, reflect) = (self.make)(self.config, self.on_error);
        let hub = Arc::new(Hub::new(self.what, monitor));
        SharedInformer::assemble(hub, reflect, self.resync.unwrap_or_default())
    }
}

impl<T: Object> std::fmt::Debug for Builder<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Builder").field("what", &self.what).finish_non_exhaustive()
    }
}
