//! `retry_on_conflict`: read, change, write; and again if somebody else was faster.

use std::future::Future;
use std::time::Duration;

use apimachinery::ApiError;
use flowcontrol::{Jitter, Random, stretch};

/// How often and how fast a change that met a conflict is made again (REST-RT-15).
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct ConflictRetry {
    /// Attempts in all.
    pub steps: u32,
    /// The wait before the second.
    pub initial: Duration,
    /// By what each wait is longer than the one before.
    pub factor: f64,
    /// By how much of itself a wait may be longer.
    pub jitter: f64,
}

impl ConflictRetry {
    /// Where conflicts are rare: 5 attempts, 10 ms apart. Client-go's `retry.DefaultRetry`.
    pub const DEFAULT: Self = Self { steps: 5, initial: Duration::from_millis(10), factor: 1.0, jitter: 0.1 };
    /// Where many write: 4 attempts, 10, 50 and 250 ms apart. Client-go's `retry.DefaultBackoff`.
    pub const BACKOFF: Self = Self { steps: 4, initial: Duration::from_millis(10), factor: 5.0, jitter: 0.1 };

    /// The wait after the attempt with this number, counted from 0; `None` after the last.
    fn wait(&self, attempt: u32, jitter: &mut dyn Jitter) -> Option<Duration> {
        if attempt + 1 >= self.steps {
            return None;
        }
        let exponent = i32::try_from(attempt).unwrap_or(i32::MAX);
        let seconds = self.initial.as_secs_f64() * self.factor.max(0.0).powi(exponent);
        let wait = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        Some(stretch(wait, self.jitter, jitter))
    }
}

/// Calls `change` until it succeeds, fails otherwise than by a conflict, or has failed `retry.steps` times; then the
/// last conflict is the answer. `change` must read the object anew each time. Any other error is returned as it is.
///
/// ```no_run
/// # use steersman_rest as rest; use apimachinery::{ApiError, GetOptions, ObjectKey, UpdateOptions};
/// # use k8s_openapi::api::core::v1::ConfigMap;
/// # async fn example(maps: rest::Api<ConfigMap>) -> Result<(), ApiError> {
/// let key = ObjectKey::new("shop", "prices");
/// rest::retry_on_conflict(rest::ConflictRetry::DEFAULT, || async {
///     let mut map = maps.get(&key, &GetOptions::default()).await?;
///     map.data.get_or_insert_default().insert("tea".into(), "3".into());
///     maps.update(&map, &UpdateOptions::default()).await
/// })
/// .await?;
/// # Ok(()) }
/// ```
pub async fn retry_on_conflict<T, F>(
    retry: ConflictRetry,
    mut change: impl FnMut() -> F,
) -> Result<T, ApiError>
where
    F: Future<Output = Result<T, ApiError>>,
{
    let mut random = Random::unseeded();
    let mut attempt = 0;
    loop {
        let error = match change().await {
            Err(error) if is_conflict(&error) => error,
            other => return other,
        };
        let Some(wait) = retry.wait(attempt, &mut random) else { return Err(error) };
        tokio::time::sleep(wait).await;
        attempt += 1;
    }
}

fn is_conflict(error: &ApiError) -> bool {
    matches!(error, ApiError::Status(status) if status.is_conflict())
}
