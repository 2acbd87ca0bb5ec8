//! WATCH: which end needs a list, which a rest, and which neither.

use std::time::Duration;

use crate::common::*;
use apimachinery::{ApiError, BrokenKind, ConnectKind, DecodeError, EventKind};
use flowcontrol::FixedJitter;
use steersman_reflector::{Config, Phase, Request};

const SECOND: Duration = Duration::from_secs(1);

// CACHE-R-45, CACHE-R-02
#[test]
fn a_watch_asks_from_the_last_version_for_bookmarks_and_for_a_limited_time() {
    let mut world = world(false, Config::default());
    world.list();
    world.page(&[], "10", None);
    let options = world.watch();
    assert_eq!(options.resource_version, "10");
    assert!(options.allow_watch_bookmarks);
    assert_eq!((options.resource_version_match, options.send_initial_events), (None, None));
    assert_eq!((options.limit, options.continue_token), (0, None));
    assert_eq!(options.timeout_seconds, Some(300));
}

// CACHE-R-01, CACHE-R-02
#[test]
fn the_watch_timeout_is_drawn_between_the_minimum_and_twice_that() {
    let minutes = Duration::from_mins;
    for (min, fraction, seconds) in [
        (minutes(5), 0.0, 300),
        (minutes(5), 0.5, 450),
        (minutes(5), 0.999_999, 599),
        (SECOND, 0.0, 300),
        (SECOND, 0.5, 450),
        (minutes(30), 0.0, 1800),
        (minutes(30), 0.5, 2700),
    ] {
        let mut config = Config::default();
        config.min_watch_timeout = min;
        let mut world = world_with(true, config, FixedJitter(fraction));
        assert_eq!(world.watch().timeout_seconds, Some(seconds), "{min:?} {fraction}");
    }
}

// CACHE-R-35, CACHE-R-40, CACHE-R-42
#[test]
fn each_event_becomes_its_delta_and_moves_the_version() {
    let mut world = watching();
    world.event(added("b@20"));
    assert_eq!(world.version(), "20");
    world.event(modified("b@21"));
    world.event(deleted("b@22"));
    assert_eq!(world.version(), "22");
    world.event(bookmark("30"));
    assert_eq!(world.version(), "30");
    assert_eq!(world.deltas(), ["added b@20", "updated b@21", "deleted b@22", "bookmark 30"]);
}

// F-60, CACHE-R-40
#[test]
fn a_deletion_with_an_older_version_takes_neither_the_watch_nor_the_cache_back() {
    let mut world = watching();
    world.event(deleted("a@9"));
    assert_eq!(world.version(), "10");
    world.event(modified("b@11"));
    assert_eq!(world.version(), "11");
    world.event(undecodable(EventKind::Deleted, "c@8"));
    assert_eq!(world.version(), "11");
    assert_eq!(world.deltas(), ["deleted a@9", "bookmark 10", "updated b@11", "deleted c"]);
    // Versions that cannot be compared are taken as they come.
    world.event(modified("b@x"));
    assert_eq!(world.version(), "x");
    world.now += 2 * SECOND;
    world.end();
    assert_eq!(world.watch().resource_version, "x");
}

// CACHE-R-41
#[test]
fn in_a_watch_from_nowhere_the_version_waits_for_something_that_has_an_order() {
    for from in ["", "0"] {
        for (first, version) in [(modified("c@7"), "7"), (deleted("c@7"), "7"), (bookmark("7"), "7")] {
            let mut world = world(false, Config::default());
            world.list();
            world.page(&[], from, None);
            assert_eq!(world.watch().resource_version, from);
            world.opened();
            world.event(added("b@9"));
            world.event(added("a@5"));
            assert_eq!(world.version(), from);
            world.event(first);
            assert_eq!(world.version(), version);
            world.event(added("d@8"));
            assert_eq!(world.version(), "8");
        }
    }
}

// CACHE-R-48
#[test]
fn after_a_cut_the_watch_goes_on_from_the_last_version_at_once_and_without_a_list() {
    let ends: [fn(&mut World); 6] = [
        |world| world.end(),
        |world| world.watch_error(broken(BrokenKind::Eof)),
        |world| world.watch_error(broken(BrokenKind::Reset)),
        |world| world.watch_error(broken(BrokenKind::GoAway)),
        |world| world.watch_error(broken(BrokenKind::Timeout)),
        |world| world.watch_error(ApiError::Timeout { during: "reading", earlier: None }),
    ];
    for end in ends {
        let mut world = watching();
        for version in 20..25 {
            world.event(bookmark(&version.to_string()));
            end(&mut world);
            assert!(!world.core.holds_stream());
            assert_eq!(world.watch().resource_version, version.to_string().as_str());
            world.opened();
        }
        assert_eq!(world.core.counters().list_requests, 1);
        assert_eq!(world.core.counters().rests, 0);
        // An hour without an event is no different.
        world.now += Duration::from_secs(250);
        end(&mut world);
        assert_eq!(world.watch().resource_version, "24");
    }
}

// CACHE-R-39, CACHE-R-51
#[test]
fn a_very_short_watch_without_an_event_is_told_and_ends_in_a_list() {
    let mut world = watching();
    world.now += Duration::from_millis(999);
    world.end();
    assert_eq!(
        world.errors(),
        (vec![], vec!["very short watch of things: it ended within a second, without an event".to_owned()])
    );
    assert_eq!(world.core.counters().short_watches, 1);
    world.rest();
    assert_eq!(world.list().resource_version, "10");
}

// CACHE-R-39, CACHE-R-43
#[test]
fn the_second_of_a_short_watch_is_counted_from_the_request() {
    let mut world = watching();
    world.now += 2 * SECOND;
    world.end();
    world.watch();
    world.now += SECOND; // the headers took that long
    world.opened();
    world.end();
    world.watch();
}

#[test]
fn events_that_lead_nowhere_before_a_quick_end_are_not_repeated_without_a_rest() {
    let mut world = watching();
    world.event(bookmark("10"));
    world.end();
    world.rest();
    assert_eq!(world.watch().resource_version, "10", "a rest, but no list");
}

// CACHE-R-47, CACHE-R-04
#[test]
fn a_watch_that_is_refused_for_now_rests_and_asks_again_without_a_list() {
    let mut world = watching();
    world.now += 2 * SECOND;
    world.end();
    for n in 0..50_u32 {
        assert_eq!(world.watch().resource_version, "10");
        world.watch_error(if n % 2 == 0 { refused() } else { refusal(429, "TooManyRequests").into() });
        let rest = world.rest();
        assert_eq!(rest, Duration::from_millis(800 * 2_u64.pow(n.min(6))).min(Duration::from_secs(30)));
    }
    assert_eq!(world.core.counters().list_requests, 1);
    assert_eq!(world.errors().0, [""; 0], "no cycle failed");
}

// CACHE-R-49
#[test]
fn a_watch_that_is_stopped_for_now_rests_and_goes_on_without_a_list() {
    let mut world = watching();
    world.event(modified("a@12"));
    world.watch_error(refusal(429, "TooManyRequests"));
    world.rest();
    assert_eq!(world.watch().resource_version, "12");
}

#[test]
fn the_server_may_ask_for_a_longer_rest_but_not_for_a_shorter_one() {
    for (seconds, rest) in [(0, 800), (7, 7_000), (86_400, 600_000)] {
        let mut world = watching();
        world.watch_error(apimachinery::StatusError::too_many_requests("busy", seconds));
        assert_eq!(world.rest(), Duration::from_millis(rest));
    }
}

#[test]
fn a_watch_that_cannot_be_opened_for_the_transport_is_tried_for_a_minute_before_a_list() {
    let errors: [fn() -> ApiError; 5] = [
        || broken(BrokenKind::Reset),
        || connect(ConnectKind::Timeout),
        || connect(ConnectKind::Tls),
        || refusal(503, "ServiceUnavailable").into(),
        || refusal(500, "InternalError").into(),
    ];
    for error in errors {
        let mut world = watching();
        world.now += 2 * SECOND;
        world.end();
        let began = world.now;
        world.watch();
        loop {
            world.watch_error(error());
            world.rest();
            match world.request() {
                Some(Request::Watch(options)) => assert_eq!(options.resource_version, "10"),
                Some(Request::List(options)) => {
                    assert_eq!(options.resource_version, "10");
                    break;
                }
                None => panic!("it must go on"),
            }
        }
        let waited = world.now - began;
        assert!(waited > Duration::from_mins(1) && waited < Duration::from_mins(2), "{waited:?}");
        assert_eq!(world.errors().0, ["could not watch things"], "told as failed once");
    }
}

#[test]
fn a_watch_that_was_open_for_a_while_renews_the_minute_however_it_ends() {
    let ends: [fn(&mut World); 3] = [
        |world| world.end(),
        |world| world.watch_error(broken(BrokenKind::Eof)),
        |world| {
            world.watch_error(refusal(429, "TooManyRequests"));
            world.rest();
        },
    ];
    for end in ends {
        let mut world = watching();
        world.now += 2 * SECOND;
        world.end();
        world.watch();
        world.watch_error(broken(BrokenKind::Reset));
        world.rest();
        world.watch();
        world.opened();
        world.now += Duration::from_mins(4);
        end(&mut world);
        world.watch();
        world.watch_error(broken(BrokenKind::Reset));
        world.rest();
        world.watch();
    }
}

#[test]
fn a_watch_that_opens_and_breaks_at_once_counts_as_one_that_does_not_open() {
    let mut world = watching();
    world.watch_error(broken(BrokenKind::Reset));
    world.rest();
    assert_eq!(world.watch().resource_version, "10");
}

// CACHE-R-47, CACHE-R-11
#[test]
fn every_other_refusal_of_a_watch_fails_the_cycle() {
    for error in [refusal(403, "Forbidden"), refusal(404, "NotFound"), refusal(400, "BadRequest"), expired()]
    {
        let mut world = watching();
        world.now += 2 * SECOND;
        world.end();
        world.watch();
        world.watch_error(error);
        assert_eq!(world.errors().0, ["could not watch things"]);
        world.rest();
        assert_eq!(world.list().resource_version, "10");
    }
}

// CACHE-R-11, CACHE-R-22, CACHE-R-38, CACHE-R-51
#[test]
fn an_expired_watch_ends_in_a_rest_and_a_list_of_nothing_older_in_each_of_its_shapes() {
    for error in [
        refusal(410, "Expired"),
        refusal(410, "Gone"),
        refusal(410, ""),
        refusal(0, "Expired"),
        refusal(0, "Gone"),
    ] {
        let mut world = watching();
        world.event(modified("a@12"));
        world.watch_error(error);
        assert!(!world.core.holds_stream());
        assert_eq!(world.errors(), (vec![], vec!["the watch of things was ended".to_owned()]));
        assert_eq!(world.version(), "12");
        world.rest();
        assert_eq!(world.list().resource_version, "12");
    }
}

// CACHE-R-51
#[test]
fn an_object_that_the_server_cannot_read_any_more_goes_with_the_list() {
    let mut world = watching();
    world.watch_error(refusal(500, "StorageReadError"));
    world.rest();
    world.list();
    world.page(&["b@1"], "20", None);
    assert_eq!(world.deltas(), ["replaced b@1 at 20"]);
}

// CACHE-R-51
#[test]
fn an_answer_that_cannot_be_read_or_is_too_large_ends_in_a_list() {
    for error in [ApiError::Decode(DecodeError::new("garbage")), broken(BrokenKind::TooLarge)] {
        let mut world = watching();
        world.event(modified("a@12"));
        world.watch_error(error);
        world.rest();
        assert_eq!(world.list().resource_version, "12");
    }
}

// CACHE-R-06, CACHE-R-50
#[test]
fn without_a_budget_an_internal_error_ends_in_a_list() {
    for error in [refusal(500, "InternalError"), refusal(500, ""), refusal(0, "InternalError")] {
        let mut world = watching();
        world.watch_error(error);
        world.rest();
        world.list();
    }
}

// CACHE-R-50
#[test]
fn within_its_budget_an_internal_error_rests_and_goes_on_and_a_quiet_minute_renews_the_budget() {
    let mut config = Config::default();
    config.internal_error_budget = Duration::from_secs(10);
    config.backoff.cap = SECOND;
    let mut world = watching_with(config);
    let began = world.now;
    let mut retries = 0;
    let error = || refusal(500, "InternalError");
    loop {
        world.watch_error(error());
        world.rest();
        match world.request() {
            Some(Request::Watch(_)) => retries += 1,
            _ => break,
        }
        world.opened();
    }
    assert_eq!(retries, 11);
    assert!(world.now - began > Duration::from_secs(10));

    let mut config = Config::default();
    config.internal_error_budget = Duration::from_secs(10);
    let mut world = watching_with(config);
    for _ in 0..5 {
        world.watch_error(error());
        world.rest();
        world.watch();
        world.opened();
        world.now += Duration::from_mins(1);
    }
    // Another error is not paid from this budget.
    world.watch_error(refusal(503, "ServiceUnavailable"));
    world.rest();
    world.list();
}

// CACHE-R-05
#[test]
fn the_back_off_starts_again_after_two_quiet_minutes_and_not_during_an_outage() {
    let mut world = watching();
    world.now += 2 * SECOND;
    world.end();
    let outage = world.now;
    world.watch();
    let mut last = Duration::ZERO;
    while world.now - outage < Duration::from_mins(10) {
        world.watch_error(refused());
        let rest = world.rest();
        assert!(rest >= last, "{rest:?} after {last:?}");
        last = rest;
        world.watch();
    }
    world.opened();
    world.now += Duration::from_secs(121);
    world.end();
    world.watch();
    world.watch_error(refused());
    assert_eq!(world.rest(), Duration::from_millis(800));
}

// CACHE-R-03
#[test]
fn a_rest_is_drawn_from_the_step_to_twice_the_step() {
    for (fraction, rests) in [(0.0, [800, 1600, 3200]), (0.5, [1200, 2400, 4800])] {
        let mut world = world_with(false, Config::default(), FixedJitter(fraction));
        for rest in rests {
            world.list();
            world.list_error(refused());
            assert_eq!(world.rest(), Duration::from_millis(rest));
        }
    }
}

#[test]
fn a_server_that_does_not_end_its_watch_is_left_and_the_watch_goes_on() {
    let mut world = watching();
    world.event(modified("a@12"));
    let deadline = world.core.poll_timeout().expect("a watch has a limit");
    assert_eq!(deadline - world.now, Duration::from_secs(330));
    world.after(Duration::from_secs(330));
    assert!(!world.core.holds_stream());
    assert_eq!(world.watch().resource_version, "12");
}

// CACHE-R-36
#[test]
fn an_event_without_a_name_is_told_and_skipped_and_its_version_does_not_count() {
    let mut world = watching();
    world.event(added("@99"));
    world.event(undecodable(EventKind::Modified, "@98"));
    assert!(world.deltas().is_empty());
    assert_eq!(world.version(), "10");
    assert_eq!(world.errors().1.len(), 2);
    world.event(modified("a@12"));
    assert_eq!(world.deltas(), ["updated a@12"]);
}

#[test]
fn an_event_that_cannot_be_decoded_is_told_and_the_version_passes_it() {
    let mut world = watching();
    world.event(undecodable(EventKind::Added, "broken@11"));
    world.event(undecodable(EventKind::Modified, "broken@12"));
    assert_eq!(world.errors().1.len(), 2);
    assert!(world.deltas().is_empty());
    assert_eq!(world.version(), "12");
    world.end();
    assert_eq!(world.watch().resource_version, "12", "it is not met again");
    // The same version of it again, by whatever way, is not told again.
    world.opened();
    world.event(undecodable(EventKind::Modified, "broken@12"));
    assert!(world.errors().1.is_empty());
    // Once it was readable, it is news.
    world.event(modified("broken@13"));
    world.event(undecodable(EventKind::Modified, "broken@12"));
    assert_eq!(world.errors().1.len(), 1);
}

#[test]
fn a_deletion_that_cannot_be_decoded_is_told_by_its_key() {
    let mut world = watching();
    world.event(undecodable(EventKind::Deleted, "a@12"));
    assert_eq!(world.deltas(), ["deleted a", "bookmark 12"]);
    assert_eq!(world.version(), "12");
    assert!(world.core.holds_stream());
}

#[test]
fn a_deletion_of_nobody_knows_what_ends_in_one_list() {
    let mut world = watching();
    world.event(undecodable(EventKind::Deleted, "@"));
    assert!(!world.core.holds_stream());
    world.rest();
    world.list();
    world.page(&[], "20", None);
    assert_eq!(world.deltas(), ["replaced  at 20"]);
    world.watch();
}

#[test]
fn the_status_says_whether_the_watch_is_live_and_what_went_wrong_last() {
    let mut world = watching();
    assert_eq!(world.phase(), Some(Phase::Watching));
    world.event(modified("a@12"));
    assert_eq!(world.phase(), None, "an event is no news");
    world.now += 2 * SECOND;
    world.end();
    world.watch();
    assert_eq!(world.phase(), Some(Phase::Opening));
    world.watch_error(refusal(403, "Forbidden"));
    let status = world.core.poll_status().expect("news");
    assert_eq!((status.phase, status.failures), (Phase::Resting, 1));
    assert!(status.last_error.is_some_and(|error| error.api_error().is_some_and(ApiError::is_forbidden)));
    world.rest();
    world.list();
    world.page(&[], "20", None);
    let status = world.core.poll_status().expect("news");
    assert!(status.last_error.is_none() && status.synced_once);
}

// CACHE-R-44
#[test]
fn what_comes_after_the_end_of_a_stream_is_nobodys() {
    let mut world = watching();
    world.watch_error(expired());
    world.event(modified("a@99"));
    world.event(bookmark("98"));
    world.end();
    world.page(&["z@1"], "97", None);
    assert!(world.deltas().is_empty());
    assert_eq!(world.version(), "10");
}
