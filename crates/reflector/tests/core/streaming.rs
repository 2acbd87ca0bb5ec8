//! WatchList: the initial state as a watch, and what happens when it does not end.

use std::time::Duration;

use crate::common::*;
use apimachinery::{ApiError, BrokenKind, DecodeError, EventKind, ResourceVersionMatch};
use steersman_reflector::{Config, Note, Phase, ReflectorError};

const SECOND: Duration = Duration::from_secs(1);

fn streaming() -> World {
    let mut world = world(true, Config::default());
    world.watch();
    world.opened();
    world
}

/// Synced at version 10 by the initial events of a watch.
fn streamed() -> World {
    let mut world = streaming();
    world.event(added("a@1"));
    world.event(end_mark("10"));
    world.deltas();
    world
}

// CACHE-R-08, CACHE-R-14, CACHE-R-21, CACHE-R-55
#[test]
fn with_watch_list_the_first_request_is_a_watch_for_the_initial_events() {
    let options = world(true, Config::default()).watch();
    assert_eq!(options.resource_version, "");
    assert_eq!(options.resource_version_match, Some(ResourceVersionMatch::NotOlderThan));
    assert_eq!(options.send_initial_events, Some(true));
    assert!(options.allow_watch_bookmarks);
    assert_eq!(options.timeout_seconds, Some(300));
    assert_eq!(options.limit, 0);
}

// CACHE-R-08, CACHE-W-05
#[test]
fn watch_list_needs_both_the_source_and_the_configuration() {
    let mut off = Config::default();
    off.watch_list = false;
    world(true, off.clone()).list();
    world(false, off).list();
    world(false, Config::default()).list();
    world(true, Config::default()).watch();
}

// CACHE-R-56, CACHE-R-57, CACHE-R-58
#[test]
fn the_initial_events_are_one_delta_and_the_same_stream_goes_on() {
    let mut world = streaming();
    world.event(added("a@1"));
    world.event(added("b@2"));
    world.event(added("c@3"));
    world.event(modified("a@11"));
    world.event(deleted("b@12"));
    assert!(world.deltas().is_empty(), "nothing before the end mark");
    assert_eq!(world.version(), "");
    world.event(end_mark("12"));
    assert_eq!(world.deltas(), ["replaced a@11,c@3 at 12"]);
    assert_eq!(world.version(), "12");
    assert!(world.core.holds_stream());
    assert_eq!(world.request(), None, "no other request");
    world.event(added("d@13"));
    assert_eq!(world.deltas(), ["added d@13"]);
    assert_eq!(world.version(), "13");
    assert_eq!(world.core.counters().list_requests, 0);
}

// CACHE-R-41
#[test]
fn a_stream_that_goes_on_after_its_end_mark_counts_versions_from_the_first_event() {
    let mut world = streamed();
    world.event(added("b@11"));
    assert_eq!(world.version(), "11");
}

// CACHE-R-57
#[test]
fn a_bookmark_without_the_mark_is_not_the_end() {
    let mut world = streaming();
    world.event(added("a@1"));
    world.event(bookmark("5"));
    assert!(world.deltas().is_empty());
    assert_eq!(world.version(), "");
}

// CACHE-R-48
#[test]
fn after_the_initial_events_a_cut_goes_on_with_a_plain_watch() {
    let mut world = streamed();
    world.event(modified("a@12"));
    world.end();
    let options = world.watch();
    assert_eq!(options.resource_version, "12");
    assert_eq!(options.send_initial_events, None);
}

// CACHE-R-14, CACHE-R-21, CACHE-R-51
#[test]
fn a_new_cycle_streams_again_from_the_last_version() {
    let mut world = streamed();
    world.watch_error(expired());
    world.rest();
    let options = world.watch();
    assert_eq!((options.resource_version.as_str(), options.send_initial_events), ("10", Some(true)));
}

// CACHE-R-22, CACHE-R-59
#[test]
fn a_version_that_cannot_be_had_is_dropped_and_the_stream_asked_for_again_at_once() {
    for error in [expired(), refusal(410, "Gone"), too_large()] {
        for opened in [false, true] {
            let mut world = streamed();
            world.watch_error(refusal(500, "SomethingElse"));
            world.rest();
            world.watch();
            if opened {
                world.opened();
                world.event(added("stale@1"));
            }
            world.watch_error(error.clone());
            let options = world.watch();
            assert_eq!((options.resource_version.as_str(), options.send_initial_events), ("", Some(true)));
            world.opened();
            world.event(added("b@2"));
            world.event(end_mark("20"));
            assert_eq!(world.deltas(), ["replaced b@2 at 20"]);
            // The mark is gone with the success.
            world.watch_error(refusal(500, "SomethingElse"));
            world.rest();
            assert_eq!(world.watch().resource_version, "20");
        }
    }
}

#[test]
fn when_not_even_the_most_recent_version_can_be_had_a_list_is_asked_for_at_once() {
    let mut world = streaming();
    world.watch_error(expired());
    assert_eq!(world.watch().resource_version, "");
    world.watch_error(expired());
    assert_eq!(world.list().resource_version, "");
    assert_eq!(world.core.counters().rests, 0);
}

// CACHE-R-59, CACHE-R-04
#[test]
fn a_stream_that_is_refused_for_now_rests_and_is_asked_for_again() {
    let mut world = world(true, Config::default());
    for rest in [800, 1600, 3200] {
        assert_eq!(world.watch().send_initial_events, Some(true));
        world.watch_error(refusal(429, "TooManyRequests"));
        assert_eq!(world.rest(), Duration::from_millis(rest));
    }
    world.watch();
    world.opened();
    world.event(added("a@1"));
    world.watch_error(refusal(429, "TooManyRequests"));
    world.rest();
    world.watch();
    world.opened();
    world.event(end_mark("10"));
    assert_eq!(world.deltas(), ["replaced  at 10"], "a clean start");
}

// CACHE-R-14, CACHE-R-59
#[test]
fn every_other_error_falls_back_to_a_list_at_once_and_the_next_cycle_tries_again() {
    let errors: [fn() -> ApiError; 4] = [
        || refusal(403, "Forbidden").into(),
        || refusal(500, "InternalError").into(),
        || ApiError::Decode(DecodeError::new("garbage")),
        || broken(BrokenKind::Reset),
    ];
    for error in errors {
        let mut world = world(true, Config::default());
        world.watch();
        world.watch_error(error());
        let options = world.list();
        assert_eq!((options.resource_version.as_str(), options.limit), ("0", 500));
        assert_eq!(world.core.counters().rests, 0, "no rest before it");
        assert_eq!(world.core.counters().fallbacks, 1);
        assert_eq!(world.errors().0, [""; 0], "the cycle did not fail");
        world.page(&["a@1"], "10", None);
        assert_eq!(world.watch().send_initial_events, None);
        world.opened();
        world.watch_error(refusal(500, "SomethingElse"));
        world.rest();
        assert_eq!(world.watch().send_initial_events, Some(true));
    }
}

// F-08, CACHE-R-14, CACHE-R-59
#[test]
fn a_server_that_does_not_know_the_option_is_not_asked_again_for_some_time() {
    for (code, reason) in [(422, "Invalid"), (400, "BadRequest")] {
        let mut world = world(true, Config::default());
        world.watch();
        world.watch_error(refusal(code, reason));
        world.list();
        let status = world.core.poll_status().expect("news");
        let error = status.last_error.expect("it is told");
        assert!(
            matches!(&*error, ReflectorError::WatchList { .. }),
            "whoever waits for the cache waits for the list"
        );
        assert_eq!(world.errors().1.len(), 1);
        world.page(&["a@1"], "10", None);
        world.watch();
        world.opened();
        world.watch_error(expired());
        world.rest();
        world.list();
        world.page(&["a@1"], "20", None);
        world.watch();
        world.opened();
        world.now += Config::default().watch_list_rest;
        world.watch_error(expired());
        world.rest();
        assert_eq!(world.watch().send_initial_events, Some(true), "{code}");
    }
}

// CACHE-R-60
#[test]
fn an_end_before_the_mark_starts_afresh_once_then_falls_back_to_a_list() {
    let ends: [fn(&mut World); 2] = [|world| world.end(), |world| world.watch_error(broken(BrokenKind::Eof))];
    for end in ends {
        let mut world = streaming();
        world.event(added("stale@1"));
        end(&mut world);
        let options = world.watch();
        assert_eq!((options.resource_version.as_str(), options.send_initial_events), ("", Some(true)));
        world.opened();
        world.event(added("a@2"));
        world.event(end_mark("10"));
        assert_eq!(world.deltas(), ["replaced a@2 at 10"], "nothing of the first attempt");

        let mut world = streaming();
        for _ in 0..2 {
            world.event(added("a@1"));
            end(&mut world);
            if let Some(request) = world.request() {
                assert!(matches!(
                    request,
                    steersman_reflector::Request::Watch(_) | steersman_reflector::Request::List(_)
                ));
                world.opened();
            }
        }
        assert_eq!(world.core.counters().list_requests, 1);
        assert_eq!(world.core.counters().rests, 0);
    }
}

#[test]
fn a_page_that_nobody_asked_for_is_not_mixed_with_the_initial_events() {
    let mut world = streaming();
    world.event(added("a@1"));
    world.page(&["z@1"], "99", None);
    world.event(end_mark("10"));
    assert_eq!(world.deltas(), ["replaced a@1 at 10"]);
    world.watch_error(refusal(500, "SomethingElse"));
    world.rest();
    world.watch();
    world.watch_error(refusal(400, "BadRequest"));
    world.list();
    world.page(&["b@1"], "20", None);
    assert_eq!(world.deltas(), ["replaced b@1 at 20"]);
}

// CACHE-R-39
#[test]
fn a_very_short_stream_falls_back_to_a_list() {
    let mut world = streaming();
    world.end();
    world.list();
    assert_eq!(world.errors().1.len(), 1);
}

// CACHE-R-62
#[test]
fn silence_is_told_every_ten_seconds_and_ends_in_a_list() {
    let mut world = streaming();
    world.event(added("a@1"));
    let began = world.now;
    let mut waits = Vec::new();
    while world.core.holds_stream() {
        world.now = world.core.poll_timeout().expect("a bound");
        world.core.handle_timeout(world.now);
        waits.extend(world.notes().into_iter().filter_map(|note| match note {
            Note::WaitingForInitialEvents { silent_for, waited } => Some((silent_for, waited)),
            _ => None,
        }));
    }
    assert_eq!(waits, [(10 * SECOND, 10 * SECOND), (20 * SECOND, 20 * SECOND)]);
    assert_eq!(world.now - began, 20 * SECOND);
    assert_eq!(world.list().resource_version, "0", "at once");
    world.page(&["a@1"], "10", None);
    assert_eq!(world.deltas(), ["replaced a@1 at 10"]);
}

// CACHE-R-62
#[test]
fn a_plain_watch_is_never_told_to_be_silent() {
    let mut world = watching();
    world.after(Duration::from_mins(4));
    assert!(world.core.holds_stream());
    assert!(world.notes().is_empty());
}

// CACHE-R-62
#[test]
fn a_request_that_is_not_answered_counts_as_silence() {
    let mut world = world(true, Config::default());
    world.watch();
    world.after(20 * SECOND);
    assert!(!world.core.holds_stream());
    world.list();
}

// CACHE-R-62
#[test]
fn progress_puts_the_end_off_but_not_beyond_what_cannot_be_an_initial_event() {
    let mut world = streaming();
    for _ in 0..30 {
        world.after(19 * SECOND).event(added("a@1"));
        if world.now - start() > Duration::from_mins(4) {
            break;
        }
    }
    assert!(world.core.holds_stream(), "a large collection takes its time");
    world.event(modified("a@2"));
    for _ in 0..5 {
        world.after(10 * SECOND).event(modified("a@3"));
        assert!(world.core.holds_stream());
    }
    world.after(10 * SECOND);
    assert!(!world.core.holds_stream());
    world.list();
}

#[test]
fn a_server_without_end_marks_is_not_asked_again_for_some_time() {
    let mut world = streaming();
    world.after(20 * SECOND);
    let rest = Config::default().watch_list_rest;
    let began = world.now;
    world.list();
    loop {
        world.page(&["a@1"], "10", None);
        assert_eq!(world.watch().send_initial_events, None);
        world.opened();
        world.now += Duration::from_mins(2);
        world.watch_error(expired());
        world.rest();
        if world.now - began >= rest {
            break;
        }
        world.list();
    }
    assert_eq!(world.watch().send_initial_events, Some(true));
}

#[test]
fn undecodable_initial_events_are_named_and_the_rest_goes_on() {
    let mut world = streaming();
    world.event(added("a@1"));
    world.event(added("b@2"));
    world.event(undecodable(EventKind::Added, "broken@3"));
    world.event(undecodable(EventKind::Modified, "b@11"));
    world.event(undecodable(EventKind::Added, "gone@4"));
    world.event(undecodable(EventKind::Deleted, "gone@12"));
    world.event(undecodable(EventKind::Added, "better@5"));
    world.event(modified("better@13"));
    world.event(added("went@6"));
    world.event(undecodable(EventKind::Deleted, "went@13"));
    world.event(end_mark("13"));
    assert_eq!(world.deltas(), ["replaced a@1,b@2,better@13 unreadable broken at 13"]);
}

// CACHE-R-36
#[test]
fn a_nameless_initial_event_is_in_the_delta_that_the_stream_ends_in() {
    let mut world = streaming();
    world.event(added("a@1"));
    world.event(undecodable(EventKind::Added, "@"));
    world.event(end_mark("13"));
    assert_eq!(world.deltas(), ["replaced a@1 and nameless at 13"]);
}

#[test]
fn an_initial_deletion_of_nobody_knows_what_falls_back_to_a_list() {
    let mut world = streaming();
    world.event(added("a@1"));
    world.event(undecodable(EventKind::Deleted, "@"));
    world.list();
}

#[test]
fn the_status_says_that_it_streams() {
    let mut world = world(true, Config::default());
    world.watch();
    assert_eq!(world.phase(), Some(Phase::Streaming));
    world.opened();
    world.event(end_mark("1"));
    assert_eq!(world.phase(), Some(Phase::Watching));
}

// GN-03, CACHE-R-62
#[test]
fn limits_beyond_the_clock_are_never_and_not_now() {
    let mut config = Config::default();
    config.initial_events_silence = Duration::MAX;
    config.initial_events_overtime = Duration::MAX;
    config.watch_list_rest = Duration::MAX;
    config.backoff.initial = Duration::MAX;
    config.backoff.cap = Duration::MAX;
    let mut world = world(true, config);
    world.watch();
    world.opened();
    world.event(modified("a@1"));
    world.after(100 * SECOND);
    assert_eq!(world.phase(), Some(Phase::Streaming), "it waits for the end mark");

    // Without the mark, twice: a list, and no WatchList ever again.
    world.end();
    world.watch();
    world.opened();
    world.event(added("a@1"));
    world.after(100 * SECOND);
    world.end();
    world.list();
    world.list_error(refusal(500, "InternalError"));
    assert!(world.after(1_000_000 * SECOND).request().is_none(), "the rest has no end");
}
