//! Backoff and jitter: tables, and the same promises over any numbers.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use steersman_flowcontrol::{
    Backoff, BackoffPolicy, FixedJitter, Jitter, NoJitter, Random, full_jitter, stretch,
};

const MS: fn(u64) -> Duration = Duration::from_millis;

#[expect(clippy::disallowed_methods, reason = "a test needs some first moment")]
fn start() -> Instant {
    Instant::now()
}

// CACHE-R-03
#[test]
fn relist_delays_double_from_800_ms_to_30_s() {
    let mut backoff = Backoff::new(BackoffPolicy::RELIST);
    let mut now = start();
    let mut steps = Vec::new();
    for _ in 0..8 {
        let delay = backoff.step(now, &mut NoJitter);
        steps.push(delay);
        now += delay;
    }
    assert_eq!(steps, [800, 1600, 3200, 6400, 12800, 25600, 30000, 30000].map(MS));
}

// CACHE-R-03
#[test]
fn jitter_of_one_draws_from_d_to_twice_d_and_does_not_compound() {
    let almost_one = 1.0 - f64::EPSILON;
    let mut backoff = Backoff::new(BackoffPolicy::RELIST);
    let mut now = start();
    for d in [800, 1600, 3200, 6400, 12800, 25600, 30000, 30000].map(MS) {
        let delay = backoff.step(now, &mut FixedJitter(almost_one));
        assert!(d <= delay && delay <= d * 2, "{delay:?} for {d:?}");
        assert!(delay + MS(1) > d * 2, "{delay:?} is the far end of {d:?}");
        now += delay;
    }
}

// CACHE-R-05
#[test]
fn a_quiet_time_starts_the_delays_again() {
    let mut backoff = Backoff::new(BackoffPolicy::RELIST);
    let now = start();
    for _ in 0..6 {
        backoff.step(now, &mut NoJitter);
    }
    let almost = now + MS(119_999);
    assert_eq!(backoff.step(almost, &mut NoJitter), MS(30_000), "not quiet for long enough");
    assert_eq!(backoff.step(almost + Duration::from_mins(2), &mut NoJitter), MS(800));
}

// CACHE-R-05
#[test]
fn a_long_outage_never_goes_back_to_the_first_delay() {
    let mut backoff = Backoff::new(BackoffPolicy::RELIST);
    let mut now = start();
    let mut last = Duration::ZERO;
    for _ in 0..1000 {
        let delay = backoff.step(now, &mut NoJitter);
        assert!(delay >= last, "{delay:?} after {last:?}");
        last = delay;
        now += delay + MS(50);
    }
    assert_eq!(last, MS(30_000));
}

#[test]
fn delays_longer_than_the_quiet_time_still_grow() {
    let policy = BackoffPolicy {
        initial: MS(1000),
        factor: 2.0,
        cap: MS(60_000),
        jitter: 0.0,
        reset_after: Some(MS(1500)),
    };
    let mut backoff = Backoff::new(policy);
    let mut now = start();
    let mut last = Duration::ZERO;
    for _ in 0..10 {
        last = backoff.step(now, &mut NoJitter);
        now += last + MS(10);
    }
    assert_eq!(last, MS(60_000));
}

#[test]
fn reset_gives_the_first_delay() {
    let mut backoff = Backoff::new(BackoffPolicy::RELIST);
    let now = start();
    backoff.step(now, &mut NoJitter);
    backoff.step(now, &mut NoJitter);
    backoff.reset();
    assert_eq!(backoff.step(now, &mut NoJitter), MS(800));
}

#[test]
fn a_seed_fixes_what_is_drawn_and_two_sources_differ() {
    let draw = |mut r: Random| (0..4).map(|_| r.next_u64()).collect::<Vec<_>>();
    assert_eq!(draw(Random::seeded(7)), draw(Random::seeded(7)));
    assert_ne!(draw(Random::seeded(7)), draw(Random::seeded(8)));
    assert_ne!(draw(Random::unseeded()), draw(Random::unseeded()));
}

#[test]
fn fractions_fill_the_range_evenly() {
    let mut random = Random::seeded(1);
    let mut buckets = [0_u32; 10];
    for _ in 0..100_000 {
        let fraction = random.fraction();
        assert!((0.0..1.0).contains(&fraction));
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a fraction of ten")]
        let n = (fraction * 10.0) as usize;
        buckets[n] += 1;
    }
    assert!(buckets.iter().all(|n| (9_500..10_500).contains(n)), "{buckets:?}");
}

proptest! {
    // GN-03
    #[test]
    fn no_numbers_make_a_backoff_shrink_wrap_or_pass_its_cap(
        initial in any::<u64>(), factor in any::<f64>(), cap in any::<u64>(), steps in 1_usize..200,
    ) {
        let policy = BackoffPolicy {
            initial: Duration::from_nanos(initial), factor, cap: Duration::from_nanos(cap), jitter: 0.0, reset_after: None,
        };
        let mut backoff = Backoff::new(policy);
        let now = start();
        let mut last = Duration::ZERO;
        for _ in 0..steps {
            let delay = backoff.step(now, &mut NoJitter);
            prop_assert!(delay >= last && delay <= policy.cap);
            prop_assert!(delay >= policy.initial.min(policy.cap));
            last = delay;
        }
    }

    // GN-03
    #[test]
    fn jitter_stays_in_its_range_whatever_the_source_gives(
        secs in any::<u64>(), nanos in 0_u32..1_000_000_000, factor in any::<f64>(), fraction in any::<f64>(),
    ) {
        let d = Duration::new(secs, nanos);
        prop_assert!(stretch(d, factor, &mut FixedJitter(fraction)) >= d);
        prop_assert!(full_jitter(d, &mut FixedJitter(fraction)) <= d);
        prop_assert!(full_jitter(Duration::from_secs(1), &mut FixedJitter(fraction)) < Duration::from_secs(1));
    }
}
