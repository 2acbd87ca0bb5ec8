//! A bearer token in a file that changes.

#![expect(clippy::disallowed_types, reason = "a shell: one lock, held for a moment")]

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use apimachinery::BoxError;
use http::HeaderValue;
use tokio::time::Instant;

use super::{Credential, bearer};
use crate::{ConfigError, Secret};

/// A good read counts for a minute, and is repeated 10 s before its end (REST-AU-05).
const FRESH: Duration = Duration::from_secs(50);
/// A read that failed is not repeated by every request.
const AFTER_FAILURE: Duration = Duration::from_secs(1);

/// A bearer token in a file that changes. The last good one counts.
#[derive(Debug)]
pub(super) struct TokenFile {
    path: PathBuf,
    state: Mutex<State>,
    /// Whoever reads holds this; the others wait for what it brings.
    reading: tokio::sync::Mutex<()>,
}

/// What is known of the file. A plain value.
#[derive(Debug)]
pub(super) struct State {
    header: Option<HeaderValue>,
    serial: u64,
    look_at: Option<Instant>,
}

impl State {
    /// The token, if it needs no new look at the file.
    fn fresh(&self, now: Instant) -> Option<Credential> {
        self.look_at.filter(|&look_at| now < look_at).and_then(|_| self.last())
    }

    fn last(&self) -> Option<Credential> {
        let header = self.header.clone()?;
        Some(Credential { header: Some(header), identity: None, serial: self.serial })
    }

    fn handle_read(&mut self, now: Instant, read: Result<HeaderValue, String>) -> Result<(), String> {
        match read {
            Ok(header) => {
                if self.header.as_ref() != Some(&header) {
                    self.serial += 1;
                }
                self.header = Some(header);
                self.look_at = Some(now + FRESH);
                Ok(())
            }
            Err(problem) => {
                self.look_at = Some(now + AFTER_FAILURE);
                Err(problem)
            }
        }
    }

    /// The server did not take this answer: look again, unless somebody has since.
    fn handle_unauthorized(&mut self, serial: u64) {
        if self.serial == serial {
            self.look_at = None;
        }
    }
}

impl TokenFile {
    /// Reads the file. If that fails, the initial token counts until it can be read.
    pub(super) fn new(path: &Path, initial: Option<&Secret>) -> Result<Self, ConfigError> {
        let read = std::fs::read(path);
        let mut state = State { header: None, serial: 0, look_at: None };
        if let Some(initial) = initial {
            let header = bearer(initial.expose());
            state.header = Some(header.ok_or_else(|| ConfigError::invalid("token", "not a header value"))?);
        }
        match read {
            Ok(bytes) => match (parse(&bytes), initial) {
                (Ok(header), _) => {
                    // A failed read is impossible here, so is the error.
                    let _ = state.handle_read(Instant::now(), Ok(header));
                }
                (Err(_), Some(_)) => {}
                (Err(problem), None) => {
                    let problem = format!("{}: {problem}", path.display());
                    return Err(ConfigError::invalid("tokenFile", problem));
                }
            },
            Err(_) if initial.is_some() => {}
            Err(source) => {
                let path = path.to_owned();
                return Err(ConfigError::Read { what: "tokenFile".into(), path, source });
            }
        }
        Ok(TokenFile {
            path: path.to_owned(),
            state: Mutex::new(state),
            reading: tokio::sync::Mutex::default(),
        })
    }

    pub(super) async fn credential(&self) -> Result<Credential, BoxError> {
        if let Some(fresh) = self.state().fresh(Instant::now()) {
            return Ok(fresh);
        }
        let _reading = self.reading.lock().await;
        if let Some(fresh) = self.state().fresh(Instant::now()) {
            return Ok(fresh);
        }
        let read = match tokio::fs::read(&self.path).await {
            Ok(bytes) => parse(&bytes),
            Err(error) => Err(error.to_string()),
        };
        let mut state = self.state();
        if let Err(problem) = state.handle_read(Instant::now(), read) {
            tracing::warn!(%problem, file = %self.path.display(), "the token file cannot be used; the last token goes on");
            return state.last().ok_or_else(|| format!("{}: {problem}", self.path.display()).into());
        }
        state.last().ok_or_else(|| "no token".into())
    }

    pub(super) fn handle_unauthorized(&self, serial: u64) {
        self.state().handle_unauthorized(serial);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn parse(bytes: &[u8]) -> Result<HeaderValue, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "the token is no text".to_owned())?;
    if text.trim().is_empty() {
        return Err("the token file is empty".into());
    }
    bearer(text).ok_or_else(|| "the token is not a header value (a newline inside?)".into())
}
