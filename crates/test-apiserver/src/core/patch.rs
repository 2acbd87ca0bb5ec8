//! Patches: the new state is made from the present one, then written as an update.

use std::sync::Arc;

use apimachinery::{Patch, PatchOptions, StatusError};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::errors::{self, FieldError};
use super::registry::ResourceInfo;
use super::stored::Stored;
use super::write::{Writer, Written, metadata, text};
use super::{Core, Target, scale, validation};

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
        let resource = self.resolve(target)?;
        let writer = Writer::of_patch(options, now);
        if options.force && !matches!(patch, Patch::Apply(_)) {
            let error = FieldError::forbidden("force", "may not be specified for non-apply patch");
            return Err(errors::invalid_kind("meta.k8s.io", "PatchOptions", "", &[error]));
        }
        let old = match self.find(&resource, target, name) {
            Ok(old) => old.clone(),
            Err(refusal) => return Err(refusal),
        };
        let before = self.served(&resource, &old).value();
        if target.subresource.as_deref() == Some("scale") {
            let scale = patched(&resource, name, &scale::scale_of(&resource, &before)?, patch)?;
            return self.write_scale(&resource, &old, &scale, writer);
        }
        let object = patched(&resource, name, &before, patch)?;
        let object = self.replace_patched(&resource, target, &old, object, writer)?;
        Ok(Written { object: self.served(&resource, &object), created: false })
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
        Patch::Strategic(_) => return Err(errors::unsupported_media_type(STRATEGIC, &[JSON, MERGE])),
        Patch::Apply(_) => return Err(errors::unsupported_media_type(APPLY, &[JSON, MERGE])),
    }
    Ok(object)
}
