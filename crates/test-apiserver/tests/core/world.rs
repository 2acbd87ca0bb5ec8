//! A server and a clock, and short words for what tests do with them.

use std::sync::Arc;
use std::time::Duration;

use apimachinery::{CreateOptions, DeleteOptions, GetOptions, ListOptions, Patch, PatchOptions, StatusError};
use jiff::Timestamp;
use serde_json::{Value, json};
use steersman_test_apiserver::core::{
    Core, CoreOptions, Deletion, ListAnswer, Polled, Stored, Target, WatchFrame, WatchId, Written,
};

pub(crate) struct World {
    pub(crate) core: Core,
    pub(crate) now: Timestamp,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with(CoreOptions::default())
    }

    pub(crate) fn with(mut options: CoreOptions) -> Self {
        let now = "2026-01-02T03:04:05Z".parse().expect("a time");
        options.now = now;
        Self { core: Core::new(options), now }
    }

    pub(crate) fn pass(&mut self, time: Duration) {
        self.now += time;
        self.core.handle_timeout(self.now);
    }

    pub(crate) fn create(&mut self, target: &Target, object: Value) -> Result<Written, StatusError> {
        self.core.create(target, object, &CreateOptions::default(), self.now)
    }

    pub(crate) fn update(&mut self, target: &Target, object: Value) -> Result<Value, StatusError> {
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let written = self.core.update(target, &name, object, &CreateOptions::default(), self.now)?;
        Ok(written.object.value())
    }

    pub(crate) fn patch(&mut self, target: &Target, name: &str, patch: &Patch) -> Result<Value, StatusError> {
        let written = self.core.patch(target, name, patch, &PatchOptions::default(), self.now)?;
        Ok(written.object.value())
    }

    pub(crate) fn apply(
        &mut self,
        target: &Target,
        manager: &str,
        object: &Value,
    ) -> Result<Value, StatusError> {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let options = PatchOptions::apply(manager);
        Ok(self.core.patch(target, name, &Patch::Apply(object.clone()), &options, self.now)?.object.value())
    }

    pub(crate) fn delete(&mut self, target: &Target, name: &str) -> Result<Deletion, StatusError> {
        self.core.delete(target, name, &DeleteOptions::default(), self.now)
    }

    pub(crate) fn get(&self, target: &Target, name: &str) -> Result<Value, StatusError> {
        Ok(self.core.get(target, name, &GetOptions::default())?.value())
    }

    pub(crate) fn list(&self, target: &Target, options: &ListOptions) -> Result<ListAnswer, StatusError> {
        self.core.list(target, options)
    }

    pub(crate) fn watch(&mut self, target: &Target, options: &ListOptions) -> WatchId {
        self.core.watch(target, options, self.now).expect("the watch opens")
    }

    /// Everything that a watch has now, as `ADDED default/a@5`.
    pub(crate) fn frames(&mut self, id: WatchId) -> Vec<String> {
        let mut told = Vec::new();
        loop {
            match self.core.poll_event(id) {
                Polled::Frame(frame) => told.push(shown(&frame)),
                Polled::Pending => return told,
                Polled::Ended => {
                    told.push("ENDED".to_owned());
                    return told;
                }
            }
        }
    }

    pub(crate) fn map(&mut self, name: &str, data: &str) -> Arc<Stored> {
        let object = json!({"metadata": {"name": name}, "data": {"k": data}});
        self.create(&maps(), object).expect("a config map").object
    }

    pub(crate) fn set(&mut self, name: &str, data: &str) -> Arc<Stored> {
        let object = json!({"metadata": {"name": name}, "data": {"k": data}});
        self.core
            .update(&maps(), name, object, &CreateOptions::default(), self.now)
            .expect("an update")
            .object
    }
}

pub(crate) fn shown(frame: &WatchFrame) -> String {
    let object =
        |kind: &str, object: &Stored| format!("{kind} {}@{}", object.key(), object.resource_version());
    match frame {
        WatchFrame::Added(it) => object("ADDED", it),
        WatchFrame::Modified(it) => object("MODIFIED", it),
        WatchFrame::Deleted(it) => object("DELETED", it),
        WatchFrame::Bookmark(it) if it.ends_initial_events => format!("BOOKMARK end@{}", it.resource_version),
        WatchFrame::Bookmark(it) => format!("BOOKMARK @{}", it.resource_version),
        WatchFrame::Error(refusal) => format!("ERROR {}", refusal.code()),
    }
}

pub(crate) fn maps() -> Target {
    Target::new("v1", "configmaps").namespaced("default")
}

pub(crate) fn pods() -> Target {
    Target::new("v1", "pods").namespaced("default")
}

pub(crate) fn deployments() -> Target {
    Target::new("apps/v1", "deployments").namespaced("default")
}

pub(crate) fn namespaces() -> Target {
    Target::new("v1", "namespaces")
}

pub(crate) fn pod(name: &str) -> Value {
    json!({"metadata": {"name": name}, "spec": {"containers": [{"name": "web", "image": "web:1"}]}})
}

pub(crate) fn deployment(name: &str) -> Value {
    json!({"metadata": {"name": name}, "spec": {
        "selector": {"matchLabels": {"app": name}},
        "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [
            {"name": "web", "image": "web:1", "env": [{"name": "A", "value": "1"}], "ports": [{"containerPort": 80}]},
            {"name": "side", "image": "side:1"},
        ]}},
    }})
}

/// List options as a query would say them.
pub(crate) fn asking(version: &str) -> ListOptions {
    let mut options = ListOptions::default();
    options.resource_version = version.into();
    options
}

pub(crate) fn refusal<T: std::fmt::Debug>(result: Result<T, StatusError>) -> (u16, String, String) {
    let refusal = result.expect_err("a refusal");
    let status = refusal.status();
    (refusal.code(), status.reason.clone().unwrap_or_default(), status.message.clone().unwrap_or_default())
}
