//! Deletes: preconditions, grace, finalizers, propagation.

use std::sync::Arc;

use apimachinery::{DeleteOptions, ListOptions, PropagationPolicy, StatusError};
use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::list::ListAnswer;
use super::registry::ResourceInfo;
use super::stored::Stored;
use super::write::{metadata, stamp};
use super::{Core, Target, errors, strategy};

/// What a delete did.
#[derive(Debug, Clone)]
pub struct Deletion {
    /// The last state of the object; or its present one, if it stays for a while.
    pub object: Arc<Stored>,
    /// Whether it is gone already.
    pub is_gone: bool,
    resource: Arc<ResourceInfo>,
}

impl Deletion {
    /// The body of the answer: the object, or for most kinds that are gone a `Status` that says so.
    pub fn answer(&self) -> Bytes {
        if !self.is_gone || strategy::returns_deleted(&self.resource) {
            return self.object.bytes().clone();
        }
        let mut details = json!({
            "name": self.object.name(), "kind": self.resource.plural, "uid": self.object.uid(),
        });
        if !self.resource.group.is_empty() {
            details["group"] = Value::String(self.resource.group.clone());
        }
        let status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details,
        });
        Bytes::from(status.to_string())
    }
}

pub(crate) const ORPHAN: &str = "orphan";
pub(crate) const FOREGROUND: &str = "foregroundDeletion";

impl Core {
    /// Deletes an object, or marks it: pods on a node have their grace, finalizers hold what they hold.
    pub fn delete(
        &mut self,
        target: &Target,
        name: &str,
        options: &DeleteOptions,
        now: Timestamp,
    ) -> Result<Deletion, StatusError> {
        let resource = self.resolve(target)?;
        if target.subresource.is_some() {
            return Err(errors::method_not_allowed(&resource, "delete"));
        }
        let old = self.find(&resource, target, name)?.clone();
        let deletion = self.delete_stored(&resource, &old, options, now)?;
        self.housekeep(now);
        Ok(deletion)
    }

    /// Deletes what a list with these options shows; gives the list.
    pub fn delete_collection(
        &mut self,
        target: &Target,
        list: &ListOptions,
        options: &DeleteOptions,
        now: Timestamp,
    ) -> Result<ListAnswer, StatusError> {
        let resource = self.resolve(target)?;
        if resource.is_namespaced() && target.namespace.is_none() {
            return Err(errors::method_not_allowed(&resource, "deletecollection"));
        }
        let mut listed = self.list(target, list)?;
        for item in &mut listed.items {
            let Some(old) = self.collections[resource.collection.0].get(&item.key()).cloned() else {
                continue;
            };
            *item = self.delete_stored(&resource, &old, options, now)?.object;
        }
        listed.resource_version = self.version;
        self.housekeep(now);
        Ok(listed)
    }

    pub(crate) fn delete_stored(
        &mut self,
        resource: &Arc<ResourceInfo>,
        old: &Arc<Stored>,
        options: &DeleteOptions,
        now: Timestamp,
    ) -> Result<Deletion, StatusError> {
        check_preconditions(resource, old, options)?;
        if resource.is("", "namespaces") && matches!(old.name(), "default" | "kube-system" | "kube-public") {
            return Err(errors::forbidden(
                resource,
                old.name(),
                "this namespace may not be deleted",
                Vec::new(),
            ));
        }
        let mut object = old.value();
        let is_graceful = match grace(resource, old, &mut object, options, now) {
            Grace::Pending => return Ok(Self::deletion(resource, old, false)),
            Grace::Given => true,
            Grace::None => false,
        };
        let has_finalizers = set_propagation(&mut object, options.propagation_policy);
        let stays = is_graceful || has_finalizers || !strategy::is_finalized(resource, &object);
        if !stays {
            if options.dry_run {
                return Ok(Self::deletion(resource, old, true));
            }
            let last = self.remove(resource, old, None);
            return Ok(Self::deletion(resource, &last, true));
        }
        if !is_graceful {
            mark_as_deleting(&mut object, now);
        }
        strategy::prepare_deleting(resource, &mut object);
        if object == old.value() {
            return Ok(Self::deletion(resource, old, false));
        }
        if options.dry_run {
            let object = Arc::new(Stored::new(resource, &object));
            return Ok(Self::deletion(resource, &object, false));
        }
        let marked = self.commit(resource, object);
        Ok(Self::deletion(resource, &marked, false))
    }

    fn deletion(resource: &Arc<ResourceInfo>, object: &Arc<Stored>, is_gone: bool) -> Deletion {
        Deletion { object: Self::served(resource, object), is_gone, resource: resource.clone() }
    }
}

/// A pod on a node has a grace; a second delete may only shorten it.
fn grace(
    resource: &ResourceInfo,
    old: &Stored,
    object: &mut Value,
    options: &DeleteOptions,
    now: Timestamp,
) -> Grace {
    if !resource.is("", "pods") {
        return Grace::None;
    }
    let asked = options.grace_period_seconds.map(|seconds| if seconds < 0 { 1 } else { seconds });
    if old.is_deleting() {
        let granted = object["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap_or(0);
        return match asked {
            _ if granted == 0 => Grace::None,
            Some(0) => Grace::None,
            Some(seconds) if seconds < granted => {
                let planned = object["metadata"]["deletionTimestamp"].as_str();
                let planned: Timestamp = planned.and_then(|at| at.parse().ok()).unwrap_or(now);
                let earlier = planned.saturating_sub(SignedDuration::from_secs(granted - seconds));
                let at = earlier.unwrap_or(now).max(now);
                object["metadata"]["deletionTimestamp"] = Value::String(stamp(at));
                object["metadata"]["deletionGracePeriodSeconds"] = json!(seconds);
                Grace::Given
            }
            _ => Grace::Pending,
        };
    }
    let is_placed = object["spec"]["nodeName"].as_str().is_some_and(|node| !node.is_empty());
    let is_over = matches!(object["status"]["phase"].as_str(), Some("Failed" | "Succeeded"));
    let seconds = match asked.or(object["spec"]["terminationGracePeriodSeconds"].as_i64()).unwrap_or(30) {
        _ if !is_placed || is_over => 0,
        seconds => seconds,
    };
    if seconds == 0 {
        return Grace::None;
    }
    let at = now.saturating_add(SignedDuration::from_secs(seconds)).unwrap_or(now);
    let meta = metadata(object);
    meta.insert("deletionTimestamp".to_owned(), Value::String(stamp(at)));
    meta.insert("deletionGracePeriodSeconds".to_owned(), json!(seconds));
    bump_generation(object);
    Grace::Given
}

enum Grace {
    /// The object waits for its time.
    Given,
    /// It waits already.
    Pending,
    /// It goes now, if nothing holds it.
    None,
}

fn check_preconditions(
    resource: &ResourceInfo,
    old: &Stored,
    options: &DeleteOptions,
) -> Result<(), StatusError> {
    let Some(wanted) = &options.preconditions else { return Ok(()) };
    if let Some(uid) = wanted.uid.as_deref().filter(|uid| *uid != old.uid()) {
        let why = format!(
            "the UID in the precondition ({uid}) does not match the UID in record ({}). The object might have been deleted \
             and then recreated",
            old.uid()
        );
        return Err(errors::conflict(resource, old.name(), &why));
    }
    let version = old.resource_version().to_string();
    if let Some(given) = wanted.resource_version.as_deref().filter(|given| *given != version) {
        let why = format!(
            "the ResourceVersion in the precondition ({given}) does not match the ResourceVersion in record ({version}). \
             The object might have been modified"
        );
        return Err(errors::conflict(resource, old.name(), &why));
    }
    Ok(())
}

/// Puts the finalizer of the policy in, takes that of another out; whether any finalizer is there then.
fn set_propagation(object: &mut Value, policy: Option<PropagationPolicy>) -> bool {
    let mut finalizers: Vec<Value> = object["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
    if let Some(policy) = policy {
        finalizers.retain(|name| name != ORPHAN && name != FOREGROUND);
        match policy {
            PropagationPolicy::Orphan => finalizers.push(json!(ORPHAN)),
            PropagationPolicy::Foreground => finalizers.push(json!(FOREGROUND)),
            PropagationPolicy::Background => {}
        }
        if finalizers.is_empty() {
            metadata(object).remove("finalizers");
        } else {
            object["metadata"]["finalizers"] = Value::Array(finalizers.clone());
        }
    }
    !finalizers.is_empty()
}

pub(crate) fn mark_as_deleting(object: &mut Value, now: Timestamp) {
    if object["metadata"]["deletionTimestamp"].is_null() {
        bump_generation(object);
        object["metadata"]["deletionTimestamp"] = Value::String(stamp(now));
    }
    object["metadata"]["deletionGracePeriodSeconds"] = json!(0);
}

fn bump_generation(object: &mut Value) {
    if let Some(generation) = object["metadata"]["generation"].as_i64().filter(|&generation| generation > 0) {
        object["metadata"]["generation"] = json!(generation + 1);
    }
}
