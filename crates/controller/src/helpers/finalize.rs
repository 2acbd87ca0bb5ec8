//! [`finalize`]: work that must be undone before an object goes.

use std::future::Future;
use std::sync::Arc;

use apimachinery::{ApiError, Object, ObjectKey, Objects, Patch, PatchOptions, StatusError};
use serde_json::{Value, json};

use crate::Action;

/// What is to be done about an object.
#[derive(Debug)]
pub enum Finalize<T> {
    /// It is there, and holds our finalizer: make the world as it says.
    Apply(Arc<T>),
    /// It is being deleted: undo. Once that succeeds the finalizer is removed, and the object may go.
    Cleanup(Arc<T>),
}

/// Why a round of [`finalize`] failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FinalizeError<E: std::error::Error + 'static> {
    /// The finalizer could not be set; nothing was applied.
    #[error("cannot set the finalizer")]
    Add(#[source] ApiError),
    /// The object could not be applied.
    #[error("cannot apply the object")]
    Apply(#[source] E),
    /// What the object did could not be undone; it keeps its finalizer.
    #[error("cannot clean up after the object")]
    Cleanup(#[source] E),
    /// It was undone, but the finalizer could not be removed: cleaning up runs again, and must bear it.
    #[error("cannot remove the finalizer")]
    Remove(#[source] ApiError),
}

/// One round for an object whose work must be undone before it goes (FIN-01).
///
/// | the object | holds `finalizer` | what is done |
/// |---|---|---|
/// | is there | no | the finalizer is set; the change brings the next round |
/// | is there | yes | `work(Apply)` |
/// | is being deleted | yes | `work(Cleanup)`, then the finalizer is removed |
/// | is being deleted | no | nothing |
///
/// Both changes are JSON patches that name what they expect to find: if somebody else changed the finalizers meanwhile,
/// the patch is refused and the round fails, to be tried again; nobody else's finalizer is ever removed.
pub async fn finalize<T, E, R>(
    objects: &impl Objects<T>,
    finalizer: &str,
    object: Arc<T>,
    work: impl FnOnce(Finalize<T>) -> R,
) -> Result<Action, FinalizeError<E>>
where
    T: Object,
    E: std::error::Error + 'static,
    R: Future<Output = Result<Action, E>>,
{
    let key = object.key();
    let is_deleted = object.meta().deletion_timestamp().is_some();
    let is_held = object.meta().finalizers().iter().any(|known| known == finalizer);
    match (is_deleted, is_held) {
        (true, false) => Ok(Action::AwaitChange),
        (false, false) => match patch(objects, &key, adding(&*object, finalizer)).await {
            // Gone, and so nothing to hold.
            Err(error) if is_gone(&error) => Ok(Action::AwaitChange),
            Err(error) => Err(FinalizeError::Add(error)),
            Ok(()) => Ok(Action::AwaitChange),
        },
        (false, true) => work(Finalize::Apply(object)).await.map_err(FinalizeError::Apply),
        (true, true) => {
            let removal = removing(&*object, finalizer);
            let action = work(Finalize::Cleanup(object)).await.map_err(FinalizeError::Cleanup)?;
            match patch(objects, &key, removal).await {
                Err(error) if !is_gone(&error) => Err(FinalizeError::Remove(error)),
                _ => Ok(action),
            }
        }
    }
}

async fn patch<T>(objects: &impl Objects<T>, key: &ObjectKey, operations: Value) -> Result<(), ApiError> {
    objects.patch(key, None, &Patch::Json(operations), &PatchOptions::default()).await.map(drop)
}

fn adding(object: &impl Object, finalizer: &str) -> Value {
    let known = object.meta().finalizers();
    if known.is_empty() {
        // There is no list to expect: the version says that there is none.
        json!([
            { "op": "test", "path": "/metadata/resourceVersion", "value": object.resource_version() },
            { "op": "add", "path": "/metadata/finalizers", "value": [finalizer] },
        ])
    } else {
        json!([
            { "op": "test", "path": "/metadata/finalizers", "value": known },
            { "op": "add", "path": "/metadata/finalizers/-", "value": finalizer },
        ])
    }
}

fn removing(object: &impl Object, finalizer: &str) -> Value {
    let known = object.meta().finalizers();
    let places = known.iter().enumerate().rev().filter(|(_, known)| *known == finalizer);
    // From the end, so that a place is still that place when its turn comes.
    let operations = places.flat_map(|(place, _)| {
        let path = format!("/metadata/finalizers/{place}");
        [json!({ "op": "test", "path": path, "value": finalizer }), json!({ "op": "remove", "path": path })]
    });
    operations.collect()
}

fn is_gone(error: &ApiError) -> bool {
    error.status().is_some_and(StatusError::is_not_found)
}
