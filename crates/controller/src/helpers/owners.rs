//! Owner references: who goes when the owner goes, and who is reconciled when the owned changes.

use apimachinery::{ApiResource, Kind, Meta, Object, parse_api_version};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

/// Why an owner reference cannot be set or removed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OwnerError {
    /// Another object controls it; there is at most one.
    #[error("{object} is already controlled by {kind} {owner}")]
    AlreadyOwned {
        /// The object that is owned.
        object: String,
        /// The kind of its controller.
        kind: String,
        /// The name of its controller.
        owner: String,
    },
    /// A cluster-scoped object with an owner in a namespace: the garbage collector would delete it.
    #[error("{object} is cluster-scoped and cannot have the owner {owner} in namespace {namespace}")]
    ClusterScoped {
        /// The object.
        object: String,
        /// The owner.
        owner: String,
        /// The owner's namespace.
        namespace: String,
    },
    /// Owner and object are in two namespaces.
    #[error("{object} in namespace {namespace} cannot have the owner {owner} in namespace {owner_namespace}")]
    OtherNamespace {
        /// The object.
        object: String,
        /// The object's namespace.
        namespace: String,
        /// The owner.
        owner: String,
        /// The owner's namespace.
        owner_namespace: String,
    },
    /// The owner has no uid or no name: it was not read from the server.
    #[error("the owner {owner:?} was not read from the server: it has no {missing}")]
    NotCreated {
        /// The owner's name.
        owner: String,
        /// `name` or `uid`.
        missing: &'static str,
    },
    /// There is no such reference to remove.
    #[error("{object} is not owned by {owner}")]
    NotOwned {
        /// The object.
        object: String,
        /// The owner.
        owner: String,
    },
    /// There is such a reference, but not as the controller.
    #[error("{object} is owned by {owner}, but not controlled by it")]
    NotController {
        /// The object.
        object: String,
        /// The owner.
        owner: String,
    },
}

/// `owner` controls the object: it is reconciled when the object changes, and the object goes with it (UTIL-01).
///
/// An entry for the same group, kind and name is replaced, whatever its version and uid. Errors if something else
/// controls the object, or if the scopes do not allow it (UTIL-02); then nothing is changed.
pub fn set_controller_reference<O: Object + Kind>(
    owner: &O,
    object: &mut ObjectMeta,
) -> Result<(), OwnerError> {
    let reference = reference(owner, object, Some(true))?;
    let other = object.owner_references.iter().flatten();
    let other =
        other.clone().find(|known| known.controller == Some(true) && !is_same_owner(known, &reference));
    if let Some(other) = other {
        return Err(OwnerError::AlreadyOwned {
            object: Meta::name(object).to_owned(),
            kind: other.kind.clone(),
            owner: other.name.clone(),
        });
    }
    put(object, reference);
    Ok(())
}

/// The object goes with `owner`, which does not control it: the reference has neither flag (UTIL-03). Replaces and errors
/// as [`set_controller_reference`] does.
pub fn set_owner_reference<O: Object + Kind>(owner: &O, object: &mut ObjectMeta) -> Result<(), OwnerError> {
    let reference = reference(owner, object, None)?;
    put(object, reference);
    Ok(())
}

/// Whether the object names `owner` by group, kind and name, as its controller or not.
pub fn has_owner<O: Object + Kind>(owner: &O, object: &ObjectMeta) -> bool {
    position(owner, object).is_some()
}

/// Removes the reference to `owner`, whether it controls the object or not.
pub fn remove_owner_reference<O: Object + Kind>(
    owner: &O,
    object: &mut ObjectMeta,
) -> Result<(), OwnerError> {
    match position(owner, object) {
        Some(at) => {
            remove(object, at);
            Ok(())
        }
        None => Err(OwnerError::NotOwned {
            object: Meta::name(object).to_owned(),
            owner: owner.name().to_owned(),
        }),
    }
}

/// Removes the reference to `owner`, which must control the object.
pub fn remove_controller_reference<O: Object + Kind>(
    owner: &O,
    object: &mut ObjectMeta,
) -> Result<(), OwnerError> {
    let at = position(owner, object);
    let controls = at.is_some_and(|at| {
        object.owner_references.iter().flatten().nth(at).is_some_and(|known| known.controller == Some(true))
    });
    if at.is_some() && !controls {
        return Err(OwnerError::NotController {
            object: Meta::name(object).to_owned(),
            owner: owner.name().to_owned(),
        });
    }
    remove_owner_reference(owner, object)
}

/// Whether the controller of `object` is this very `owner`: the uids are the same. Client-go: `metav1.IsControlledBy`.
pub fn is_controlled_by(object: &(impl Object + ?Sized), owner: &(impl Object + ?Sized)) -> bool {
    let uid = owner.uid();
    object.meta().owner_references().controller().is_some_and(|known| !uid.is_empty() && known.uid == uid)
}

fn reference<O: Object + Kind>(
    owner: &O,
    object: &ObjectMeta,
    controls: Option<bool>,
) -> Result<OwnerReference, OwnerError> {
    let (name, uid) = (owner.name(), owner.uid());
    for (value, missing) in [(name, "name"), (uid, "uid")] {
        if value.is_empty() {
            return Err(OwnerError::NotCreated { owner: name.to_owned(), missing });
        }
    }
    let (namespace, owner_namespace) = (Meta::namespace(object), owner.namespace());
    if !owner_namespace.is_empty() && namespace != owner_namespace {
        let (object, owner) = (Meta::name(object).to_owned(), name.to_owned());
        let owner_namespace = owner_namespace.to_owned();
        return Err(if namespace.is_empty() {
            OwnerError::ClusterScoped { object, owner, namespace: owner_namespace }
        } else {
            OwnerError::OtherNamespace { object, namespace: namespace.to_owned(), owner, owner_namespace }
        });
    }
    let resource = O::resource();
    Ok(OwnerReference {
        api_version: resource.api_version().into_owned(),
        kind: resource.kind.into_owned(),
        name: name.to_owned(),
        uid: uid.to_owned(),
        controller: controls,
        block_owner_deletion: controls,
    })
}

fn put(object: &mut ObjectMeta, reference: OwnerReference) {
    let references = object.owner_references.get_or_insert_default();
    match references.iter_mut().find(|known| is_same_owner(known, &reference)) {
        Some(known) => *known = reference,
        None => references.push(reference),
    }
}

fn remove(object: &mut ObjectMeta, at: usize) {
    if let Some(references) = &mut object.owner_references {
        references.remove(at);
        if references.is_empty() {
            object.owner_references = None;
        }
    }
}

fn position<O: Object + Kind>(owner: &O, object: &ObjectMeta) -> Option<usize> {
    let resource: ApiResource = O::resource();
    object.owner_references.iter().flatten().position(|known| {
        group_of(&known.api_version) == Some(&*resource.group)
            && known.kind == resource.kind
            && known.name == owner.name()
    })
}

fn is_same_owner(a: &OwnerReference, b: &OwnerReference) -> bool {
    group_of(&a.api_version) == group_of(&b.api_version) && a.kind == b.kind && a.name == b.name
}

/// `None` for an apiVersion that is none; two of those are not the same.
fn group_of(api_version: &str) -> Option<&str> {
    parse_api_version(api_version).map(|(group, _)| group)
}
