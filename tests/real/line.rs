//! A line to the API server that can be cut: a port of our own, from which bytes are carried on.

use std::net::SocketAddr;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};

/// Carries connections on for as long as it is not cut, and ends with the value.
pub struct Line {
    address: SocketAddr,
    is_whole: watch::Sender<bool>,
    carrier: AbortHandle,
}

impl Line {
    /// A line to `server`, `https://127.0.0.1:PORT`.
    pub async fn to(server: &str) -> Self {
        let target: SocketAddr =
            server.trim_start_matches("https://").parse().expect("the server is at an address and a port");
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let address = listener.local_addr().expect("the port is known");
        let (is_whole, whole) = watch::channel(true);
        let carrier = tokio::spawn(carry(listener, target, whole)).abort_handle();
        Self { address, is_whole, carrier }
    }

    /// Where it begins.
    pub fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// Ends all connections, and every new one at once.
    pub fn cut(&self) {
        self.is_whole.send_replace(false);
    }

    /// Carries on again.
    pub fn mend(&self) {
        self.is_whole.send_replace(true);
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.carrier.abort();
    }
}

async fn carry(listener: TcpListener, target: SocketAddr, mut whole: watch::Receiver<bool>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((mut near, _)) = accepted else { return };
                if *whole.borrow() {
                    connections.spawn(async move {
                        if let Ok(mut far) = TcpStream::connect(target).await {
                            // How it ends is the matter of those who talk.
                            let _ = tokio::io::copy_bidirectional(&mut near, &mut far).await;
                        }
                    });
                }
            }
            changed = whole.changed() => {
                if changed.is_err() {
                    return;
                }
                if !*whole.borrow_and_update() {
                    connections.abort_all();
                }
            }
        }
    }
}
