//! Which keys come of what happens.

mod common;

use std::convert::Infallible;
use std::future::pending;
use std::time::Duration;

use apimachinery::{Object, ObjectKey};
use common::{Cluster, LIMIT, config_map, key, owner, pod, replica_set};
use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::Pod;
use shared_informer::SharedInformer;
use steersman_controller::{Action, Controller, reconcile_fn};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// The keys that a controller reconciles.
struct Keys {
    keys: mpsc::UnboundedReceiver<ObjectKey>,
    task: JoinHandle<()>,
}

impl Keys {
    fn of(controller: Controller) -> Self {
        let (sender, keys) = mpsc::unbounded_channel();
        let reconciler = reconcile_fn(move |key| {
            sender.send(key).expect("the test listens");
            async { Ok::<_, Infallible>(Action::AwaitChange) }
        });
        let run = controller.run(reconciler, pending());
        let task = tokio::spawn(async move { run.await.expect("it runs until it is dropped") });
        Self { keys, task }
    }

    /// The keys until nothing more comes, sorted.
    async fn next(&mut self) -> Vec<String> {
        let mut keys = Vec::new();
        while let Ok(key) = timeout(Duration::from_secs(1), self.keys.recv()).await {
            keys.push(key.expect("it lives").to_string());
        }
        keys.sort();
        keys
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// With these owners; `=` before the one that controls, `!` before one that says it does not.
fn owned(name: &str, owners: &[&str]) -> Pod {
    let reference = |words: &&str| match (words.strip_prefix('='), words.strip_prefix('!')) {
        (Some(words), _) => owner(words, Some(true)),
        (_, Some(words)) => owner(words, Some(false)),
        _ => owner(words, None),
    };
    let mut pod = pod(name);
    pod.metadata.owner_references = Some(owners.iter().map(reference).collect());
    pod
}

// HDL-01, CT-01, SRC-06
#[tokio::test(start_paused = true)]
async fn an_object_is_reconciled_when_it_comes_changes_and_goes() {
    let maps = Cluster::new();
    maps.put(config_map("default/a"));
    let mut keys = Keys::of(Controller::new("test").watches(maps.informer()));
    assert_eq!(keys.next().await, ["default/a"]);
    maps.put(config_map("default/a"));
    maps.put(config_map("other/b"));
    assert_eq!(keys.next().await, ["default/a", "other/b"]);
    maps.delete("default/a");
    assert_eq!(keys.next().await, ["default/a"]);
}

// BLD-02, HDL-02, CT-02
#[tokio::test(start_paused = true)]
async fn an_owned_objects_owner_is_reconciled_if_it_is_the_controller_and_is_there() {
    let (sets, pods) = (Cluster::<ReplicaSet>::new(), Cluster::<Pod>::new());
    for name in ["web", "api"] {
        sets.put(replica_set(&format!("shop/{name}"), &format!("uid-{name}")));
    }
    let mut keys = Keys::of(Controller::new("test").watches(sets.informer()).owns(pods.informer()));
    assert_eq!(keys.next().await, ["shop/api", "shop/web"]);
    let cases: [(&str, &str, &[&str], &[&str]); 12] = [
        ("the controller", "shop/1", &["=apps/v1 ReplicaSet web uid-web"], &["shop/web"]),
        ("of another version", "shop/2", &["=apps/v9 ReplicaSet web uid-web"], &["shop/web"]),
        ("not the controller", "shop/3", &["apps/v1 ReplicaSet web uid-web"], &[]),
        ("said not to be", "shop/4", &["!apps/v1 ReplicaSet web uid-web"], &[]),
        ("of another group", "shop/5", &["=fake/v1 ReplicaSet web uid-web"], &[]),
        ("of the core group", "shop/6", &["=v1 ReplicaSet web uid-web"], &[]),
        ("of another kind", "shop/7", &["=apps/v1 Deployment web uid-web"], &[]),
        ("of another life", "shop/8", &["=apps/v1 ReplicaSet web uid-old"], &[]),
        ("that is not there", "shop/9", &["=apps/v1 ReplicaSet gone uid-gone"], &[]),
        ("in another namespace", "away/10", &["=apps/v1 ReplicaSet web uid-web"], &[]),
        ("a version that is none", "shop/11", &["=a/b/c ReplicaSet web uid-web"], &[]),
        (
            "one of two",
            "shop/12",
            &["apps/v1 ReplicaSet web uid-web", "=apps/v1 ReplicaSet api uid-api"],
            &["shop/api"],
        ),
    ];
    for (case, name, owners, expected) in cases {
        pods.put(owned(name, owners));
        assert_eq!(keys.next().await, expected, "{case}");
    }
    // A change of owners is news for both, and a deletion for the last.
    pods.put(owned("shop/1", &["=apps/v1 ReplicaSet api uid-api"]));
    assert_eq!(keys.next().await, ["shop/api", "shop/web"]);
    pods.delete("shop/1");
    assert_eq!(keys.next().await, ["shop/api"]);
}

// CT-02: an owner that comes later is reconciled then.
#[tokio::test(start_paused = true)]
async fn an_owner_that_is_not_there_yet_is_reconciled_when_it_comes() {
    let (sets, pods) = (Cluster::<ReplicaSet>::new(), Cluster::<Pod>::new());
    pods.put(owned("shop/1", &["=apps/v1 ReplicaSet web uid-web"]));
    let mut keys = Keys::of(Controller::new("test").watches(sets.informer()).owns(pods.informer()));
    assert!(keys.next().await.is_empty());
    sets.put(replica_set("shop/web", "uid-web"));
    assert_eq!(keys.next().await, ["shop/web"]);
}

// HDL-02, CACHE-S-12
#[tokio::test(start_paused = true)]
async fn a_change_of_an_owned_object_that_is_kept_without_its_version_is_not_taken_for_a_resync() {
    let (sets, pods) = (Cluster::<ReplicaSet>::new(), Cluster::<Pod>::new());
    sets.put(replica_set("shop/web", "uid-web"));
    let versionless = SharedInformer::transforming(pods.clone(), |mut pod: Pod| {
        pod.metadata.resource_version = None;
        Ok(pod)
    });
    let controller = Controller::new("test").watches(sets.informer()).owns(versionless.build());
    let mut keys = Keys::of(controller);
    assert_eq!(keys.next().await, ["shop/web"]);
    for _ in 0..2 {
        pods.put(owned("shop/1", &["=apps/v1 ReplicaSet web uid-web"]));
        assert_eq!(keys.next().await, ["shop/web"]);
    }
}

// HDL-03
#[tokio::test(start_paused = true)]
async fn a_mapped_object_gives_the_keys_of_before_and_after() {
    let (maps, pods) = (Cluster::new(), Cluster::<Pod>::new());
    let map_of = |pod: &Pod| {
        let label = pod.metadata.labels.as_ref().and_then(|labels| labels.get("map"));
        label.map(|name| ObjectKey::new(pod.namespace(), name))
    };
    let labelled = |name: &str, map: &str| {
        let mut pod = pod(name);
        pod.metadata.labels = Some([("map".to_owned(), map.to_owned())].into());
        pod
    };
    let controller = Controller::new("test").watches(maps.informer()).watches_mapped(pods.informer(), map_of);
    let mut keys = Keys::of(controller);
    maps.put(config_map("default/unrelated"));
    assert_eq!(keys.next().await, ["default/unrelated"]);
    pods.put(labelled("shop/1", "one"));
    assert_eq!(keys.next().await, ["shop/one"]);
    pods.put(labelled("shop/1", "two"));
    assert_eq!(keys.next().await, ["shop/one", "shop/two"]);
    pods.put(labelled("shop/1", "two"));
    assert_eq!(keys.next().await, ["shop/two"], "once, not for before and after");
    pods.put(pod("shop/2"));
    assert!(keys.next().await.is_empty());
    pods.delete("shop/1");
    assert_eq!(keys.next().await, ["shop/two"]);
}

#[tokio::test(start_paused = true)]
async fn a_trigger_reconciles_a_key_that_nothing_happened_to() {
    let maps = Cluster::<k8s_openapi::api::core::v1::ConfigMap>::new();
    let controller = Controller::new("test").watches(maps.informer());
    let handle = controller.handle();
    // Before it runs: kept until there are workers.
    handle.trigger(key("default/a"));
    let mut keys = Keys::of(controller);
    assert_eq!(keys.next().await, ["default/a"]);
    handle.trigger(key("b"));
    assert_eq!(timeout(LIMIT, keys.next()).await.unwrap(), ["b"]);
}
