//! What the server has, what a cache has, what a listener was told: three pictures that must become one.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Value, json};
use steersman::shared_informer::Config;
use steersman::{
    Api, ApiResource, Client, Decode, DeleteOptions, Deleted, ListOptions, Lister, Notification, Object,
    ObjectKey, Patch, PatchOptions, Registration, SharedInformer,
};
use test_apiserver::TestApiServer;
use test_apiserver::core::Target;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::world::{Running, run, until};

/// A kept form of an object that says a value in a place that all forms keep (a label) and perhaps in its body.
pub(crate) trait Form: Object + Decode {
    /// Of what.
    fn of() -> ApiResource;
    /// The value in the body; `None` for forms that keep none.
    fn body(&self) -> Option<String>;
    /// The object that says `value`, as JSON.
    fn json(key: &ObjectKey, value: u64) -> Value {
        let metadata =
            json!({ "name": key.name(), "namespace": key.namespace(), "labels": { "v": value.to_string() } });
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": { "v": value.to_string() } })
    }
}

/// Version, uid and value of each object.
pub(crate) type Picture = BTreeMap<String, (String, String, String)>;

fn state<T: Form>(object: &T) -> (String, String, String) {
    let label = object.meta().labels().get("v").unwrap_or_default().to_owned();
    if let Some(body) = object.body() {
        assert_eq!(body, label, "{}: head and body are of one object", object.key());
    }
    (object.resource_version().to_owned(), object.uid().to_owned(), label)
}

/// What the server has.
pub(crate) fn server_picture<T: Form>(server: &TestApiServer) -> Picture {
    let resource = T::of();
    let target = Target::new(&resource.api_version(), &resource.plural);
    let answer = server.with_core(|core| core.list(&target, &ListOptions::default())).expect("a list");
    let objects = answer.items.iter().map(|stored| {
        let label = stored.labels().get("v").cloned().unwrap_or_default();
        (stored.key(), (stored.resource_version().to_string(), stored.uid().to_owned(), label))
    });
    objects.collect()
}

/// An informer, and a listener that keeps what it is told.
pub(crate) struct Mirror<T: Form> {
    pub(crate) informer: SharedInformer<T>,
    pub(crate) lister: Lister<T>,
    told: UnboundedReceiver<Notification<T>>,
    picture: Picture,
    /// How many notifications there were.
    pub(crate) count: usize,
    _handler: Registration,
    _running: Running,
}

impl<T: Form> Mirror<T> {
    pub(crate) fn start(client: &Client, config: Config) -> Self {
        Self::over(client.all_of(T::of()), config)
    }

    pub(crate) fn over(api: Api<T>, config: Config) -> Self {
        let (informer, running) = run(api, config);
        let (tell, told) = unbounded_channel();
        let handler = informer.add_handler(move |notification: &Notification<T>| {
            // The listener may end before its informer does.
            let _ = tell.send(notification.clone());
        });
        let lister = informer.lister();
        Self {
            informer,
            lister,
            told,
            picture: Picture::new(),
            count: 0,
            _handler: handler,
            _running: running,
        }
    }

    /// What the cache has.
    pub(crate) fn cache(&self) -> Picture {
        self.lister.list().iter().map(|object| (object.key().to_string(), state(&**object))).collect()
    }

    /// What the listener was told, each step of which must fit to the one before.
    pub(crate) fn told(&mut self) -> &Picture {
        while let Ok(notification) = self.told.try_recv() {
            self.count += 1;
            let key = notification.key().to_string();
            match notification {
                Notification::Added { object, .. } => {
                    let before = self.picture.insert(key.clone(), state(&*object));
                    assert_eq!(before, None, "{key}: added twice");
                }
                Notification::Updated { old, new } => {
                    let before = self.picture.insert(key.clone(), state(&*new));
                    assert_eq!(before, Some(state(&*old)), "{key}: the old state is the one before");
                }
                Notification::Deleted(deleted) => {
                    let before = self.picture.remove(&key).unwrap_or_else(|| panic!("{key}: deleted twice"));
                    if let Deleted::FinalStateUnknown { last_seen, .. } = deleted {
                        let last_seen = last_seen.map(|object| state(&*object));
                        assert_eq!(last_seen, Some(before), "{key}: the last state that was seen");
                    }
                }
            }
        }
        &self.picture
    }

    /// Waits until server, cache and listener agree.
    pub(crate) async fn agrees_with(&mut self, server: &TestApiServer, when: &str) {
        let mut seen = Vec::new();
        let what = format!("{when}: {} become the server's", T::of().plural);
        let agreed = async {
            until(&what, || {
                let wanted = server_picture::<T>(server);
                seen = vec![wanted.clone(), self.cache(), self.told().clone()];
                seen.iter().all(|picture| *picture == wanted)
            })
            .await;
        };
        agreed.await;
    }
}

/// Random writes of a few objects.
pub(crate) struct Writes {
    dice: u64,
    next: u64,
}

impl Writes {
    pub(crate) fn new(seed: u64) -> Self {
        Self { dice: seed, next: 1 }
    }

    fn roll(&mut self, sides: u64) -> u64 {
        // SplitMix64
        self.dice = self.dice.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.dice;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % sides
    }

    /// Creates, changes or deletes so many times.
    pub(crate) fn some<T: Form>(&mut self, server: &TestApiServer, times: usize) {
        let resource = T::of();
        for _ in 0..times {
            let namespace = ["default", "kube-system"][usize::try_from(self.roll(2)).expect("small")];
            let key = ObjectKey::new(namespace, &format!("o-{}", self.roll(12)));
            let target = Target::new(&resource.api_version(), &resource.plural).namespaced(namespace);
            let value = self.next;
            self.next += 1;
            let wanted = T::json(&key, value);
            if server.create(wanted.clone()).is_ok() {
                continue;
            }
            let is_deletion = self.roll(3) == 0;
            server.with_core(|core| {
                let now = Timestamp::now();
                if is_deletion {
                    core.delete(&target, key.name(), &DeleteOptions::default(), now).expect("deleted");
                } else {
                    let options = PatchOptions::default();
                    core.patch(&target, key.name(), &Patch::Merge(wanted), &options, now).expect("patched");
                }
            });
        }
    }
}
