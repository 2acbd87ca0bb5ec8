//! What the controllers of a real control plane do after a write, as far as clients notice: owned objects go with their
//! owners, namespaces and definitions empty and go, pods go when their grace is over.
//!
//! All of it happens inside the write that causes it, each step at a version of its own: a watcher sees what it would
//! see of a quick control plane.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use apimachinery::{DeleteOptions, PropagationPolicy};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::Core;
use super::delete::{FOREGROUND, ORPHAN};
use super::registry::{CollectionId, ResourceInfo};
use super::stored::Stored;
use super::write::{Writer, is_empty_list};

type Place = (CollectionId, String);

/// What is still to be done, and the indices that say where.
#[derive(Debug, Default)]
pub(crate) struct Chores {
    /// Where the object with a uid is.
    living: BTreeMap<String, Place>,
    /// Who names a uid as owner.
    dependents: BTreeMap<String, BTreeSet<Place>>,
    /// Owners that went, whose dependents were not looked at yet.
    gone: VecDeque<String>,
    /// Objects that are being deleted and hold a finalizer of the garbage collector, or of a definition.
    finalizing: BTreeSet<Place>,
    /// Namespaces that are being deleted.
    namespaces: BTreeSet<String>,
    /// Definitions that were written.
    definitions: BTreeSet<Place>,
    /// Pods whose grace runs, by its end.
    pods: BTreeSet<(Timestamp, Place)>,
}

impl Chores {
    /// An object has a new state.
    pub(crate) fn note(
        &mut self,
        resource: &ResourceInfo,
        before: Option<&Stored>,
        object: &Stored,
        value: &Value,
    ) {
        let place = (resource.collection, object.key());
        if before.map(Stored::uid) != Some(object.uid()) {
            self.living.insert(object.uid().to_owned(), place.clone());
        }
        if before.map(Stored::owners).unwrap_or_default() != object.owners() {
            self.unlink(before, &place);
            for owner in object.owners() {
                self.dependents.entry(owner.clone()).or_default().insert(place.clone());
            }
        }
        if resource.is("apiextensions.k8s.io", "customresourcedefinitions") {
            self.definitions.insert(place.clone());
        }
        if !object.is_deleting() {
            return;
        }
        if resource.is("", "namespaces") {
            self.namespaces.insert(object.name().to_owned());
        }
        let finalizers = value["metadata"]["finalizers"].as_array().into_iter().flatten();
        if finalizers.into_iter().any(|name| name == ORPHAN || name == FOREGROUND) {
            self.finalizing.insert(place.clone());
        }
        if resource.is("", "pods") {
            let end = value["metadata"]["deletionTimestamp"].as_str().and_then(|at| at.parse().ok());
            self.pods.extend(end.map(|end| (end, place)));
        }
    }

    /// An object is gone.
    pub(crate) fn forget(&mut self, resource: &ResourceInfo, old: &Stored) {
        let place = (resource.collection, old.key());
        self.unlink(Some(old), &place);
        self.living.remove(old.uid());
        self.finalizing.remove(&place);
        if self.dependents.contains_key(old.uid()) {
            self.gone.push_back(old.uid().to_owned());
        }
    }

    fn unlink(&mut self, before: Option<&Stored>, place: &Place) {
        for owner in before.map(Stored::owners).unwrap_or_default() {
            if let Some(places) = self.dependents.get_mut(owner) {
                places.remove(place);
                if places.is_empty() {
                    self.dependents.remove(owner);
                }
            }
        }
    }

    fn dependents_of(&self, uid: &str) -> Vec<Place> {
        self.dependents.get(uid).into_iter().flatten().cloned().collect()
    }

    /// A definition that was looked at, and written while that was done.
    pub(crate) fn settle(&mut self, collection: CollectionId, name: &str) {
        self.definitions.remove(&(collection, name.to_owned()));
    }

    pub(crate) fn next_pod(&self) -> Option<Timestamp> {
        self.pods.first().map(|(end, _)| *end)
    }
}

impl Core {
    /// Does what is due, until there is nothing more to do now. Called by every write, at its end: what is done here
    /// never calls it again.
    pub(crate) fn housekeep(&mut self, now: Timestamp) {
        loop {
            let before = self.version();
            self.follow_definitions(now);
            if self.options.garbage_collection {
                while let Some(uid) = self.chores.gone.pop_front() {
                    self.collect_dependents(&uid, now);
                }
                for place in self.chores.finalizing.clone() {
                    self.finalize(&place, now);
                }
            }
            for name in self.chores.namespaces.clone() {
                self.empty_namespace(&name, now);
            }
            if self.version() == before {
                break;
            }
        }
    }

    /// A kubelet's part: pods whose grace is over go.
    pub(crate) fn handle_pod_timeout(&mut self, now: Timestamp) {
        while let Some((end, place)) = self.chores.pods.first().cloned().filter(|(end, _)| *end <= now) {
            self.chores.pods.remove(&(end, place.clone()));
            let Some((resource, pod)) = self.at(&place) else { continue };
            let still_waits = pod.is_deleting()
                && pod.value()["metadata"]["deletionTimestamp"].as_str().and_then(|at| at.parse().ok())
                    == Some(end);
            if still_waits {
                let mut options = DeleteOptions::default();
                options.grace_period_seconds = Some(0);
                self.delete_now(&resource, &pod, &options, now);
            }
        }
        self.housekeep(now);
    }

    fn at(&self, place: &Place) -> Option<(Arc<ResourceInfo>, Arc<Stored>)> {
        let stored = self.collections[place.0.0].get(&place.1)?;
        let resource = self.registry.iter().find(|resource| resource.collection == place.0)?;
        Some((resource.clone(), stored.clone()))
    }

    /// A delete on the control plane's own account, of what is known to be there: nothing in it can be refused.
    fn delete_now(
        &mut self,
        resource: &Arc<ResourceInfo>,
        old: &Arc<Stored>,
        options: &DeleteOptions,
        now: Timestamp,
    ) {
        let done = self.delete_stored(resource, old, options, now);
        debug_assert!(done.is_ok(), "{done:?}");
    }

    /// The dependents of an owner that is gone: those that no other owner keeps go too.
    fn collect_dependents(&mut self, uid: &str, now: Timestamp) {
        for place in self.chores.dependents_of(uid) {
            let Some((resource, dependent)) = self.at(&place) else { continue };
            let is_kept = dependent.owners().iter().any(|owner| self.chores.living.contains_key(owner));
            if is_kept {
                self.drop_owner(&resource, &dependent, uid, now);
            } else if !dependent.is_deleting() {
                self.delete_now(&resource, &dependent, &DeleteOptions::default(), now);
            }
        }
    }

    fn drop_owner(
        &mut self,
        resource: &Arc<ResourceInfo>,
        dependent: &Arc<Stored>,
        uid: &str,
        now: Timestamp,
    ) {
        self.rewrite(resource, dependent, now, |object| {
            if let Some(owners) = object["metadata"]["ownerReferences"].as_array_mut() {
                owners.retain(|owner| owner["uid"] != uid);
            }
        });
    }

    fn drop_finalizer(
        &mut self,
        resource: &Arc<ResourceInfo>,
        stored: &Arc<Stored>,
        name: &str,
        now: Timestamp,
    ) {
        self.rewrite(resource, stored, now, |object| {
            if let Some(finalizers) = object["metadata"]["finalizers"].as_array_mut() {
                finalizers.retain(|finalizer| finalizer != name);
            }
        });
    }

    /// An update on the control plane's own account.
    pub(crate) fn rewrite(
        &mut self,
        resource: &Arc<ResourceInfo>,
        stored: &Arc<Stored>,
        now: Timestamp,
        change: impl FnOnce(&mut Value),
    ) {
        let mut object = Self::served(resource, stored).value();
        change(&mut object);
        super::validation::tidy(super::write::metadata(&mut object));
        let done = self.replace(resource, None, stored, object, Writer::control_plane(now));
        debug_assert!(done.is_ok(), "{done:?}");
    }

    /// The garbage collector's finalizers: dependents are let go, or deleted first.
    fn finalize(&mut self, place: &Place, now: Timestamp) {
        let Some((resource, owner)) = self.at(place) else {
            self.chores.finalizing.remove(place);
            return;
        };
        let value = owner.value();
        let has = |name: &str| {
            value["metadata"]["finalizers"].as_array().is_some_and(|all| all.contains(&json!(name)))
        };
        if has(ORPHAN) {
            for dependent in self.chores.dependents_of(owner.uid()) {
                if let Some((resource, dependent)) = self.at(&dependent) {
                    self.drop_owner(&resource, &dependent, owner.uid(), now);
                }
            }
            self.drop_finalizer(&resource, &owner, ORPHAN, now);
        } else if has(FOREGROUND) {
            for dependent in self.chores.dependents_of(owner.uid()) {
                let Some((resource, dependent)) = self.at(&dependent) else { continue };
                if !dependent.is_deleting() {
                    let mut options = DeleteOptions::default();
                    let has_dependents = self.chores.dependents.contains_key(dependent.uid());
                    options.propagation_policy = has_dependents.then_some(PropagationPolicy::Foreground);
                    self.delete_now(&resource, &dependent, &options, now);
                }
            }
            let is_blocked = self.chores.dependents_of(owner.uid()).iter().any(|dependent| {
                self.at(dependent).is_some_and(|(_, dependent)| {
                    let value = dependent.value();
                    let owners = value["metadata"]["ownerReferences"].as_array().into_iter().flatten();
                    owners.into_iter().any(|it| it["uid"] == owner.uid() && it["blockOwnerDeletion"] == true)
                })
            });
            if !is_blocked {
                self.drop_finalizer(&resource, &owner, FOREGROUND, now);
            }
        } else {
            self.chores.finalizing.remove(place);
        }
    }

    /// Deletes what is in a namespace that is being deleted; the namespace itself once it is empty.
    fn empty_namespace(&mut self, name: &str, now: Timestamp) {
        let Some(namespaces) = self.registry.get("", "v1", "namespaces").cloned() else { return };
        let found = self.collections[namespaces.collection.0].get(name).cloned();
        let Some(namespace) = found.filter(|found| found.is_deleting()) else {
            self.chores.namespaces.remove(name);
            return;
        };
        let prefix = format!("{name}/");
        let mut contents = Vec::new();
        let mut seen = BTreeSet::new();
        for resource in self.registry.iter().filter(|resource| resource.is_namespaced()) {
            if seen.insert(resource.collection) {
                let objects = self.collections[resource.collection.0].at(self.version, &prefix, &prefix);
                contents.extend(
                    objects.into_iter().flatten().map(|(_, object)| (resource.clone(), object.clone())),
                );
            }
        }
        for (resource, object) in &contents {
            let present = self.collections[resource.collection.0].get(&object.key()).cloned();
            if let Some(present) = present.filter(|present| !present.is_deleting()) {
                self.delete_now(resource, &present, &DeleteOptions::default(), now);
            }
        }
        let has_content = contents
            .iter()
            .any(|(resource, object)| self.collections[resource.collection.0].get(&object.key()).is_some());
        let mut value = namespace.value();
        if has_content || is_empty_list(&value["spec"]["finalizers"]) {
            return;
        }
        value["spec"]["finalizers"] = json!([]);
        if is_empty_list(&value["metadata"]["finalizers"]) {
            self.remove(&namespaces, &namespace, Some(value));
        } else {
            self.commit(&namespaces, value);
        }
    }

    /// Definitions that were written: their resources are served, or go.
    fn follow_definitions(&mut self, now: Timestamp) {
        for place in std::mem::take(&mut self.chores.definitions) {
            self.follow_definition(&place, now);
        }
    }

    fn follow_definition(&mut self, place: &Place, now: Timestamp) {
        let Some((resource, definition)) = self.at(place) else { return };
        if definition.is_deleting() {
            if self.empty_definition(&definition, now) {
                self.drop_finalizer(&resource, &definition, super::definition::CLEANUP, now);
            } else {
                self.chores.definitions.insert(place.clone());
            }
        } else {
            self.establish(&resource, &definition, now);
        }
    }
}
