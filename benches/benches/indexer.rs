//! The cache: writing, and the ways to read. Names follow client-go's `BenchmarkIndexer` and `BenchmarkLister_*`.
//!
//! 10,000 objects in 100 namespaces, each with two labels, and an index with 100 values.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use indexer::{Index, Lister, Write, Writer};
use steersman::{Head, LabelSelector, Object, ObjectKey};

const OBJECTS: usize = 10_000;

/// Nothing but metadata: what the cache does is measured, not what it holds.
#[derive(serde::Deserialize)]
struct Thing {
    metadata: Head,
}
steersman::object!(Thing, "v1", "Thing", "things", Namespaced);

fn thing(number: usize, version: usize) -> Arc<Thing> {
    let metadata = serde_json::json!({
        "name": format!("name-{number}"), "namespace": format!("namespace-{}", number % 100),
        "uid": format!("uid-{number}"), "resourceVersion": version.to_string(),
        "labels": {"app": format!("app-{}", number % 100), "zone": format!("zone-{}", number % 3)},
    });
    Arc::new(Thing { metadata: serde_json::from_value(metadata).expect("metadata") })
}

fn things(version: usize) -> Vec<Arc<Thing>> {
    (0..OBJECTS).map(|number| thing(number, version)).collect()
}

fn filled() -> (Writer<Thing>, Lister<Thing>, Index<Thing, String>) {
    let (mut writer, lister) = indexer::new::<Thing>();
    let by_app = lister.index(|thing: &Thing| thing.meta().labels().get("app").map(str::to_owned));
    writer.replace(things(1), [], "1".into());
    (writer, lister, by_app)
}

fn writes(c: &mut Criterion) {
    let mut group = c.benchmark_group("indexer");
    // One object a batch: what a change costs that comes alone.
    group.throughput(Throughput::Elements(OBJECTS as u64));
    group.bench_function("add", |b| {
        b.iter_batched(
            || (indexer::new::<Thing>(), things(1)),
            |((mut writer, lister), things)| {
                for thing in things {
                    black_box(writer.apply([Write::upsert(thing)]));
                }
                (writer, lister)
            },
            BatchSize::LargeInput,
        );
    });
    group.bench_function("update", |b| {
        let (mut writer, ..) = filled();
        let mut version = 1;
        b.iter_batched(
            || {
                version += 1;
                things(version)
            },
            |things| {
                for thing in things {
                    black_box(writer.apply([Write::upsert(thing)]));
                }
            },
            BatchSize::LargeInput,
        );
    });
    group.bench_function("update_in_batches", |b| {
        let (mut writer, ..) = filled();
        let mut version = 1;
        b.iter_batched(
            || {
                version += 1;
                things(version)
            },
            |things| {
                for batch in things.chunks(16) {
                    black_box(writer.apply(batch.iter().cloned().map(Write::upsert)));
                }
            },
            BatchSize::LargeInput,
        );
    });
    group.bench_function("replace", |b| {
        let (mut writer, ..) = filled();
        b.iter_batched(
            || things(2),
            |things| black_box(writer.replace(things, [], "2".into())),
            BatchSize::LargeInput,
        );
    });
    group.finish();
}

fn reads(c: &mut Criterion) {
    let (_writer, lister, by_app) = filled();
    let mut group = c.benchmark_group("indexer");
    let key = ObjectKey::new("namespace-42", "name-4242");
    group.bench_function("get", |b| b.iter(|| lister.get(black_box(&key)).expect("it is there")));
    group.bench_function("list", |b| b.iter(|| lister.list().len()));
    group.bench_function("snapshot", |b| {
        b.iter(|| lister.snapshot().iter().filter(|thing| thing.uid().is_empty()).count());
    });
    group.bench_function("in_namespace", |b| b.iter(|| lister.in_namespace("namespace-42").len()));
    group.bench_function("by_index", |b| b.iter(|| by_app.by("app-42").len()));
    // BenchmarkLister_Match_10k_100 and _0.
    let some = LabelSelector::parse("app=app-42").expect("a selector");
    let none = LabelSelector::parse("app=nobody").expect("a selector");
    group.bench_function("match_10k_100", |b| b.iter(|| lister.select(&some).len()));
    group.bench_function("match_10k_0", |b| b.iter(|| lister.select(&none).len()));
    group.finish();
}

criterion_group!(benches, writes, reads);
criterion_main!(benches);
