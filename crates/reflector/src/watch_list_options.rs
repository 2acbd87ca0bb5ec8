//! From the options of a list to those of a watch that begins with the same state.

use apimachinery::{ListOptions, ResourceVersionMatch};

/// The watch whose initial events are what a list with `list` would give, or `None` where there is none.
///
/// There is none for an invalid list, for one that continues another, for an exact version, and for a page, unless it is
/// one of version `0`, where servers ignore the limit (CACHE-R-71, client-go `util/watchlist`).
pub fn watch_list_options(list: &ListOptions) -> Option<ListOptions> {
    let is_valid = list.send_initial_events.is_none()
        && (list.resource_version_match.is_none() || !list.resource_version.is_empty());
    let continues = list.continue_token.as_ref().is_some_and(|token| !token.is_empty());
    let is_exact = list.resource_version_match == Some(ResourceVersionMatch::Exact);
    let is_page = list.limit > 0 && list.resource_version != "0";
    if !is_valid || continues || is_exact || is_page {
        return None;
    }
    let mut watch = list.clone();
    watch.limit = 0;
    watch.continue_token = None;
    watch.resource_version_match = Some(ResourceVersionMatch::NotOlderThan);
    watch.send_initial_events = Some(true);
    watch.allow_watch_bookmarks = true;
    Some(watch)
}
