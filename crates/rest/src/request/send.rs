//! `Sender`: a call, sent until it has its answer: the rate limit, the attempts, the waits between, the time limit.

use std::future::Future;
use std::time::Duration;

use apimachinery::{ApiError, BoxError};
use bytes::Bytes;
use flowcontrol::Random;
use http::HeaderMap;
use tokio::time::{Instant, sleep, timeout_at};

use super::answer::{refusal, retry_after};
use super::warning::warnings;
use super::{Call, Limiter, invalid};
use crate::chunks::{self, Chunks};
use crate::retry::{Class, Next, Outcome, Retry, RetryPolicy};
use crate::transport::{Body, Mode, Transport};

/// How much of a refusal's body is read; a Status is far smaller.
const REFUSAL_LIMIT: usize = 1024 * 1024;
/// How long the body of a refusal may take: the code alone is an answer, too.
const REFUSAL_TIME: Duration = Duration::from_secs(10);
/// How much of a body is read only to keep its connection (REST-RT-10).
const DRAIN_LIMIT: usize = 2048;
/// The largest answer that is not a list.
const ANSWER_LIMIT: usize = 64 * 1024 * 1024;

/// What carries one attempt: the transport, or a test.
pub(crate) trait Wire: Send + Sync {
    /// The bytes of an answer.
    type Body: Chunks;

    /// One attempt. An answer of any status is `Ok`.
    fn send(
        &self,
        request: http::Request<Bytes>,
        mode: Mode,
    ) -> impl Future<Output = Result<http::Response<Self::Body>, ApiError>> + Send;
}

impl Wire for Transport {
    type Body = Body;

    async fn send(
        &self,
        request: http::Request<Bytes>,
        mode: Mode,
    ) -> Result<http::Response<Body>, ApiError> {
        Transport::send(self, request, mode).await
    }
}

/// Sends calls.
#[derive(Debug)]
pub(crate) struct Sender<W = Transport> {
    pub(crate) wire: W,
    pub(crate) limiter: Limiter,
    pub(crate) policy: RetryPolicy,
}

/// A success whose body has not been read yet.
#[derive(Debug)]
pub(crate) struct Answer<B = Body> {
    pub(crate) code: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: B,
    deadline: Option<Instant>,
}

impl<B: Chunks> Answer<B> {
    /// All of the body.
    pub(crate) async fn whole(&mut self) -> Result<Bytes, ApiError> {
        within(self.deadline, "reading the answer", chunks::whole(&mut self.body, ANSWER_LIMIT)).await?
    }

    /// The next piece of the body.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, ApiError> {
        within(self.deadline, "reading the answer", chunks::next(&mut self.body)).await?.transpose()
    }
}

/// A call whose whole answer is read, until it has been (REST-RT-04).
///
/// ```text
/// loop { match read(reading.send().await?) { Ok(answer) => return …, Err(error) => reading.broke_off(error).await? } }
/// ```
#[derive(Debug)]
pub(crate) struct Reading<'a, W = Transport> {
    sender: &'a Sender<W>,
    call: &'a Call<'a>,
    retry: Retry,
    deadline: Option<Instant>,
}

impl<W: Wire> Reading<'_, W> {
    /// The next answer.
    pub(crate) async fn send(&mut self) -> Result<Answer<W::Body>, ApiError> {
        let answer = self.sender.send_until(self.call, &mut self.deadline).await?;
        answer.ok_or_else(|| invalid("only a watch can end before it has begun".to_owned()))
    }

    /// The answer could not be read to its end: waits until it is time for the next, if a GET may have one.
    pub(crate) async fn broke_off(&mut self, error: ApiError) -> Result<(), ApiError> {
        // What a write did has been done: only its answer is lost.
        if self.call.class() != Class::Read {
            return Err(error);
        }
        let Next::After(wait) = self.retry.handle(Outcome::Failed(&error), &mut Random::unseeded()) else {
            return Err(error);
        };
        if is_beyond(self.deadline, wait) {
            return Err(error);
        }
        tracing::debug!(verb = self.call.verb, url = self.call.url, %error, "the answer broke off; once more");
        sleep(wait).await;
        Ok(())
    }
}

impl<W: Wire> Sender<W> {
    /// A call whose whole answer is to be read.
    pub(crate) fn reading<'a>(&'a self, call: &'a Call<'a>) -> Reading<'a, W> {
        Reading { sender: self, call, retry: Retry::new(self.policy, call.class()), deadline: None }
    }

    /// The answer to `call`, if it is a success; everything else is an error. `None`: a watch that could not be opened
    /// because connections kept breaking; it counts as one that has ended (REST-RT-12).
    pub(crate) async fn send(&self, call: &Call<'_>) -> Result<Option<Answer<W::Body>>, ApiError> {
        self.send_until(call, &mut None).await
    }

    /// As [`send`](Self::send), by a deadline that is set if it has not been.
    async fn send_until(
        &self,
        call: &Call<'_>,
        deadline: &mut Option<Instant>,
    ) -> Result<Option<Answer<W::Body>>, ApiError> {
        // The first attempt of a watch does not wait (REST-FC-02), and the time limit counts from here (REST-RQ-09).
        if !call.is_watch {
            self.limiter.acquire().await?;
        }
        let mode = if call.is_watch { Mode::Dedicated } else { Mode::Shared };
        // A limit beyond the clock's range is none.
        *deadline = deadline.or_else(|| Instant::now().checked_add(call.limit?));
        let deadline = *deadline;
        let mut retry = Retry::new(self.policy, call.class());
        let mut random = Random::unseeded();
        let mut earlier = Earlier::default();
        loop {
            let request = call.request().map_err(|error| invalid(error.to_string()))?;
            let attempt = within(deadline, "the request", self.wire.send(request, mode)).await;
            let attempt = match attempt {
                Ok(attempt) => attempt,
                Err(timeout) => return Err(after(timeout, earlier)),
            };
            let wait = match attempt {
                Ok(response) if call.is_success(response.status().as_u16()) => {
                    let (head, body) = response.into_parts();
                    log(call, &retry, head.status.as_u16(), &head.headers);
                    return Ok(Some(Answer {
                        code: head.status.as_u16(),
                        headers: head.headers,
                        body,
                        deadline,
                    }));
                }
                Ok(response) => {
                    let (head, mut body) = response.into_parts();
                    let (code, headers) = (head.status.as_u16(), head.headers);
                    log(call, &retry, code, &headers);
                    let outcome = Outcome::Answer { code, retry_after: retry_after(&headers) };
                    let next = retry.handle(outcome, &mut random);
                    let front = match next {
                        Next::After(_) => drain(&headers, &mut body).await,
                        Next::Take | Next::GiveUp => {
                            let end = Instant::now() + REFUSAL_TIME;
                            let end = deadline.map_or(end, |deadline| deadline.min(end));
                            chunks::front(&mut body, REFUSAL_LIMIT, end).await
                        }
                    };
                    let error: ApiError = refusal(code, &headers, &front, call.about).into();
                    let Next::After(wait) = next else { return Err(error) };
                    earlier.note(error);
                    wait
                }
                Err(error) => {
                    tracing::debug!(verb = call.verb, url = call.url, %error, "no answer");
                    match retry.handle(Outcome::Failed(&error), &mut random) {
                        Next::After(wait) => {
                            earlier.note(error);
                            wait
                        }
                        Next::GiveUp if call.is_watch => return Ok(None),
                        Next::GiveUp | Next::Take => return Err(after(error, earlier)),
                    }
                }
            };
            if is_beyond(deadline, wait) {
                return Err(after(timed_out("waiting to try again"), earlier));
            }
            sleep(wait).await;
            let token = within(deadline, "waiting for the rate limit", self.limiter.acquire()).await;
            if let Err(error) = token.and_then(|token| token) {
                return Err(after(error, earlier));
            }
        }
    }
}

/// One line for each attempt that had an answer, and one for each warning in it (REST-RS-11, REST-RS-12).
fn log(call: &Call<'_>, retry: &Retry, code: u16, headers: &HeaderMap) {
    for text in warnings(headers) {
        tracing::warn!(verb = call.verb, resource = call.about.resource, "the server warns: {text}");
    }
    tracing::debug!(
        verb = call.verb,
        resource = call.about.resource,
        namespace = call.namespace,
        name = call.about.name,
        code,
        retries = retry.retries(),
        "answer"
    );
}

/// Reads what is left of a short body, so that its connection can be used again; the bytes serve the error.
async fn drain(headers: &HeaderMap, body: &mut impl Chunks) -> Vec<u8> {
    let length = headers.get(http::header::CONTENT_LENGTH);
    let length = length.and_then(|value| value.to_str().ok()).and_then(|value| value.parse::<usize>().ok());
    if length.is_some_and(|length| length > DRAIN_LIMIT) {
        return Vec::new();
    }
    chunks::front(body, DRAIN_LIMIT, Instant::now() + REFUSAL_TIME).await
}

/// The future's answer, if it comes before the deadline.
async fn within<F: Future>(
    deadline: Option<Instant>,
    during: &'static str,
    future: F,
) -> Result<F::Output, ApiError> {
    match deadline {
        None => Ok(future.await),
        Some(deadline) => timeout_at(deadline, future).await.map_err(|_| timed_out(during)),
    }
}

/// Whether the deadline comes before a wait is over. Nothing is added up: a server may ask for any wait.
fn is_beyond(deadline: Option<Instant>, wait: Duration) -> bool {
    deadline.is_some_and(|deadline| deadline.saturating_duration_since(Instant::now()) <= wait)
}

fn timed_out(during: &'static str) -> ApiError {
    ApiError::Timeout { during, earlier: None }
}

/// What went wrong before the last attempt: the latest error, and the latest that reads otherwise.
#[derive(Debug, Default)]
struct Earlier {
    last: Option<ApiError>,
    other: Option<ApiError>,
}

impl Earlier {
    fn note(&mut self, error: ApiError) {
        if let Some(last) = self.last.take()
            && why(&last) != why(&error)
        {
            self.other = Some(last);
        }
        self.last = Some(error);
    }

    /// The latest that reads otherwise than this one.
    fn than(self, error: &ApiError) -> Option<ApiError> {
        self.last.filter(|last| why(last) != why(error)).or(self.other)
    }
}

/// The error, and the one before it, so that a late timeout does not hide the refusal that led to it (REST-RT-11,
/// REST-RT-13).
fn after(error: ApiError, earlier: Earlier) -> ApiError {
    let Some(earlier) = earlier.than(&error) else { return error };
    match error {
        ApiError::Timeout { during, earlier: None } => {
            ApiError::Timeout { during, earlier: Some(Box::new(earlier)) }
        }
        ApiError::Broken { during, kind, source } => {
            ApiError::Broken { during, kind, source: both(source, &earlier) }
        }
        ApiError::Connect { host, kind, source } => {
            ApiError::Connect { host, kind, source: both(source, &earlier) }
        }
        other => other,
    }
}

/// The text that tells one error from another: the cause, where the error itself only says what was being done.
fn why(error: &ApiError) -> String {
    match error {
        ApiError::Broken { source, .. } | ApiError::Connect { source, .. } => source.to_string(),
        other => other.to_string(),
    }
}

/// A cause, and what had gone wrong before it.
#[derive(Debug, thiserror::Error)]
#[error("{last}; before that: {earlier}")]
struct Both {
    last: String,
    earlier: String,
    #[source]
    cause: BoxError,
}

fn both(cause: BoxError, earlier: &ApiError) -> BoxError {
    Box::new(Both { last: cause.to_string(), earlier: why(earlier), cause })
}
