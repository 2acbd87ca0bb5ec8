//! The transform: once for each object, and what its refusal does.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use apimachinery::{Meta, Object};
use flowcontrol::NoJitter;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use steersman_reflector::{Config, ReflectorCore, Request};

use crate::common::*;

/// What is kept: another type than what comes.
struct Slim {
    metadata: ObjectMeta,
}

impl Object for Slim {
    fn meta(&self) -> &dyn Meta {
        &self.metadata
    }
}

/// A core that refuses objects whose name begins with `bad`, and counts the objects it saw.
fn slimming(watch_list: bool) -> (ReflectorCore<ConfigMap, Slim>, Arc<AtomicU32>) {
    let calls = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&calls);
    let transform = Box::new(move |object: ConfigMap| {
        counted.fetch_add(1, Ordering::Relaxed);
        if object.name().starts_with("bad") {
            return Err("I do not like it".into());
        }
        Ok(Slim { metadata: object.metadata })
    });
    let jitter = Box::new(NoJitter);
    (ReflectorCore::transforming("things".into(), Config::default(), watch_list, jitter, transform), calls)
}

fn deltas(core: &mut ReflectorCore<ConfigMap, Slim>) -> Vec<String> {
    std::iter::from_fn(|| core.poll_delta()).map(|delta| word(&delta)).collect()
}

// CACHE-R-61, CACHE-Q-06
#[test]
fn each_object_is_transformed_once_and_may_change_its_type() {
    let now = start();
    let (mut core, calls) = slimming(false);
    core.poll_request(now);
    core.handle_page(now, page(&["a@1"], "10", Some("t")));
    core.poll_request(now);
    core.handle_page(now, page(&["b@2"], "10", None));
    core.poll_request(now);
    core.handle_opened(now);
    core.handle_event(now, added("c@11"));
    core.handle_event(now, modified("c@12"));
    core.handle_event(now, deleted("c@13"));
    assert_eq!(deltas(&mut core), ["replaced a@1,b@2 at 10", "added c@11", "updated c@12", "deleted c@13"]);
    assert_eq!(calls.load(Ordering::Relaxed), 5);

    let (mut core, calls) = slimming(true);
    core.poll_request(now);
    core.handle_opened(now);
    core.handle_event(now, added("a@1"));
    core.handle_event(now, modified("a@11"));
    core.handle_event(now, end_mark("11"));
    assert_eq!(deltas(&mut core), ["replaced a@11 at 11"]);
    assert_eq!(calls.load(Ordering::Relaxed), 2);
}

// CACHE-R-31, CACHE-R-61, CACHE-R-63
#[test]
fn an_object_that_the_transform_refuses_fails_the_initial_state_in_both_modes() {
    let now = start();
    for watch_list in [false, true] {
        let (mut core, _) = slimming(watch_list);
        core.poll_request(now);
        if watch_list {
            core.handle_opened(now);
            core.handle_event(now, added("a@1"));
            core.handle_event(now, added("bad@2"));
            core.handle_event(now, end_mark("10"));
        } else {
            core.handle_page(now, page(&["a@1", "bad@2"], "10", None));
        }
        assert!(deltas(&mut core).is_empty());
        assert_eq!(core.last_resource_version(), "");
        assert!(!core.holds_stream(), "the stream is stopped");
        assert_eq!(core.counters().transform_failures, 1);
        let error = core.poll_status().and_then(|status| status.last_error).expect("it is told");
        assert_eq!(chain(&error), "could not transform bad of things: I do not like it");
        let until = core.poll_timeout().expect("a rest");
        assert!(until > now);
        // Without the object it works.
        match core.poll_request(until) {
            Some(Request::Watch(_)) => {
                core.handle_opened(until);
                core.handle_event(until, added("a@1"));
                core.handle_event(until, end_mark("11"));
            }
            Some(Request::List(_)) => core.handle_page(until, page(&["a@1"], "11", None)),
            None => panic!("it must go on"),
        }
        assert_eq!(deltas(&mut core), ["replaced a@1 at 11"]);
    }
}

// CACHE-R-35
#[test]
fn of_a_watch_a_refused_object_is_skipped_and_counted_but_a_deletion_is_told() {
    let now = start();
    let (mut core, _) = slimming(false);
    core.poll_request(now);
    core.handle_page(now, page(&[], "10", None));
    core.poll_request(now);
    core.handle_opened(now);
    deltas(&mut core);
    core.handle_event(now, added("bad@11"));
    core.handle_event(now, modified("bad@12"));
    assert!(deltas(&mut core).is_empty());
    assert_eq!(core.last_resource_version(), "12");
    core.handle_event(now, deleted("bad@13"));
    core.handle_event(now, added("good@14"));
    assert_eq!(deltas(&mut core), ["deleted bad", "bookmark 13", "added good@14"]);
    assert_eq!(core.counters().transform_failures, 3);
    assert!(core.holds_stream());
}
