//! The work queue: the rows of the contract's table (workqueue-and-coordination, 17), with `ObjectKey`s.
//!
//! `cargo bench -p benches --bench queue`. Beside each row what client-go needs on two cores of the same kind.

use std::hint::black_box;
use std::time::{Duration, Instant};

use apimachinery::ObjectKey;
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;
use workqueue::{Bucket, Core, ItemExponential, Queue, RateLimiter};

fn keys(n: usize) -> Vec<ObjectKey> {
    (0..n).map(|n| ObjectKey::new("default", &format!("pod-{n}"))).collect()
}

fn threads(n: usize) -> Runtime {
    Builder::new_multi_thread().worker_threads(n).enable_all().build().expect("a runtime")
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures")]
fn timed<F: Future<Output = ()>>(runtime: &Runtime, work: F) -> Duration {
    let before = Instant::now();
    runtime.block_on(work);
    before.elapsed()
}

/// One thread, 100 keys.
fn cycles(c: &mut Criterion) {
    let keys = keys(100);
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");

    // client-go: 318 ns, one allocation.
    c.bench_function("queue/cycle", |b| {
        let queue = Queue::new();
        b.iter_custom(|n| {
            timed(&runtime, async {
                for key in keys.iter().cycle().take(usize::try_from(n).unwrap_or(usize::MAX)) {
                    queue.add(key.clone());
                    drop(black_box(queue.get().await));
                }
            })
        });
    });

    // The sets alone: no lock, no future.
    c.bench_function("queue/cycle_core", |b| {
        let mut core = Core::new();
        let mut keys = keys.iter().cycle();
        b.iter(|| {
            core.add(keys.next().expect("a cycle").clone());
            let (ticket, key) = core.take().expect("it was added");
            black_box(key);
            core.done(ticket)
        });
    });

    // client-go: 41 ns.
    c.bench_function("queue/duplicate_add", |b| {
        let queue = Queue::new();
        b.iter(|| queue.add(keys[0].clone()));
    });

    // client-go: 0.69 µs. Both tasks are the runtime's, as workers and handlers are.
    c.bench_function("queue/round_trip", |b| {
        let runtime = threads(2);
        let (there, back) = (Queue::<ObjectKey>::new(), Queue::<ObjectKey>::new());
        let (from, to) = (there.clone(), back.clone());
        let echo = runtime.spawn(async move {
            while let Some(key) = from.get().await {
                to.add(key.clone());
            }
        });
        b.iter_custom(|n| {
            let (there, back, key) = (there.clone(), back.clone(), keys[0].clone());
            let rounds = runtime.spawn(async move {
                for _ in 0..n {
                    there.add(key.clone());
                    drop(black_box(back.get().await));
                }
            });
            timed(&runtime, async { rounds.await.expect("it comes back") })
        });
        there.shutdown();
        runtime.block_on(echo).expect("it echoes until the end");
    });
}

fn delays(c: &mut Criterion) {
    let many = keys(10_000);

    // A round is 10 000 keys. client-go: 1.3–1.8 µs a key, one allocation each.
    c.bench_function("queue/delayed_add_unique_10000", |b| {
        b.iter_batched(
            || (Queue::new(), many.clone()),
            |(queue, keys)| {
                for (n, key) in (0_u64..).zip(keys) {
                    queue.add_after(key, Duration::from_secs(100 + n % 7));
                }
                queue
            },
            BatchSize::LargeInput,
        );
    });

    // client-go: 0.6 µs.
    c.bench_function("queue/delayed_add_duplicate", |b| {
        let queue = Queue::new();
        b.iter(|| queue.add_after(many[0].clone(), Duration::from_secs(100)));
    });
}

/// Unique keys, 4 producers and 4 consumers on two threads. client-go: 0.8–1.1 µs a key.
fn crowd(c: &mut Criterion) {
    const EACH: u64 = 25_000;
    let runtime = threads(2);
    let mut group = c.benchmark_group("queue/unique_4_to_4");
    group.throughput(criterion::Throughput::Elements(4 * EACH)).sample_size(20);
    group.bench_function("100000", |b| {
        b.iter(|| {
            runtime.block_on(async {
                let queue = Queue::<u64>::new();
                let mut consumers = JoinSet::new();
                for _ in 0..4 {
                    let queue = queue.clone();
                    consumers.spawn(async move {
                        let mut taken = 0_u64;
                        while queue.get().await.is_some() {
                            taken += 1;
                        }
                        taken
                    });
                }
                let mut producers = JoinSet::new();
                for producer in 0..4 {
                    let queue = queue.clone();
                    producers.spawn(async move {
                        for n in 0..EACH {
                            queue.add(producer * EACH + n);
                        }
                    });
                }
                producers.join_all().await;
                queue.shutdown();
                let taken: u64 = consumers.join_all().await.into_iter().sum();
                assert_eq!(taken, 4 * EACH);
            });
        });
    });
    group.finish();
}

fn limiters(c: &mut Criterion) {
    let keys = keys(1000);
    #[expect(clippy::disallowed_methods, reason = "a benchmark needs some first moment")]
    let now = Instant::now();
    c.bench_function("queue/limiter_exponential", |b| {
        let mut limiter = ItemExponential::default();
        let mut keys = keys.iter().cycle();
        b.iter(|| limiter.when(now, keys.next().expect("a cycle")));
    });
    c.bench_function("queue/limiter_bucket", |b| {
        let mut limiter = Bucket::new(10.0, 100);
        b.iter(|| limiter.when(now, &keys[0]));
    });
}

criterion_group!(benches, cycles, delays, crowd, limiters);
criterion_main!(benches);
