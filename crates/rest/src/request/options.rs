//! Options as query parameters (REST-OP-01, REST-OP-02, REST-RQ-10): unset ones are not sent.

use std::time::Duration;

use apimachinery::{ApiError, CreateOptions, DeleteOptions, GetOptions, ListOptions, PatchOptions};
use serde::Serialize;

use super::url::{Query, go_duration, invalid};

/// What `options` of a list, a watch or a deletion of a collection say. `timeoutSeconds` is the request's own limit,
/// too (REST-CL-02); without it, `limit` is (REST-RQ-09).
pub(crate) fn list(options: &ListOptions, limit: Option<Duration>) -> Query {
    let mut query = Query::default();
    let mut text = |key, value: &Option<String>| {
        if let Some(value) = value
            && !value.is_empty()
        {
            query.add(key, value.as_str());
        }
    };
    text("labelSelector", &options.label_selector);
    text("fieldSelector", &options.field_selector);
    text("continue", &options.continue_token);
    if options.limit > 0 {
        query.add("limit", options.limit.to_string());
    }
    if !options.resource_version.is_empty() {
        query.add("resourceVersion", options.resource_version.as_str());
    }
    if let Some(matching) = options.resource_version_match {
        query.add("resourceVersionMatch", matching.as_str());
    }
    if let Some(seconds) = options.timeout_seconds {
        query.add("timeoutSeconds", seconds.to_string());
    }
    if options.allow_watch_bookmarks {
        query.add("allowWatchBookmarks", "true");
    }
    if let Some(send) = options.send_initial_events {
        query.add("sendInitialEvents", if send { "true" } else { "false" });
    }
    timeout(&mut query, own_limit(options).or(limit));
    query
}

/// `timeoutSeconds` as the request's own limit. 0 leaves it to the server.
pub(crate) fn own_limit(options: &ListOptions) -> Option<Duration> {
    options.timeout_seconds.filter(|&seconds| seconds > 0).map(|seconds| Duration::from_secs(seconds.into()))
}

/// The `timeout` parameter, by which the server gives up (REST-RQ-09).
pub(crate) fn timeout(query: &mut Query, limit: Option<Duration>) {
    if let Some(limit) = limit {
        query.add("timeout", go_duration(limit));
    }
}

pub(crate) fn get(options: &GetOptions) -> Query {
    let mut query = Query::default();
    if !options.resource_version.is_empty() {
        query.add("resourceVersion", options.resource_version.as_str());
    }
    query
}

/// Of a create or an update.
pub(crate) fn create(options: &CreateOptions) -> Query {
    let mut query = Query::default();
    write(&mut query, options.dry_run, options.field_manager.as_deref());
    if let Some(validation) = options.field_validation {
        query.add("fieldValidation", validation.as_str());
    }
    query
}

/// `force` is always said for an apply (REST-AP-01), and for nothing else, where the server would refuse it.
pub(crate) fn patch(options: &PatchOptions, is_apply: bool) -> Result<Query, ApiError> {
    let mut query = Query::default();
    write(&mut query, options.dry_run, options.field_manager.as_deref());
    if let Some(validation) = options.field_validation {
        query.add("fieldValidation", validation.as_str());
    }
    if is_apply {
        query.add("force", if options.force { "true" } else { "false" });
    } else if options.force {
        return Err(invalid("force is for apply patches alone".to_owned()));
    }
    Ok(query)
}

fn write(query: &mut Query, is_dry_run: bool, field_manager: Option<&str>) {
    if is_dry_run {
        query.add("dryRun", "All");
    }
    if let Some(manager) = field_manager.filter(|manager| !manager.is_empty()) {
        query.add("fieldManager", manager);
    }
}

/// The body of a deletion (REST-OP-03, REST-DY-04).
pub(crate) fn delete_body(options: &DeleteOptions) -> Result<Vec<u8>, ApiError> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Body<'a> {
        api_version: &'static str,
        kind: &'static str,
        #[serde(flatten)]
        options: &'a DeleteOptions,
    }
    serde_json::to_vec(&Body { api_version: "v1", kind: "DeleteOptions", options })
        .map_err(|error| invalid(format!("the options of a deletion do not serialize: {error}")))
}
