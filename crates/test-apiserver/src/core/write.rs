//! Writes: create, update, and the one place where state changes.
//!
//! The order of steps is that of the generic registry store of `k8s.io/apiserver`: names, namespace, preparation by kind,
//! validation, then the write; a stale version is refused before anything else about the new state is looked at.

use std::sync::Arc;

use apimachinery::{CreateOptions, FieldValidation, PatchOptions, StatusError, UpdateOptions};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::errors::{self, FieldError};
use super::registry::ResourceInfo;
use super::stored::{Stored, key};
use super::{Core, Target, conversion, managed, schema, strategy, validation};

/// What a write did.
#[derive(Debug, Clone)]
pub struct Written {
    /// The object as it is now; for a dry run, as it would be.
    pub object: Arc<Stored>,
    /// Whether the write made it: 201 instead of 200.
    pub created: bool,
}

/// Who writes, and whether in earnest.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Writer<'a> {
    pub(crate) manager: Option<&'a str>,
    /// Whether the object says already who owns what.
    pub(crate) is_apply: bool,
    pub(crate) is_dry_run: bool,
    /// Whether a field that is not known is refused.
    pub(crate) is_strict: bool,
    pub(crate) now: Timestamp,
}

impl<'a> Writer<'a> {
    pub(crate) fn new(options: &'a CreateOptions, now: Timestamp) -> Self {
        Self {
            manager: options.field_manager.as_deref(),
            is_apply: false,
            is_dry_run: options.dry_run,
            is_strict: options.field_validation == Some(FieldValidation::Strict),
            now,
        }
    }

    /// The control plane itself.
    pub(crate) fn control_plane(now: Timestamp) -> Writer<'static> {
        let manager = Some("kube-controller-manager");
        Writer { manager, is_apply: false, is_dry_run: false, is_strict: false, now }
    }

    pub(crate) fn of_patch(options: &'a PatchOptions, is_apply: bool, now: Timestamp) -> Self {
        Self {
            manager: options.field_manager.as_deref(),
            is_apply,
            is_dry_run: options.dry_run,
            is_strict: options.field_validation == Some(FieldValidation::Strict),
            now,
        }
    }

    fn manager(&self) -> &str {
        self.manager.filter(|name| !name.is_empty()).unwrap_or("unknown")
    }
}

impl Core {
    /// Makes an object. Its name may be generated.
    pub fn create(
        &mut self,
        target: &Target,
        object: Value,
        options: &CreateOptions,
        now: Timestamp,
    ) -> Result<Written, StatusError> {
        let resource = self.resolve(target)?;
        if target.subresource.is_some() {
            return Err(errors::method_not_allowed(&resource, "create"));
        }
        let object = Self::accept(&resource, target, object)?;
        if !matches!(text(&object, "resourceVersion"), "" | "0") {
            return Err(errors::bad_request("resourceVersion should not be set on objects to be created"));
        }
        let written = self.insert(&resource, object, Writer::new(options, now))?;
        self.housekeep(now);
        Ok(written)
    }

    /// Replaces an object, or its status, or its scale.
    pub fn update(
        &mut self,
        target: &Target,
        name: &str,
        object: Value,
        options: &UpdateOptions,
        now: Timestamp,
    ) -> Result<Written, StatusError> {
        let resource = self.resolve(target)?;
        let writer = Writer::new(options, now);
        if target.subresource.as_deref() == Some("scale") {
            let old = self.find(&resource, target, name)?.clone();
            let written = self.write_scale(&resource, &old, &object, writer)?;
            self.housekeep(now);
            return Ok(written);
        }
        let mut object = Self::accept(&resource, target, object)?;
        match text(&object, "name") {
            "" => object["metadata"]["name"] = Value::String(name.to_owned()),
            given if given == name => {}
            given => {
                let why =
                    format!("the name of the object ({given}) does not match the name on the URL ({name})");
                return Err(errors::bad_request(why));
            }
        }
        let old = match self.find(&resource, target, name) {
            Ok(old) => old.clone(),
            Err(_) if target.subresource.is_none() && strategy::creates_on_update(&resource) => {
                let written = self.insert(&resource, object, writer)?;
                self.housekeep(now);
                return Ok(written);
            }
            Err(refusal) => return Err(refusal),
        };
        Self::check_uid(&resource, &old, &object)?;
        match text(&object, "resourceVersion") {
            "" | "0" if strategy::updates_unconditionally(&resource) => {}
            "" | "0" => {
                let error = FieldError::invalid(
                    "metadata.resourceVersion",
                    &json!(0),
                    "must be specified for an update",
                );
                return Err(errors::invalid_kind(&resource.group, &resource.plural, name, &[error]));
            }
            given if given == old.resource_version().to_string() => {}
            _ => return Err(errors::modified(&resource, name)),
        }
        let object = self.replace(&resource, target.subresource.as_deref(), &old, object, writer)?;
        self.housekeep(now);
        Ok(Written { object: Self::served(&resource, &object), created: false })
    }

    /// What every body must be: of the right kind, in the right namespace.
    pub(crate) fn accept(
        resource: &ResourceInfo,
        target: &Target,
        mut object: Value,
    ) -> Result<Value, StatusError> {
        if !object.is_object() {
            return Err(errors::bad_request("the body of the request must be an object"));
        }
        let api_version = resource.api_version();
        match object["apiVersion"].as_str() {
            Some(given) if !given.is_empty() && given != api_version => {
                return Err(errors::bad_request(format!(
                    "the API version in the data ({given}) does not match the expected API version ({api_version})"
                )));
            }
            _ => object["apiVersion"] = Value::String(api_version),
        }
        match object["kind"].as_str() {
            Some(given) if !given.is_empty() && given != resource.kind => {
                return Err(errors::bad_request(format!(
                    "{given} in version {:?} cannot be handled as a {}: converting to internal: no kind {given:?} is \
                     registered for the resource {:?}",
                    resource.version, resource.kind, resource.plural
                )));
            }
            _ => object["kind"] = Value::String(resource.kind.clone()),
        }
        if object["metadata"].is_null() {
            object["metadata"] = json!({});
        }
        validation::check_shape(resource, &object)?;
        validation::tidy(metadata(&mut object));
        let given = text(&object, "namespace");
        match target.namespace.as_deref() {
            Some(namespace) if given.is_empty() => {
                object["metadata"]["namespace"] = Value::String(namespace.to_owned());
            }
            Some(namespace) if given == namespace => {}
            None if given.is_empty() && !resource.is_namespaced() => {}
            None if resource.is_namespaced() => {
                return Err(errors::method_not_allowed(resource, "create"));
            }
            _ => {
                return Err(errors::bad_request(
                    "the namespace of the provided object does not match the namespace sent on the request",
                ));
            }
        }
        Ok(object)
    }

    pub(crate) fn check_uid(
        resource: &ResourceInfo,
        old: &Stored,
        object: &Value,
    ) -> Result<(), StatusError> {
        let given = text(object, "uid");
        if given.is_empty() || given == old.uid() {
            return Ok(());
        }
        let why = format!(
            "StorageError: invalid object, Code: 4, Key: /registry/{}/{}, ResourceVersion: 0, AdditionalErrorMsg: \
             Precondition failed: UID in precondition: {given}, UID in object meta: {}",
            resource.plural,
            old.key(),
            old.uid()
        );
        Err(errors::conflict(resource, old.name(), &why))
    }

    /// Creation proper: everything after the body was accepted.
    pub(crate) fn insert(
        &mut self,
        resource: &ResourceInfo,
        mut object: Value,
        writer: Writer<'_>,
    ) -> Result<Written, StatusError> {
        self.name(resource, &mut object);
        let (namespace, name) = (text(&object, "namespace").to_owned(), text(&object, "name").to_owned());
        self.check_namespace(resource, &namespace, &name)?;
        let meta = metadata(&mut object);
        for field in
            ["selfLink", "deletionTimestamp", "deletionGracePeriodSeconds", "resourceVersion", "generation"]
        {
            meta.remove(field);
        }
        meta.insert("uid".to_owned(), Value::String(self.dice.uid()));
        meta.insert("creationTimestamp".to_owned(), Value::String(stamp(writer.now)));
        if strategy::keeps_generation(resource) {
            meta.insert("generation".to_owned(), json!(1));
        }
        check_known(resource, &object, writer)?;
        strategy::prepare_create(resource, &mut object);
        self.check_definition_stays(resource)?;
        let found = validation::check_create(resource, &object);
        if !found.is_empty() {
            return Err(errors::invalid(resource, &name, &found));
        }
        let key = key(&namespace, &name);
        if self.collections[resource.collection.0].get(&key).is_some() {
            return Err(errors::already_exists(resource, &name));
        }
        if !self.options.managed_fields {
            metadata(&mut object).remove("managedFields");
        } else if !writer.is_apply {
            metadata(&mut object).remove("managedFields");
            managed::record_update(resource, None, &mut object, writer.manager(), "", writer.now);
        }
        if writer.is_dry_run {
            let object = Arc::new(Stored::new(resource, &object));
            return Ok(Written { object, created: true });
        }
        let stored = self.commit(resource, object);
        Ok(Written { object: Self::served(resource, &stored), created: true })
    }

    /// Replacement proper: `object` is what the caller wants, its version already compared. What follows from it is
    /// the caller's to do.
    pub(crate) fn replace(
        &mut self,
        resource: &ResourceInfo,
        subresource: Option<&str>,
        old: &Arc<Stored>,
        mut object: Value,
        writer: Writer<'_>,
    ) -> Result<Arc<Stored>, StatusError> {
        let before = Self::served(resource, old).value();
        let meta = metadata(&mut object);
        let past = &before["metadata"];
        // What no update can change: it is taken from the past whatever the body says.
        for field in ["uid", "creationTimestamp", "generation", "resourceVersion", "deletionTimestamp"] {
            match past.get(field) {
                Some(value) => meta.insert(field.to_owned(), value.clone()),
                None => meta.remove(field),
            };
        }
        if let Some(seconds) = past.get("deletionGracePeriodSeconds") {
            meta.entry("deletionGracePeriodSeconds").or_insert_with(|| seconds.clone());
        }
        meta.remove("selfLink");
        check_known(resource, &object, writer)?;
        if subresource == Some("status") {
            strategy::prepare_status_update(resource, &before, &mut object);
        } else {
            strategy::prepare_update(resource, &before, &mut object);
        }
        let found = validation::check_update(resource, &before, &object);
        if !found.is_empty() {
            return Err(errors::invalid(resource, old.name(), &found));
        }
        self.own(resource, subresource, &before, &mut object, writer);
        let is_finalized = old.is_deleting()
            && before["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap_or(0) == 0
            && is_empty_list(&object["metadata"]["finalizers"])
            && strategy::is_finalized(resource, &object);
        if object == before && !is_finalized {
            return Ok(old.clone());
        }
        if writer.is_dry_run {
            return Ok(Arc::new(Stored::new(resource, &object)));
        }
        if is_finalized {
            return Ok(self.remove(resource, old, Some(object)));
        }
        Ok(self.commit(resource, object))
    }

    /// Settles who owns what after an update.
    fn own(
        &self,
        resource: &ResourceInfo,
        subresource: Option<&str>,
        before: &Value,
        object: &mut Value,
        writer: Writer<'_>,
    ) {
        if !self.options.managed_fields {
            metadata(object).remove("managedFields");
        } else if !writer.is_apply {
            let subresource = subresource.unwrap_or_default();
            managed::record_update(resource, Some(before), object, writer.manager(), subresource, writer.now);
        }
    }

    fn name(&mut self, resource: &ResourceInfo, object: &mut Value) {
        let base = text(object, "generateName").to_owned();
        if base.is_empty() || !text(object, "name").is_empty() {
            return;
        }
        let cut: String = base.chars().take(58).collect();
        let namespace = text(object, "namespace").to_owned();
        // A name that is taken is drawn again, as servers since 1.30 do.
        for _ in 0..8 {
            let name = format!("{cut}{}", self.dice.suffix());
            let taken = self.collections[resource.collection.0].get(&key(&namespace, &name)).is_some();
            object["metadata"]["name"] = Value::String(name);
            if !taken {
                break;
            }
        }
    }

    /// New objects need a namespace that is there and stays.
    fn check_namespace(
        &self,
        resource: &ResourceInfo,
        namespace: &str,
        name: &str,
    ) -> Result<(), StatusError> {
        if namespace.is_empty() {
            return Ok(());
        }
        let namespaces = self.registry.get("", "v1", "namespaces").ok_or_else(errors::no_such_path)?;
        match self.collections[namespaces.collection.0].get(namespace) {
            None => Err(errors::not_found(namespaces, namespace)),
            Some(found) if found.is_deleting() => {
                let why = format!(
                    "unable to create new content in namespace {namespace} because it is being terminated"
                );
                let cause = apimachinery::StatusCause {
                    reason: Some("NamespaceTerminating".to_owned()),
                    message: Some(format!("namespace {namespace} is being terminated")),
                    field: Some("metadata.namespace".to_owned()),
                };
                Err(errors::forbidden(resource, name, &why, vec![cause]))
            }
            Some(_) => Ok(()),
        }
    }

    /// No new objects of a definition that is being deleted.
    fn check_definition_stays(&self, resource: &ResourceInfo) -> Result<(), StatusError> {
        let Some(definitions) =
            self.registry.any_version("apiextensions.k8s.io", "customresourcedefinitions")
        else {
            return Ok(());
        };
        let definition = self.collections[definitions.collection.0].get(&resource.group_resource());
        if resource.custom && definition.is_some_and(|definition| definition.is_deleting()) {
            let why = "create not allowed while custom resource definition is terminating";
            return Err(errors::status(
                405,
                "MethodNotAllowed",
                why.to_owned(),
                Some(errors::about(resource, "")),
            ));
        }
        Ok(())
    }

    /// Stores a state, at the next version.
    pub(crate) fn commit(&mut self, resource: &ResourceInfo, mut object: Value) -> Arc<Stored> {
        self.version += 1;
        object["metadata"]["resourceVersion"] = Value::String(self.version.to_string());
        let stored = self.kept(resource, &mut object);
        let collection = &mut self.collections[resource.collection.0];
        let key = stored.key();
        self.chores.note(resource, collection.get(&key).map(Arc::as_ref), &stored, &object);
        collection.put(key, stored.clone());
        self.wake_watchers_of(resource, stored.namespace());
        stored
    }

    /// The object in the version that its collection keeps.
    fn kept(&self, resource: &ResourceInfo, object: &mut Value) -> Arc<Stored> {
        let api_version = &self.collections[resource.collection.0].api_version;
        conversion::convert(object, api_version);
        let is_kept = |it: &&Arc<ResourceInfo>| {
            it.collection == resource.collection && it.api_version() == *api_version
        };
        let other =
            (resource.api_version() != *api_version).then(|| self.registry.iter().find(is_kept)).flatten();
        Arc::new(Stored::new(other.map_or(resource, Arc::as_ref), object))
    }

    /// Removes an object, at the next version; its last state is `last`, or what is stored.
    pub(crate) fn remove(
        &mut self,
        resource: &ResourceInfo,
        old: &Stored,
        last: Option<Value>,
    ) -> Arc<Stored> {
        self.version += 1;
        let mut value = last.unwrap_or_else(|| old.value());
        value["metadata"]["resourceVersion"] = Value::String(self.version.to_string());
        let stored = self.kept(resource, &mut value);
        let collection = &mut self.collections[resource.collection.0];
        collection.remove(&old.key(), stored.clone());
        self.chores.forget(resource, old);
        self.wake_watchers_of(resource, stored.namespace());
        stored
    }
}

/// Refuses what the schema does not know, if the request is strict about it.
pub(crate) fn check_known(
    resource: &ResourceInfo,
    object: &Value,
    writer: Writer<'_>,
) -> Result<(), StatusError> {
    let Some(known) = resource.schema.as_ref().filter(|_| writer.is_strict) else { return Ok(()) };
    let mut dropped = Vec::new();
    schema::prune(&mut object.clone(), known, &mut dropped);
    if dropped.is_empty() {
        return Ok(());
    }
    let fields: Vec<_> = dropped.iter().map(|path| format!("unknown field {path:?}")).collect();
    Err(errors::bad_request(format!(
        "{kind} in version {version:?} cannot be handled as a {kind}: strict decoding error: {}",
        fields.join(", "),
        kind = resource.kind,
        version = resource.version,
    )))
}

pub(crate) fn metadata(object: &mut Value) -> &mut serde_json::Map<String, Value> {
    if !object["metadata"].is_object() {
        object["metadata"] = json!({});
    }
    match &mut object["metadata"] {
        Value::Object(map) => map,
        _ => unreachable!("made an object above"),
    }
}

pub(crate) fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object["metadata"][field].as_str().unwrap_or_default()
}

pub(crate) fn is_empty_list(value: &Value) -> bool {
    value.as_array().is_none_or(Vec::is_empty)
}

/// A time as Kubernetes writes it: whole seconds.
pub(crate) fn stamp(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
