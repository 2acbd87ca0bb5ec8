//! Where a core gets its randomness: it is given.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::time::Duration;

/// A source of fractions. A core takes one as an argument, so that a test can fix what it draws.
pub trait Jitter {
    /// The next fraction, in `[0, 1)`. What an implementation gives outside of it is clamped by whoever uses it.
    fn fraction(&mut self) -> f64;
}

impl<J: Jitter + ?Sized> Jitter for &mut J {
    fn fraction(&mut self) -> f64 {
        (**self).fraction()
    }
}

impl<J: Jitter + ?Sized> Jitter for Box<J> {
    fn fraction(&mut self) -> f64 {
        (**self).fraction()
    }
}

/// The usual source: SplitMix64, eight bytes of state. Good enough to spread retries; never for secrets.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// The same seed draws the same fractions.
    pub fn seeded(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Seeded by the process: two processes, and two sources of one process, draw different fractions.
    pub fn unseeded() -> Self {
        // `RandomState` takes its keys from the operating system and steps them for each new one.
        Self::seeded(RandomState::new().build_hasher().finish())
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

impl Jitter for Random {
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit a double exactly")]
    fn fraction(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Always the same fraction: for tests of the ends of a range.
#[derive(Clone, Copy, Debug)]
pub struct FixedJitter(pub f64);

impl Jitter for FixedJitter {
    fn fraction(&mut self) -> f64 {
        self.0
    }
}

/// No jitter: always 0.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoJitter;

impl Jitter for NoJitter {
    fn fraction(&mut self) -> f64 {
        0.0
    }
}

/// `d` made longer by up to `factor` of itself: uniform in `[d, d + factor·d)`. A factor that is not positive adds
/// nothing; the sum saturates.
pub fn stretch(d: Duration, factor: f64, jitter: &mut dyn Jitter) -> Duration {
    if factor > 0.0 { d.saturating_add(scaled(d, clamped(jitter) * factor)) } else { d }
}

/// Anything below `d`, zero included: uniform in `[0, d)`.
pub fn full_jitter(d: Duration, jitter: &mut dyn Jitter) -> Duration {
    // The product is rounded to whole nanoseconds, which may reach the end.
    scaled(d, clamped(jitter)).min(d.saturating_sub(Duration::from_nanos(1)))
}

/// `d·factor`, saturating; a factor that is not a positive number gives zero.
pub(crate) fn scaled(d: Duration, factor: f64) -> Duration {
    if factor > 0.0 && !d.is_zero() {
        Duration::try_from_secs_f64(d.as_secs_f64() * factor).unwrap_or(Duration::MAX)
    } else {
        Duration::ZERO
    }
}

fn clamped(jitter: &mut dyn Jitter) -> f64 {
    let fraction = jitter.fraction();
    // The largest double below one: a fraction never reaches the end of its range.
    if fraction > 0.0 { fraction.min(1.0 - f64::EPSILON / 2.0) } else { 0.0 }
}
