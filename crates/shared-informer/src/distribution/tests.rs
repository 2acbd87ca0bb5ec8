//! Resync periods and routing, as tables over a clock that stands still.

use std::sync::Arc;
use std::time::{Duration, Instant};

use apimachinery::Head;
use indexer::Change;

use super::{Distribution, Joined, PeriodChange, Routed};

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_hours(1);

#[expect(clippy::disallowed_methods, reason = "only an origin to count from")]
fn origin() -> Instant {
    Instant::now()
}

/// Who is told of a resync at each second from 1 to `seconds`.
fn due(
    distribution: &mut Distribution<&'static str>,
    begin: Instant,
    seconds: u32,
) -> Vec<Vec<&'static str>> {
    (1..=seconds)
        .map(|second| {
            if distribution.handle_timeout(begin + second * SECOND) {
                distribution.members().iter().filter(|m| m.wants(true)).map(|m| m.listener).collect()
            } else {
                Vec::new()
            }
        })
        .collect()
}

// CACHE-I-35, CACHE-I-38, CACHE-I-39: T-I-1.
#[test]
fn each_listener_is_due_at_its_own_period() {
    let begin = origin();
    let mut distribution = Distribution::new(SECOND);
    for (name, seconds) in [("never", 0), ("two", 2), ("three", 3)] {
        distribution.join(name, Some(seconds * SECOND), begin);
    }
    distribution.join("default", None, begin);
    distribution.handle_start();
    distribution.handle_filled(begin);
    assert_eq!(distribution.poll_timeout(), Some(begin + SECOND));
    assert_eq!(
        due(&mut distribution, begin, 6),
        [
            vec!["default"],
            vec!["two", "default"],
            vec!["three", "default"],
            vec!["two", "default"],
            vec!["default"],
            vec!["two", "three", "default"],
        ]
    );
}

// CACHE-I-36, CACHE-I-37: T-I-2.
#[test]
fn the_shortest_period_before_the_start_is_the_checks() {
    let begin = origin();
    let mut distribution = Distribution::new(12 * HOUR);
    let mut join = |name, period| {
        distribution.join(name, Some(period), begin);
        distribution.check_period()
    };
    assert_eq!(join("never", Duration::ZERO), 12 * HOUR);
    assert_eq!(join("minute", 60 * SECOND), 60 * SECOND);
    assert_eq!(join("less", 55 * SECOND), 55 * SECOND);
    assert_eq!(join("least", 5 * SECOND), 5 * SECOND);
    assert_eq!(join("too little", SECOND / 2), SECOND);
    distribution.handle_start();
    let late = distribution.join("late", Some(SECOND / 2), begin);
    assert_eq!(late, Joined { replay: false, resync: None });
    assert_eq!(distribution.check_period(), SECOND);
}

// CACHE-I-36
#[test]
fn a_period_below_that_of_a_running_informer_is_raised() {
    let begin = origin();
    let mut distribution = Distribution::new(10 * SECOND);
    distribution.handle_start();
    let joined = distribution.join("late", Some(3 * SECOND), begin);
    assert_eq!(joined.resync, Some(PeriodChange::Raised { from: 3 * SECOND, to: 10 * SECOND }));
    assert_eq!(distribution.check_period(), 10 * SECOND);
}

// CACHE-I-37
#[test]
fn an_informer_without_a_period_never_resyncs() {
    let begin = origin();
    let mut distribution = Distribution::new(Duration::ZERO);
    let joined = distribution.join("wants", Some(3 * SECOND), begin);
    assert_eq!(joined.resync, Some(PeriodChange::Never));
    distribution.handle_start();
    distribution.handle_filled(begin);
    assert_eq!(distribution.poll_timeout(), None);
    assert!(!distribution.handle_timeout(begin + HOUR));
}

// CACHE-I-38: looks that were slept through are not made up for.
#[test]
fn a_late_look_is_one_look() {
    let begin = origin();
    let mut distribution = Distribution::new(SECOND);
    distribution.join("one", None, begin);
    distribution.handle_start();
    distribution.handle_filled(begin);
    assert!(distribution.handle_timeout(begin + 10 * SECOND));
    assert!(!distribution.handle_timeout(begin + 10 * SECOND + SECOND / 2));
    assert_eq!(distribution.poll_timeout(), Some(begin + 11 * SECOND));
}

#[derive(Debug, serde::Deserialize)]
struct Thing {
    metadata: Head,
}
apimachinery::object!(Thing);

fn thing(version: &str) -> Arc<Thing> {
    let metadata = serde_json::json!({ "name": "a", "resourceVersion": version });
    Arc::new(serde_json::from_value(serde_json::json!({ "metadata": metadata })).unwrap())
}

// CACHE-I-22, CACHE-I-23: T-I-14.
#[test]
fn what_did_not_change_goes_to_those_who_are_syncing() {
    let begin = origin();
    let mut distribution = Distribution::new(SECOND);
    distribution.join("never", Some(Duration::ZERO), begin);
    distribution.join("one", None, begin);
    distribution.join("two", Some(2 * SECOND), begin);
    let updated = |old: &str, new: &str| {
        let change = Change::Updated { old: thing(old), new: thing(new) };
        Routed::of(change, false).is_sync
    };
    assert!(updated("7", "7"));
    assert!(!updated("7", "8"));
    assert!(!updated("", ""), "a version that cannot be read tells nothing");
    assert!(!Routed::of(Change::Added(thing("7")), true).is_sync);

    let to_whom = |distribution: &Distribution<&'static str>, is_sync| {
        distribution.members().iter().filter(|m| m.wants(is_sync)).map(|m| m.listener).collect::<Vec<_>>()
    };
    // Nobody was asked yet: everybody.
    assert_eq!(to_whom(&distribution, true), ["never", "one", "two"]);
    distribution.handle_start();
    distribution.handle_filled(begin);
    assert!(distribution.handle_timeout(begin + SECOND));
    assert_eq!(to_whom(&distribution, true), ["one"]);
    assert_eq!(to_whom(&distribution, false), ["never", "one", "two"]);
    // One that comes later is syncing until the next look.
    distribution.join("late", Some(5 * SECOND), begin + SECOND);
    assert_eq!(to_whom(&distribution, true), ["one", "late"]);
    assert!(distribution.handle_timeout(begin + 2 * SECOND));
    assert_eq!(to_whom(&distribution, true), ["one", "two"]);
}

// CACHE-I-26, CACHE-Q-21
#[test]
fn only_the_first_list_is_initial_and_whoever_comes_later_is_caught_up() {
    let begin = origin();
    let mut distribution = Distribution::new(Duration::ZERO);
    assert!(distribution.is_initial());
    assert!(!distribution.join("early", None, begin).replay);
    assert!(distribution.handle_filled(begin), "the first");
    assert!(!distribution.is_initial());
    assert!(!distribution.handle_filled(begin), "not the first");
    assert!(distribution.join("late", None, begin).replay);
}

// GN-03, CACHE-I-35
#[test]
fn a_period_beyond_the_clock_is_never() {
    let begin = origin();
    for default in [SECOND, Duration::MAX] {
        let mut distribution = Distribution::new(default);
        distribution.join("never", Some(Duration::MAX), begin);
        distribution.handle_start();
        distribution.handle_filled(begin);
        assert!(due(&mut distribution, begin, 3).iter().all(Vec::is_empty));
        assert_eq!(distribution.poll_timeout().is_some(), default == SECOND);
    }
}
