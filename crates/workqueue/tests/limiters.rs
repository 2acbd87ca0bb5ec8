//! The limiters, from the contract's tables, and over any numbers.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use steersman_workqueue::{
    Bucket, FairBucket, ItemExponential, ItemFastSlow, MaxOf, RateLimiter, WithMaxWait, default_limiter,
};

const MS: fn(u64) -> Duration = Duration::from_millis;

#[expect(clippy::disallowed_methods, reason = "a test needs some first moment")]
fn start() -> Instant {
    Instant::now()
}

fn asked<const N: usize>(limiter: &mut impl RateLimiter<&'static str>, key: &'static str) -> [Duration; N] {
    let now = start();
    std::array::from_fn(|_| limiter.when(now, &key))
}

// RL-03, RL-05
#[test]
fn exponential_doubles_by_key_and_starts_again_when_forgotten() {
    let mut limiter = ItemExponential::new(MS(1), MS(1000));
    assert_eq!(asked(&mut limiter, "one"), [1, 2, 4, 8, 16].map(MS));
    assert_eq!(limiter.requeues(&"one"), 5);
    assert_eq!(asked(&mut limiter, "two"), [1, 2].map(MS));
    limiter.forget(&"one");
    assert_eq!(limiter.requeues(&"one"), 0);
    assert_eq!(asked(&mut limiter, "one"), [MS(1)]);
    assert_eq!(limiter.requeues(&"two"), 2);
}

// RL-03
#[test]
fn exponential_stays_at_its_end() {
    let mut limiter = ItemExponential::<&str>::default();
    assert_eq!(asked::<6>(&mut limiter, "a")[5], MS(32));
    assert_eq!(asked::<1000>(&mut limiter, "a")[999], Duration::from_secs(1000));
    let mut limiter = ItemExponential::new(Duration::from_mins(1), Duration::from_hours(1000));
    assert_eq!(asked::<3>(&mut limiter, "a")[2], Duration::from_mins(4));
    assert_eq!(asked::<1000>(&mut limiter, "a")[999], Duration::from_hours(1000));
}

// RL-04
#[test]
fn no_step_of_the_doubling_wraps() {
    let max = Duration::from_secs(1000);
    let mut limiter = ItemExponential::new(Duration::from_nanos(1), max);
    let delays = asked::<2000>(&mut limiter, "a");
    assert_eq!(delays[63], max);
    assert_eq!(delays[64], max);
    assert!(delays.is_sorted());
    let mut zero = ItemExponential::new(Duration::ZERO, max);
    assert!(asked::<2000>(&mut zero, "a").iter().all(Duration::is_zero));
}

// RL-06
#[test]
fn fast_slow_is_fast_for_a_while() {
    let mut limiter = ItemFastSlow::new(MS(5), Duration::from_secs(10), 3);
    assert_eq!(asked(&mut limiter, "a"), [5, 5, 5, 10_000, 10_000].map(MS));
    assert_eq!(limiter.requeues(&"a"), 5);
    limiter.forget(&"a");
    assert_eq!(limiter.requeues(&"a"), 0);
    assert_eq!(asked(&mut limiter, "a"), [MS(5)]);
}

// RL-07
#[test]
fn bucket_is_one_for_all_keys() {
    let mut limiter = Bucket::new(10.0, 2);
    let now = start();
    let delays: Vec<_> = ["a", "b", "c", "d"].iter().map(|key| limiter.when(now, key)).collect();
    assert_eq!(delays, [0, 0, 100, 200].map(MS));
    assert_eq!(RateLimiter::<&str>::requeues(&limiter, &"a"), 0);
    limiter.forget(&"c");
    assert_eq!(limiter.debt(now), MS(300), "forgetting returns no token");
    assert_eq!(Bucket::new(1.0, 0).when(now, &"a"), Duration::MAX);
}

// F-40: a key that fails without end does not make others wait for minutes.
#[test]
fn a_key_that_waits_for_its_token_takes_no_other() {
    let mut limiter = FairBucket::new(10.0, 2);
    let now = start();
    let delays: Vec<_> = ["a", "b", "c", "c", "c", "d"].iter().map(|key| limiter.when(now, key)).collect();
    assert_eq!(delays, [0, 0, 100, 100, 100, 200].map(MS));
    limiter.forget(&"c");
    assert_eq!(limiter.when(now + MS(40), &"c"), MS(60), "forgetting returns no token");
    assert_eq!(limiter.when(now + MS(100), &"c"), MS(200), "its token has come; this is the next");
    assert_eq!(limiter.requeues(&"c"), 0);

    let mut default = default_limiter();
    for _ in 0..3000 {
        default.when(now, &"bad");
    }
    assert!(default.when(now, &"other") <= MS(200));
}

// RL-08
#[test]
fn max_of_asks_every_limiter_each_time() {
    let each: [Box<dyn RateLimiter<&'static str>>; 2] = [
        Box::new(ItemFastSlow::new(MS(5), Duration::from_secs(3), 3)),
        Box::new(ItemExponential::new(MS(1), MS(1000))),
    ];
    let mut limiter = MaxOf::new(each);
    assert_eq!(asked(&mut limiter, "a"), [5, 5, 5, 3000, 3000].map(MS));
    assert_eq!(limiter.requeues(&"a"), 5);
    limiter.forget(&"a");
    assert_eq!(limiter.requeues(&"a"), 0);
    assert_eq!(asked(&mut MaxOf::new([]), "a"), [Duration::ZERO]);
}

// RL-09
#[test]
fn max_wait_caps_another_limiter() {
    let inner = ItemExponential::new(Duration::from_secs(100), Duration::from_secs(1000));
    let mut limiter = WithMaxWait::new(inner, Duration::from_secs(500));
    assert_eq!(asked(&mut limiter, "a"), [100, 200, 400, 500, 500].map(Duration::from_secs));
    assert_eq!(limiter.requeues(&"a"), 5);
    limiter.forget(&"a");
    assert_eq!(limiter.requeues(&"a"), 0);
}

// RL-10
#[test]
fn default_is_client_gos() {
    let mut limiter = default_limiter();
    let now = start();
    assert_eq!([(); 4].map(|()| limiter.when(now, &"a")), [5, 10, 20, 40].map(MS));
    for _ in 0..96 {
        limiter.when(now, &"another");
        limiter.forget(&"another");
    }
    assert_eq!(limiter.when(now, &"a third"), MS(100), "the hundred and first in the bucket");
}

// RL-11
#[test]
fn keys_that_are_never_forgotten_do_not_stay_for_ever() {
    let mut limiter = ItemExponential::new(MS(5), Duration::from_secs(1000));
    let mut now = start();
    for key in 0..200_000_u32 {
        limiter.when(now, &key);
        now += Duration::from_secs(1);
    }
    assert_eq!(limiter.requeues(&0), 0, "aged");
    assert_eq!(limiter.requeues(&199_999), 1);
    let kept = (0..200_000).filter(|key| limiter.requeues(key) > 0).count();
    assert!(kept < 10_000, "{kept}");
}

// RL-12
#[test]
fn jitter_spreads_the_keys_that_failed_together() {
    let jitter = flowcontrol::Random::seeded(1);
    let mut limiter = ItemExponential::new(MS(100), MS(1000)).with_jitter(jitter);
    let now = start();
    let delays: Vec<_> = (0..1000).map(|key| limiter.when(now, &key)).collect();
    assert!(delays.iter().all(|delay| (MS(50)..MS(100)).contains(delay)));
    let early = delays.iter().filter(|delay| **delay < MS(75)).count();
    assert!((400..600).contains(&early), "{early}");
}

proptest! {
    // RL-04, GN-03
    #[test]
    fn delays_never_fall_and_stay_in_their_range(
        base in prop_oneof![any::<u64>(), Just(0), Just(1), Just(u64::MAX)],
        max in prop_oneof![any::<u64>(), Just(0), Just(u64::MAX)],
        times in 1_usize..300,
    ) {
        let (base, max) = (Duration::from_nanos(base), Duration::from_nanos(max));
        let mut limiter = ItemExponential::new(base, max);
        let now = start();
        let delays: Vec<_> = (0..times).map(|_| limiter.when(now, &())).collect();
        prop_assert!(delays.is_sorted());
        prop_assert!(delays.iter().all(|delay| (base.min(max)..=max).contains(delay)));
        prop_assert_eq!(delays[0], base.min(max));
        for pair in delays.windows(2) {
            prop_assert_eq!(pair[1], pair[0].saturating_mul(2).min(max));
        }
    }

    // RL-08
    #[test]
    fn max_of_is_the_longest_of_independent_replays(keys in prop::collection::vec(0_u8..4, 1..60)) {
        let exponential = || ItemExponential::new(MS(1), MS(700));
        let slow = || ItemFastSlow::new(MS(3), MS(90), 2);
        let bucket = || Bucket::new(20.0, 3);
        let each: [Box<dyn RateLimiter<u8>>; 3] = [Box::new(exponential()), Box::new(slow()), Box::new(bucket())];
        let (mut all, mut a, mut b, mut c) = (MaxOf::new(each), exponential(), slow(), bucket());
        let now = start();
        for key in keys {
            let longest = a.when(now, &key).max(b.when(now, &key)).max(c.when(now, &key));
            prop_assert_eq!(all.when(now, &key), longest);
        }
    }
}
