//! `Sender`: a call, sent until it has its answer: the rate limit, the attempts, the waits between, the time limit.

use std::future::Future;
use std::time::Duration;

use apimachinery::{ApiError, BoxError};
use bytes::Bytes;
use flowcontrol::Random;
use http::HeaderMap;
use tokio::time::{Instant, sleep, timeout_at};

use super::answer::{refusal, retry_after};
use super::{Call, Limiter, invalid};
use crate::chunks;
use crate::retry::{Next, Outcome, Retry, RetryPolicy};
use crate::transport::{Body, Mode, Transport};

/// How much of a refusal's body is read; a Status is far smaller.
const REFUSAL_LIMIT: usize = 1024 * 1024;
/// How long the body of a refusal may take: the code alone is an answer, too.
const REFUSAL_TIME: Duration = Duration::from_secs(10);
/// How much of a body is read only to keep its connection (REST-RT-10).
const DRAIN_LIMIT: usize = 2048;
/// The largest answer that is not a list.
const ANSWER_LIMIT: usize = 64 * 1024 * 1024;

/// Sends calls.
#[derive(Debug)]
pub(crate) struct Sender {
    pub(crate) transport: Transport,
    pub(crate) limiter: Limiter,
    pub(crate) policy: RetryPolicy,
}

/// A success whose body has not been read yet.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Body,
    deadline: Option<Instant>,
}

impl Answer {
    /// All of the body.
    pub(crate) async fn whole(&mut self) -> Result<Bytes, ApiError> {
        within(self.deadline, "reading the answer", chunks::whole(&mut self.body, ANSWER_LIMIT)).await?
    }

    /// The next piece of the body.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, ApiError> {
        within(self.deadline, "reading the answer", chunks::next(&mut self.body)).await?.transpose()
    }
}

impl Sender {
    /// The answer to `call`, if it is a success; everything else is an error. `None`: a watch that could not be opened
    /// because connections kept breaking; it counts as one that has ended (REST-RT-12).
    pub(crate) async fn send(&self, call: &Call<'_>) -> Result<Option<Answer>, ApiError> {
        // The first attempt of a watch does not wait (REST-FC-02), and the time limit counts from here (REST-RQ-09).
        if !call.is_watch {
            self.limiter.acquire().await?;
        }
        let mode = if call.is_watch { Mode::Dedicated } else { Mode::Shared };
        let deadline = call.limit.map(|limit| Instant::now() + limit);
        let mut retry = Retry::new(self.policy, call.class());
        let mut random = Random::unseeded();
        let mut earlier: Option<ApiError> = None;
        loop {
            let request = call.request().map_err(|error| invalid(error.to_string()))?;
            let attempt = within(deadline, "the request", self.transport.send(request, mode)).await;
            let attempt = match attempt {
                Ok(attempt) => attempt,
                Err(timeout) => return Err(after(timeout, earlier)),
            };
            let wait = match attempt {
                Ok(response) if call.is_success(response.status().as_u16()) => {
                    let (head, body) = response.into_parts();
                    log(call, &retry, head.status.as_u16());
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
                    log(call, &retry, code);
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
                    earlier = Some(error);
                    wait
                }
                Err(error) => {
                    tracing::debug!(verb = call.verb, url = call.url, %error, "no answer");
                    match retry.handle(Outcome::Failed(&error), &mut random) {
                        Next::After(wait) => {
                            earlier = Some(error);
                            wait
                        }
                        Next::GiveUp if call.is_watch => return Ok(None),
                        Next::GiveUp | Next::Take => return Err(after(error, earlier)),
                    }
                }
            };
            if deadline.is_some_and(|deadline| Instant::now() + wait >= deadline) {
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

/// One line for each attempt that had an answer.
fn log(call: &Call<'_>, retry: &Retry, code: u16) {
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
async fn drain(headers: &HeaderMap, body: &mut Body) -> Vec<u8> {
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

fn timed_out(during: &'static str) -> ApiError {
    ApiError::Timeout { during, earlier: None }
}

/// The error, and the one before it, so that a late timeout does not hide the refusal that led to it (REST-RT-11,
/// REST-RT-13).
fn after(error: ApiError, earlier: Option<ApiError>) -> ApiError {
    let Some(earlier) = earlier else { return error };
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
    let last = cause.to_string();
    let earlier = match earlier {
        ApiError::Broken { source, .. } | ApiError::Connect { source, .. } => source.to_string(),
        other => other.to_string(),
    };
    if last == earlier {
        return cause;
    }
    Box::new(Both { last, earlier, cause })
}
