//! Connections: accepted, wrapped in TLS, spoken to in HTTP/1.1 or HTTP/2.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use rustls::pki_types::CertificateDer;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use crate::http::socket::{Control, Socket};
use crate::http::tasks::Tasks;
use crate::http::{Service, handle};

/// A handshake takes no longer than this, or the connection is dropped.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// After an `accept` that failed for want of something (descriptors), the next one waits for so long.
const REST: Duration = Duration::from_millis(50);

/// Who is at the other end of a connection.
#[derive(Debug, Clone)]
pub(crate) struct Peer {
    /// A number for the connection, counted from 1; requests that share it show the same number in the log.
    pub(crate) connection: u64,
    /// What the client presented in the handshake, leaf first; unverified.
    pub(crate) certificates: Arc<[CertificateDer<'static>]>,
    /// The connection's side door.
    pub(crate) control: Control,
}

/// How connections are spoken to.
#[derive(Clone)]
pub(crate) struct Speech {
    pub(crate) tls: Option<TlsAcceptor>,
    pub(crate) http1: bool,
    pub(crate) http2: bool,
    pub(crate) max_streams: u32,
}

/// Accepts connections until the server stops.
pub(crate) async fn accept(listener: TcpListener, speech: Speech, service: Arc<Service>, tasks: Tasks) {
    let numbers = AtomicU64::new(1);
    loop {
        match listener.accept().await {
            Ok((tcp, _)) => {
                let connection = numbers.fetch_add(1, Ordering::Relaxed);
                let (speech, service, tasks) = (speech.clone(), Arc::clone(&service), tasks.clone());
                let inner = tasks.clone();
                tasks.spawn(async move {
                    if let Err(error) = serve(tcp, connection, &speech, service, inner).await {
                        tracing::debug!(connection, %error, "connection ended");
                    }
                });
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(REST).await;
            }
        }
    }
}

async fn serve(
    tcp: TcpStream,
    connection: u64,
    speech: &Speech,
    service: Arc<Service>,
    tasks: Tasks,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    tcp.set_nodelay(true)?; // an event is one small write
    let control = Control::default();
    let socket = Socket::new(tcp, control.clone());
    let Some(acceptor) = &speech.tls else {
        let peer = Peer { connection, certificates: Arc::new([]), control };
        return speak(socket, peer, speech, service, tasks).await;
    };
    let stream = tokio::time::timeout(HANDSHAKE, acceptor.accept(socket))
        .await
        .map_err(|_| io::Error::new(io::ErrorKind::TimedOut, "no TLS handshake"))??;
    let certificates = stream.get_ref().1.peer_certificates().unwrap_or_default();
    let peer = Peer { connection, certificates: certificates.to_vec().into(), control };
    speak(stream, peer, speech, service, tasks).await
}

async fn speak<S>(
    stream: S,
    peer: Peer,
    speech: &Speech,
    service: Arc<Service>,
    tasks: Tasks,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let control = peer.control.clone();
    let cut = Arc::clone(&service.cut);
    let respond = service_fn(move |request| handle(Arc::clone(&service), peer.clone(), request));
    let mut builder = auto::Builder::new(tasks);
    builder.http1().timer(TokioTimer::new()).half_close(false);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(speech.max_streams)
        .initial_stream_window_size(256 * 1024);
    let builder = match (speech.http1, speech.http2) {
        (true, false) => builder.http1_only(),
        (false, true) => builder.http2_only(),
        _ => builder,
    };
    let mut talk = std::pin::pin!(builder.serve_connection(TokioIo::new(stream), respond));
    let mut cut = std::pin::pin!(cut.notified());
    let mut is_draining = false;
    loop {
        tokio::select! {
            biased;
            () = control.ended() => return Ok(()), // dropping `talk` drops the socket, which closes or resets it
            () = &mut cut => return Ok(()),
            () = control.drained(), if !is_draining => {
                is_draining = true;
                talk.as_mut().graceful_shutdown();
            }
            outcome = &mut talk => return outcome,
        }
    }
}
