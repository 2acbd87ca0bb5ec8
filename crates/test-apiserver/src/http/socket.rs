//! A TCP stream that a fault can close, reset or silence from the side, under TLS and HTTP alike.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

const OPEN: u8 = 0;
const SILENT: u8 = 1;
const RESET: u8 = 2;

/// What faults may do to a connection. Cloned into each answer that runs over it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Control {
    state: Arc<AtomicU8>,
    ended: CancellationToken,
    drained: CancellationToken,
}

impl Control {
    /// Ends the connection without another byte; TLS says no farewell.
    pub(crate) fn close(&self) {
        self.ended.cancel();
    }

    /// Ends the connection with RST.
    pub(crate) fn reset(&self) {
        self.state.store(RESET, Ordering::Release);
        self.ended.cancel();
    }

    /// Nothing is read or written from now on; the connection stays open.
    pub(crate) fn silence(&self) {
        self.state.store(SILENT, Ordering::Release);
    }

    /// Takes no further request: GOAWAY over HTTP/2, `Connection: close` over HTTP/1.1. What runs is finished.
    pub(crate) fn drain(&self) {
        self.drained.cancel();
    }

    /// Completes when the connection shall take no further request.
    pub(crate) async fn drained(&self) {
        self.drained.cancelled().await;
    }

    /// Completes when the connection shall end.
    pub(crate) async fn ended(&self) {
        self.ended.cancelled().await;
    }

    fn is(&self, state: u8) -> bool {
        self.state.load(Ordering::Acquire) == state
    }
}

/// The stream, and its control.
#[derive(Debug)]
pub(super) struct Socket {
    tcp: TcpStream,
    control: Control,
}

impl Socket {
    pub(super) fn new(tcp: TcpStream, control: Control) -> Self {
        debug_assert!(control.is(OPEN), "a control belongs to one connection");
        Self { tcp, control }
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        if self.control.is(RESET)
            && let Err(error) = self.tcp.set_zero_linger()
        {
            tracing::debug!(%error, "the connection is closed instead of reset");
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.control.is(SILENT) {
            return Poll::Pending; // never woken again: the connection's task ends with the server or by `close`
        }
        Pin::new(&mut self.tcp).poll_read(cx, buf)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        if self.control.is(SILENT) {
            return Poll::Pending;
        }
        Pin::new(&mut self.tcp).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.control.is(SILENT) {
            return Poll::Pending;
        }
        Pin::new(&mut self.tcp).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.tcp.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.control.is(SILENT) {
            return Poll::Pending;
        }
        Pin::new(&mut self.tcp).poll_shutdown(cx)
    }
}
