//! The core: the whole state of an API server as one plain value.
//!
//! Operations take what an HTTP request says (a [`Target`], options, a JSON object) and give what an answer needs: a
//! [`Stored`] object, a [`ListAnswer`], a watch to poll, or the refusal in a kube-apiserver's words. There is one version
//! counter; each write of each object takes the next number.
//!
//! **Time is given.** Every operation that stamps or waits takes `now`, a wall-clock [`Timestamp`]: a simulation passes its
//! own. [`Core::poll_timeout`] says when [`Core::handle_timeout`] must be called if nothing else happens.
//!
//! **Who must be woken.** After any operation, [`Core::poll_ready`] names the watches that have something new.

mod apply;
mod collection;
mod conversion;
mod definition;
mod delete;
mod dice;
pub mod errors;
mod housekeeping;
mod list;
mod lists;
mod managed;
mod patch;
mod pods;
mod registry;
mod scale;
mod schema;
mod selector;
mod stored;
mod strategic;
mod strategy;
mod validation;
mod watch;
mod write;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use apimachinery::{CreateOptions, GetOptions, StatusError};
use jiff::Timestamp;
use serde_json::json;

use collection::Collection;
use dice::Dice;
use housekeeping::Chores;
use registry::Registry;
use watch::Watcher;

pub use delete::Deletion;
pub use list::ListAnswer;
pub use registry::{CollectionId, ResourceInfo};
pub use stored::Stored;
pub use watch::{Bookmark, Polled, WatchFrame, WatchId};
pub use write::Written;

/// How the server is set up. The defaults are a kube-apiserver's, but for the seed.
#[derive(Debug, Clone)]
pub struct CoreOptions {
    /// The time at which the built-in namespaces are made.
    pub now: Timestamp,
    /// What uids, generated names and unset watch timeouts are drawn from.
    pub seed: u64,
    /// The version that the counter starts at.
    pub first_version: u64,
    /// How many changes each resource remembers: what is older is 410 Expired.
    pub history: usize,
    /// How often a watch gets a bookmark.
    pub bookmark_every: Duration,
    /// How long a watch lives that asks for no time: drawn between this and twice this.
    pub min_watch_timeout: Duration,
    /// How a watch from a version that is gone is refused.
    pub expired_watch: ExpiredWatch,
    /// Whether objects go when their owners are gone, as kube-controller-manager's garbage collector does it.
    pub garbage_collection: bool,
    /// Whether a pod on a node goes when its grace is over, as a kubelet does it.
    pub kubelet: bool,
    /// Whether `metadata.managedFields` is kept.
    pub managed_fields: bool,
}

impl Default for CoreOptions {
    fn default() -> Self {
        Self {
            now: Timestamp::UNIX_EPOCH,
            seed: 1,
            first_version: 1,
            history: 10_000,
            bookmark_every: Duration::from_mins(1),
            min_watch_timeout: Duration::from_mins(30),
            expired_watch: ExpiredWatch::Frame,
            garbage_collection: true,
            kubelet: true,
            managed_fields: true,
        }
    }
}

/// How a watch from a version that is gone is refused. Real servers do both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpiredWatch {
    /// 200, and an ERROR frame with the 410 in it: the watch cache's way.
    Frame,
    /// The answer itself is a 410: etcd's way.
    Answer,
}

/// What a request's path names, without the object's name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Target {
    /// The API group; empty for the core group.
    pub group: String,
    /// The version in the group.
    pub version: String,
    /// The resource.
    pub plural: String,
    /// The namespace; none for all, and for objects of the cluster.
    pub namespace: Option<String>,
    /// `status`, `scale`.
    pub subresource: Option<String>,
}

impl Target {
    /// All objects of a resource; `api_version` is `v1` or `group/version`.
    pub fn new(api_version: &str, plural: &str) -> Self {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        Self { group: group.into(), version: version.into(), plural: plural.into(), ..Self::default() }
    }

    /// In one namespace.
    #[must_use]
    pub fn namespaced(mut self, namespace: &str) -> Self {
        self.namespace = Some(namespace.to_owned());
        self
    }

    /// A part of the object.
    #[must_use]
    pub fn subresource(mut self, name: &str) -> Self {
        self.subresource = Some(name.to_owned());
        self
    }
}

/// The whole state of an API server.
#[derive(Debug)]
pub struct Core {
    options: CoreOptions,
    registry: Registry,
    collections: Vec<Collection>,
    version: u64,
    dice: Dice,
    watchers: BTreeMap<WatchId, Watcher>,
    ready: VecDeque<WatchId>,
    last_watch: u64,
    chores: Chores,
}

impl Core {
    /// A server with the built-in resources and the four namespaces that every cluster has.
    pub fn new(options: CoreOptions) -> Self {
        let mut registry = Registry::default();
        let mut collections = Vec::new();
        let (now, version) = (options.now, options.first_version);
        for resource in registry::built_in() {
            collections.push(Collection::new(resource.api_version(), options.history, version));
            registry.insert(resource);
        }
        let mut core = Self {
            registry,
            collections,
            version,
            dice: Dice::new(options.seed),
            watchers: BTreeMap::new(),
            ready: VecDeque::new(),
            last_watch: 0,
            chores: Chores::default(),
            options,
        };
        for name in ["default", "kube-node-lease", "kube-public", "kube-system"] {
            let namespace = json!({"metadata": {"name": name}});
            let made =
                core.create(&Target::new("v1", "namespaces"), namespace, &CreateOptions::default(), now);
            debug_assert!(made.is_ok(), "{made:?}");
        }
        core
    }

    /// The counter: the version of the last write.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Every resource that is served, by group, plural and version.
    pub fn resources(&self) -> impl Iterator<Item = &Arc<ResourceInfo>> {
        self.registry.iter()
    }

    /// One of them.
    pub fn resource(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<ResourceInfo>> {
        self.registry.get(group, version, plural)
    }

    /// How many objects a resource has, in all namespaces.
    pub fn count(&self, resource: &ResourceInfo) -> usize {
        self.collections[resource.collection.0].len()
    }

    /// One object, or the scale of one.
    pub fn get(&self, target: &Target, name: &str, options: &GetOptions) -> Result<Arc<Stored>, StatusError> {
        let resource = self.resolve(target)?;
        let asked = list::parse_version(options.resource_version.as_str())?;
        if asked > self.version {
            return Err(errors::too_large(asked, self.version));
        }
        let stored = self.find(&resource, target, name)?;
        match target.subresource.as_deref() {
            Some("scale") => {
                let scale = scale::scale_of(&resource, &Self::served(&resource, stored).value())?;
                Ok(Arc::new(Stored::new(&resource, &scale)))
            }
            _ => Ok(Self::served(&resource, stored)),
        }
    }

    /// The resource that a target names.
    pub(crate) fn resolve(&self, target: &Target) -> Result<Arc<ResourceInfo>, StatusError> {
        let resource = self
            .registry
            .get(&target.group, &target.version, &target.plural)
            .ok_or_else(errors::no_such_path)?;
        let has_subresource = target.subresource.as_deref().is_none_or(|name| resource.has(name));
        if !has_subresource || (target.namespace.is_some() && !resource.is_namespaced()) {
            return Err(errors::no_such_path());
        }
        Ok(resource.clone())
    }

    fn find(
        &self,
        resource: &ResourceInfo,
        target: &Target,
        name: &str,
    ) -> Result<&Arc<Stored>, StatusError> {
        if resource.is_namespaced() && target.namespace.is_none() {
            return Err(errors::bad_request(
                "an empty namespace may not be set when a resource name is provided",
            ));
        }
        let key = stored::key(target.namespace.as_deref().unwrap_or_default(), name);
        self.collections[resource.collection.0].get(&key).ok_or_else(|| errors::not_found(resource, name))
    }

    /// The object in the version that was asked for.
    fn served(resource: &ResourceInfo, stored: &Arc<Stored>) -> Arc<Stored> {
        let api_version = resource.api_version();
        if stored.api_version() == api_version {
            return stored.clone();
        }
        let mut value = stored.value();
        conversion::convert(&mut value, &api_version);
        Arc::new(Stored::new(resource, &value))
    }

    /// Forgets what happened up to and with `version`, in every collection: lists at and watches from before it are
    /// 410 Expired, as after etcd's compaction.
    pub fn compact(&mut self, version: u64) {
        for collection in &mut self.collections {
            collection.compact(version);
        }
        let ids: Vec<_> = self.watchers.keys().copied().collect();
        for id in ids {
            self.wake(id);
        }
    }

    /// Moves the counter on by `steps`, as writes of resources that this server does not have would.
    pub fn skip_versions(&mut self, steps: u64) {
        self.version = self.version.saturating_add(steps);
    }

    /// When to call [`Core::handle_timeout`] if nothing else happens.
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        let pod = self.chores.next_pod().filter(|_| self.options.kubelet);
        self.watch_timeout().into_iter().chain(pod).min()
    }

    /// Sends bookmarks, ends watches and lets pods go whose time has come.
    pub fn handle_timeout(&mut self, now: Timestamp) {
        if self.options.kubelet {
            self.handle_pod_timeout(now);
        }
        self.handle_watch_timeout(now);
    }
}
