//! Many informers, many objects, one connection.

use k8s_openapi::api::core::v1::ConfigMap;
use steersman::PartialObjectMetadata;
use test_apiserver::Options;

use crate::mirror::{Mirror, Writes};
use crate::world::{WIRES, World, quick};

// REST-TL-23
#[tokio::test]
async fn thirty_informers_of_one_client_stay_with_the_server_even_if_few_streams_fit_into_a_connection() {
    for wire in WIRES {
        let options = Options { http2_max_streams: 4, ..Options::default() };
        let world = World::start_with(wire, options, |_| {}).await;
        let mut writes = Writes::new(11);
        writes.some::<ConfigMap>(&world.server, 30);
        let mut mirrors: Vec<_> = (0..30)
            .map(|_| Mirror::<PartialObjectMetadata<ConfigMap>>::start(&world.client, quick()))
            .collect();
        for round in 0..3 {
            writes.some::<ConfigMap>(&world.server, 20);
            for mirror in &mut mirrors {
                mirror.agrees_with(&world.server, &format!("{wire:?} round {round}")).await;
            }
        }
        world.watches(30).await;
        drop(mirrors);
        world.watches(0).await;
    }
}
