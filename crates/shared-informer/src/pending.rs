//! What a lagging subscription has not yet been told: at most one notification per object.
//!
//! Of each object it is remembered what the listener knows and what it should know. New notifications change the
//! second and never the first, so that whatever is finally told is true of what was told before:
//!
//! | waiting | and then | is told |
//! |---|---|---|
//! | added(a) | updated(a→b) | added(b), in the initial list as a was |
//! | added(a) | deleted | nothing |
//! | updated(a→b) | updated(b→c) | updated(a→c) |
//! | updated(a→b) | deleted | deleted |
//! | deleted, a known | added(b) | updated(a→b), as after a gap (CACHE-Z-05) |
//! | deleted | deleted | the second |
//!
//! So there is never more in it than objects in the cache and objects that the listener knows. An object keeps the place
//! of the first notification that waits for it; order between objects is kept otherwise.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use apimachinery::{Object, ObjectKey};

use crate::{Deleted, Notification};

pub(crate) struct Pending<T> {
    order: BTreeMap<u64, Waiting<T>>,
    places: HashMap<ObjectKey, u64>,
    next_place: u64,
    /// Initial objects that wait.
    initial: usize,
    /// Whether all initial objects were handed over to this queue.
    caught_up: bool,
}

struct Waiting<T> {
    key: ObjectKey,
    /// What the listener knows of the object; `None` if it knows of none.
    known: Option<Arc<T>>,
    /// What it should know.
    now: Now<T>,
}

enum Now<T> {
    Exists { object: Arc<T>, is_in_initial_list: bool },
    Gone(Deleted<T>),
}

impl<T> Default for Pending<T> {
    fn default() -> Self {
        Self { order: BTreeMap::new(), places: HashMap::new(), next_place: 0, initial: 0, caught_up: false }
    }
}

impl<T: Object> Pending<T> {
    /// Something happened. `known` is what a listener that keeps up knows of the object. What is not to be told any more
    /// comes back, for the caller to drop.
    pub(crate) fn push(
        &mut self,
        notification: Notification<T>,
        known: Option<Arc<T>>,
    ) -> impl Sized + use<T> {
        let key = notification.key();
        let mut superseded = None;
        let waiting = match self.places.get(&key).and_then(|place| self.order.remove_entry(place)) {
            None => {
                let place = self.next_place;
                self.next_place += 1;
                Some((place, Waiting { key, known, now: Now::from(notification) }))
            }
            Some((place, waiting)) => {
                self.initial -= usize::from(waiting.is_initial());
                let (waiting, before) = merged(waiting, notification);
                superseded = Some(before);
                if waiting.is_none() {
                    self.places.remove(&key);
                }
                waiting.map(|waiting| (place, waiting))
            }
        };
        if let Some((place, waiting)) = waiting {
            self.initial += usize::from(waiting.is_initial());
            self.places.insert(waiting.key.clone(), place);
            self.order.insert(place, waiting);
        }
        superseded
    }

    /// All initial objects have been pushed.
    pub(crate) fn end_of_initial_list(&mut self) {
        self.caught_up = true;
    }

    /// The next thing to tell.
    pub(crate) fn pop(&mut self) -> Option<Notification<T>> {
        let (_, waiting) = self.order.pop_first()?;
        self.places.remove(&waiting.key);
        self.initial -= usize::from(waiting.is_initial());
        Some(match (waiting.known, waiting.now) {
            (None, Now::Exists { object, is_in_initial_list }) => {
                Notification::Added { object, is_in_initial_list }
            }
            (Some(old), Now::Exists { object: new, .. }) => Notification::Updated { old, new },
            (_, Now::Gone(deleted)) => Notification::Deleted(deleted),
        })
    }

    /// Whether the listener has been given every initial object, or what became of it.
    pub(crate) fn is_caught_up(&self) -> bool {
        self.caught_up && self.initial == 0
    }

    pub(crate) fn len(&self) -> usize {
        self.order.len()
    }

    /// Forgets everything that waits; it comes back, for the caller to drop.
    pub(crate) fn clear(&mut self) -> impl Sized + use<T> {
        std::mem::take(self)
    }
}

impl<T> Waiting<T> {
    fn is_initial(&self) -> bool {
        matches!(self.now, Now::Exists { is_in_initial_list: true, .. })
    }
}

impl<T> From<Notification<T>> for Now<T> {
    fn from(notification: Notification<T>) -> Self {
        match notification {
            Notification::Added { object, is_in_initial_list } => Self::Exists { object, is_in_initial_list },
            Notification::Updated { new: object, .. } => Self::Exists { object, is_in_initial_list: false },
            Notification::Deleted(deleted) => Self::Gone(deleted),
        }
    }
}

/// What waits after something more happened, `None` if there is nothing left to tell; and what waited before.
fn merged<T>(waiting: Waiting<T>, notification: Notification<T>) -> (Option<Waiting<T>>, Now<T>) {
    let Waiting { key, known, now: before } = waiting;
    let now = match (&before, Now::from(notification)) {
        // It came and went while nobody looked.
        (Now::Exists { .. }, Now::Gone(_)) if known.is_none() => return (None, before),
        (Now::Exists { is_in_initial_list, .. }, Now::Exists { object, .. }) => {
            Now::Exists { object, is_in_initial_list: *is_in_initial_list }
        }
        (_, now) => now,
    };
    (Some(Waiting { key, known, now }), before)
}

#[cfg(test)]
mod tests;
