//! The cache becomes the server, by list and by WatchList, through thousands of writes.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use steersman::reflector::Config;
use steersman::{
    Api, Client, CreateOptions, DeleteOptions, Lazy, ObjectKey, PartialObjectMetadata, Patch, PatchOptions,
    SharedInformer,
};
use tokio::task::JoinSet;

use crate::world::{run, until};
use crate::{cached_list, client, kubectl_list, namespace};

const WRITERS: u64 = 8;
const WRITES: u64 = 400;
const NAMES: u64 = 60;

/// One writer: creates, changes and deletes at random; who comes late gets a refusal, and that is fine.
async fn write(maps: Api<ConfigMap>, namespace: Arc<str>, writer: u64) -> u64 {
    let mut dice = writer.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut roll = move |sides: u64| {
        dice ^= dice << 13;
        dice ^= dice >> 7;
        dice ^= dice << 17;
        dice % sides
    };
    let mut done = 0;
    for turn in 0..WRITES {
        let key = ObjectKey::new(&namespace, &format!("map-{}", roll(NAMES)));
        let outcome = match roll(10) {
            0..=1 => maps.delete(&key, &DeleteOptions::default()).await,
            2..=4 => {
                let patch =
                    Patch::merge(&serde_json::json!({ "data": { "turn": format!("{writer}/{turn}") } }));
                let patched = maps.patch(&key, None, &patch.expect("JSON"), &PatchOptions::default()).await;
                patched.map(drop)
            }
            _ => {
                let mut map = ConfigMap::default();
                map.metadata.name = Some(key.name().to_owned());
                map.metadata.namespace = Some(key.namespace().to_owned());
                map.metadata.labels = Some(BTreeMap::from([("writer".to_owned(), writer.to_string())]));
                map.data = Some(BTreeMap::from([("turn".to_owned(), turn.to_string())]));
                maps.create(&map, &CreateOptions::default()).await.map(drop)
            }
        };
        match outcome {
            Ok(()) => done += 1,
            Err(error) if error.is_not_found() || error.is_already_exists() || error.is_conflict() => {}
            Err(error) => panic!("{key}: {error:?}"),
        }
    }
    done
}

async fn becomes_the_server(client: &Client, watch_list: bool) {
    let namespace = namespace(client, if watch_list { "watch-list" } else { "list" }).await;
    let config = || {
        let mut config = Config::default();
        config.watch_list = watch_list;
        config
    };
    let typed = SharedInformer::builder(client.namespaced::<ConfigMap>(&namespace)).config(config()).build();
    let lazy =
        SharedInformer::builder(client.namespaced::<Lazy<ConfigMap>>(&namespace)).config(config()).build();
    let heads = client.namespaced::<PartialObjectMetadata<ConfigMap>>(&namespace);
    let heads = SharedInformer::builder(heads).config(config()).build();
    let mut running = JoinSet::new();
    running.spawn(typed.run(std::future::pending()));
    running.spawn(lazy.run(std::future::pending()));
    running.spawn(heads.run(std::future::pending()));

    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        writers.spawn(write(client.namespaced(&namespace), namespace.clone(), writer));
    }
    let written: u64 = writers.join_all().await.into_iter().sum();
    assert!(written > WRITERS * WRITES / 4, "only {written} writes came through");

    let server = kubectl_list("configmaps", &namespace).await;
    assert!(!server.is_empty());
    until("each cache is what kubectl lists", || async {
        [cached_list(&typed.lister()), cached_list(&lazy.lister()), cached_list(&heads.lister())]
            .iter()
            .all(|cached| *cached == server)
    })
    .await;
    for map in lazy.lister().list() {
        let whole: ConfigMap = map.decode().expect("the kept bytes are the object");
        assert_eq!(Some(&whole), typed.lister().get(&steersman::Object::key(&*map)).as_deref());
    }
}

// CACHE-Z-01, CACHE-R-14, CACHE-R-55
#[test]
#[ignore = "needs a real control plane: tests/real/run"]
fn the_cache_is_what_kubectl_lists_after_thousands_of_writes_by_watch_list() {
    run(async { becomes_the_server(&client("admin").await, true).await });
}

// CACHE-Z-01, CACHE-R-20, CACHE-R-45
#[test]
#[ignore = "needs a real control plane: tests/real/run"]
fn the_cache_is_what_kubectl_lists_after_thousands_of_writes_by_list() {
    run(async { becomes_the_server(&client("token-admin").await, false).await });
}
