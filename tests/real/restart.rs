//! The API server dies, comes back, and forgets.

#![expect(clippy::disallowed_types, reason = "the handler and the test share what was told")]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use k8s_openapi::api::core::v1::ConfigMap;
use steersman::{
    Api, CreateOptions, DeleteOptions, Deleted, Notification, Object, ObjectKey, SharedInformer,
};

use crate::world::{hand, run_alone, until};
use crate::{cached_list, client, kubectl_list, namespace};

fn map(namespace: &str, name: &str) -> ConfigMap {
    let mut map = ConfigMap::default();
    map.metadata.name = Some(name.to_owned());
    map.metadata.namespace = Some(namespace.to_owned());
    map.data = Some(BTreeMap::from([("a".to_owned(), "b".to_owned())]));
    map
}

/// A watch in the middle of its life is cut by a killed API server. With `compact`, etcd forgets meanwhile.
async fn survives(name: &str, compact: bool) {
    let mut hand = hand().await;
    let admin = client("admin").await;
    let namespace = namespace(&admin, name).await;
    let maps: Api<ConfigMap> = admin.namespaced(&namespace);
    for i in 0..20 {
        let map = map(&namespace, &format!("before-{i}"));
        maps.create(&map, &CreateOptions::default()).await.expect("created");
    }
    let informer = SharedInformer::new(maps.clone());
    let told = Arc::new(Mutex::new(Vec::new()));
    let telling = told.clone();
    informer
        .add_handler(move |notification: &Notification<ConfigMap>| {
            telling.lock().expect("no handler panics").push(notification.clone());
        })
        .detach();
    let running = tokio::spawn(informer.run(std::future::pending()));
    informer.synced().await.expect("synced");
    until("the informer has what is there", || async { informer.lister().len() >= 20 }).await;
    let lists_before = informer.status().reflector.lists;

    hand.kill_api_server().await;
    hand.start_api_server().await;
    if compact {
        // Changes that the old watch never saw, then no history from which it could catch up.
        let gone = ObjectKey::new(&namespace, "before-0");
        let deleted = maps.delete(&gone, &DeleteOptions::default()).await;
        deleted.expect("deleted");
        hand.compact().await;
        hand.kill_api_server().await;
        hand.start_api_server().await;
    }
    let after = map(&namespace, "after");
    maps.create(&after, &CreateOptions::default()).await.expect("created");
    let gone = ObjectKey::new(&namespace, "before-1");
    maps.delete(&gone, &DeleteOptions::default()).await.expect("deleted");

    let server = kubectl_list("configmaps", &namespace).await;
    until("the cache is what kubectl lists", || async { cached_list(&informer.lister()) == server }).await;
    let told = told.lock().expect("no handler panics");
    let added: Vec<_> = told
        .iter()
        .filter(|n| matches!(n, Notification::Added { object, .. } if object.name() == "after"))
        .collect();
    assert_eq!(added.len(), 1, "the new map was told once");
    for name in if compact { &["before-0", "before-1"][..] } else { &["before-1"] } {
        let deletions = told
            .iter()
            .filter(|n| match n {
                Notification::Deleted(Deleted::Observed(last)) => last.name() == *name,
                Notification::Deleted(Deleted::FinalStateUnknown { key, .. }) => key.name() == *name,
                _ => false,
            })
            .count();
        assert_eq!(deletions, 1, "the deletion of {name} was told once");
    }
    let unexpected = told
        .iter()
        .filter(|n| matches!(n, Notification::Added { object, .. } if object.name().starts_with("before")))
        .count();
    assert_eq!(unexpected, 20, "what was there all along is not told again");
    if !compact {
        assert_eq!(informer.status().reflector.lists, lists_before, "a mere cut is no reason to list again");
    }
    running.abort();
}

// CACHE-R-48, CACHE-R-47
#[test]
#[ignore = "needs a real control plane: tests/real/run"]
fn a_watch_resumes_after_the_api_server_was_killed() {
    run_alone(survives("killed", false));
}

// CACHE-R-23, CACHE-R-51, CACHE-Z-01
#[test]
#[ignore = "needs a real control plane: tests/real/run"]
fn a_compacted_history_makes_a_list_that_tells_what_was_missed() {
    run_alone(survives("compacted", true));
}
