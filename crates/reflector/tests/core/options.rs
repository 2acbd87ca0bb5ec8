//! From a list to a watch.

use apimachinery::{ListOptions, ResourceVersionMatch};
use steersman_reflector::watch_list_options;

// CACHE-R-71
#[test]
fn a_list_becomes_a_watch_only_where_the_watch_begins_with_the_same_state() {
    use ResourceVersionMatch::{Exact, NotOlderThan};
    for (version, matching, limit, token, is_possible) in [
        ("", None, 0, None, true),
        ("0", None, 0, None, true),
        ("100", None, 0, None, true),
        ("0", None, 500, None, true),
        ("0", Some(NotOlderThan), 500, None, true),
        ("100", Some(NotOlderThan), 0, None, true),
        ("", None, 500, None, false),
        ("100", None, 500, None, false),
        ("100", Some(Exact), 0, None, false),
        ("", Some(NotOlderThan), 0, None, false),
        ("", None, 0, Some("token"), false),
        ("", None, 0, Some(""), true),
    ] {
        let mut list = ListOptions::default();
        list.label_selector = Some("app=web".to_owned());
        list.resource_version = version.into();
        list.resource_version_match = matching;
        list.limit = limit;
        list.continue_token = token.map(str::to_owned);
        let Some(watch) = watch_list_options(&list) else {
            assert!(!is_possible, "{list:?}");
            continue;
        };
        assert!(is_possible, "{list:?}");
        assert_eq!(watch.resource_version, version);
        assert_eq!((watch.limit, watch.continue_token), (0, None));
        assert_eq!(watch.resource_version_match, Some(NotOlderThan));
        assert_eq!(watch.send_initial_events, Some(true));
        assert!(watch.allow_watch_bookmarks);
        assert_eq!(watch.label_selector.as_deref(), Some("app=web"));
    }
}
