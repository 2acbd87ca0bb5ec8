//! The probe: this library seen from outside, by black-box tests that compare client libraries.
//!
//! ```text
//! probe --kubeconfig FILE [--context NAME] [--namespace NS] MODE [options]
//! ```
//!
//! One JSON object a line on standard output, commands on standard input. Modes: `config`, `request`, `informer`,
//! `controller`, `queue`, `decode`. What is not there yet answers `unsupported`, with exit status 3. Forms: `typed`
//! (resources that this program has a type for), `dynamic`, `metadata`, `lazy`, `json` (as `typed`).

mod args;
mod commands;
mod config;
mod controller;
mod decode;
mod informer;
mod out;
mod queue;
mod request;
mod resource;

use args::Args;
use commands::{Command, Commands};
use serde_json::{Value, json};
use steersman::{Client, ClientConfig};

#[tokio::main]
async fn main() {
    out::start();
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_env_filter("warn").init();
    out::emit("started", json!({}));
    let args = Args::parse();
    let commands = Commands::new().unwrap_or_else(|error| args::usage(&format!("signals: {error}")));
    match args.mode.as_str() {
        "queue" => queue::run(commands).await,
        "decode" => decode::run(&args, commands).await,
        _ => {
            let config = config::load(&args).unwrap_or_else(|error| config::refuse(&error));
            with_server(args, config, commands).await;
        }
    }
    out::emit("stopped", json!({}));
    // The runtime would wait for the thread that reads standard input, until somebody writes a line.
    std::process::exit(0);
}

async fn with_server(args: Args, mut config: ClientConfig, commands: Commands) {
    if args.mode == "request" {
        config.qps = -1.0;
    }
    let client = Client::new(config.clone()).unwrap_or_else(|error| config::refuse(&error));
    match args.mode.as_str() {
        "config" => config::print(&config),
        "request" => request::run(&args, &client, commands).await,
        mode @ ("informer" | "controller") => {
            let is_controller = mode == "controller";
            informer::run(args, &client, commands, is_controller).await;
        }
        mode => out::unsupported(&format!("mode {mode}")),
    }
}

/// What every mode answers alike. `false`: the command is none of these.
fn common(command: &Command, synced: Option<bool>, last_error: &Value) -> bool {
    if command.name != "status" {
        return false;
    }
    let tasks = tokio::runtime::Handle::current().metrics().num_alive_tasks();
    out::emit(
        "status",
        json!({ "synced": synced, "lastError": last_error, "tasks": tasks, "sockets": out::sockets() }),
    );
    true
}

/// A command that nobody knows.
fn unknown(command: &Command) {
    out::emit("unsupported", json!({ "what": format!("command {}", command.name) }));
}
