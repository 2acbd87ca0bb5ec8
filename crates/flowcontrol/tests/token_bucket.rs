//! The token bucket against its arithmetic, and against any clock.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use steersman_flowcontrol::TokenBucket;

const MS: fn(u64) -> Duration = Duration::from_millis;

#[expect(clippy::disallowed_methods, reason = "a test needs some first moment")]
fn start() -> Instant {
    Instant::now()
}

// FC-01, RL-07
#[test]
fn a_burst_is_free_and_then_each_waits_its_turn() {
    let mut bucket = TokenBucket::new(10.0, 5);
    let now = start();
    let delays: Vec<_> = (0..16).map(|_| bucket.reserve(now)).collect();
    assert_eq!(delays[..5], [Duration::ZERO; 5]);
    let expected: Vec<_> = (1..=11).map(|n| MS(100 * n)).collect();
    assert_eq!(delays[5..], expected);
    assert!((bucket.qps() - 10.0).abs() < f32::EPSILON);
}

// FC-01
#[test]
fn try_accept_takes_a_token_or_nothing() {
    let mut bucket = TokenBucket::new(1.0, 2);
    let now = start();
    assert!(bucket.try_accept(now));
    assert!(bucket.try_accept(now));
    for _ in 0..100 {
        assert!(!bucket.try_accept(now), "a refusal costs nothing");
    }
    assert!(!bucket.try_accept(now + MS(999)));
    assert!(bucket.try_accept(now + MS(1000)));
    assert!(!bucket.try_accept(now + MS(1000)));
}

// FC-02
#[test]
fn a_token_that_comes_too_late_is_not_taken() {
    let mut bucket = TokenBucket::new(0.0001, 1);
    let now = start();
    assert_eq!(bucket.reserve_within(now, MS(1000)), Some(Duration::ZERO));
    let debt = bucket.debt(now);
    assert_eq!(bucket.reserve_within(now, MS(1000)), None);
    assert_eq!(bucket.debt(now), debt, "nothing was consumed");
    assert_eq!(TokenBucket::new(1.0, 0).reserve_within(now, MS(1000)), None, "a burst of 0 never has one");
}

// FC-03
#[test]
fn a_period_that_is_no_round_number_does_not_drift() {
    let mut bucket = TokenBucket::new(1.0 / 1.031_425, 1);
    let mut now = start();
    for round in 0..60 {
        assert!(bucket.try_accept(now), "round {round}");
        assert!(!bucket.try_accept(now), "round {round}");
        now += MS(2000);
    }
}

#[test]
fn rates_that_are_no_rates() {
    let now = start();
    let mut unlimited = TokenBucket::new(f32::INFINITY, 0);
    assert!((0..1000).all(|_| unlimited.reserve(now).is_zero()));
    for qps in [0.0, -1.0, f32::NAN, f32::NEG_INFINITY] {
        let mut bucket = TokenBucket::new(qps, 2);
        assert_eq!(
            [(); 4].map(|()| bucket.reserve(now) == Duration::MAX),
            [false, false, true, true],
            "{qps}"
        );
        assert_eq!(bucket.reserve(now + Duration::from_hours(24)), Duration::MAX, "{qps}");
    }
    // RL-07
    assert_eq!(TokenBucket::new(1.0, 0).reserve(now), Duration::MAX);
}

#[test]
fn a_returned_token_is_the_next_callers() {
    let mut bucket = TokenBucket::new(1.0, 1);
    let now = start();
    bucket.reserve(now);
    assert_eq!(bucket.reserve(now), MS(1000));
    bucket.give_back();
    assert_eq!(bucket.reserve(now), MS(1000));
    assert_eq!(bucket.debt(now), MS(2000));
}

proptest! {
    // GN-03: any rate, any burst, a clock that goes both ways.
    #[test]
    fn no_window_gets_more_than_its_burst_and_its_rate(
        qps in 0.001_f32..10_000.0, burst in 0_u32..50, steps in prop::collection::vec(-2_000_000_i64..10_000_000, 1..300),
    ) {
        let base = start();
        let mut bucket = TokenBucket::new(qps, burst);
        // An hour of room below, for a clock that goes back.
        let mut offset = 3_600_000_000_000_u64;
        let (mut first, mut last, mut granted) = (offset, offset, 0_u32);
        for step in steps {
            offset = offset.saturating_add_signed(step * 1000);
            (first, last) = (first.min(offset), last.max(offset));
            granted += u32::from(bucket.try_accept(base + Duration::from_nanos(offset)));
        }
        let window = Duration::from_nanos(last - first).as_secs_f64();
        let bound = f64::from(burst) + f64::from(qps) * window * 1.000_001 + 1e-6;
        prop_assert!(f64::from(granted) <= bound, "{granted} of {bound}");
        if burst == 0 { prop_assert_eq!(granted, 0); }
    }

    // GN-03
    #[test]
    fn any_numbers_give_a_delay(qps in any::<f32>(), burst in any::<u32>(), asks in 1_usize..50) {
        let now = start();
        let mut bucket = TokenBucket::new(qps, burst);
        let mut last = Duration::ZERO;
        for _ in 0..asks {
            let delay = bucket.reserve(now);
            prop_assert!(delay >= last, "reservations are a queue");
            last = delay;
        }
    }
}
