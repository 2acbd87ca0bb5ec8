//! LIST: versions, pages, limits, and versions that cannot be had.

use std::time::Duration;

use crate::common::*;
use apimachinery::{ListOptions, Object, Page, Status, StatusCause, StatusDetails, StatusError};
use steersman_reflector::{Config, Note};

/// Ends the watch that is open so that a new cycle begins, and waits until it does.
fn next_cycle(world: &mut World) {
    world.after(Duration::from_secs(2)).watch_error(refusal(500, "SomethingElse"));
    world.rest();
}

fn versions_and_limit(options: &ListOptions) -> (&str, u32, Option<&str>) {
    (options.resource_version.as_str(), options.limit, options.continue_token.as_deref())
}

// CACHE-R-10, CACHE-R-20, CACHE-R-25, CACHE-R-26, CACHE-R-31
#[test]
fn the_first_list_takes_what_the_server_has_cached_in_pages_of_500() {
    let mut world = world(false, Config::default());
    let options = world.list();
    assert_eq!(versions_and_limit(&options), ("0", 500, None));
    assert_eq!((options.resource_version_match, options.send_initial_events), (None, None));
    world.page(&["a@1", "b@2"], "10", None);
    assert_eq!(world.deltas(), ["replaced a@1,b@2 at 10"]);
    assert_eq!(world.version(), "10");
    world.watch();
}

// CACHE-R-20
#[test]
fn whoever_asks_for_the_most_recent_state_first_gets_it() {
    let mut config = Config::default();
    config.most_recent_first = true;
    let mut world = world(false, config);
    assert_eq!(versions_and_limit(&world.list()), ("", 500, None));
}

// CACHE-R-20, CACHE-R-25
#[test]
fn a_relist_asks_for_nothing_older_than_was_seen_and_for_all_at_once() {
    let mut world = watching();
    world.event(modified("a@12"));
    next_cycle(&mut world);
    assert_eq!(versions_and_limit(&world.list()), ("12", 0, None));
}

// CACHE-R-26
#[test]
fn later_pages_carry_the_token_alone_and_the_first_page_names_the_version() {
    let mut world = world(false, Config::default());
    world.list();
    world.page(&["a@1"], "10", Some("t1"));
    assert_eq!(versions_and_limit(&world.list()), ("", 500, Some("t1")));
    world.page(&[], "10", Some("t2"));
    assert_eq!(versions_and_limit(&world.list()), ("", 500, Some("t2")));
    assert_eq!(world.deltas(), [""; 0], "nothing before the last page");
    assert_eq!(world.version(), "");
    world.page(&["b@2"], "99", Some(""));
    assert_eq!(world.deltas(), ["replaced a@1,b@2 at 10"]);
    assert_eq!(world.version(), "10");
}

// CACHE-R-25, CACHE-R-29
#[test]
fn a_cached_list_that_came_in_pages_makes_every_later_list_ask_for_pages() {
    let mut world = world(false, Config::default());
    world.list();
    world.page(&["a@1"], "10", Some("t1"));
    world.list();
    world.page(&["b@1"], "10", None);
    world.watch();
    world.opened();
    next_cycle(&mut world);
    assert_eq!(versions_and_limit(&world.list()), ("10", 500, None));
}

// CACHE-R-29
#[test]
fn a_most_recent_list_in_pages_says_nothing_about_later_lists() {
    let mut world = watching();
    next_cycle(&mut world);
    world.list();
    world.list_error(expired());
    assert_eq!(versions_and_limit(&world.list()), ("", 500, None));
    world.page(&["a@1"], "20", Some("t1"));
    world.list();
    world.page(&["b@1"], "20", None);
    world.watch();
    world.opened();
    next_cycle(&mut world);
    assert_eq!(versions_and_limit(&world.list()), ("20", 0, None));
}

// CACHE-R-25
#[test]
fn an_explicit_page_size_wins() {
    let mut config = Config::default();
    config.page_size = Some(4);
    let mut world = watching_with(config);
    next_cycle(&mut world);
    assert_eq!(versions_and_limit(&world.list()), ("10", 4, None));
}

// CACHE-R-27
#[test]
fn when_a_later_page_has_expired_everything_is_asked_for_at_once_and_at_the_same_version() {
    let mut config = Config::default();
    config.page_size = Some(4);
    let mut world = watching_with(config);
    next_cycle(&mut world);
    world.list();
    world.page(&["a@1", "stale@2"], "11", Some("t1"));
    assert_eq!(versions_and_limit(&world.list()), ("", 4, Some("t1")));
    world.list_error(expired());
    assert_eq!(versions_and_limit(&world.list()), ("10", 0, None), "at once");
    world.page(&["a@1", "b@15"], "20", None);
    assert_eq!(world.deltas(), ["replaced a@1,b@15 at 20"], "nothing of the pages before");
}

// CACHE-R-27, CACHE-R-28
#[test]
fn pages_that_expire_again_and_again_end_in_a_rest_after_a_bounded_number_of_requests() {
    let mut config = Config::default();
    config.page_size = Some(1);
    let mut world = world(false, config);
    let mut requests = 0;
    while world.request().is_some() {
        requests += 1;
        assert!(requests < 10, "an endless list");
        if requests % 2 == 1 {
            world.page(&["a@1"], "10", Some(&format!("t{requests}")));
        } else {
            world.list_error(expired());
        }
    }
    assert_eq!(world.errors().0, ["could not list things"]);
    assert!(world.deltas().is_empty());
}

// CACHE-R-22, CACHE-R-23, CACHE-R-24, CACHE-R-28
#[test]
fn a_version_that_cannot_be_had_is_asked_for_once_then_the_most_recent_at_once() {
    let old_server = |message: &str, cause: Option<&str>| {
        StatusError::new(Status {
            code: Some(504),
            reason: Some("Timeout".to_owned()),
            message: Some(message.to_owned()),
            details: cause.map(|cause| StatusDetails {
                causes: vec![StatusCause { message: Some(cause.to_owned()), ..StatusCause::default() }],
                ..StatusDetails::default()
            }),
            ..Status::default()
        })
    };
    for error in [
        refusal(410, "Expired"),
        refusal(410, "Gone"),
        refusal(410, ""),
        refusal(410, "Unheard"),
        refusal(0, "Expired"),
        refusal(0, "Gone"),
        too_large(),
        old_server("Timeout: Too large resource version: 10, current: 9", None),
        old_server("Timeout", Some("Too large resource version")),
    ] {
        let mut world = watching();
        next_cycle(&mut world);
        assert_eq!(world.list().resource_version, "10");
        world.list_error(error.clone());
        assert_eq!(versions_and_limit(&world.list()), ("", 500, None), "{error:?}");
        world.page(&["b@1"], "20", None);
        assert_eq!(world.deltas(), ["replaced b@1 at 20"]);
        // The mark is gone: the next list may ask for what it knows.
        world.watch();
        world.opened();
        next_cycle(&mut world);
        assert_eq!(world.list().resource_version, "20");
    }
}

// CACHE-R-22, CACHE-R-28
#[test]
fn when_the_most_recent_list_fails_too_the_cycle_does_and_the_next_asks_for_the_most_recent() {
    let mut world = watching();
    next_cycle(&mut world);
    world.errors();
    world.list();
    world.list_error(expired());
    world.list();
    world.list_error(expired());
    assert_eq!(
        world.errors(),
        (vec!["could not list things".to_owned()], vec!["could not list things".to_owned()])
    );
    world.rest();
    assert_eq!(world.list().resource_version, "");
}

// CACHE-R-03, CACHE-R-10, CACHE-R-11, CACHE-R-31
#[test]
fn a_failed_list_rests_is_told_with_its_cause_and_leaves_the_version() {
    let mut world = watching();
    next_cycle(&mut world);
    world.notes();
    world.list();
    world.list_error(refusal(403, "Forbidden"));
    let Some(Note::Failed(error)) = world.notes().pop() else { panic!("not told") };
    assert_eq!(chain(&error), "could not list things: said the server");
    assert!(error.api_error().is_some_and(apimachinery::ApiError::is_forbidden));
    let status = world.core.poll_status().expect("it changed");
    assert!(status.synced_once && status.last_error.is_some() && status.failures == 2);
    assert_eq!(world.version(), "10");
    assert_eq!(world.rest(), Duration::from_millis(1600), "the second step of the same back-off");
    assert_eq!(world.list().resource_version, "10");
}

#[test]
fn a_server_that_gives_the_same_page_for_ever_is_left() {
    let mut world = world(false, Config::default());
    world.list();
    world.page(&["a@1"], "10", Some("t"));
    world.list();
    world.page(&["a@1"], "10", Some("t"));
    assert_eq!(world.errors().0, ["the server gave the same page of things twice"]);
    world.rest();
    assert!(world.deltas().is_empty());
}

// CACHE-R-33
#[test]
fn a_list_of_more_than_ten_seconds_is_told_with_its_size() {
    for (seconds, told) in [(10, false), (11, true)] {
        let mut world = world(false, Config::default());
        world.list();
        world.after(Duration::from_secs(seconds)).page(&["a@1", "b@2"], "10", None);
        let slow = world.notes().into_iter().find(|note| matches!(note, Note::SlowList { objects: 2, .. }));
        assert_eq!(slow.is_some(), told, "{seconds} s");
    }
}

// CACHE-R-32
#[test]
fn an_object_that_is_kept_keeps_no_other_object_of_its_page() {
    let mut world = world(false, Config::default());
    world.list();
    world.page(&["a@1", "b@2"], "10", None);
    let Some(deltafifo::Delta::Replaced { items, .. }) = world.core.poll_delta() else { panic!("no list") };
    let weak: Vec<_> = items.iter().map(std::sync::Arc::downgrade).collect();
    let kept = items[0].clone();
    drop(items);
    assert!(weak[1].upgrade().is_none());
    assert_eq!(kept.name(), "a");
}

// CACHE-R-36
#[test]
fn an_item_without_a_name_is_told_and_skipped() {
    let mut world = world(false, Config::default());
    world.list();
    world.page(&["a@1", "@2"], "10", None);
    assert_eq!(world.deltas(), ["replaced a@1 and nameless at 10"]);
    assert_eq!(world.errors().1, ["an object of things was skipped"]);
}

// CACHE-R-36
#[test]
fn a_nameless_item_of_any_page_is_in_the_delta_of_that_list_and_in_no_other() {
    let mut world = world(false, Config::default());
    world.list();
    let with_nameless = Page { undecodable: vec![bad("@")], ..page(&["a@1"], "10", Some("more")) };
    world.core.handle_page(world.now, with_nameless);
    world.list();
    world.page(&["b@2"], "10", None);
    assert_eq!(world.deltas(), ["replaced a@1,b@2 and nameless at 10"]);
    world.watch();
    world.opened();
    next_cycle(&mut world);
    // A list that fails in the middle leaves nothing to the next one.
    world.list();
    let with_nameless = Page { undecodable: vec![bad("@")], ..page(&["a@1"], "15", Some("more")) };
    world.core.handle_page(world.now, with_nameless);
    world.list();
    world.list_error(refusal(500, "SomethingElse"));
    world.rest();
    world.list();
    world.page(&["b@2"], "20", None);
    assert_eq!(world.deltas(), ["replaced b@2 at 20"]);
}

#[test]
fn items_that_cannot_be_decoded_are_named_in_the_delta_and_told_once_for_each_version() {
    let mut world = world(false, Config::default());
    let with_bad = |version: &str| Page {
        undecodable: vec![bad("broken@3"), bad("@")],
        ..page(&["a@1"], version, None)
    };
    world.list();
    world.core.handle_page(world.now, with_bad("10"));
    assert_eq!(world.deltas(), ["replaced a@1 unreadable broken and nameless at 10"]);
    assert_eq!(world.errors().1.len(), 2, "one by name, one without");
    world.watch();
    world.opened();
    next_cycle(&mut world);
    world.errors();
    world.list();
    world.core.handle_page(world.now, with_bad("20"));
    assert_eq!(world.deltas(), ["replaced a@1 unreadable broken and nameless at 20"]);
    assert_eq!(world.errors().1.len(), 1, "the named one was told before");
    assert_eq!(world.core.counters().undecodable, 4);
}
