//! How long a failed key waits before it is tried again (contract RL).

use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::time::{Duration, Instant};

use flowcontrol::{Jitter, TokenBucket};

/// Chooses the delay before a key is tried again. Each limiter is a plain value; the time is given.
pub trait RateLimiter<K>: Send {
    /// `key` failed at `now`: how long it waits. Counts one failure. [`Duration::MAX`] is for ever.
    fn when(&mut self, now: Instant, key: &K) -> Duration;

    /// `key` succeeded: its next failure is its first.
    fn forget(&mut self, key: &K);

    /// The failures of `key` since it was last forgotten; 0 if this limiter does not count by key.
    fn requeues(&self, key: &K) -> u32;
}

impl<K, L: RateLimiter<K> + ?Sized> RateLimiter<K> for Box<L> {
    fn when(&mut self, now: Instant, key: &K) -> Duration {
        (**self).when(now, key)
    }

    fn forget(&mut self, key: &K) {
        (**self).forget(key);
    }

    fn requeues(&self, key: &K) -> u32 {
        (**self).requeues(key)
    }
}

/// Client-go's default for controllers: the longer of [`ItemExponential`] from 5 ms to 1000 s, and 10 a second for all
/// keys together with bursts of 100 (RL-10), of which each key holds one at a time ([`FairBucket`]).
pub fn default_limiter<K: Eq + Hash + Clone + Send + 'static>() -> MaxOf<K> {
    let exponential = ItemExponential::new(Duration::from_millis(5), Duration::from_secs(1000));
    MaxOf::new([Box::new(exponential) as Box<dyn RateLimiter<K>>, Box::new(FairBucket::new(10.0, 100))])
}

/// Failures by key, each with the time of the last. What did not fail for long is forgotten as the map grows, so a key
/// that is never forgotten (a deleted object) does not stay for ever (RL-11).
struct Failures<K> {
    by_key: HashMap<K, Failed>,
    /// The size at which the map is next looked through.
    look_at: usize,
}

#[derive(Clone, Copy)]
struct Failed {
    times: u32,
    last: Instant,
}

/// Below this many keys nothing is aged.
const KEPT: usize = 1024;

impl<K: Eq + Hash + Clone> Failures<K> {
    fn new() -> Self {
        Self { by_key: HashMap::new(), look_at: KEPT }
    }

    /// Counts one failure; the answer is how many there were before it.
    fn count(&mut self, now: Instant, key: &K, keep_for: Duration) -> u32 {
        if let Some(failed) = self.by_key.get_mut(key) {
            let before = failed.times;
            *failed = Failed { times: before.saturating_add(1), last: now };
            return before;
        }
        if self.by_key.len() >= self.look_at {
            self.by_key.retain(|_, failed| now.saturating_duration_since(failed.last) < keep_for);
            self.look_at = (self.by_key.len() * 2).max(KEPT);
            self.by_key.shrink_to(self.look_at);
        }
        self.by_key.insert(key.clone(), Failed { times: 1, last: now });
        0
    }

    fn forget(&mut self, key: &K) {
        self.by_key.remove(key);
    }

    fn times(&self, key: &K) -> u32 {
        self.by_key.get(key).map_or(0, |failed| failed.times)
    }
}

/// `base·2ⁿ` for the n-th failure of a key, never above `max` (RL-03). Whole nanoseconds and saturating: the sequence
/// never falls (RL-04).
///
/// Counts are kept for three times `max` after a key's last failure, at least an hour, and longer while fewer than 1024
/// keys are counted.
pub struct ItemExponential<K> {
    base: Duration,
    max: Duration,
    jitter: Option<Box<dyn Jitter + Send>>,
    failures: Failures<K>,
}

impl<K: Eq + Hash + Clone> ItemExponential<K> {
    /// From `base`, doubling to `max`, without jitter.
    pub fn new(base: Duration, max: Duration) -> Self {
        Self { base, max, jitter: None, failures: Failures::new() }
    }

    /// Each delay `d` is drawn from `[d/2, d)` ("equal jitter"), so that keys which failed together are not all tried
    /// together (RL-12).
    #[must_use]
    pub fn with_jitter(mut self, jitter: impl Jitter + Send + 'static) -> Self {
        self.jitter = Some(Box::new(jitter));
        self
    }

    fn keep_for(&self) -> Duration {
        self.max.saturating_mul(3).max(Duration::from_hours(1))
    }
}

impl<K: Eq + Hash + Clone> Default for ItemExponential<K> {
    /// From 1 ms to 1000 s (RL-03).
    fn default() -> Self {
        Self::new(Duration::from_millis(1), Duration::from_secs(1000))
    }
}

impl<K: Eq + Hash + Clone + Send> RateLimiter<K> for ItemExponential<K> {
    fn when(&mut self, now: Instant, key: &K) -> Duration {
        let failures = self.failures.count(now, key, self.keep_for());
        let delay = doubled(self.base, failures).min(self.max);
        match &mut self.jitter {
            None => delay,
            Some(jitter) => {
                let half = delay / 2;
                half + flowcontrol::full_jitter(delay.saturating_sub(half), &mut **jitter)
            }
        }
    }

    fn forget(&mut self, key: &K) {
        self.failures.forget(key);
    }

    fn requeues(&self, key: &K) -> u32 {
        self.failures.times(key)
    }
}

/// `base·2ⁿ`, saturating.
fn doubled(base: Duration, n: u32) -> Duration {
    2_u32.checked_pow(n).map_or_else(
        || {
            let nanos = base.as_nanos();
            match nanos.leading_zeros() {
                _ if nanos == 0 => Duration::ZERO,
                room if n < room => from_nanos(nanos << n),
                _ => Duration::MAX,
            }
        },
        |factor| base.saturating_mul(factor),
    )
}

fn from_nanos(nanos: u128) -> Duration {
    const SECOND: u128 = 1_000_000_000;
    match (u64::try_from(nanos / SECOND), u32::try_from(nanos % SECOND)) {
        (Ok(secs), Ok(nanos)) => Duration::new(secs, nanos),
        _ => Duration::MAX,
    }
}

/// `fast` for the first failures of a key, `slow` for the later ones (RL-06). Counts are kept as by [`ItemExponential`],
/// with `slow` for `max`.
pub struct ItemFastSlow<K> {
    fast: Duration,
    slow: Duration,
    fast_attempts: u32,
    failures: Failures<K>,
}

impl<K: Eq + Hash + Clone> ItemFastSlow<K> {
    /// `fast` for the first `fast_attempts` failures, then `slow`.
    pub fn new(fast: Duration, slow: Duration, fast_attempts: u32) -> Self {
        Self { fast, slow, fast_attempts, failures: Failures::new() }
    }
}

impl<K: Eq + Hash + Clone + Send> RateLimiter<K> for ItemFastSlow<K> {
    fn when(&mut self, now: Instant, key: &K) -> Duration {
        let keep_for = self.slow.saturating_mul(3).max(Duration::from_hours(1));
        if self.failures.count(now, key, keep_for) < self.fast_attempts { self.fast } else { self.slow }
    }

    fn forget(&mut self, key: &K) {
        self.failures.forget(key);
    }

    fn requeues(&self, key: &K) -> u32 {
        self.failures.times(key)
    }
}

/// One token bucket for all keys: a delay is until the token exists (RL-07). Forgetting returns no token: what failed
/// together is spread out at the bucket's rate, and that debt outlives the keys.
#[derive(Clone, Debug)]
pub struct Bucket {
    tokens: TokenBucket,
}

impl Bucket {
    /// `qps` a second, at most `burst` at once.
    pub fn new(qps: f32, burst: u32) -> Self {
        Self { tokens: TokenBucket::new(qps, burst) }
    }

    /// How long the next key would wait.
    pub fn debt(&self, now: Instant) -> Duration {
        self.tokens.debt(now)
    }
}

impl<K> RateLimiter<K> for Bucket {
    fn when(&mut self, now: Instant, _key: &K) -> Duration {
        self.tokens.reserve(now)
    }

    fn forget(&mut self, _key: &K) {}

    fn requeues(&self, _key: &K) -> u32 {
        0
    }
}

/// As [`Bucket`], but a key that waits for its token takes no further one: however often it fails meanwhile, it comes
/// back once. So no key can run up a debt that others have to wait for.
pub struct FairBucket<K> {
    tokens: TokenBucket,
    /// When the token of a key exists, for keys that wait for theirs.
    waiting: HashMap<K, Instant>,
    /// The size at which the map is next looked through.
    look_at: usize,
}

impl<K: Eq + Hash + Clone> FairBucket<K> {
    /// `qps` a second, at most `burst` at once.
    pub fn new(qps: f32, burst: u32) -> Self {
        Self { tokens: TokenBucket::new(qps, burst), waiting: HashMap::new(), look_at: KEPT }
    }

    /// How long the next key would wait.
    pub fn debt(&self, now: Instant) -> Duration {
        self.tokens.debt(now)
    }
}

impl<K: Eq + Hash + Clone + Send> RateLimiter<K> for FairBucket<K> {
    fn when(&mut self, now: Instant, key: &K) -> Duration {
        if let Some(at) = self.waiting.get(key).filter(|at| **at > now) {
            return *at - now;
        }
        let delay = self.tokens.reserve(now);
        match now.checked_add(delay) {
            Some(at) if at > now => {
                if self.waiting.len() >= self.look_at {
                    self.waiting.retain(|_, at| *at > now);
                    self.look_at = (self.waiting.len() * 2).max(KEPT);
                    self.waiting.shrink_to(self.look_at);
                }
                self.waiting.insert(key.clone(), at);
            }
            _ => {
                self.waiting.remove(key);
            }
        }
        delay
    }

    /// The token was taken, and its time is as good for the key's next failure.
    fn forget(&mut self, _key: &K) {}

    fn requeues(&self, _key: &K) -> u32 {
        0
    }
}

/// The longest of several delays. Every limiter is asked each time, so all of them count (RL-08). None: no delay.
pub struct MaxOf<K> {
    limiters: Vec<Box<dyn RateLimiter<K>>>,
}

impl<K> MaxOf<K> {
    /// The longest of what these say.
    pub fn new(limiters: impl IntoIterator<Item = Box<dyn RateLimiter<K>>>) -> Self {
        Self { limiters: limiters.into_iter().collect() }
    }
}

impl<K> RateLimiter<K> for MaxOf<K> {
    fn when(&mut self, now: Instant, key: &K) -> Duration {
        let each = self.limiters.iter_mut().map(|limiter| limiter.when(now, key));
        each.fold(Duration::ZERO, Duration::max)
    }

    fn forget(&mut self, key: &K) {
        self.limiters.iter_mut().for_each(|limiter| limiter.forget(key));
    }

    fn requeues(&self, key: &K) -> u32 {
        self.limiters.iter().map(|limiter| limiter.requeues(key)).max().unwrap_or(0)
    }
}

/// Another limiter's delays, never above `max_wait` (RL-09).
#[derive(Clone, Debug)]
pub struct WithMaxWait<L> {
    inner: L,
    max_wait: Duration,
}

impl<L> WithMaxWait<L> {
    /// What `inner` says, at most `max_wait`.
    pub fn new(inner: L, max_wait: Duration) -> Self {
        Self { inner, max_wait }
    }
}

impl<K, L: RateLimiter<K>> RateLimiter<K> for WithMaxWait<L> {
    fn when(&mut self, now: Instant, key: &K) -> Duration {
        self.inner.when(now, key).min(self.max_wait)
    }

    fn forget(&mut self, key: &K) {
        self.inner.forget(key);
    }

    fn requeues(&self, key: &K) -> u32 {
        self.inner.requeues(key)
    }
}

impl<K> fmt::Debug for ItemExponential<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ItemExponential")
            .field("base", &self.base)
            .field("max", &self.max)
            .field("keys", &self.failures.by_key.len())
            .finish_non_exhaustive()
    }
}

impl<K> fmt::Debug for ItemFastSlow<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ItemFastSlow")
            .field("fast", &self.fast)
            .field("slow", &self.slow)
            .field("fast_attempts", &self.fast_attempts)
            .field("keys", &self.failures.by_key.len())
            .finish_non_exhaustive()
    }
}

impl<K> fmt::Debug for FairBucket<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FairBucket")
            .field("tokens", &self.tokens)
            .field("waiting", &self.waiting.len())
            .finish_non_exhaustive()
    }
}

impl<K> fmt::Debug for MaxOf<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MaxOf").field("limiters", &self.limiters.len()).finish_non_exhaustive()
    }
}
