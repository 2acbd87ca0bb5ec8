//! Steersman under the same load as the clients that it is measured beside: `sync`, `events`, `requests`.
//!
//! ```text
//! measure-client MODE --server URL [--ca FILE] [--control URL] [--strategy list|stream] [--keep FORM] …
//! ```
//!
//! Prints one line of JSON. The arguments and the line are those of the kube-rs client of the measurements; `--keep`
//! says what is kept: `pod`, `lazy`, `metadata`, `slim` (the fields that a small controller reads). What cannot be done
//! yet (`packed`, `--content default`: protobuf) is refused by name, with exit status 3.
//!
//! What can mislead: `peak_rss_kib` has the allocator's slack in it; latencies at full speed are times in queues.

mod args;
mod events;
mod keep;
mod requests;
mod sync;

use args::Args;
use serde_json::Value;

fn main() {
    let args = Args::parse();
    let runtime = match args.number::<usize>("threads") {
        Some(0) => tokio::runtime::Builder::new_current_thread().enable_all().build(),
        Some(threads) => {
            tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build()
        }
        None => tokio::runtime::Builder::new_multi_thread().enable_all().build(),
    };
    let mode = args.mode.clone();
    // On a worker, where the sockets' readiness is noticed: what waits elsewhere pays for being woken across threads.
    let runtime = runtime.expect("a runtime");
    let mut line = runtime.block_on(async {
        let work = async move { (run(&args).await, args) };
        let (line, args) = tokio::spawn(work).await.expect("the measurement does not panic");
        let mut line = line;
        line["client"] = format!("steersman {}", env!("CARGO_PKG_VERSION")).into();
        line["keep"] = args.get("keep").unwrap_or("pod").into();
        line["tls"] = args.get("ca").is_some().into();
        line["strategy"] = args.get("strategy").into();
        line["threads"] = args.get("threads").into();
        line
    });
    line["mode"] = mode.into();
    println!("{line}");
    // Dropping the cache is no part of what is measured.
    std::process::exit(0);
}

async fn run(args: &Args) -> Value {
    match args.mode.as_str() {
        "sync" => keep::dispatch(args, sync::Sync).await,
        "events" => keep::dispatch(args, events::Events).await,
        "requests" => requests::run(args).await,
        mode => args::refuse(&format!("mode {mode}")),
    }
}
