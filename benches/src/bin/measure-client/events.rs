//! `events`: changes a second through the whole pipeline, from the socket to inline handlers.

#![expect(clippy::disallowed_methods, reason = "a measurement reads the clock")]
#![expect(clippy::disallowed_types, reason = "handlers share what they count")]

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use benches::usage::{cpu_seconds, percentile, status_kib};
use serde_json::{Value, json};
use steersman::Notification;
use steersman::rest::Method;

use crate::args::Args;
use crate::keep::{Kept, Measure, informer};

pub(crate) struct Events;

#[derive(Default)]
struct Seen {
    first: Option<Instant>,
    count: u64,
    latency_us: Vec<u64>,
    done: Option<(Instant, f64)>,
}

impl Measure for Events {
    async fn run<T: Kept>(self, args: &Args) -> Value {
        let count: u64 = args.number("count").unwrap_or(20_000);
        let rate: f64 = args.number("rate").unwrap_or(0.0);
        let handlers: usize = args.number("handlers").unwrap_or(1);
        let informer = informer::<T>(args);
        let (seen, done) = (Arc::new(Mutex::new(Seen::default())), Arc::new(tokio::sync::Notify::new()));
        let counting = Arc::new(AtomicBool::new(false));
        for handler in 0..handlers {
            let (seen, done, counting) = (seen.clone(), done.clone(), counting.clone());
            let others = Mutex::new(0_u64);
            informer
                .add_handler(move |notification: &Notification<T>| {
                    if !counting.load(Ordering::Relaxed) {
                        return;
                    }
                    if handler > 0 {
                        *others.lock().expect("no handler panics") += 1;
                        return;
                    }
                    note(notification, &seen, &done);
                })
                .detach();
        }
        let synced = informer.synced();
        let running = tokio::spawn(informer.run(std::future::pending()));
        synced.await.expect("the cache fills");
        // After a list the watch is opened when the cache is full already.
        tokio::time::sleep(Duration::from_millis(700)).await;
        counting.store(true, Ordering::Relaxed);
        let cpu_before = cpu_seconds();
        let path = format!("/control/events?count={count}&rate={rate}");
        let pushed: Value =
            serde_json::from_str(&args.control(Method::POST, &path).await).unwrap_or_default();
        tokio::time::timeout(Duration::from_mins(5), done.notified()).await.expect("the last event comes");
        assert!(!running.is_finished(), "the informer runs on");
        let mut seen = seen.lock().expect("no handler panics");
        let (end, cpu_after) = seen.done.expect("the last event was noted");
        let seconds = end.duration_since(seen.first.expect("there were events")).as_secs_f64();
        seen.latency_us.sort_unstable();
        #[expect(clippy::cast_precision_loss, reason = "counts of one run")]
        let events = seen.count as f64;
        #[expect(clippy::cast_precision_loss, reason = "counts of one run")]
        let asked = count as f64;
        json!({
            "count": seen.count, "rate": rate, "seconds": seconds, "events_per_second": events / seconds,
            "cpu_us_per_event": (cpu_after - cpu_before) / events * 1e6,
            "p50_us": percentile(&seen.latency_us, 0.5), "p99_us": percentile(&seen.latency_us, 0.99),
            "bytes_per_event": pushed["bytes"].as_f64().unwrap_or(0.0) / asked, "peak_rss_kib": status_kib("VmHWM"),
        })
    }
}

fn note<T: Kept>(notification: &Notification<T>, seen: &Mutex<Seen>, done: &tokio::sync::Notify) {
    let Some(object) = notification.object() else { return };
    let mut seen = seen.lock().expect("no handler panics");
    if object.name() == "marker" {
        seen.done = Some((Instant::now(), cpu_seconds()));
        done.notify_one();
        return;
    }
    seen.first.get_or_insert_with(Instant::now);
    seen.count += 1;
    let sent = object.sent_at_ns();
    if sent > 0 {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX);
        seen.latency_us.push(now.saturating_sub(sent) / 1000);
    }
}
