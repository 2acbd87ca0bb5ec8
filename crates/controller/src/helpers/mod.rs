//! The small functions that every reconciler needs. Plain values: each changes what it is given and says whether it did.
//!
//! To write again after a conflict, see `rest::retry_on_conflict`.

pub mod conditions;
mod finalize;
mod finalizers;
mod owners;

pub use finalize::{Finalize, FinalizeError, finalize};
pub use finalizers::{add_finalizer, has_finalizer, remove_finalizer};
pub use owners::{
    OwnerError, has_owner, is_controlled_by, remove_controller_reference, remove_owner_reference,
    set_controller_reference, set_owner_reference,
};
