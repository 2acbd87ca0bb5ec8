//! The attempts of a call, in virtual time: what is sent when, what is waited for, and which error is told.

use std::collections::VecDeque;
#[expect(clippy::disallowed_types, reason = "the diary of a fake, read after the fact")]
use std::sync::Mutex;
use std::task::{Context, Poll};
use std::time::Duration;

use apimachinery::{ApiError, BrokenKind, ConnectKind};
use bytes::Bytes;
use http::Method;
use tokio::time::Instant;

use super::send::Wire;
use super::*;
use crate::chunks::Chunks;
use crate::retry::RetryPolicy;
use crate::transport::Mode;

/// What happens to one attempt.
enum Step {
    /// An answer: code, Retry-After, body.
    Answer(u16, Option<&'static str>, &'static str),
    /// An answer whose body never comes to an end.
    Endless(u16),
    /// An answer whose body breaks off.
    BreaksOff(u16),
    Fails(ApiError),
    /// Nothing, ever.
    Silence,
}

/// Plays its steps, one an attempt; the last one again and again. Keeps a diary: at which second, in which mode.
#[expect(clippy::disallowed_types, reason = "as above")]
struct Script {
    start: Instant,
    steps: Mutex<VecDeque<Step>>,
    attempts: Mutex<Vec<(u64, Mode)>>,
    read: std::sync::Arc<std::sync::atomic::AtomicUsize>,
}

#[derive(Clone, Copy)]
enum End {
    InOrder,
    Never,
    Broken,
}

struct Piece {
    text: Option<Bytes>,
    end: End,
    read: std::sync::Arc<std::sync::atomic::AtomicUsize>,
}

impl Chunks for Piece {
    fn poll_chunk(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, ApiError>>> {
        match self.text.take() {
            Some(text) => {
                self.read.fetch_add(text.len(), std::sync::atomic::Ordering::Relaxed);
                Poll::Ready(Some(Ok(text)))
            }
            None => match self.end {
                End::InOrder => Poll::Ready(None),
                End::Never => Poll::Pending,
                End::Broken => Poll::Ready(Some(Err(broken(BrokenKind::Eof, "cut in the middle")))),
            },
        }
    }
}

impl Script {
    #[expect(clippy::disallowed_types, reason = "as above")]
    fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        Self {
            start: Instant::now(),
            steps: Mutex::new(steps.into_iter().collect()),
            attempts: Mutex::default(),
            read: std::sync::Arc::default(),
        }
    }

    fn next(&self) -> Step {
        let mut steps = self.steps.lock().unwrap();
        if steps.len() > 1 {
            return steps.pop_front().unwrap();
        }
        match &steps[0] {
            Step::Answer(code, wait, body) => Step::Answer(*code, *wait, body),
            Step::Endless(code) => Step::Endless(*code),
            Step::BreaksOff(code) => Step::BreaksOff(*code),
            Step::Fails(ApiError::Broken { kind, source, .. }) => {
                Step::Fails(broken(*kind, &source.to_string()))
            }
            Step::Fails(_) => Step::Fails(refused()),
            Step::Silence => Step::Silence,
        }
    }
}

impl Wire for Script {
    type Body = Piece;

    async fn send(&self, _: http::Request<Bytes>, mode: Mode) -> Result<http::Response<Piece>, ApiError> {
        self.attempts.lock().unwrap().push((self.start.elapsed().as_secs(), mode));
        let (code, wait, text, end) = match self.next() {
            Step::Answer(code, wait, text) => (code, wait, text, End::InOrder),
            Step::Endless(code) => (code, None, "so", End::Never),
            Step::BreaksOff(code) => (code, None, "so", End::Broken),
            Step::Fails(error) => return Err(error),
            Step::Silence => std::future::pending().await,
        };
        let mut response = http::Response::builder().status(code).header("content-type", "text/plain");
        if let Some(wait) = wait {
            response = response.header("retry-after", wait);
        }
        let read = self.read.clone();
        Ok(response.body(Piece { text: Some(text.into()), end, read }).unwrap())
    }
}

fn broken(kind: BrokenKind, why: &str) -> ApiError {
    ApiError::Broken { during: "sending the request", kind, source: why.into() }
}

fn refused() -> ApiError {
    ApiError::Connect { host: "h".into(), kind: ConnectKind::Refused, source: "nobody".into() }
}

fn sender(steps: impl IntoIterator<Item = Step>) -> Sender<Script> {
    let policy = RetryPolicy { jitter: 0.0, ..RetryPolicy::default() };
    Sender { wire: Script::new(steps), limiter: Limiter::new(0.0, 0), policy }
}

fn call(method: Method) -> Call<'static> {
    let about = About { method: "GET", group: "", resource: "pods", name: "p" };
    let accept = ACCEPT_JSON;
    Call {
        verb: "get",
        method,
        url: "/api/v1/namespaces/a/pods/p".into(),
        about,
        namespace: "a",
        accept,
        body: None,
        is_watch: false,
        limit: None,
    }
}

fn watch() -> Call<'static> {
    Call { is_watch: true, ..call(Method::GET) }
}

fn seconds(sender: &Sender<Script>) -> Vec<u64> {
    sender.wire.attempts.lock().unwrap().iter().map(|&(second, _)| second).collect()
}

/// The error of a call that has none but an error.
async fn error(sender: &Sender<Script>, call: &Call<'_>) -> ApiError {
    match sender.send(call).await {
        Err(error) => error,
        Ok(_) => panic!("an answer"),
    }
}

// REST-RT-02, REST-RT-03, REST-RT-08
#[tokio::test(start_paused = true)]
async fn the_server_is_asked_again_when_it_said_so() {
    for method in [Method::GET, Method::POST, Method::PUT, Method::DELETE, Method::PATCH] {
        let steps = [
            Step::Answer(429, Some("3"), "slow down"),
            Step::Answer(503, Some("0"), ""),
            Step::Answer(500, Some("2"), ""),
            Step::Answer(200, None, "ok"),
        ];
        let sender = sender(steps);
        let mut answer = sender.send(&call(method)).await.unwrap().unwrap();
        assert_eq!(&answer.whole().await.unwrap()[..], b"ok");
        assert_eq!(seconds(&sender), [0, 3, 3, 5]);
    }
}

// REST-RT-02
#[tokio::test(start_paused = true)]
async fn a_refusal_that_names_no_time_is_the_answer() {
    for step in [
        Step::Answer(503, None, "down"),
        Step::Answer(429, Some("soon"), "x"),
        Step::Answer(404, Some("1"), "x"),
    ] {
        let sender = sender([step]);
        assert!(matches!(error(&sender, &call(Method::GET)).await, ApiError::Status(_)));
        assert_eq!(seconds(&sender), [0]);
    }
}

// REST-RT-01, REST-RT-11
#[tokio::test(start_paused = true)]
async fn the_last_refusal_is_told_with_the_wait_that_it_asked_for() {
    let sender = sender([Step::Answer(429, Some("1"), "busy")]);
    let error = error(&sender, &call(Method::GET)).await;
    assert_eq!(seconds(&sender), (0..11).collect::<Vec<u64>>());
    assert_eq!(error.suggests_delay(), Some(Duration::from_secs(1)));
    let status = error.status().unwrap();
    assert!(status.is_too_many_requests());
    assert_eq!(status.causes()[0].message.as_deref(), Some("busy"));
}

// REST-RT-04, REST-RT-06
#[tokio::test(start_paused = true)]
async fn a_read_that_broke_is_sent_again_after_a_second_and_a_write_is_not() {
    for method in [Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
        let is_read = method == Method::GET;
        let sender = sender([Step::Fails(broken(BrokenKind::Reset, "reset")), Step::Answer(200, None, "")]);
        let answer = sender.send(&call(method)).await;
        assert_eq!(answer.is_ok(), is_read);
        assert_eq!(seconds(&sender), if is_read { vec![0, 1] } else { vec![0] });
    }
}

// REST-RT-11
#[tokio::test(start_paused = true)]
async fn an_earlier_error_of_another_kind_is_told_with_the_last() {
    let sender = sender([
        Step::Fails(broken(BrokenKind::Eof, "first")),
        Step::Fails(broken(BrokenKind::Reset, "then")),
    ]);
    let error = error(&sender, &call(Method::GET)).await;
    assert_eq!(seconds(&sender).len(), 11);
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert_eq!(source, "then; before that: first", "although ten of the same kind came since");

    let sender = self::sender([Step::Answer(503, Some("1"), "starting"), Step::Fails(refused())]);
    let error = self::error(&sender, &call(Method::GET)).await;
    assert!(matches!(error, ApiError::Connect { kind: ConnectKind::Refused, .. }), "{error:?}");
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert_eq!(
        source,
        "nobody; before that: the server is currently unable to handle the request (get pods p)"
    );
}

// REST-RT-12
#[tokio::test(start_paused = true)]
async fn a_watch_whose_connections_keep_breaking_has_ended_and_is_no_error() {
    for kind in [BrokenKind::Eof, BrokenKind::Reset, BrokenKind::Timeout] {
        let sender = sender([Step::Fails(broken(kind, "x"))]);
        assert!(sender.send(&watch()).await.unwrap().is_none());
        assert_eq!(seconds(&sender).len(), 11);
    }
    let sender = sender([Step::Fails(broken(BrokenKind::Other, "x"))]);
    assert!(sender.send(&watch()).await.is_err());
    let sender = self::sender([Step::Fails(refused())]);
    assert!(sender.send(&watch()).await.is_err());
    assert_eq!(seconds(&sender), [0]);
}

// REST-RS-01
#[tokio::test(start_paused = true)]
async fn a_watch_takes_its_own_connection_and_no_success_but_200() {
    let sender = sender([Step::Answer(200, None, "")]);
    assert!(sender.send(&watch()).await.unwrap().is_some());
    sender.send(&call(Method::GET)).await.unwrap();
    let modes: Vec<Mode> = sender.wire.attempts.lock().unwrap().iter().map(|&(_, mode)| mode).collect();
    assert_eq!(modes, [Mode::Dedicated, Mode::Shared]);
    let sender = self::sender([Step::Answer(204, None, "")]);
    assert_eq!(error(&sender, &watch()).await.status().unwrap().code(), 204);
}

// REST-RQ-09, REST-RT-13
#[tokio::test(start_paused = true)]
async fn a_time_limit_holds_over_all_attempts_and_keeps_what_went_wrong_before() {
    let limited = Call { limit: Some(Duration::from_secs(5)), ..call(Method::GET) };

    let sender = sender([Step::Answer(429, Some("3"), "busy"), Step::Silence]);
    let start = Instant::now();
    let late = error(&sender, &limited).await;
    assert_eq!(start.elapsed().as_secs(), 5);
    assert!(matches!(&late, ApiError::Timeout { .. }), "{late:?}");
    assert!(late.is_network_timeout());
    assert!(late.status().unwrap().is_too_many_requests(), "the refusal before it is lost: {late:?}");

    let sender = self::sender([Step::Answer(429, Some("60"), "busy")]);
    let start = Instant::now();
    let late = error(&sender, &limited).await;
    assert_eq!(start.elapsed().as_secs(), 0, "a wait beyond the limit is not begun");
    assert!(late.is_network_timeout() && late.status().is_some());

    let sender = self::sender([Step::Endless(200)]);
    let mut answer = sender.send(&limited).await.unwrap().unwrap();
    let start = Instant::now();
    assert!(answer.whole().await.unwrap_err().is_network_timeout());
    assert_eq!(start.elapsed().as_secs(), 5);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_whose_body_never_ends_is_a_refusal() {
    let sender = sender([Step::Endless(502)]);
    let error = error(&sender, &call(Method::GET)).await;
    assert_eq!(error.status().unwrap().causes()[0].message.as_deref(), Some("so"));
}

// REST-RT-10
#[tokio::test(start_paused = true)]
async fn the_short_body_of_a_refusal_is_read_before_the_next_attempt() {
    let sender = sender([Step::Answer(503, Some("0"), "twelve bytes"), Step::Answer(200, None, "")]);
    sender.send(&call(Method::GET)).await.unwrap();
    assert_eq!(sender.wire.read.load(std::sync::atomic::Ordering::Relaxed), 12);
}

// REST-FC-01, REST-FC-02, REST-RT-09
#[tokio::test(start_paused = true)]
async fn each_attempt_takes_a_token_but_the_first_of_a_watch() {
    let limited = |steps: [Step; 2]| Sender { limiter: Limiter::new(0.1, 1), ..sender(steps) };
    let again = || [Step::Answer(429, Some("0"), ""), Step::Answer(200, None, "")];

    let sender = limited(again());
    sender.send(&call(Method::GET)).await.unwrap();
    assert_eq!(seconds(&sender), [0, 10], "the second attempt waits for a token");
    sender.send(&call(Method::GET)).await.unwrap();
    assert_eq!(seconds(&sender), [0, 10, 20], "and so does the next request");

    let sender = limited(again());
    sender.send(&watch()).await.unwrap();
    assert_eq!(seconds(&sender), [0, 0], "the second attempt of a watch takes the first token");
    sender.send(&watch()).await.unwrap();
    assert_eq!(seconds(&sender), [0, 0, 0], "the first attempt of a watch takes none");
}

// REST-RQ-09
#[tokio::test(start_paused = true)]
async fn the_time_limit_does_not_count_the_wait_for_the_first_token() {
    let sender = Sender { limiter: Limiter::new(0.1, 1), ..sender([Step::Answer(200, None, "")]) };
    let limited = Call { limit: Some(Duration::from_secs(5)), ..call(Method::GET) };
    for second in [0, 10] {
        assert!(sender.send(&limited).await.is_ok());
        assert_eq!(seconds(&sender).last(), Some(&second));
    }
}

// REST-FC-03
#[tokio::test(start_paused = true)]
async fn a_time_limit_that_ends_in_the_wait_for_a_token_is_that_time_limit() {
    let sender = Sender { limiter: Limiter::new(0.01, 1), ..sender([Step::Answer(429, Some("1"), "busy")]) };
    let limited = Call { limit: Some(Duration::from_secs(5)), ..call(Method::GET) };
    let late = error(&sender, &limited).await;
    assert!(matches!(&late, ApiError::Timeout { during: "waiting for the rate limit", .. }), "{late:?}");
    assert!(late.status().unwrap().is_too_many_requests());
}

// REST-XX-03
#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_while_it_waits_gives_its_token_back() {
    let sender = Sender { limiter: Limiter::new(0.1, 1), ..sender([Step::Answer(200, None, "")]) };
    sender.send(&call(Method::GET)).await.unwrap();
    for _ in 0..20 {
        let dropped = tokio::time::timeout(Duration::from_millis(1), sender.send(&call(Method::GET))).await;
        assert!(dropped.is_err());
    }
    sender.send(&call(Method::GET)).await.unwrap();
    assert_eq!(seconds(&sender), [0, 10]);
}

// REST-RQ-16
#[tokio::test(start_paused = true)]
async fn one_call_may_be_sent_many_times_at_once_each_with_its_own_attempts() {
    let sender = sender([Step::Answer(429, Some("1"), "busy")]);
    let get = call(Method::GET);
    let all = futures_util::future::join_all((0..20).map(|_| sender.send(&get))).await;
    assert!(all.iter().all(Result::is_err));
    assert_eq!(seconds(&sender).len(), 20 * 11);
}

async fn whole(sender: &Sender<Script>, call: &Call<'_>) -> Result<Bytes, ApiError> {
    let mut reading = sender.reading(call);
    loop {
        match reading.send().await?.whole().await {
            Ok(body) => return Ok(body),
            Err(error) => reading.broke_off(error).await?,
        }
    }
}

// F-48, REST-RT-04, REST-RT-06
#[tokio::test(start_paused = true)]
async fn the_answer_to_a_get_that_breaks_off_is_asked_for_again_and_that_to_a_write_is_not() {
    let steps = || [Step::BreaksOff(200), Step::BreaksOff(200), Step::Answer(200, None, "all of it")];
    let sender = sender(steps());
    assert_eq!(whole(&sender, &call(Method::GET)).await.unwrap(), "all of it");
    assert_eq!(seconds(&sender), [0, 1, 2]);

    for method in [Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
        let sender = self::sender(steps());
        let error = whole(&sender, &call(method)).await.unwrap_err();
        assert!(error.is_probable_eof(), "{error}");
        assert_eq!(seconds(&sender), [0]);
    }
}

// F-48, REST-RT-01, REST-RQ-09
#[tokio::test(start_paused = true)]
async fn an_answer_that_always_breaks_off_is_given_up_in_the_end() {
    let sender = sender([Step::BreaksOff(200)]);
    assert!(whole(&sender, &call(Method::GET)).await.unwrap_err().is_probable_eof());
    assert_eq!(seconds(&sender).len(), 11);

    let sender = self::sender([Step::BreaksOff(200)]);
    let hurried = Call { limit: Some(Duration::from_millis(2500)), ..call(Method::GET) };
    assert!(whole(&sender, &hurried).await.is_err());
    assert_eq!(seconds(&sender), [0, 1, 2], "one limit for all of it");
}

// REST-XX-05, REST-RT-16
#[tokio::test(start_paused = true)]
async fn a_server_that_asks_for_a_wait_beyond_the_clock_meets_the_deadline_and_no_panic() {
    for wait in ["9223372036854775807", "9000000000000000000", "4294967296"] {
        for call in [call(Method::GET), watch()] {
            let call = Call { limit: Some(Duration::from_secs(330)), ..call };
            let sender = sender([Step::Answer(503, Some(wait), "busy")]);
            let error = error(&sender, &call).await;
            assert!(matches!(error, ApiError::Timeout { .. }), "{wait}: {error}");
            assert_eq!(error.status().map(apimachinery::StatusError::code), Some(503));
            assert_eq!(seconds(&sender), [0]);
        }
    }
    let call = Call { limit: Some(Duration::MAX), ..call(Method::GET) };
    assert!(
        sender([Step::Answer(200, None, "ok")]).send(&call).await.is_ok(),
        "a limit beyond the clock is none"
    );
}
