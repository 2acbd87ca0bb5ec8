//! The cache half as a whole, from a source to a handler: no socket, no decoding. Compare client-go's
//! `BenchmarkSharedIndexInformer`.

use std::future::ready;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use indexer::Writer;
use steersman::apimachinery::{ListOptions, Page};
use steersman::{ApiError, Head, ListWatch, Notification, SharedInformer, WatchEvent};
use tokio::sync::Notify;

const OBJECTS: usize = 10_000;
const EVENTS: usize = 10_000;

#[derive(Clone, serde::Deserialize)]
struct Thing {
    metadata: Head,
}
steersman::object!(Thing, "v1", "Thing", "things", Namespaced);

fn thing(number: usize, version: usize) -> Thing {
    let metadata = serde_json::json!({
        "name": format!("name-{number}"), "namespace": format!("namespace-{}", number % 100),
        "uid": format!("uid-{number}"), "resourceVersion": version.to_string(),
    });
    Thing { metadata: serde_json::from_value(metadata).expect("metadata") }
}

fn things(version: usize) -> Vec<Thing> {
    (0..OBJECTS).map(|number| thing(number, version)).collect()
}

/// A server that is asked once for a list and once for a watch, and has both at hand.
struct AtHand {
    list: Vec<Thing>,
    events: Vec<Thing>,
}

impl ListWatch<Thing> for AtHand {
    type Events = BoxStream<'static, Result<WatchEvent<Thing>, ApiError>>;

    fn list(&self, _: &ListOptions) -> impl Future<Output = Result<Page<Thing>, ApiError>> + Send {
        ready(Ok(Page {
            items: self.list.clone(),
            undecodable: Vec::new(),
            resource_version: "1".into(),
            continue_token: None,
            remaining_item_count: None,
        }))
    }

    fn watch(&self, _: &ListOptions) -> impl Future<Output = Result<Self::Events, ApiError>> + Send {
        let events = self.events.clone().into_iter().map(|thing| Ok(WatchEvent::Modified(thing)));
        ready(Ok(futures_util::stream::iter(events).chain(futures_util::stream::pending()).boxed()))
    }

    fn supports_watch_list(&self) -> bool {
        false
    }

    fn describe(&self) -> String {
        "things".to_owned()
    }
}

/// Runs an informer until its handler has heard of `expected` things.
async fn run(source: AtHand, expected: usize) {
    let informer = SharedInformer::new(source);
    let (heard, all) = (Arc::new(AtomicUsize::new(0)), Arc::new(Notify::new()));
    let told = all.clone();
    informer
        .add_handler(move |notification: &Notification<Thing>| {
            black_box(notification);
            if heard.fetch_add(1, Ordering::Relaxed) + 1 == expected {
                told.notify_one();
            }
        })
        .detach();
    informer.run(async move { all.notified().await }).await;
}

fn events(c: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let mut group = c.benchmark_group("informer");
    group.sample_size(20);
    group.throughput(Throughput::Elements(EVENTS as u64));
    let changed: Vec<Thing> = (0..EVENTS).map(|number| thing(number, number + 2)).collect();
    // The list of one object, then changes of that and of nine thousand and more that come into being.
    group.bench_function("events", |b| {
        b.to_async(&runtime).iter_batched(
            || AtHand { list: vec![thing(0, 1)], events: changed.clone() },
            |source| run(source, EVENTS + 1),
            criterion::BatchSize::LargeInput,
        );
    });
    group.throughput(Throughput::Elements(OBJECTS as u64));
    group.bench_function("list", |b| {
        b.to_async(&runtime).iter_batched(
            || AtHand { list: things(1), events: Vec::new() },
            |source| run(source, OBJECTS),
            criterion::BatchSize::LargeInput,
        );
    });
    group.finish();
}

/// A relist that finds everything as it was, and one that finds everything changed: the part of the cache.
fn relist(c: &mut Criterion) {
    let mut group = c.benchmark_group("informer");
    group.throughput(Throughput::Elements(OBJECTS as u64));
    let (mut writer, _lister): (Writer<Thing>, _) = indexer::new();
    let shared: Vec<Arc<Thing>> = things(1).into_iter().map(Arc::new).collect();
    writer.replace(shared.clone(), [], "1".into());
    group.bench_function("relist", |b| {
        b.iter(|| black_box(writer.replace(shared.iter().cloned(), [], "1".into())).len());
    });
    group.finish();
}

criterion_group!(benches, events, relist);
criterion_main!(benches);
