//! Finalizers against an object that others write, too.

mod common;

use std::sync::Arc;

use apimachinery::{
    ApiError, CreateOptions, DeleteOptions, GetOptions, ObjectKey, Objects, Patch, PatchOptions, Reason,
    Status, StatusError, UpdateOptions,
};
use common::config_map;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use serde_json::Value;
use steersman_controller::Action;
use steersman_controller::helpers::{Finalize, FinalizeError, finalize};

/// One object on a server that knows JSON patches.
struct Server {
    #[allow(clippy::disallowed_types, reason = "a fake of a server, in a test")]
    object: std::sync::Mutex<Option<Value>>,
}

impl Server {
    fn of(finalizers: &[&str], is_deleted: bool) -> Self {
        let mut map = config_map("default/a");
        map.metadata.resource_version = Some("7".to_owned());
        if !finalizers.is_empty() {
            map.metadata.finalizers = Some(finalizers.iter().map(|&name| name.to_owned()).collect());
        }
        map.metadata.deletion_timestamp = is_deleted.then_some(Time(Timestamp::UNIX_EPOCH));
        let object = Some(serde_json::to_value(map).unwrap());
        #[allow(clippy::disallowed_types, reason = "a fake of a server, in a test")]
        let object = std::sync::Mutex::new(object);
        Self { object }
    }

    fn read(&self) -> Arc<ConfigMap> {
        Arc::new(serde_json::from_value(self.object.lock().unwrap().clone().unwrap()).unwrap())
    }

    fn finalizers(&self) -> Vec<String> {
        self.read().metadata.finalizers.clone().unwrap_or_default()
    }

    /// Another writer.
    fn write(&self, finalizers: &[&str]) {
        let mut object = self.object.lock().unwrap();
        let metadata = &mut object.as_mut().unwrap()["metadata"];
        metadata["finalizers"] = finalizers.into();
        metadata["resourceVersion"] = "8".into();
    }
}

impl Objects<ConfigMap> for Server {
    async fn patch(
        &self,
        key: &ObjectKey,
        _subresource: Option<&str>,
        patch: &Patch,
        _options: &PatchOptions,
    ) -> Result<ConfigMap, ApiError> {
        assert_eq!(key.as_str(), "default/a");
        let Patch::Json(operations) = patch else { panic!("not a JSON patch") };
        let operations: json_patch::Patch = serde_json::from_value(operations.clone()).unwrap();
        let mut object = self.object.lock().unwrap();
        let refused = |reason, code| ApiError::Status(StatusError::new(Status::failure(reason, code, "no")));
        let object = object.as_mut().ok_or_else(|| refused(Reason::NotFound, 404))?;
        json_patch::patch(object, &operations).map_err(|_| refused(Reason::Invalid, 422))?;
        Ok(serde_json::from_value(object.clone()).unwrap())
    }

    async fn get(&self, _: &ObjectKey, _: &GetOptions) -> Result<ConfigMap, ApiError> {
        unreachable!("not for finalizers")
    }
    async fn create(&self, _: &ConfigMap, _: &CreateOptions) -> Result<ConfigMap, ApiError> {
        unreachable!("not for finalizers")
    }
    async fn update(&self, _: &ConfigMap, _: &UpdateOptions) -> Result<ConfigMap, ApiError> {
        unreachable!("not for finalizers")
    }
    async fn update_status(&self, _: &ConfigMap, _: &UpdateOptions) -> Result<ConfigMap, ApiError> {
        unreachable!("not for finalizers")
    }
    async fn delete(&self, _: &ObjectKey, _: &DeleteOptions) -> Result<(), ApiError> {
        unreachable!("not for finalizers")
    }
}

const OURS: &str = "x.io/ours";

type Round = Result<Action, FinalizeError<std::io::Error>>;

/// One round over what the cache has; what was asked of the work, and what came of it.
async fn round(server: &Server, cached: Arc<ConfigMap>, fails: bool) -> (Option<&'static str>, Round) {
    let mut asked = None;
    let round = finalize(server, OURS, cached, |what| {
        asked = Some(match what {
            Finalize::Apply(_) => "apply",
            Finalize::Cleanup(_) => "cleanup",
        });
        async move { if fails { Err(std::io::Error::other("no")) } else { Ok(Action::AwaitChange) } }
    });
    let ended = round.await;
    (asked, ended)
}

// FIN-01
#[tokio::test]
async fn each_round_does_what_the_table_says() {
    type Case = (&'static [&'static str], bool, Option<&'static str>, &'static [&'static str]);
    let cases: [Case; 7] = [
        (&[], false, None, &[OURS]),
        (&["x.io/other"], false, None, &["x.io/other", OURS]),
        (&[OURS], false, Some("apply"), &[OURS]),
        (&["x.io/other", OURS], true, Some("cleanup"), &["x.io/other"]),
        (&[OURS, "x.io/other", OURS], true, Some("cleanup"), &["x.io/other"]),
        (&["x.io/other"], true, None, &["x.io/other"]),
        (&[], true, None, &[]),
    ];
    for (before, is_deleted, expected, after) in cases {
        let server = Server::of(before, is_deleted);
        let (asked, ended) = round(&server, server.read(), false).await;
        assert_eq!(ended.unwrap(), Action::AwaitChange, "{before:?}, {is_deleted}");
        assert_eq!(asked, expected, "{before:?}, {is_deleted}");
        assert_eq!(server.finalizers(), after, "{before:?}, {is_deleted}");
    }
}

// FIN-01
#[tokio::test]
async fn a_failed_cleanup_keeps_the_finalizer() {
    let server = Server::of(&[OURS], true);
    let (asked, ended) = round(&server, server.read(), true).await;
    assert_eq!(asked, Some("cleanup"));
    assert!(matches!(ended, Err(FinalizeError::Cleanup(_))));
    assert_eq!(server.finalizers(), [OURS]);
    let server = Server::of(&[OURS], false);
    assert!(matches!(round(&server, server.read(), true).await.1, Err(FinalizeError::Apply(_))));
}

// FIN-01
#[tokio::test]
async fn a_second_writers_finalizer_is_neither_lost_nor_removed() {
    // The cache has no finalizers, the server has one already.
    let server = Server::of(&[], false);
    let cached = server.read();
    server.write(&["x.io/other"]);
    assert!(matches!(round(&server, cached, false).await.1, Err(FinalizeError::Add(_))));
    assert_eq!(server.finalizers(), ["x.io/other"]);
    // The cache has one, the server another.
    let server = Server::of(&["x.io/one"], false);
    let cached = server.read();
    server.write(&["x.io/two"]);
    assert!(matches!(round(&server, cached, false).await.1, Err(FinalizeError::Add(_))));
    assert_eq!(server.finalizers(), ["x.io/two"]);
    // Ours has moved, and its old place is another's.
    let server = Server::of(&[OURS, "x.io/other"], true);
    let cached = server.read();
    server.write(&["x.io/other", OURS]);
    assert!(matches!(round(&server, cached, false).await.1, Err(FinalizeError::Remove(_))));
    assert_eq!(server.finalizers(), ["x.io/other", OURS]);
}

// FIN-01
#[tokio::test]
async fn an_object_that_is_gone_needs_no_finalizer() {
    for (finalizers, is_deleted) in [(&[][..], false), (&[OURS][..], true)] {
        let server = Server::of(finalizers, is_deleted);
        let cached = server.read();
        *server.object.lock().unwrap() = None;
        assert_eq!(round(&server, cached, false).await.1.unwrap(), Action::AwaitChange);
    }
}
