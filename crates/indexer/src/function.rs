//! An index function, and what it said of the objects of the batch that is being written.

use std::any::Any;
use std::hash::Hash;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};

use apimachinery::{Object, ObjectKey};

use crate::cache::{AnyPostings, Entry};
use crate::postings::{Postings, Values};

/// Where a write of the batch ended up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The object is in this slot.
    Stored(u32),
    /// This slot is empty now.
    Emptied(u32),
    /// Nothing happened.
    Nothing,
}

/// One index without the type of its values. Evaluated outside the content's lock, committed inside.
pub(crate) trait Function<T>: Send {
    /// Runs the function on the object of the batch's next write and remembers what it said; `None` for a removal.
    /// False if the function panicked: the object has no value then (CACHE-S-24).
    fn evaluate(&mut self, next: Option<&T>) -> bool;
    /// Writes down what was remembered, one outcome for each evaluation, and forgets it.
    fn commit(&mut self, postings: &mut AnyPostings, outcomes: &[Outcome]);
    /// Builds the whole index over these; the second part says for which keys the function panicked.
    fn build(&self, entries: &mut dyn Iterator<Item = (u32, &Entry<T>)>) -> (AnyPostings, Vec<ObjectKey>);
    /// Where the index was made, for logs.
    fn made_at(&self) -> &'static Location<'static>;
}

pub(crate) struct Typed<F, V> {
    function: F,
    made_at: &'static Location<'static>,
    said: Vec<Values<V>>,
}

impl<F, V> Typed<F, V> {
    pub(crate) fn new(function: F, made_at: &'static Location<'static>) -> Self {
        Self { function, made_at, said: Vec::new() }
    }
}

impl<T, F, I, V> Function<T> for Typed<F, V>
where
    T: Object,
    F: Fn(&T) -> I + Send + 'static,
    I: IntoIterator<Item = V>,
    V: Hash + Eq + Send + Sync + 'static,
{
    fn evaluate(&mut self, next: Option<&T>) -> bool {
        let said = match next {
            None => Ok(Values::None),
            Some(object) => call(&self.function, object),
        };
        let fine = said.is_ok();
        self.said.push(said.unwrap_or(Values::None));
        fine
    }

    fn commit(&mut self, postings: &mut AnyPostings, outcomes: &[Outcome]) {
        let said = std::mem::take(&mut self.said);
        let Some(postings) = typed_mut::<V>(postings) else { return };
        for (values, outcome) in said.into_iter().zip(outcomes) {
            match *outcome {
                Outcome::Stored(slot) => postings.set(slot, values),
                Outcome::Emptied(slot) => postings.clear(slot),
                Outcome::Nothing => {}
            }
        }
    }

    fn build(&self, entries: &mut dyn Iterator<Item = (u32, &Entry<T>)>) -> (AnyPostings, Vec<ObjectKey>) {
        let mut postings = Postings::<V>::default();
        let mut failed = Vec::new();
        for (slot, entry) in entries {
            match call(&self.function, &entry.object) {
                Ok(values) => postings.set(slot, values),
                Err(Panicked) => failed.push(entry.key.clone()),
            }
        }
        (Box::new(postings), failed)
    }

    fn made_at(&self) -> &'static Location<'static> {
        self.made_at
    }
}

/// The index of values `V` behind the box, if it is one.
pub(crate) fn typed<V: 'static>(postings: &AnyPostings) -> Option<&Postings<V>> {
    let postings: &dyn Any = &**postings;
    postings.downcast_ref()
}

fn typed_mut<V: 'static>(postings: &mut AnyPostings) -> Option<&mut Postings<V>> {
    let postings: &mut dyn Any = &mut **postings;
    postings.downcast_mut()
}

struct Panicked;

/// Runs user code. Whatever it does, the index stays whole: nothing is written before all its values are known.
fn call<T, F, I, V>(function: &F, object: &T) -> Result<Values<V>, Panicked>
where
    F: Fn(&T) -> I,
    I: IntoIterator<Item = V>,
    V: Eq,
{
    catch_unwind(AssertUnwindSafe(|| Values::collect(function(object)))).map_err(|_| Panicked)
}
