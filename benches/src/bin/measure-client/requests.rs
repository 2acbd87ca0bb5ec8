//! `requests`: GETs of single pods, one or many at a time.

#![expect(clippy::disallowed_methods, reason = "a measurement reads the clock")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use benches::usage::{cpu_seconds, percentile, status_kib};
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};
use steersman::rest::Method;
use steersman::{Api, GetOptions, ObjectKey};
use tokio::task::JoinSet;

use crate::args::Args;

pub(crate) async fn run(args: &Args) -> Value {
    let workers: usize = args.number("concurrency").unwrap_or(1);
    let seconds: f64 = args.number("seconds").unwrap_or(5.0);
    let names = args.control(Method::GET, "/control/names?count=1000").await;
    let keys: Arc<Vec<ObjectKey>> =
        Arc::new(names.lines().filter_map(|line| ObjectKey::parse(line).ok()).collect());
    assert!(!keys.is_empty(), "the server names its pods");
    let pods: Api<Pod> = args.client().all();
    // Connecting is not what is measured.
    let mut warm = JoinSet::new();
    for _ in 0..workers {
        let (pods, key) = (pods.clone(), keys[0].clone());
        warm.spawn(async move { pods.get(&key, &GetOptions::default()).await.expect("an answer") });
    }
    warm.join_all().await;
    let (began, cpu_before) = (Instant::now(), cpu_seconds());
    let until = began + Duration::from_secs_f64(seconds);
    let mut tasks = JoinSet::new();
    for worker in 0..workers {
        let (pods, keys) = (pods.clone(), keys.clone());
        tasks.spawn(async move {
            let mut latency_us = Vec::with_capacity(1 << 16);
            let mut next = worker * 31;
            while Instant::now() < until {
                let asked = Instant::now();
                let pod =
                    pods.get(&keys[next % keys.len()], &GetOptions::default()).await.expect("an answer");
                latency_us.push(u64::try_from(asked.elapsed().as_micros()).unwrap_or(u64::MAX));
                assert!(pod.spec.is_some(), "a pod has a spec");
                next += 1;
            }
            latency_us
        });
    }
    let mut latency_us: Vec<u64> = tasks.join_all().await.into_iter().flatten().collect();
    let (took, cpu) = (began.elapsed().as_secs_f64(), cpu_seconds() - cpu_before);
    latency_us.sort_unstable();
    #[expect(clippy::cast_precision_loss, reason = "counts of one run")]
    let requests = latency_us.len() as f64;
    json!({
        "concurrency": workers, "requests": latency_us.len(), "requests_per_second": requests / took,
        "p50_us": percentile(&latency_us, 0.5), "p99_us": percentile(&latency_us, 0.99),
        "cpu_us_per_request": cpu / requests * 1e6, "peak_rss_kib": status_kib("VmHWM"),
    })
}
