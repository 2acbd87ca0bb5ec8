//! Seeded dice.

use std::time::Duration;

use flowcontrol::{Jitter, Random};

pub(crate) struct Dice(Random);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Random::seeded(seed))
    }

    /// Below `end`, which is not 0.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0.next_u64() % end
    }

    /// In `first..=last`.
    pub(crate) fn between(&mut self, first: u64, last: u64) -> u64 {
        first + self.below(last - first + 1)
    }

    /// Once in `n` times.
    pub(crate) fn once_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        let at = self.below(from.len() as u64);
        &from[usize::try_from(at).expect("an index")]
    }

    pub(crate) fn millis(&mut self, first: u64, last: u64) -> Duration {
        Duration::from_millis(self.between(first, last))
    }

    /// Another one, for somebody else.
    pub(crate) fn fork(&mut self) -> Self {
        Self(Random::seeded(self.0.next_u64()))
    }
}

impl Jitter for Dice {
    fn fraction(&mut self) -> f64 {
        self.0.fraction()
    }
}
