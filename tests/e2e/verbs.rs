//! Collections: pages, selectors, and deleting many at once.

use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::json;
use steersman::{DeleteOptions, ListOptions, Object};
use test_apiserver::faults::{Expired, Fault, Verb, When};

use crate::world::{MAPS, WIRES, Wire, World, config_map, on_list, within};

fn names<T: Object>(items: &[T]) -> Vec<&str> {
    items.iter().map(Object::name).collect()
}

fn page_of(limit: u32) -> ListOptions {
    let mut options = ListOptions::default();
    options.limit = limit;
    options
}

// REST-PG-01, REST-PG-03, REST-PG-04, REST-PG-09, REST-OP-06
#[tokio::test]
async fn a_list_comes_in_pages_of_one_version() {
    for wire in WIRES {
        let world = World::start(wire).await;
        world.maps(25);
        let maps = world.client.all::<ConfigMap>();
        let first = maps.list(&page_of(10)).await.expect("a page");
        assert_eq!((first.items.len(), first.remaining_item_count), (10, Some(15)), "{wire:?}");
        world.map("a-late-one");
        let mut second = page_of(10);
        second.continue_token.clone_from(&first.continue_token);
        let second = maps.list(&second).await.expect("a page");
        assert_eq!(second.resource_version, first.resource_version, "{wire:?}");
        let all = within("all pages", maps.list_all(&page_of(10))).await.expect("all");
        assert_eq!((all.items.len(), all.continue_token), (26, None), "{wire:?}");
        let requests = world.requests(Verb::List);
        let last = requests.last().expect("asked");
        assert!(last.parameter("continue").is_some() && last.parameter("resourceVersion").is_none());
    }
}

// REST-PG-05, CACHE-R-27
#[tokio::test]
async fn a_page_that_has_expired_makes_it_one_whole_list() {
    for wire in WIRES {
        let world = World::start(wire).await;
        world.maps(25);
        world.plan(on_list().query("continue="), Fault::Expire(Expired::Answer));
        let maps = world.client.all::<ConfigMap>();
        let all = within("all pages", maps.list_all(&page_of(10))).await.expect("all");
        assert_eq!(all.items.len(), 25, "{wire:?}");
        let asked: Vec<_> = world.requests(Verb::List).iter().map(|r| r.parameter("limit")).collect();
        assert_eq!(asked, [Some("10".to_owned()), Some("10".to_owned()), None], "{wire:?}");
    }
}

// REST-OP-01
#[tokio::test]
async fn selectors_of_labels_and_fields_say_what_is_listed() {
    for wire in WIRES {
        let world = World::start(wire).await;
        for (name, app) in [("a", "web"), ("b", "web"), ("c", "db")] {
            let mut map = config_map(name);
            map["metadata"]["labels"] = json!({ "app": app });
            world.server.create(map).expect("created");
        }
        let maps = world.client.all::<ConfigMap>();
        let web = maps.clone().labels("app=web").list(&ListOptions::default()).await.expect("a list");
        assert_eq!(names(&web.items), ["a", "b"]);
        let not_web =
            maps.clone().labels("app notin (web)").list(&ListOptions::default()).await.expect("a list");
        assert_eq!(names(&not_web.items), ["c"], "{wire:?}");
        let one = maps.clone().fields("metadata.name=b").list(&ListOptions::default()).await.expect("a list");
        assert_eq!(names(&one.items), ["b"]);
        let both = maps.labels("app=web").fields("metadata.name!=b").list(&ListOptions::default()).await;
        assert_eq!(names(&both.expect("a list").items), ["a"], "{wire:?}");
        let bad = world.client.all::<ConfigMap>().labels("app=(").list(&ListOptions::default()).await;
        assert!(bad.expect_err("no selector").is_bad_request(), "{wire:?}");
    }
}

// REST-CL-01
#[tokio::test]
async fn many_are_deleted_at_once_and_only_those_that_are_meant() {
    for wire in WIRES {
        let world = World::start(wire).await;
        world.maps(3);
        let mut kept = config_map("kept");
        kept["metadata"]["labels"] = json!({ "keep": "yes" });
        world.server.create(kept).expect("created");
        let mut elsewhere = config_map("elsewhere");
        elsewhere["metadata"]["namespace"] = json!("kube-system");
        world.server.create(elsewhere).expect("created");
        let here = world.client.namespaced::<ConfigMap>("default").labels("keep!=yes");
        here.delete_collection(&DeleteOptions::default(), &ListOptions::default()).await.expect("deleted");
        let left = world.client.all::<ConfigMap>().list(&ListOptions::default()).await.expect("a list");
        let mut left = names(&left.items);
        left.sort_unstable();
        assert_eq!(left, ["elsewhere", "kept"], "{wire:?}");
    }
}

// REST-RT-02, REST-RT-03, REST-RT-10
#[tokio::test]
async fn a_server_that_is_busy_is_asked_again_when_it_says_so_and_not_otherwise() {
    for wire in WIRES {
        let world = World::start(wire).await;
        let maps = world.client.all::<ConfigMap>();
        world.plan(on_list().times(2), Fault::too_many_requests(1));
        world.plan(on_list(), Fault::Refuse { code: 503, retry_after: Some(1) });
        within("a list", maps.list(&ListOptions::default())).await.expect("in the end");
        assert_eq!(world.asked(Verb::List), 4, "{wire:?}");
        world.plan(on_list(), Fault::refuse(503));
        let refused = within("a list", maps.list(&ListOptions::default())).await.expect_err("no");
        assert_eq!(refused.status().map(steersman::StatusError::code), Some(503), "{wire:?}");
        assert_eq!(world.asked(Verb::List), 5, "{wire:?}");
    }
}

// REST-RT-04, REST-RT-05
#[tokio::test]
async fn a_read_over_a_connection_that_breaks_is_sent_again_and_a_write_is_not() {
    for wire in WIRES {
        for fault in [Fault::Close, Fault::Reset] {
            let world = World::start(wire).await;
            let maps = world.client.namespaced::<ConfigMap>("default");
            world.plan(When::verb(Verb::List), fault.clone());
            within("a list", maps.list(&ListOptions::default()))
                .await
                .unwrap_or_else(|e| panic!("{wire:?} {fault:?}: {e:?}"));
            assert_eq!(world.asked(Verb::List), 2, "{wire:?} {fault:?}");
            world.plan(When::verb(Verb::Create), fault.clone());
            let made: ConfigMap = serde_json::from_value(config_map("a")).expect("a map");
            let broken = within("a create", maps.create(&made, &steersman::CreateOptions::default()))
                .await
                .expect_err("cut");
            assert!(broken.is_probable_eof(), "{wire:?} {fault:?}: {broken:?}");
            assert_eq!(world.asked(Verb::Create), 1, "{wire:?} {fault:?}");
        }
    }
}

// REST-ER-09, REST-ER-10, REST-ER-13
#[tokio::test]
async fn what_a_proxy_answers_is_an_error_and_says_what_it_was() {
    for wire in WIRES {
        let world = World::start(wire).await;
        let maps = world.client.all::<ConfigMap>();
        world.plan(When::any().path(MAPS), Fault::Html { code: 502 });
        let page = within("a list", maps.list(&ListOptions::default())).await.expect_err("a page");
        let status = page.status().unwrap_or_else(|| panic!("{wire:?}: {page:?}"));
        assert_eq!(status.code(), 502, "{wire:?}");
        assert!(status.is_unexpected_server_response(), "{wire:?}: {status:?}");
        world.plan(When::any().path(MAPS), Fault::Html { code: 200 });
        let page = within("a list", maps.list(&ListOptions::default())).await.expect_err("a page");
        assert!(matches!(page, steersman::ApiError::Decode(_)), "{wire:?}: {page:?}");
        world.plan(When::any().path(MAPS), Fault::Body(b"{\"kind\":\"ConfigMapList\",".to_vec()));
        let half = within("a list", maps.list(&ListOptions::default())).await.expect_err("half");
        assert!(matches!(half, steersman::ApiError::Decode(_)), "{wire:?}: {half:?}");
    }
}

// REST-ER-04
#[tokio::test]
async fn a_resource_that_nobody_serves_is_not_found() {
    let world = World::start(Wire::Http2).await;
    let resource =
        steersman::ApiResource::new("example.com/v1", "Ghost", "ghosts", steersman::Scope::Cluster);
    let ghosts = world.client.all_of::<steersman::DynamicObject>(resource);
    assert!(ghosts.list(&ListOptions::default()).await.expect_err("no such").is_not_found());
}
