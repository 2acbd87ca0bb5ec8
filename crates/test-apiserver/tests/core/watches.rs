use std::time::Duration;

use apimachinery::{ListOptions, ResourceVersionMatch};
use serde_json::json;
use steersman_test_apiserver::core::{CoreOptions, ExpiredWatch, Polled, WatchFrame};

use crate::world::{World, asking, maps, pods, refusal, shown};

fn streaming() -> ListOptions {
    let mut options = asking("");
    options.send_initial_events = Some(true);
    options.resource_version_match = Some(ResourceVersionMatch::NotOlderThan);
    options.allow_watch_bookmarks = true;
    options
}

fn lasting(version: &str, seconds: u32, bookmarks: bool) -> ListOptions {
    let mut options = asking(version);
    options.timeout_seconds = Some(seconds);
    options.allow_watch_bookmarks = bookmarks;
    options
}

// CACHE-W-08
#[test]
fn what_happens_between_a_list_and_a_watch_is_told() {
    let mut world = World::new();
    world.map("a", "1");
    let listed = world.list(&maps(), &asking("")).expect("a list").resource_version;
    let made = world.map("b", "1").resource_version();
    world.delete(&maps(), "a").expect("deleted");
    let id = world.watch(&maps(), &asking(&listed.to_string()));
    assert_eq!(
        world.frames(id),
        [format!("ADDED default/b@{made}"), format!("DELETED default/a@{}", made + 1)]
    );
}

// REST-RV-01
#[test]
fn a_watch_without_a_version_begins_with_the_present_state() {
    let mut world = World::new();
    let (a, b) = (world.map("a", "1").resource_version(), world.map("b", "1").resource_version());
    for version in ["", "0"] {
        let id = world.watch(&maps(), &asking(version));
        assert_eq!(world.frames(id), [format!("ADDED default/a@{a}"), format!("ADDED default/b@{b}")]);
    }
    let id = world.watch(&maps(), &asking("0"));
    let next = world.set("b", "2").resource_version();
    let told = world.frames(id);
    assert_eq!(told[1..], [format!("ADDED default/b@{b}"), format!("MODIFIED default/b@{next}")]);
    world.core.stop_watch(id);
    assert!(matches!(world.core.poll_event(id), Polled::Ended));
}

#[test]
fn a_deletion_carries_the_last_state_at_its_own_version() {
    let mut world = World::new();
    world.map("a", "last words");
    let id = world.watch(&maps(), &asking(&world.core.version().to_string()));
    world.delete(&maps(), "a").expect("deleted");
    let Polled::Frame(WatchFrame::Deleted(last)) = world.core.poll_event(id) else { panic!("no deletion") };
    assert_eq!(last.value()["data"]["k"], "last words");
    assert_eq!(last.resource_version(), world.core.version());
}

#[test]
fn an_object_enters_and_leaves_a_selection_as_added_and_deleted() {
    let mut world = World::new();
    let labelled = |label: &str, data: &str| json!({"metadata": {"name": "a", "labels": {"l": label}}, "data": {"k": data}});
    world.create(&maps(), labelled("out", "0")).expect("made");
    let mut options = asking(&world.core.version().to_string());
    options.label_selector = Some("l=in".to_owned());
    let id = world.watch(&maps(), &options);
    let v = world.core.version();
    world.update(&maps(), labelled("out", "1")).expect("updated");
    world.update(&maps(), labelled("in", "2")).expect("updated");
    world.update(&maps(), labelled("in", "3")).expect("updated");
    world.update(&maps(), labelled("out", "4")).expect("updated");
    world.delete(&maps(), "a").expect("deleted");
    let mut frames = Vec::new();
    while let Polled::Frame(frame) = world.core.poll_event(id) {
        frames.push(frame);
    }
    let told: Vec<_> = frames.iter().map(shown).collect();
    let at = |kind: &str, n: u64| format!("{kind} default/a@{}", v + n);
    assert_eq!(told, [at("ADDED", 2), at("MODIFIED", 3), at("DELETED", 4)]);
    let Some(WatchFrame::Deleted(last)) = frames.last() else { panic!("no deletion") };
    assert_eq!(last.value()["data"]["k"], "3", "the last state that matched");
}

#[test]
fn a_watch_of_one_namespace_does_not_hear_of_another() {
    let mut world = World::new();
    let id = world.watch(&maps(), &asking(&world.core.version().to_string()));
    while world.core.poll_ready().is_some() {}
    let elsewhere = steersman_test_apiserver::core::Target::new("v1", "configmaps").namespaced("kube-system");
    world.create(&elsewhere, json!({"metadata": {"name": "x"}})).expect("made");
    assert_eq!(world.core.poll_ready(), None);
    world.map("a", "1");
    assert_eq!(world.core.poll_ready(), Some(id));
    assert_eq!(world.frames(id).len(), 1);
}

#[test]
fn a_streamed_list_ends_its_initial_events_with_a_marked_bookmark() {
    let mut world = World::new();
    let a = world.map("a", "1").resource_version();
    world.core.skip_versions(5);
    let id = world.watch(&maps(), &streaming());
    assert_eq!(world.frames(id), [format!("ADDED default/a@{a}"), format!("BOOKMARK end@{}", a + 5)]);
    let id = world.watch(&pods(), &streaming());
    let Polled::Frame(WatchFrame::Bookmark(bookmark)) = world.core.poll_event(id) else {
        panic!("no bookmark")
    };
    assert_eq!(bookmark.object["metadata"]["annotations"]["k8s.io/initial-events-end"], "true");
    assert_eq!(bookmark.object["kind"], "Pod");
    assert_eq!(bookmark.object["spec"]["containers"], json!(null), "not a whole pod");
    let mut ahead = streaming();
    ahead.resource_version = "999999".into();
    let now = world.now;
    assert_eq!(refusal(world.core.watch(&maps(), &ahead, now)).0, 504);
}

#[test]
fn bookmarks_come_by_time_after_what_is_there_and_before_the_end() {
    let mut world = World::new();
    let start = world.core.version();
    let id = world.watch(&maps(), &lasting(&start.to_string(), 100, true));
    let without = world.watch(&maps(), &lasting(&start.to_string(), 100, false));
    world.map("a", "1");
    assert_eq!(world.core.poll_timeout(), Some(world.now + Duration::from_mins(1)));
    world.pass(Duration::from_secs(59));
    assert_eq!(world.frames(id).len(), 1);
    world.pass(Duration::from_secs(1));
    world.core.skip_versions(3);
    assert_eq!(world.frames(id), [format!("BOOKMARK @{}", start + 4)]);
    world.pass(Duration::from_secs(38));
    assert_eq!(world.frames(id), [format!("BOOKMARK @{}", start + 4)], "two seconds before the end");
    world.pass(Duration::from_secs(2));
    assert_eq!(world.frames(id), ["ENDED"]);
    assert_eq!(world.frames(without), [format!("ADDED default/a@{}", start + 1), "ENDED".to_owned()]);
    assert_eq!(world.core.poll_timeout(), None);
}

#[test]
fn a_watch_that_asks_for_no_time_lives_between_the_least_and_twice_that() {
    let mut world = World::new();
    let id = world.watch(&maps(), &asking(""));
    let end = world.core.poll_timeout().expect("an end");
    assert!(
        end >= world.now + Duration::from_mins(30) && end <= world.now + Duration::from_hours(1),
        "{end}"
    );
    world.pass(Duration::from_hours(1));
    assert_eq!(world.frames(id), ["ENDED"]);
}

// REST-RV-02
#[test]
fn a_watch_from_a_forgotten_version_fails_in_its_first_frame_or_at_once() {
    for (way, is_answer) in [(ExpiredWatch::Frame, false), (ExpiredWatch::Answer, true)] {
        let mut world = World::with(CoreOptions { expired_watch: way, ..CoreOptions::default() });
        let first = world.map("a", "1").resource_version();
        world.set("a", "2");
        world.core.compact(world.core.version());
        let now = world.now;
        match world.core.watch(&maps(), &asking(&first.to_string()), now) {
            Ok(id) => {
                assert!(!is_answer);
                assert_eq!(world.frames(id), ["ERROR 410", "ENDED"]);
            }
            Err(refused) => {
                assert!(is_answer);
                assert_eq!(refused.code(), 410);
                assert!(refused.to_string().starts_with("too old resource version"), "{refused}");
            }
        }
        let at = world.core.version().to_string();
        let id = world.watch(&maps(), &asking(&at));
        assert_eq!(world.frames(id), [""; 0], "the compacted version itself can be started from");
    }
}

#[test]
fn a_watch_that_falls_behind_the_log_is_told_of_the_gap() {
    let mut world = World::with(CoreOptions { history: 2, ..CoreOptions::default() });
    world.map("a", "0");
    let slow = world.watch(&maps(), &asking(&world.core.version().to_string()));
    let quick = world.watch(&maps(), &asking(&world.core.version().to_string()));
    for data in ["1", "2", "3"] {
        world.set("a", data);
        assert_eq!(world.frames(quick).len(), 1);
    }
    assert_eq!(world.frames(slow), ["ERROR 410", "ENDED"]);
}

#[test]
fn compaction_does_not_disturb_a_watch_that_has_seen_it_all() {
    let mut world = World::new();
    world.map("a", "0");
    let id = world.watch(&maps(), &asking(&world.core.version().to_string()));
    world.core.skip_versions(10);
    world.core.compact(world.core.version());
    assert_eq!(world.frames(id), [""; 0]);
    let next = world.set("a", "1").resource_version();
    assert_eq!(world.frames(id), [format!("MODIFIED default/a@{next}")]);
}

#[test]
fn scripted_ends_close_or_fail_what_is_open() {
    let mut world = World::new();
    world.map("a", "1");
    let ended = world.watch(&maps(), &asking("0"));
    let other = world.watch(&pods(), &asking(&world.core.version().to_string()));
    let resource = world.core.resource("", "v1", "configmaps").expect("served").clone();
    world.core.end_watches(Some(&resource));
    assert_eq!(world.frames(ended).last().map(String::as_str), Some("ENDED"));
    assert_eq!(world.frames(ended), ["ENDED"], "what it had was told before");
    assert_eq!(world.frames(other), [""; 0]);
    world.core.expire_watches();
    assert_eq!(world.frames(other), ["ERROR 410", "ENDED"]);
}

#[test]
fn one_watch_can_be_failed_alone() {
    let mut world = World::new();
    let at = world.core.version().to_string();
    let (one, two) = (world.watch(&maps(), &asking(&at)), world.watch(&maps(), &asking(&at)));
    while world.core.poll_ready().is_some() {}
    world.core.fail_watch(one, &steersman_test_apiserver::core::errors::internal("a scripted fault"));
    assert_eq!(world.core.poll_ready(), Some(one));
    assert_eq!(world.core.poll_ready(), None);
    assert_eq!(world.frames(one), ["ERROR 500", "ENDED"]);
    world.core.end_watch(two);
    world.core.end_watch(one);
    assert_eq!((world.frames(one), world.frames(two)), (vec!["ENDED".to_owned()], vec!["ENDED".to_owned()]));
}

#[test]
fn a_watch_from_a_version_ahead_waits_for_it() {
    let mut world = World::new();
    let ahead = world.core.version() + 2;
    let id = world.watch(&maps(), &asking(&ahead.to_string()));
    world.map("a", "1");
    world.map("b", "1");
    let told = world.map("c", "1").resource_version();
    assert_eq!(world.frames(id), [format!("ADDED default/c@{told}")]);
}
