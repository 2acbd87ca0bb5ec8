//! `Body`: the bytes of an answer, as they arrive.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use apimachinery::{ApiError, BrokenKind};
use bytes::Bytes;
use http_body::Body as _;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::sync::oneshot;

use super::connect::Counted;
use super::fault;
use super::gunzip::Gunzip;
use super::pool::{Http1, Lease};

const READING: &str = "reading the answer";

/// The bytes of an answer, as they arrive (decompressed). Dropping it cancels the request.
pub(crate) struct Body {
    incoming: Incoming,
    gunzip: Option<Gunzip>,
    from: Source,
    host: String,
    /// Has anything come?
    any: bool,
    over: bool,
}

/// Who reads the socket.
pub(super) enum Source {
    /// A task of the pool; the connection goes back when the answer is whole.
    Shared(Option<Lease>),
    /// Whoever polls the body.
    Dedicated(Box<Driver>),
}

/// A connection of its own, driven by whoever polls the body.
pub(super) struct Driver {
    pub(super) connection: Option<http1::Connection<TokioIo<Counted>, Full<Bytes>>>,
    /// Kept, for the connection takes its absence for the end.
    pub(super) sender: Option<Http1>,
    /// Resolves when the connection must be closed: its identity is no longer ours.
    pub(super) closed: oneshot::Receiver<()>,
}

impl Body {
    pub(super) fn new(incoming: Incoming, gzip: bool, from: Source, host: String) -> Self {
        let gunzip = gzip.then(Gunzip::new);
        let mut body = Body { incoming, gunzip, from, host, any: false, over: false };
        body.release_if_whole();
        body
    }

    /// The next bytes; `None` when the answer is whole. An answer that ends too early is an error, never `None`.
    /// After an error comes `None`.
    pub(crate) fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, ApiError>>> {
        loop {
            if self.over {
                return Poll::Ready(None);
            }
            if let Some(gunzip) = &mut self.gunzip {
                match gunzip.poll_output() {
                    Ok(Some(bytes)) => return Poll::Ready(Some(Ok(bytes))),
                    Ok(None) => {}
                    Err(problem) => return self.fail(broken(BrokenKind::Other, problem)),
                }
            }
            match ready!(self.poll_data(cx)) {
                Some(Ok(data)) => {
                    self.any = true;
                    self.release_if_whole();
                    match &mut self.gunzip {
                        Some(gunzip) => gunzip.handle_input(data),
                        None => return Poll::Ready(Some(Ok(data))),
                    }
                }
                Some(Err(error)) => return self.fail(error),
                None => {
                    if self.any && self.gunzip.as_ref().is_some_and(|gunzip| !gunzip.may_end()) {
                        return self.fail(broken(BrokenKind::Eof, "compressed data is cut off"));
                    }
                    self.over = true;
                    self.release();
                }
            }
        }
    }

    fn poll_data(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, ApiError>>> {
        loop {
            let polled = Pin::new(&mut self.incoming).poll_frame(cx);
            let polled = match polled {
                Poll::Pending => match &mut self.from {
                    Source::Shared(_) => return Poll::Pending,
                    Source::Dedicated(driver) => match driver.poll(cx) {
                        Poll::Ready(Some(error)) => return Poll::Ready(Some(Err(error))),
                        // What it read is in the channel now, or the connection is over.
                        _ => ready!(Pin::new(&mut self.incoming).poll_frame(cx)),
                    },
                },
                Poll::Ready(frame) => frame,
            };
            match polled {
                None => return Poll::Ready(None),
                Some(Err(error)) => {
                    return Poll::Ready(Some(Err(fault::broken(&self.host, READING, error))));
                }
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data()
                        && !data.is_empty()
                    {
                        return Poll::Ready(Some(Ok(data)));
                    }
                }
            }
        }
    }

    fn fail(&mut self, error: ApiError) -> Poll<Option<Result<Bytes, ApiError>>> {
        self.over = true;
        if let Source::Shared(lease) = &mut self.from {
            *lease = None;
        }
        Poll::Ready(Some(Err(error)))
    }

    /// Gives the connection back at once, and not only when somebody asks for bytes that do not come.
    fn release_if_whole(&mut self) {
        if self.incoming.is_end_stream() {
            self.release();
        }
    }

    fn release(&mut self) {
        if let Source::Shared(lease) = &mut self.from
            && let Some(lease) = lease.take()
        {
            lease.finish();
        }
    }
}

impl Driver {
    /// Reads and writes what can be; an error if the connection must end.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<ApiError>> {
        if let Some(connection) = &mut self.connection {
            match Pin::new(connection).poll(cx) {
                Poll::Pending => {}
                Poll::Ready(done) => {
                    self.connection = None;
                    if let Err(error) = done {
                        tracing::debug!(%error, "a dedicated connection ended");
                    }
                    return Poll::Ready(None);
                }
            }
        }
        match Pin::new(&mut self.closed).poll(cx) {
            Poll::Ready(_) => {
                self.connection = None;
                Poll::Ready(Some(broken(
                    BrokenKind::Other,
                    "closed here: the client certificate has changed",
                )))
            }
            Poll::Pending => Poll::Pending,
        }
    }
}

fn broken(kind: BrokenKind, problem: &'static str) -> ApiError {
    ApiError::Broken { during: READING, kind, source: problem.into() }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Body").field("host", &self.host).field("over", &self.over).finish_non_exhaustive()
    }
}
