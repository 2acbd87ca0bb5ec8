//! Finalizers: names that keep an object from going away until each is removed (UTIL-06).

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// Whether `finalizer` is set.
pub fn has_finalizer(meta: &ObjectMeta, finalizer: &str) -> bool {
    meta.finalizers.iter().flatten().any(|known| known == finalizer)
}

/// Sets `finalizer`, last; says whether it was missing.
pub fn add_finalizer(meta: &mut ObjectMeta, finalizer: &str) -> bool {
    let missing = !has_finalizer(meta, finalizer);
    if missing {
        meta.finalizers.get_or_insert_default().push(finalizer.to_owned());
    }
    missing
}

/// Removes `finalizer`, however often it is there; says whether it was.
pub fn remove_finalizer(meta: &mut ObjectMeta, finalizer: &str) -> bool {
    let Some(finalizers) = &mut meta.finalizers else { return false };
    let before = finalizers.len();
    finalizers.retain(|known| known != finalizer);
    let removed = finalizers.len() != before;
    if removed && finalizers.is_empty() {
        meta.finalizers = None;
    }
    removed
}
