//! Patches: the new state is made from the present one, then written as an update.

use std::sync::Arc;

use apimachinery::{Patch, PatchOptions, StatusError};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::apply::{self, Applier};
use super::errors::{self, FieldError};
use super::lists::Place;
use super::registry::ResourceInfo;
use super::stored::Stored;
use super::write::{Writer, Written, check_known, metadata, text};
use super::{Core, Target, scale, schema, strategic, validation};

const JSON: &str = "application/json-patch+json";
const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";

impl Core {
    /// Changes an object, its status or its scale. A version in the patch must be the present one. Apply makes what is not
    /// there.
    pub fn patch(
        &mut self,
        target: &Target,
        name: &str,
        patch: &Patch,
        options: &PatchOptions,
        now: Timestamp,
    ) -> Result<Written, StatusError> {
        let written = self.patch_stored(target, name, patch, options, now)?;
        self.housekeep(now);
        Ok(written)
    }

    fn patch_stored(
        &mut self,
        target: &Target,
        name: &str,
        patch: &Patch,
        options: &PatchOptions,
        now: Timestamp,
    ) -> Result<Written, StatusError> {
        let resource = self.resolve(target)?;
        let writer = Writer::of_patch(options, matches!(patch, Patch::Apply(_)), now);
        if let Patch::Apply(wanted) = patch {
            return self.apply(&resource, target, name, wanted, options, writer);
        }
        if options.force {
            let error = FieldError::forbidden("force", "may not be specified for non-apply patch");
            return Err(errors::invalid_kind("meta.k8s.io", "PatchOptions", "", &[error]));
        }
        let old = self.find(&resource, target, name)?.clone();
        let before = Self::served(&resource, &old).value();
        if target.subresource.as_deref() == Some("scale") {
            let scale = patched(&resource, name, &scale::scale_of(&resource, &before)?, patch)?;
            return self.write_scale(&resource, &old, &scale, writer);
        }
        let object = patched(&resource, name, &before, patch)?;
        let object = self.replace_patched(&resource, target, &old, object, writer)?;
        Ok(Written { object: Self::served(&resource, &object), created: false })
    }

    /// Server-side apply.
    fn apply(
        &mut self,
        resource: &ResourceInfo,
        target: &Target,
        name: &str,
        wanted: &Value,
        options: &PatchOptions,
        writer: Writer<'_>,
    ) -> Result<Written, StatusError> {
        let Some(manager) = writer.manager.filter(|manager| !manager.is_empty()) else {
            let error = FieldError::required("fieldManager", "is required for apply patch");
            return Err(errors::invalid_kind("meta.k8s.io", "PatchOptions", "", &[error]));
        };
        let subresource = target.subresource.as_deref().unwrap_or_default();
        if subresource == "scale" {
            return Err(errors::unsupported_media_type(APPLY, &[JSON, MERGE]));
        }
        for field in ["apiVersion", "kind"] {
            if wanted[field].as_str().is_none_or(str::is_empty) {
                return Err(errors::bad_request(format!(
                    "error decoding patch: {field} must be set in an apply patch"
                )));
            }
        }
        if !wanted["metadata"]["managedFields"].is_null() {
            return Err(errors::bad_request("metadata.managedFields must be nil"));
        }
        let mut wanted = Self::accept(resource, target, wanted.clone())?;
        match text(&wanted, "name") {
            "" => wanted["metadata"]["name"] = json!(name),
            given if given == name => {}
            given => {
                let why =
                    format!("the name of the object ({given}) does not match the name on the URL ({name})");
                return Err(errors::bad_request(why));
            }
        }
        check_known(resource, &wanted, writer)?;
        keep_part(resource, subresource, &mut wanted);
        if let Some(schema) = &resource.schema {
            schema::prune(&mut wanted, schema, &mut Vec::new());
        }
        let applier = Applier { manager, subresource, force: options.force, now: writer.now };
        let old = match self.find(resource, target, name) {
            Ok(old) => old.clone(),
            Err(_) if subresource.is_empty() => {
                let uid = text(&wanted, "uid");
                if !uid.is_empty() {
                    let why = format!(
                        "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
                    );
                    return Err(errors::conflict(resource, name, &why));
                }
                let object = apply::apply(resource, None, &wanted, applier)?;
                return self.insert(resource, object, writer);
            }
            Err(refusal) => return Err(refusal),
        };
        let before = Self::served(resource, &old).value();
        let object = apply::apply(resource, Some(&before), &wanted, applier)?;
        let object = self.replace_patched(resource, target, &old, object, writer)?;
        Ok(Written { object: Self::served(resource, &object), created: false })
    }

    /// The last step of every patch: an update with what came of it.
    fn replace_patched(
        &mut self,
        resource: &ResourceInfo,
        target: &Target,
        old: &Arc<Stored>,
        object: Value,
        writer: Writer<'_>,
    ) -> Result<Arc<Stored>, StatusError> {
        let mut object = Self::accept(resource, target, object)?;
        let mut found = Vec::new();
        for (field, present) in [("name", old.name()), ("namespace", old.namespace())] {
            if text(&object, field) != present {
                let value = json!(text(&object, field));
                found.push(FieldError::invalid(format!("metadata.{field}"), &value, "field is immutable"));
            }
        }
        if !found.is_empty() {
            return Err(errors::invalid(resource, old.name(), &found));
        }
        Self::check_uid(resource, old, &object)?;
        let version = text(&object, "resourceVersion");
        if !version.is_empty() && version != old.resource_version().to_string() {
            return Err(errors::modified(resource, old.name()));
        }
        validation::tidy(metadata(&mut object));
        self.replace(resource, target.subresource.as_deref(), old, object, writer)
    }
}

/// The state after a patch that needs no knowledge of who wrote what.
fn patched(resource: &ResourceInfo, name: &str, before: &Value, patch: &Patch) -> Result<Value, StatusError> {
    let mut object = before.clone();
    match patch {
        Patch::Json(operations) => {
            let operations: json_patch::Patch = serde_json::from_value(operations.clone())
                .map_err(|error| errors::bad_request(format!("error decoding patch: {error}")))?;
            json_patch::patch(&mut object, &operations).map_err(|error| {
                let why = format!("the server rejected our request due to an error in our request: {error}");
                errors::status(422, "Invalid", why, Some(errors::about(resource, name)))
            })?;
        }
        Patch::Merge(change) => {
            if !change.is_object() {
                return Err(errors::bad_request("error decoding patch: a merge patch must be an object"));
            }
            json_patch::merge(&mut object, change);
        }
        Patch::Strategic(_) if resource.custom => {
            return Err(errors::unsupported_media_type(STRATEGIC, &[JSON, MERGE, APPLY]));
        }
        Patch::Strategic(change) => {
            let change = change.as_object().ok_or_else(|| {
                errors::bad_request("error decoding patch: a strategic merge patch must be an object")
            })?;
            strategic::merge(Place::root(resource), &mut object, change)
                .map_err(|why| errors::bad_request(format!("error applying patch: {why}")))?;
        }
        Patch::Apply(_) => return Err(errors::internal("an apply patch goes its own way")),
    }
    Ok(object)
}

/// An apply of the object says nothing of its status, and one of the status nothing of the rest.
fn keep_part(resource: &ResourceInfo, subresource: &str, wanted: &mut Value) {
    let Some(map) = wanted.as_object_mut() else { return };
    if subresource == "status" {
        map.retain(|field, _| matches!(field.as_str(), "apiVersion" | "kind" | "metadata" | "status"));
    } else if resource.has("status") {
        map.remove("status");
    }
}
