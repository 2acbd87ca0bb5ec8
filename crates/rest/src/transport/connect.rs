//! A connection: name, address, proxy, TLS.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use apimachinery::{ApiError, ConnectKind};
use tokio::io::{AsyncRead, AsyncWrite, BufReader, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::fault;
use super::proxy::{self, Via};
use super::tls::Handshakes;
use crate::ConnectionOptions;
use crate::config::Server;

/// rustls reads 4 KiB at a time; a record is up to 16 KiB and events come many at once.
const READ_BUFFER: usize = 64 * 1024;
/// A peer that acknowledges nothing for this long is gone: the kernel gives the socket up.
const UNACKNOWLEDGED: Duration = Duration::from_secs(45);
const KEEPALIVE: Duration = Duration::from_secs(30);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(15);

type Tcp = BufReader<TcpStream>;

/// Bytes in both directions.
#[derive(Debug)]
pub(super) enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<Tcp>>),
    /// Through a proxy that is itself spoken to over TLS.
    TlsInTls(Box<TlsStream<Box<TlsStream<Tcp>>>>),
    PlainInTls(Box<TlsStream<Tcp>>),
}

/// A stream that remembers what its reads tell of the server.
#[derive(Debug)]
pub(super) struct Counted {
    stream: Stream,
    signs: Arc<Signs>,
}

/// What the reads of a stream tell of the server, for whoever uses it.
#[derive(Debug)]
pub(super) struct Signs {
    since: Instant,
    /// The last sign of life, in milliseconds after `since`.
    read_ms: AtomicU64,
    refused: AtomicBool,
}

impl Signs {
    fn new() -> Self {
        Signs { since: Instant::now(), read_ms: AtomicU64::new(0), refused: AtomicBool::new(false) }
    }

    /// How long nothing has come.
    pub(super) fn silence(&self) -> Duration {
        self.since.elapsed().saturating_sub(Duration::from_millis(self.read_ms.load(Ordering::Relaxed)))
    }

    /// Has the server refused our certificate? With TLS 1.3 it does so after our side of the handshake is over, and
    /// h2 keeps only the text of an error.
    pub(super) fn is_refused(&self) -> bool {
        self.refused.load(Ordering::Relaxed)
    }
}

/// Where we are going, and how.
#[derive(Debug)]
pub(super) struct Target<'a> {
    pub(super) server: &'a Server,
    pub(super) via: &'a Via,
    pub(super) options: &'a ConnectionOptions,
    pub(super) handshakes: Option<&'a Handshakes>,
    /// Offer HTTP/1.1 alone?
    pub(super) only_http1: bool,
}

/// A stream to the server that is ready for HTTP.
#[derive(Debug)]
pub(super) struct Connected {
    pub(super) stream: Counted,
    pub(super) http2: bool,
    pub(super) signs: Arc<Signs>,
}

impl Target<'_> {
    /// Connects. Dropping the future leaves nothing behind.
    pub(super) async fn connect(&self) -> Result<Connected, ApiError> {
        let host = self.server.authority.as_str();
        let raw = match self.via {
            Via::Straight => Raw::Plain(self.dial(self.server.host(), self.server.port()).await?),
            Via::Proxy(proxy) => self.through(proxy).await?,
        };
        let Some(handshakes) = self.handshakes else {
            let stream = match raw {
                Raw::Plain(tcp) => Stream::Plain(tcp),
                Raw::Tls(tls) => Stream::PlainInTls(tls),
            };
            return Ok(Connected::new(stream, false));
        };
        let config = if self.only_http1 { &handshakes.http1 } else { &handshakes.any };
        let connector = TlsConnector::from(Arc::clone(config));
        let name = handshakes.server_name.clone();
        let secured = timeout(self.options.tls_timeout, async {
            Ok::<_, io::Error>(match raw {
                Raw::Plain(tcp) => {
                    let tcp = BufReader::with_capacity(READ_BUFFER, tcp);
                    Stream::Tls(Box::new(connector.connect(name, tcp).await?))
                }
                Raw::Tls(tls) => Stream::TlsInTls(Box::new(connector.connect(name, tls).await?)),
            })
        });
        let stream = match secured.await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => return Err(fault::connect_io(host, ConnectKind::Tls, error)),
            Err(elapsed) => return Err(fault::connect(host, ConnectKind::Timeout, elapsed)),
        };
        let http2 = stream.alpn() == Some(b"h2");
        Ok(Connected::new(stream, http2))
    }

    async fn through(&self, proxy: &proxy::Proxy) -> Result<Raw, ApiError> {
        let host = self.server.authority.as_str();
        let tcp = self.dial(&proxy.host, proxy.port).await?;
        let mut raw = if let Some((config, name)) = &proxy.tls {
            let connector = TlsConnector::from(Arc::clone(config));
            let tcp = BufReader::with_capacity(READ_BUFFER, tcp);
            let secured = timeout(self.options.tls_timeout, connector.connect(name.clone(), tcp)).await;
            match secured {
                Ok(Ok(tls)) => Raw::Tls(Box::new(tls)),
                Ok(Err(error)) => return Err(fault::connect_io(host, ConnectKind::Proxy, error)),
                Err(elapsed) => return Err(fault::connect(host, ConnectKind::Timeout, elapsed)),
            }
        } else {
            Raw::Plain(tcp)
        };
        let greeted = timeout(self.options.dial_timeout, async {
            match &mut raw {
                Raw::Plain(tcp) => proxy.greet(tcp, self.server).await,
                Raw::Tls(tls) => proxy.greet(tls, self.server).await,
            }
        });
        match greeted.await {
            Ok(Ok(())) => Ok(raw),
            Ok(Err(error)) => Err(fault::connect(host, ConnectKind::Proxy, error)),
            Err(elapsed) => Err(fault::connect(host, ConnectKind::Timeout, elapsed)),
        }
    }

    /// A TCP connection to the first address that answers. Each address gets its share of the time.
    async fn dial(&self, host: &str, port: u16) -> Result<TcpStream, ApiError> {
        let whom = format!("{host}:{port}");
        let until = Instant::now() + self.options.dial_timeout;
        let found = timeout(self.options.dial_timeout, tokio::net::lookup_host((host, port))).await;
        let addresses: Vec<SocketAddr> = match found {
            Ok(Ok(addresses)) => addresses.collect(),
            Ok(Err(error)) => return Err(fault::connect(&whom, ConnectKind::Resolve, error)),
            Err(elapsed) => return Err(fault::connect(&whom, ConnectKind::Timeout, elapsed)),
        };
        let mut failed = fault::connect(&whom, ConnectKind::Resolve, "the name has no address");
        for (at, address) in addresses.iter().enumerate() {
            let left = until.saturating_duration_since(Instant::now());
            let share = left / u32::try_from(addresses.len() - at).unwrap_or(1);
            match timeout(share, TcpStream::connect(address)).await {
                Ok(Ok(tcp)) => {
                    if let Err(error) = tune(&tcp) {
                        tracing::debug!(%error, "cannot set socket options");
                    }
                    return Ok(tcp);
                }
                Ok(Err(error)) => failed = fault::connect_io(&whom, ConnectKind::Other, error),
                Err(elapsed) => failed = fault::connect(&whom, ConnectKind::Timeout, elapsed),
            }
        }
        Err(failed)
    }
}

fn tune(tcp: &TcpStream) -> io::Result<()> {
    tcp.set_nodelay(true)?;
    let socket = socket2::SockRef::from(tcp);
    let keepalive = socket2::TcpKeepalive::new().with_time(KEEPALIVE).with_interval(KEEPALIVE_INTERVAL);
    socket.set_tcp_keepalive(&keepalive)?;
    #[cfg(target_os = "linux")]
    socket.set_tcp_user_timeout(Some(UNACKNOWLEDGED))?;
    Ok(())
}

enum Raw {
    Plain(TcpStream),
    Tls(Box<TlsStream<Tcp>>),
}

impl Connected {
    fn new(stream: Stream, http2: bool) -> Self {
        let signs = Arc::new(Signs::new());
        Connected { stream: Counted { stream, signs: Arc::clone(&signs) }, http2, signs }
    }
}

impl Stream {
    fn alpn(&self) -> Option<&[u8]> {
        match self {
            Stream::Plain(_) | Stream::PlainInTls(_) => None,
            Stream::Tls(tls) => tls.get_ref().1.alpn_protocol(),
            Stream::TlsInTls(tls) => tls.get_ref().1.alpn_protocol(),
        }
    }
}

macro_rules! each {
    ($self:ident, $stream:ident => $call:expr) => {
        match &mut $self.get_mut().stream {
            Stream::Plain($stream) => $call,
            Stream::Tls($stream) => $call,
            Stream::TlsInTls($stream) => $call,
            Stream::PlainInTls($stream) => $call,
        }
    };
}

impl AsyncRead for Counted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.as_mut();
        let polled = each!(this, stream => Pin::new(stream).poll_read(cx, buf));
        match &polled {
            Poll::Pending => {}
            Poll::Ready(Ok(())) => {
                let read_ms = u64::try_from(self.signs.since.elapsed().as_millis()).unwrap_or(u64::MAX);
                self.signs.read_ms.store(read_ms, Ordering::Relaxed);
            }
            Poll::Ready(Err(error)) => {
                if fault::is_refusal(error) {
                    self.signs.refused.store(true, Ordering::Relaxed);
                }
            }
        }
        polled
    }
}

impl AsyncWrite for Counted {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        each!(self, stream => Pin::new(stream).poll_write(cx, buf))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        each!(self, stream => Pin::new(stream).poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        each!(self, stream => Pin::new(stream).poll_shutdown(cx))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        each!(self, stream => Pin::new(stream).poll_write_vectored(cx, bufs))
    }

    fn is_write_vectored(&self) -> bool {
        matches!(self.stream, Stream::Plain(_) | Stream::Tls(_))
    }
}
