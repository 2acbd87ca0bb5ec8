//! What the server says about itself: groups, versions and resources, in the old form and the aggregated one; its version,
//! its health, and an OpenAPI document that is just enough for kubectl.

mod documents;
mod open_api;

use serde_json::json;

use crate::core::Core;
use crate::http::{Answer, Route, aggregated};

/// The Kubernetes version that the server claims to be.
const MINOR: &str = "37";

/// Answers a path that is not about objects.
pub(crate) fn answer(core: &Core, route: &Route, accept: Option<&str>) -> Answer {
    let groups = documents::groups(core);
    match route {
        Route::Root => {
            let mut paths = vec!["/api".to_owned(), "/api/v1".to_owned(), "/apis".to_owned()];
            for group in groups.iter().filter(|group| !group.name.is_empty()) {
                paths.push(format!("/apis/{}", group.name));
                paths.extend(
                    group.versions.iter().map(|version| format!("/apis/{}/{}", group.name, version.name)),
                );
            }
            paths.extend(["/healthz", "/livez", "/openapi/v3", "/readyz", "/version"].map(str::to_owned));
            Answer::json(200, &json!({ "paths": paths }))
        }
        Route::Core => match aggregated(accept) {
            Some(version) => {
                documents::aggregated(groups.iter().filter(|group| group.name.is_empty()), version)
            }
            None => Answer::json(200, &documents::core_versions()),
        },
        Route::Groups => match aggregated(accept) {
            Some(version) => {
                documents::aggregated(groups.iter().filter(|group| !group.name.is_empty()), version)
            }
            None => Answer::json(200, &documents::group_list(&groups)),
        },
        Route::Group(name) => match groups.iter().find(|group| !group.name.is_empty() && group.name == *name)
        {
            Some(group) => Answer::json(200, &group.document(true)),
            None => Answer::no_such_path(),
        },
        Route::Resources { group, version } => {
            let group = groups.iter().find(|known| known.name == *group);
            match group.and_then(|group| Some((group, group.versions.iter().find(|v| v.name == *version)?))) {
                Some((group, version)) => Answer::json(200, &version.resource_list(&group.name)),
                None => Answer::no_such_path(),
            }
        }
        Route::Version => Answer::json(
            200,
            &json!({
                "major": "1",
                "minor": MINOR,
                "gitVersion": format!("v1.{MINOR}.0+test-apiserver"),
                "gitCommit": "",
                "gitTreeState": "clean",
                "buildDate": "1970-01-01T00:00:00Z",
                "goVersion": "",
                "compiler": "rustc",
                "platform": format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
            }),
        ),
        Route::Health => Answer::text(200, "ok"),
        Route::OpenApiV3(None) => Answer::json(200, &open_api::root(&groups)),
        Route::OpenApiV3(Some(path)) => match open_api::document(&groups, path) {
            Some(document) => Answer::json(200, &document),
            None => Answer::no_such_path(),
        },
        Route::OpenApiV2 | Route::Objects(_) | Route::Unknown => Answer::no_such_path(),
    }
}
