//! Every kept form, over every wire, by WatchList and by list, becomes what the server has, whatever breaks meanwhile.

use k8s_openapi::api::core::v1::ConfigMap;
use serde::Deserialize;
use serde_json::{Value, json};
use steersman::{ApiResource, DynamicObject, Head, Kind, Lazy, ObjectKey, PartialObjectMetadata};
use test_apiserver::Options;
use test_apiserver::faults::{After, End, Expired, Fault, Verb, When};

use crate::mirror::{Form, Mirror, Writes};
use crate::site::{Site, define};
use crate::world::{WIRES, World, paged, quick};

impl Form for ConfigMap {
    fn of() -> ApiResource {
        ConfigMap::resource()
    }
    fn body(&self) -> Option<String> {
        self.data.as_ref().and_then(|data| data.get("v").cloned())
    }
}

#[derive(Deserialize)]
struct Value0 {
    data: Data,
}

#[derive(Deserialize)]
struct Data {
    v: String,
}

impl Form for Lazy<ConfigMap> {
    fn of() -> ApiResource {
        ConfigMap::resource()
    }
    fn body(&self) -> Option<String> {
        Some(self.view::<Value0>().expect("a view").data.v)
    }
}

impl Form for PartialObjectMetadata<ConfigMap> {
    fn of() -> ApiResource {
        ConfigMap::resource()
    }
    fn body(&self) -> Option<String> {
        None
    }
}

impl Form for DynamicObject {
    fn of() -> ApiResource {
        ConfigMap::resource()
    }
    fn body(&self) -> Option<String> {
        assert_eq!((self.api_version.as_str(), self.kind.as_str()), ("v1", "ConfigMap"));
        self.field("/data/v").expect("a text")
    }
}

/// The leanest: what is not named here is never allocated.
#[derive(Deserialize)]
struct Own {
    metadata: Head,
    data: Data,
}

steersman::object!(Own, "v1", "ConfigMap", "configmaps", Namespaced);

impl Form for Own {
    fn of() -> ApiResource {
        <Own as Kind>::resource()
    }
    fn body(&self) -> Option<String> {
        Some(self.data.v.clone())
    }
}

impl Form for Site {
    fn of() -> ApiResource {
        Site::resource()
    }
    fn body(&self) -> Option<String> {
        Some(self.spec.title.clone())
    }
    fn json(key: &ObjectKey, value: u64) -> Value {
        let value = value.to_string();
        let metadata =
            json!({ "name": key.name(), "namespace": key.namespace(), "labels": { "v": value.as_str() } });
        json!({ "apiVersion": "example.com/v1", "kind": "Site", "metadata": metadata, "spec": { "title": value } })
    }
}

/// What goes wrong, in turn, while things are written.
fn trouble() -> Vec<(Verb, Fault)> {
    let cuts = [1, 40, 41, 300, 1500].map(|bytes| (Verb::Watch, Fault::cut_after_bytes(bytes)));
    let ends = [(Verb::Watch, Fault::end_after_frames(2)), (Verb::Watch, Fault::end_after_frames(0))];
    let rest = [
        (Verb::Watch, Fault::Cut { after: After::Frames(1), end: End::Reset }),
        (Verb::Watch, Fault::Cut { after: After::Bytes(500), end: End::Clean }),
        (Verb::List, Fault::cut_after_bytes(100)),
        (Verb::Watch, Fault::Close),
        (Verb::Watch, Fault::too_many_requests(1)),
        (Verb::Watch, Fault::refuse(503)),
        (Verb::List, Fault::refuse(503)),
        (Verb::Watch, Fault::Expire(Expired::Event)),
        (Verb::Watch, Fault::Expire(Expired::AnswerGone)),
        (Verb::Watch, Fault::Html { code: 502 }),
        (Verb::Watch, Fault::garbage_after_frames(1)),
    ];
    cuts.into_iter().chain(ends).chain(rest).collect()
}

async fn becomes_the_server<T: Form>() {
    for wire in WIRES {
        for config in [quick(), paged()] {
            let when = format!("{wire:?}, watch_list {}", config.watch_list);
            let world = World::start_with(wire, Options::default(), |_| {}).await;
            define(&world.server);
            let mut writes = Writes::new(7);
            writes.some::<T>(&world.server, 30);
            let mut config = config;
            config.page_size = Some(5);
            let mut mirror = Mirror::<T>::start(&world.client, config);
            mirror.agrees_with(&world.server, &when).await;
            for (verb, fault) in trouble() {
                let when = format!("{when}, {verb:?} {fault:?}");
                let path = T::of().path(None);
                world.plan(When::verb(verb).path(path), fault);
                writes.some::<T>(&world.server, 6);
                // Whoever watches is cut, and comes back into the planned trouble, if it strikes there.
                world.server.with_core(|core| core.end_watches(None));
                writes.some::<T>(&world.server, 6);
                mirror.agrees_with(&world.server, &when).await;
                world.server.faults().clear();
            }
            let requests = world.server.requests().len();
            assert!(requests < 150, "{when}: {requests} requests are more than the faults explain");
            assert_eq!(mirror.informer.status().reflector.undecodable, 0, "{when}");
        }
    }
}

// CACHE-Z-01, CACHE-Z-03, REST-WA-06, REST-EN-03
#[tokio::test]
async fn decoded_structs_become_what_the_server_has() {
    becomes_the_server::<ConfigMap>().await;
}

// CACHE-Z-01, CACHE-Z-03, REST-WA-06
#[tokio::test]
async fn lazy_objects_become_what_the_server_has() {
    becomes_the_server::<Lazy<ConfigMap>>().await;
}

// CACHE-Z-01, CACHE-Z-03, REST-MD-01
#[tokio::test]
async fn metadata_alone_becomes_what_the_server_has() {
    becomes_the_server::<PartialObjectMetadata<ConfigMap>>().await;
}

// CACHE-Z-01, CACHE-Z-03, REST-DY-06
#[tokio::test]
async fn dynamic_objects_become_what_the_server_has_and_know_their_kind() {
    becomes_the_server::<DynamicObject>().await;
}

// CACHE-Z-01, CACHE-Z-03
#[tokio::test]
async fn a_struct_of_ones_own_becomes_what_the_server_has() {
    becomes_the_server::<Own>().await;
}

// CACHE-Z-01, CACHE-Z-03
#[tokio::test]
async fn a_type_made_by_kubes_derive_becomes_what_the_server_has() {
    becomes_the_server::<Site>().await;
}
