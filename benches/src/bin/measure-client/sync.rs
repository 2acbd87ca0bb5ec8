//! `sync`: from nothing to a full cache; time, CPU and memory.

#![expect(clippy::disallowed_methods, reason = "a measurement reads the clock")]

use std::time::{Duration, Instant};

use benches::usage::{cpu_seconds, status_kib, usage};
use serde_json::{Value, json};

use crate::args::Args;
use crate::keep::{Kept, Measure, informer};

pub(crate) struct Sync;

impl Measure for Sync {
    async fn run<T: Kept>(self, args: &Args) -> Value {
        let expected: usize = args.number("pods").unwrap_or(10_000);
        let base_rss = status_kib("VmRSS");
        let (cpu_before, began) = (cpu_seconds(), Instant::now());
        let informer = informer::<T>(args);
        let lister = informer.lister();
        let synced = informer.synced();
        let running = tokio::spawn(informer.run(std::future::pending()));
        synced.await.expect("the cache fills");
        let (seconds, cpu) = (began.elapsed().as_secs_f64(), cpu_seconds() - cpu_before);
        let (user, system, faults) = usage();
        assert!(lister.len() >= expected, "the cache has {} pods, expected {expected}", lister.len());
        tokio::time::sleep(Duration::from_secs(1)).await;
        let (peak, steady) = (status_kib("VmHWM"), status_kib("VmRSS"));
        assert!(!running.is_finished(), "the informer runs on");
        json!({
            "pods": lister.len(), "sync_seconds": seconds, "cpu_seconds": cpu, "user_seconds": user,
            "sys_seconds": system, "minor_faults": faults, "peak_rss_kib": peak, "steady_rss_kib": steady,
            "base_rss_kib": base_rss,
        })
    }
}
