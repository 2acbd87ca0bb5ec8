//! The API server dies, comes back, and forgets.

#![expect(clippy::disallowed_types, reason = "the handler and the test share what was told")]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use k8s_openapi::api::core::v1::ConfigMap;
use steersman::{
    Api, Client, ClientConfig, CreateOptions, DeleteOptions, Deleted, Notification, Object, ObjectKey,
    SharedInformer,
};
use tokio::task::AbortHandle;

use crate::line::Line;
use crate::world::{hand, run_alone, until, world};
use crate::{cached_list, client, kubectl_list, namespace};

fn map(namespace: &str, name: &str) -> ConfigMap {
    let mut map = ConfigMap::default();
    map.metadata.name = Some(name.to_owned());
    map.metadata.namespace = Some(namespace.to_owned());
    map.data = Some(BTreeMap::from([("a".to_owned(), "b".to_owned())]));
    map
}

/// An informer over a namespace with twenty maps, on a line that can be cut, and all that it was told.
struct Watched {
    namespace: Arc<str>,
    maps: Api<ConfigMap>,
    informer: SharedInformer<ConfigMap>,
    told: Arc<Mutex<Vec<Notification<ConfigMap>>>>,
    line: Line,
    running: AbortHandle,
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.running.abort();
    }
}

impl Watched {
    async fn new(name: &str) -> Self {
        let admin = client("admin").await;
        let namespace = namespace(&admin, name).await;
        let maps: Api<ConfigMap> = admin.namespaced(&namespace);
        for i in 0..20 {
            let map = map(&namespace, &format!("before-{i}"));
            maps.create(&map, &CreateOptions::default()).await.expect("created");
        }
        let world = world().await;
        let line = Line::to(&world.server).await;
        let mut config =
            ClientConfig::from_kubeconfig(&world.kubeconfig, Some("admin")).expect("a kubeconfig");
        config.server = line.url();
        let far = Client::new(config).expect("a client");
        let informer = SharedInformer::new(far.namespaced::<ConfigMap>(&namespace));
        let told = Arc::new(Mutex::new(Vec::new()));
        let telling = told.clone();
        informer
            .add_handler(move |notification: &Notification<ConfigMap>| {
                telling.lock().expect("no handler panics").push(notification.clone());
            })
            .detach();
        let running = tokio::spawn(informer.run(std::future::pending())).abort_handle();
        informer.synced().await.expect("synced");
        let lister = informer.lister();
        until("the informer has what is there", || async { lister.len() >= 20 }).await;
        Self { namespace, maps, informer, told, line, running }
    }

    /// How often the whole state was asked for.
    fn initial_states(&self) -> u64 {
        let did = self.informer.status().reflector;
        did.lists + did.streamed_lists
    }

    async fn create(&self, name: &str) {
        self.maps.create(&map(&self.namespace, name), &CreateOptions::default()).await.expect("created");
    }

    async fn delete(&self, name: &str) {
        let key = ObjectKey::new(&self.namespace, name);
        self.maps.delete(&key, &DeleteOptions::default()).await.expect("deleted");
    }

    async fn becomes_the_server(&self) {
        let server = kubectl_list("configmaps", &self.namespace).await;
        let lister = self.informer.lister();
        until("the cache is what kubectl lists", || async { cached_list(&lister) == server }).await;
    }

    fn added(&self, is_it: impl Fn(&str) -> bool) -> usize {
        let told = self.told.lock().expect("no handler panics");
        told.iter()
            .filter(|n| matches!(n, Notification::Added { object, .. } if is_it(object.name())))
            .count()
    }

    /// How the deletion of a map was told, each time: whether its end was seen.
    fn deletions(&self, name: &str) -> Vec<bool> {
        let told = self.told.lock().expect("no handler panics");
        told.iter()
            .filter_map(|n| match n {
                Notification::Deleted(Deleted::Observed(last)) if last.name() == name => Some(true),
                Notification::Deleted(Deleted::FinalStateUnknown { key, .. }) if key.name() == name => {
                    Some(false)
                }
                _ => None,
            })
            .collect()
    }
}

// CACHE-R-48, CACHE-R-47
#[test]
#[ignore = "needs a real control plane: tests/real/run"]
fn a_watch_resumes_after_the_api_server_was_killed() {
    run_alone(async {
        let mut hand = hand().await;
        let watched = Watched::new("killed").await;
        let before = watched.initial_states();
        hand.kill_api_server().await;
        hand.start_api_server().await;
        watched.create("after").await;
        watched.delete("before-1").await;
        watched.becomes_the_server().await;
        assert_eq!(watched.added(|name| name == "after"), 1, "the new map was told once");
        assert_eq!(watched.deletions("before-1"), [true], "the deletion was seen, and told once");
        assert_eq!(watched.added(|name| name.starts_with("before")), 20, "what was there is not told again");
        assert_eq!(watched.initial_states(), before, "a mere cut is no reason to list again");
    });
}

// CACHE-R-23, CACHE-R-51, CACHE-Z-01, CACHE-C-03
#[test]
#[ignore = "needs a real control plane: tests/real/run"]
fn a_compacted_history_makes_a_list_that_tells_what_was_missed() {
    run_alone(async {
        let mut hand = hand().await;
        let watched = Watched::new("compacted").await;
        let before = watched.initial_states();
        // Nobody tells the informer of these, and then there is no history from which it could catch up.
        watched.line.cut();
        watched.create("after").await;
        watched.delete("before-1").await;
        hand.compact().await;
        hand.kill_api_server().await;
        hand.start_api_server().await;
        watched.line.mend();
        watched.becomes_the_server().await;
        assert!(
            watched.initial_states() > before,
            "the old version had expired: the whole state was asked for"
        );
        assert_eq!(watched.added(|name| name == "after"), 1, "the new map was told once");
        assert_eq!(watched.deletions("before-1"), [false], "the deletion was missed, and told once");
        assert_eq!(watched.added(|name| name.starts_with("before")), 20, "what was there is not told again");
    });
}
