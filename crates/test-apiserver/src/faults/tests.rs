use std::time::Duration;

use super::{Fault, Script, Verb, When};

fn take(script: &mut Script, verb: Verb, path: &str) -> Vec<Fault> {
    script.take(verb, path, "")
}

#[test]
fn rules_are_used_up_in_the_order_in_which_they_were_planned() {
    let mut script = Script::default();
    script.push(When::any(), Fault::refuse(503));
    script.push(When::any(), Fault::refuse(500));
    assert_eq!(take(&mut script, Verb::Get, "/a"), [Fault::refuse(503)]);
    assert_eq!(take(&mut script, Verb::Get, "/a"), [Fault::refuse(500)]);
    assert_eq!(take(&mut script, Verb::Get, "/a"), []);
    assert_eq!(script.len(), 0);
}

#[test]
fn a_rule_that_waits_for_its_turn_counts_only_what_it_matches() {
    let mut script = Script::default();
    script.push(When::verb(Verb::Watch).path("/api/v1/pods").after(1), Fault::Close);
    assert_eq!(take(&mut script, Verb::List, "/api/v1/pods"), []);
    assert_eq!(take(&mut script, Verb::Watch, "/api/v1/nodes"), []);
    assert_eq!(take(&mut script, Verb::Watch, "/api/v1/pods"), []);
    assert_eq!(take(&mut script, Verb::Watch, "/api/v1/pods"), [Fault::Close]);
    assert_eq!(take(&mut script, Verb::Watch, "/api/v1/pods"), []);
}

#[test]
fn a_waiting_rule_lets_the_next_one_speak() {
    let mut script = Script::default();
    script.push(When::any().after(1), Fault::Reset);
    script.push(When::any(), Fault::Close);
    assert_eq!(take(&mut script, Verb::Get, "/a"), [Fault::Close]);
    assert_eq!(take(&mut script, Verb::Get, "/a"), [Fault::Reset]);
}

#[test]
fn a_delay_leaves_the_decision_to_the_rule_behind_it() {
    let mut script = Script::default();
    let delay = Fault::Delay(Duration::from_millis(5));
    script.push(When::any().times(2), delay.clone());
    script.push(When::any(), Fault::Close);
    script.push(When::any(), Fault::Reset);
    assert_eq!(take(&mut script, Verb::Get, "/a"), [delay.clone(), Fault::Close]);
    assert_eq!(take(&mut script, Verb::Get, "/a"), [delay, Fault::Reset]);
    assert_eq!(take(&mut script, Verb::Get, "/a"), []);
}

#[test]
fn a_star_stands_for_the_rest_of_the_path_and_a_query_for_a_part() {
    let mut script = Script::default();
    script.push(When::any().path("/api/v1/*").query("limit=").always(), Fault::Close);
    assert_eq!(script.take(Verb::List, "/api/v1/pods", "limit=2"), [Fault::Close]);
    assert_eq!(script.take(Verb::List, "/api/v1/pods", "watch=1"), []);
    assert_eq!(script.take(Verb::List, "/apis/apps/v1/deployments", "limit=2"), []);
    assert_eq!(script.take(Verb::List, "/api/v1/nodes", "a=b&limit=2"), [Fault::Close]);
    script.clear();
    assert_eq!(script.take(Verb::List, "/api/v1/nodes", "limit=2"), []);
}

#[test]
fn zero_times_is_no_rule() {
    let mut script = Script::default();
    script.push(When::any().times(0), Fault::Close);
    assert_eq!(take(&mut script, Verb::Get, "/a"), []);
}
