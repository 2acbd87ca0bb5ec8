//! When the process is asked to stop.

/// Done at the first SIGINT or SIGTERM, or Ctrl-C where there are no such signals.
///
/// The signals are taken from the moment this is called, before the future is polled; the process does not end by them
/// any more. If the system refuses, the future is never done, and the refusal is logged.
pub fn shutdown_signal() -> impl Future<Output = ()> + Send + 'static {
    #[cfg(unix)]
    let signals = {
        use tokio::signal::unix::{SignalKind, signal};
        (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    };
    async move {
        #[cfg(unix)]
        match signals {
            (Ok(mut interrupt), Ok(mut terminate)) => {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                }
            }
            (Err(error), _) | (_, Err(error)) => {
                tracing::error!(%error, "signals cannot be taken: this process stops only by force");
                std::future::pending::<()>().await;
            }
        }
        #[cfg(not(unix))]
        if let Err(error) = tokio::signal::ctrl_c().await {
            tracing::error!(%error, "Ctrl-C cannot be taken: this process stops only by force");
            std::future::pending::<()>().await;
        }
    }
}
