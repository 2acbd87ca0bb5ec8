use apimachinery::{GetOptions, ListOptions, ResourceVersionMatch};
use serde_json::json;
use steersman_test_apiserver::core::{CoreOptions, ListAnswer, Target};

use crate::world::{World, asking, maps, namespaces, pod, pods, refusal};

fn names(answer: &ListAnswer) -> Vec<String> {
    answer.items.iter().map(|item| item.name().to_owned()).collect()
}

fn exactly(version: u64) -> ListOptions {
    let mut options = asking(&version.to_string());
    options.resource_version_match = Some(ResourceVersionMatch::Exact);
    options
}

// REST-RV-01
#[test]
fn a_list_reads_the_present_or_exactly_the_past_as_its_version_asks() {
    let mut world = World::new();
    let first = world.map("a", "1").resource_version();
    let second = world.map("b", "1").resource_version();
    world.delete(&maps(), "a").expect("deleted");
    let third = world.core.version();
    for (options, expected, version) in [
        (asking(""), vec!["b"], third),
        (asking("0"), vec!["b"], third),
        (asking(&first.to_string()), vec!["b"], third),
        (exactly(first), vec!["a"], first),
        (exactly(second), vec!["a", "b"], second),
        (exactly(third), vec!["b"], third),
    ] {
        let answer = world.list(&maps(), &options).expect("a list");
        assert_eq!(
            (names(&answer), answer.resource_version),
            (expected.iter().map(|s| (*s).to_owned()).collect(), version),
            "{options:?}"
        );
    }
    // A limit makes a version exact, unless it says otherwise.
    let mut limited = asking(&first.to_string());
    limited.limit = 10;
    assert_eq!(names(&world.list(&maps(), &limited).expect("a list")), ["a"]);
    limited.resource_version_match = Some(ResourceVersionMatch::NotOlderThan);
    assert_eq!(names(&world.list(&maps(), &limited).expect("a list")), ["b"]);
}

// REST-RV-02
#[test]
fn a_version_that_is_forgotten_is_expired_and_one_that_is_not_reached_times_out() {
    let mut world = World::new();
    let first = world.map("a", "1").resource_version();
    let last = world.map("b", "1").resource_version();
    world.core.compact(last);
    let (code, reason, _) = refusal(world.list(&maps(), &exactly(first)));
    assert_eq!((code, reason.as_str()), (410, "Expired"));
    let ahead = (last + 5).to_string();
    for options in [asking(&ahead), exactly(last + 5)] {
        let refused = world.list(&maps(), &options).expect_err("too new");
        assert_eq!(refused.code(), 504);
        let details = refused.status().details.clone().expect("details");
        assert_eq!(details.causes[0].reason.as_deref(), Some("ResourceVersionTooLarge"));
        assert_eq!(details.retry_after_seconds, Some(1));
        assert!(refused.to_string().contains("Too large resource version"), "{refused}");
    }
    let mut get = GetOptions::default();
    get.resource_version = ahead.as_str().into();
    assert_eq!(world.core.get(&maps(), "a", &get).expect_err("too new").code(), 504);
}

// REST-OP-05
#[test]
fn options_that_do_not_go_together_are_refused_one_by_one() {
    let mut world = World::new();
    world.map("a", "1");
    let mut unversioned = asking("");
    unversioned.resource_version_match = Some(ResourceVersionMatch::NotOlderThan);
    let mut with_token = asking("");
    with_token.continue_token = Some("x".to_owned());
    with_token.resource_version_match = Some(ResourceVersionMatch::NotOlderThan);
    let mut streamed = asking("");
    streamed.send_initial_events = Some(true);
    for options in [&unversioned, &with_token, &exactly(0), &streamed] {
        assert_eq!(refusal(world.list(&maps(), options)).0, 422, "{options:?}");
    }
    let mut match_alone = asking("");
    match_alone.resource_version_match = Some(ResourceVersionMatch::NotOlderThan);
    let mut exact = streamed.clone();
    exact.resource_version_match = Some(ResourceVersionMatch::Exact);
    for options in [&match_alone, &streamed, &exact] {
        let now = world.now;
        assert_eq!(refusal(world.core.watch(&maps(), options, now)).0, 422, "{options:?}");
    }
}

// REST-OP-06
#[test]
fn pages_show_one_version_and_count_what_is_left() {
    let mut world = World::new();
    for name in ["a", "b", "c", "d", "e"] {
        world.map(name, "1");
    }
    let mut options = asking("");
    options.limit = 2;
    let first = world.list(&maps(), &options).expect("a page");
    assert_eq!((names(&first), first.remaining), (vec!["a".into(), "b".into()], Some(3)));
    world.delete(&maps(), "c").expect("deleted");
    world.map("ca", "new");
    world.set("d", "2");
    options.continue_token = first.continue_token;
    let second = world.list(&maps(), &options).expect("a page");
    assert_eq!(names(&second), ["c", "d"]);
    assert_eq!(second.items[1].value()["data"]["k"], "1");
    assert_eq!((second.resource_version, second.remaining), (first.resource_version, Some(1)));
    options.continue_token = second.continue_token;
    let third = world.list(&maps(), &options).expect("a page");
    assert_eq!((names(&third), third.continue_token, third.remaining), (vec!["e".into()], None, None));
}

// REST-RV-02
#[test]
fn a_page_whose_version_is_forgotten_is_expired() {
    let mut world = World::new();
    for name in ["a", "b", "c"] {
        world.map(name, "1");
    }
    let mut options = asking("");
    options.limit = 1;
    options.continue_token = world.list(&maps(), &options).expect("a page").continue_token;
    world.set("a", "2");
    world.core.compact(world.core.version());
    let (code, reason, message) = refusal(world.list(&maps(), &options));
    assert_eq!((code, reason.as_str()), (410, "Expired"));
    assert!(message.contains("continue parameter is too old"), "{message}");
    options.continue_token = Some("not a token".to_owned());
    assert_eq!(refusal(world.list(&maps(), &options)).0, 400);
}

#[test]
fn a_limit_under_a_selector_fills_its_pages_and_counts_nothing() {
    let mut world = World::new();
    for (index, name) in ["a", "b", "c", "d"].iter().enumerate() {
        let label = if index % 2 == 0 { "x" } else { "y" };
        let object = json!({"metadata": {"name": name, "labels": {"l": label}}});
        world.create(&maps(), object).expect("made");
    }
    let mut options = asking("");
    options.limit = 1;
    options.label_selector = Some("l=y".to_owned());
    let page = world.list(&maps(), &options).expect("a page");
    assert_eq!((names(&page), page.remaining), (vec!["b".into()], None));
    options.continue_token = page.continue_token;
    let page = world.list(&maps(), &options).expect("a page");
    assert_eq!((names(&page), page.continue_token), (vec!["d".into()], None));
}

#[test]
fn history_is_bounded_for_each_resource() {
    let mut world = World::with(CoreOptions { history: 3, ..CoreOptions::default() });
    let first = world.map("a", "0").resource_version();
    for data in ["1", "2"] {
        world.set("a", data);
    }
    assert!(world.list(&maps(), &exactly(first)).is_ok());
    world.set("a", "3");
    world.set("a", "4");
    assert_eq!(refusal(world.list(&maps(), &exactly(first))).0, 410);
}

#[test]
fn label_selectors_select_as_the_server_reads_them() {
    let mut world = World::new();
    for (name, labels) in
        [("a", json!({"env": "prod", "n": "5"})), ("b", json!({"env": "test"})), ("c", json!({}))]
    {
        world.create(&maps(), json!({"metadata": {"name": name, "labels": labels}})).expect("made");
    }
    for (selector, expected) in [
        ("env=prod", "a"),
        ("env==prod", "a"),
        ("env!=prod", "b c"),
        ("env in (prod, test)", "a b"),
        ("env notin (prod)", "b c"),
        ("env", "a b"),
        ("!env", "c"),
        ("n>4", "a"),
        ("n<4", ""),
        ("env=prod,n", "a"),
        ("env in (prod,test),!n", "b"),
        ("", "a b c"),
    ] {
        let mut options = asking("");
        options.label_selector = Some(selector.to_owned());
        let answer = world.list(&maps(), &options).expect("a list");
        assert_eq!(names(&answer).join(" "), expected, "{selector}");
    }
    for garbage in ["a b", "=x", "env in prod", "env in (prod", "n>x", "a=b=c d", "-x"] {
        let mut options = asking("");
        options.label_selector = Some(garbage.to_owned());
        assert_eq!(refusal(world.list(&maps(), &options)).0, 400, "{garbage}");
    }
}

#[test]
fn field_selectors_know_the_fields_of_each_kind_and_no_others() {
    let mut world = World::new();
    for (name, node) in [("a", "n1"), ("b", "n2")] {
        let mut object = pod(name);
        object["spec"]["nodeName"] = json!(node);
        world.create(&pods(), object).expect("made");
    }
    for (selector, expected) in [
        ("metadata.name=a", "a"),
        ("metadata.namespace=default", "a b"),
        ("spec.nodeName=n2", "b"),
        ("spec.nodeName!=n2", "a"),
        ("status.phase=Pending,metadata.name!=a", "b"),
        ("status.phase=Running", ""),
    ] {
        let mut options = asking("");
        options.field_selector = Some(selector.to_owned());
        let answer = world.list(&pods(), &options).expect("a list");
        assert_eq!(names(&answer).join(" "), expected, "{selector}");
    }
    for (target, selector) in
        [(pods(), "spec.foo=1"), (maps(), "spec.nodeName=n1"), (pods(), "metadata.name")]
    {
        let mut options = asking("");
        options.field_selector = Some(selector.to_owned());
        assert_eq!(refusal(world.list(&target, &options)).0, 400, "{selector}");
    }
}

#[test]
fn a_list_of_all_namespaces_is_in_the_order_of_the_keys() {
    let mut world = World::new();
    for namespace in ["a", "a-b"] {
        world.create(&namespaces(), json!({"metadata": {"name": namespace}})).expect("made");
        let target = Target::new("v1", "configmaps").namespaced(namespace);
        world.create(&target, json!({"metadata": {"name": "x"}})).expect("made");
    }
    let all = world.list(&Target::new("v1", "configmaps"), &asking("")).expect("a list");
    let keys: Vec<_> = all.items.iter().map(|item| item.key()).collect();
    // As etcd has them: a dash comes before a slash.
    assert_eq!(keys, ["a-b/x", "a/x"]);
    let one = world.list(&Target::new("v1", "configmaps").namespaced("a"), &asking("")).expect("a list");
    assert_eq!(one.items.len(), 1);
}

#[test]
fn what_is_not_served_is_a_path_that_is_not_there() {
    let world = World::new();
    for target in [
        Target::new("v1", "widgets"),
        Target::new("v2", "pods"),
        Target::new("v1", "nodes").namespaced("default"),
        Target::new("v1", "configmaps").namespaced("default").subresource("status"),
    ] {
        let (code, reason, _) = refusal(world.list(&target, &asking("")));
        assert_eq!((code, reason.as_str()), (404, "NotFound"), "{target:?}");
    }
}
