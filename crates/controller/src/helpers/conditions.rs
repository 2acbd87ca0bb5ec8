//! Conditions of a status: a list with one entry a type (UTIL-07). Apimachinery: `pkg/api/meta/conditions.go`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

/// The status of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConditionStatus {
    /// It holds.
    True,
    /// It does not.
    False,
    /// Nobody knows.
    Unknown,
}

impl ConditionStatus {
    /// As it stands in an object.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

impl From<bool> for ConditionStatus {
    fn from(holds: bool) -> Self {
        if holds { Self::True } else { Self::False }
    }
}

/// A condition that changed at `now`; for [`set`].
pub fn new(
    type_: &str,
    status: impl Into<ConditionStatus>,
    reason: &str,
    message: &str,
    now: Time,
) -> Condition {
    Condition {
        type_: type_.to_owned(),
        status: status.into().as_str().to_owned(),
        reason: reason.to_owned(),
        message: message.to_owned(),
        last_transition_time: now,
        observed_generation: None,
    }
}

/// Sets the condition of `new`'s type; says whether anything changed, so that a status that says the same is not
/// written again. The transition time moves only when the status does.
pub fn set(conditions: &mut Vec<Condition>, new: Condition) -> bool {
    let Some(known) = conditions.iter_mut().find(|known| known.type_ == new.type_) else {
        conditions.push(new);
        return true;
    };
    let new = if known.status == new.status {
        Condition { last_transition_time: known.last_transition_time.clone(), ..new }
    } else {
        new
    };
    let changed = *known != new;
    *known = new;
    changed
}

/// The condition of this type.
pub fn find<'a>(conditions: &'a [Condition], type_: &str) -> Option<&'a Condition> {
    conditions.iter().find(|known| known.type_ == type_)
}

/// Removes the condition of this type; says whether it was there.
pub fn remove(conditions: &mut Vec<Condition>, type_: &str) -> bool {
    let before = conditions.len();
    conditions.retain(|known| known.type_ != type_);
    conditions.len() != before
}

/// Whether there is such a condition and it holds.
pub fn is_true(conditions: &[Condition], type_: &str) -> bool {
    has_status(conditions, type_, ConditionStatus::True)
}

/// Whether there is such a condition and it does not hold. Not the opposite of [`is_true`]: it may be unknown, or absent.
pub fn is_false(conditions: &[Condition], type_: &str) -> bool {
    has_status(conditions, type_, ConditionStatus::False)
}

fn has_status(conditions: &[Condition], type_: &str, status: ConditionStatus) -> bool {
    find(conditions, type_).is_some_and(|known| known.status == status.as_str())
}
