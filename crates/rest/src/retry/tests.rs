//! What is tried again, when, and how often.

use std::cell::Cell;

use apimachinery::{BrokenKind, ConnectKind, Reason, Status, StatusError};
use flowcontrol::{FixedJitter, NoJitter};

use super::*;

fn broken(kind: BrokenKind) -> ApiError {
    ApiError::Broken { during: "sending", kind, source: "as planned".into() }
}

fn connect(kind: ConnectKind) -> ApiError {
    ApiError::Connect { host: "h".into(), kind, source: "as planned".into() }
}

fn first(class: Class, outcome: Outcome<'_>) -> Next {
    let policy = RetryPolicy { jitter: 0.0, ..RetryPolicy::default() };
    Retry::new(policy, class).handle(outcome, &mut NoJitter)
}

const CLASSES: [Class; 3] = [Class::Read, Class::Write, Class::Watch];

// REST-RT-02, REST-RT-03
#[test]
fn a_refusal_is_tried_again_only_if_the_server_says_when_and_for_every_verb() {
    for class in CLASSES {
        let answer = |code, retry_after| first(class, Outcome::Answer { code, retry_after });
        for code in [429, 500, 502, 503, 504, 599] {
            assert_eq!(answer(code, Some(7)), Next::After(Duration::from_secs(7)), "{code}");
            assert_eq!(answer(code, Some(0)), Next::After(Duration::ZERO), "{code}");
            assert_eq!(answer(code, Some(-3)), Next::After(Duration::ZERO), "{code}");
            assert_eq!(answer(code, None), Next::Take, "{code}");
        }
        for code in [300, 302, 304, 307, 400, 401, 403, 404, 409, 410, 422, 428, 430] {
            assert_eq!(answer(code, Some(7)), Next::Take, "{code}");
        }
    }
}

// REST-RT-04, REST-RT-05, REST-RT-06
#[test]
fn a_break_is_tried_again_after_a_second_where_nothing_can_have_been_written_twice() {
    use Class::{Read, Watch, Write};
    for (error, tried) in [
        (broken(BrokenKind::Reset), &[Read, Watch][..]),
        (broken(BrokenKind::Eof), &[Read, Watch]),
        (broken(BrokenKind::GoAway), &[Read, Write, Watch]),
        (broken(BrokenKind::Timeout), &[Read, Watch]),
        (broken(BrokenKind::TooLarge), &[]),
        (broken(BrokenKind::Other), &[]),
        (connect(ConnectKind::Timeout), &[Watch]),
        (connect(ConnectKind::Refused), &[]),
        (connect(ConnectKind::Resolve), &[]),
        (connect(ConnectKind::Tls), &[]),
        (connect(ConnectKind::Auth), &[]),
        (connect(ConnectKind::Proxy), &[]),
        (ApiError::InvalidRequest("x".into()), &[]),
    ] {
        for class in CLASSES {
            let expected =
                if tried.contains(&class) { Next::After(Duration::from_secs(1)) } else { Next::Take };
            assert_eq!(first(class, Outcome::Failed(&error)), expected, "{error:?} of a {class:?}");
        }
    }
}

// REST-RT-01
#[test]
fn there_are_as_many_attempts_as_allowed_and_one() {
    let attempts = |max_retries| {
        let policy = RetryPolicy { max_retries, ..RetryPolicy::default() };
        let mut retry = Retry::new(policy, Class::Read);
        let outcome = Outcome::Answer { code: 429, retry_after: Some(1) };
        let mut attempts = 1;
        while let Next::After(_) = retry.handle(outcome, &mut NoJitter) {
            attempts += 1;
        }
        assert_eq!(retry.handle(outcome, &mut NoJitter), Next::GiveUp);
        attempts
    };
    assert_eq!([0, 1, 2, 10].map(attempts), [1, 2, 3, 11]);
    assert_eq!(attempts(RetryPolicy::default().max_retries), 11);
}

// REST-RT-17
#[test]
fn a_wait_is_up_to_a_tenth_longer_and_never_shorter() {
    let wait = |fraction| {
        let mut retry = Retry::new(RetryPolicy::default(), Class::Read);
        let outcome = Outcome::Answer { code: 503, retry_after: Some(10) };
        match retry.handle(outcome, &mut FixedJitter(fraction)) {
            Next::After(wait) => wait.as_secs_f64(),
            other => panic!("{other:?}"),
        }
    };
    assert!((wait(0.0) - 10.0).abs() < 1e-6);
    assert!((wait(0.5) - 10.5).abs() < 1e-6);
    assert!((wait(1.0) - 11.0).abs() < 1e-6);
}

// REST-RT-16
#[test]
fn a_wait_has_the_bound_that_the_policy_sets_and_none_otherwise() {
    let wait = |max_wait, seconds| {
        let policy = RetryPolicy { max_wait, jitter: 0.0, ..RetryPolicy::default() };
        let outcome = Outcome::Answer { code: 503, retry_after: Some(seconds) };
        Retry::new(policy, Class::Read).handle(outcome, &mut NoJitter)
    };
    let minutes = Duration::from_mins(5);
    assert_eq!(wait(Some(minutes), 86_400), Next::After(minutes));
    assert_eq!(wait(Some(minutes), 9), Next::After(Duration::from_secs(9)));
    assert_eq!(wait(None, i64::MAX), Next::After(Duration::from_secs(i64::MAX.cast_unsigned())));
}

fn conflict() -> ApiError {
    StatusError::new(Status::failure(Reason::Conflict, 409, "changed")).into()
}

// REST-RT-15
#[tokio::test(start_paused = true)]
async fn a_conflict_is_tried_again_and_the_last_one_is_told() {
    for (retry, attempts, at_least, at_most) in
        [(ConflictRetry::DEFAULT, 5, 40, 45), (ConflictRetry::BACKOFF, 4, 310, 342)]
    {
        let start = tokio::time::Instant::now();
        let calls = Cell::new(0);
        let answer: Result<(), ApiError> = retry_on_conflict(retry, || {
            calls.set(calls.get() + 1);
            async { Err(conflict()) }
        })
        .await;
        assert_eq!(calls.get(), attempts);
        assert!(matches!(answer, Err(ApiError::Status(status)) if status.is_conflict()));
        let waited = start.elapsed().as_millis();
        // Timers count whole milliseconds.
        assert!((at_least..=at_most + 5).contains(&waited), "{waited} ms");
    }
}

// REST-RT-15
#[tokio::test(start_paused = true)]
async fn what_is_no_conflict_is_returned_as_it_is() {
    let calls = Cell::new(0);
    let answer = retry_on_conflict(ConflictRetry::DEFAULT, || {
        calls.set(calls.get() + 1);
        let call = calls.get();
        async move { if call < 3 { Err(conflict()) } else { Ok(call) } }
    })
    .await;
    assert!(matches!(answer, Ok(3)));

    let calls = Cell::new(0);
    let answer: Result<(), _> = retry_on_conflict(ConflictRetry::DEFAULT, || {
        calls.set(calls.get() + 1);
        async { Err(ApiError::Timeout { during: "the request", earlier: None }) }
    })
    .await;
    assert_eq!(calls.get(), 1);
    assert!(matches!(answer, Err(ApiError::Timeout { .. })));
}
