//! The server as a program: `cargo run -p steersman-test-apiserver -- --kubeconfig /tmp/kubeconfig`.
//!
//! It prints one line on standard output once it listens, and stops with status 0 on SIGINT or SIGTERM.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use steersman_test_apiserver::{Options, TestApiServer};
use tokio::signal::unix::{SignalKind, signal};

/// A Kubernetes API server for tests, on loopback, in memory.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// The port to listen on; 0 takes a free one.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Where the kubeconfig is written; by default a new file in the temporary directory, removed at the end.
    #[arg(long)]
    kubeconfig: Option<PathBuf>,
    /// Speak plain HTTP.
    #[arg(long)]
    plain: bool,
    /// Let requests in that show neither a certificate nor a token.
    #[arg(long)]
    anonymous: bool,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let mut text = error.to_string();
            let mut cause = error.source();
            while let Some(error) = cause {
                text = format!("{text}: {error}");
                cause = error.source();
            }
            eprintln!("test-apiserver: {text}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: Arguments) -> Result<(), Box<dyn std::error::Error>> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let server = TestApiServer::start(Options {
        port: arguments.port,
        tls: !arguments.plain,
        anonymous: arguments.anonymous,
        ..Options::default()
    })
    .await?;
    let temporary = arguments.kubeconfig.is_none().then(|| {
        let name = format!("test-apiserver-{}.kubeconfig", uuid::Uuid::new_v4().simple());
        std::env::temp_dir().join(name)
    });
    let path = arguments.kubeconfig.or_else(|| temporary.clone()).unwrap_or_default();
    server.write_kubeconfig(&path)?;
    eprintln!("kubeconfig written to {}", path.display());
    let mut out = std::io::stdout();
    writeln!(out, "listening on {}", server.url())?;
    out.flush()?;
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    server.stop().await;
    if let Some(path) = temporary {
        std::fs::remove_file(path)?;
    }
    Ok(())
}
