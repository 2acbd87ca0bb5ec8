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
    told: Told,
    resync: Option<Duration>,
}

type Make<T> = Box<dyn FnOnce(Config, Told) -> (Monitor, Reflect<T>) + Send>;

/// Who is told of what goes wrong.
#[derive(Default)]
struct Told {
    on_error: Option<OnError>,
    on_handled: Option<OnError>,
}

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
            make: Box::new(|config, told| {
                let mut reflector = make(config);
                if let Some(on_error) = told.on_error {
                    reflector = reflector.on_error(on_error);
                }
                if let Some(on_handled) = told.on_handled {
                    reflector = reflector.on_handled(on_handled);
                }
                (reflector.monitor(), Box::new(|sender| Box::pin(reflector.run(sender))))
            }),
            config: Config::default(),
            told: Told::default(),
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
        self.told.on_error = Some(Box::new(told));
        self
    }

    /// Is told of everything else that went wrong and was dealt with, on the informer's task: an object that could not
    /// be decoded, by its key, once for each version of it; a watch that the server ended with an error, or refused for
    /// now; a version that had expired. The last one set counts.
    #[must_use]
    pub fn on_handled(mut self, told: impl FnMut(&Arc<ReflectorError>) + Send + 'static) -> Self {
        self.told.on_handled = Some(Box::new(told));
        self
    }

    /// The informer; it does nothing until it is run.
    pub fn build(self) -> SharedInformer<T> {
        let (monitor, reflect) = (self.make)(self.config, self.told);
        let hub = Arc::new(Hub::new(self.what, monitor));
        SharedInformer::assemble(hub, reflect, self.resync.unwrap_or_default())
    }
}

impl<T: Object> std::fmt::Debug for Builder<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Builder").field("what", &self.what).finish_non_exhaustive()
    }
}
