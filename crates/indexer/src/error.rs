//! Why a wait for a version ends without it.

use apimachinery::ResourceVersion;

/// Why [`Lister::wait_until`](crate::Lister::wait_until) ended without the version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WaitError {
    /// Nobody writes the cache any more, and it never got there.
    #[error("the cache stopped at version {reached:?} before it reached {wanted:?}")]
    Stopped {
        /// What was waited for.
        wanted: ResourceVersion,
        /// How far the cache got.
        reached: ResourceVersion,
    },
    /// A version that cannot be ordered cannot be waited for (CACHE-K-10).
    #[error("version {0:?} cannot be compared with others")]
    NotComparable(ResourceVersion),
}
