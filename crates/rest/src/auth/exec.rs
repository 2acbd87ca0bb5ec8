//! Credentials from a plugin: run once for all who wait, kept until they expire.

#![expect(clippy::disallowed_types, reason = "a shell: one lock, held for a moment")]

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use apimachinery::BoxError;
use jiff::Timestamp;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::Credential;
use super::exec_run::{self, Answer, ClusterInfo};
use crate::config::{ExecConfig, Server};
use crate::{ClientConfig, ConfigError, Pem};

type Outcome = Option<Result<Answer, Arc<str>>>;

/// Credentials from a plugin.
pub(super) struct Exec {
    config: Arc<ExecConfig>,
    cluster: Option<Arc<serde_json::Value>>,
    state: Arc<Mutex<State>>,
    /// The run that is going on: ours to end, whoever waits for it.
    runs: Mutex<JoinSet<()>>,
}

#[derive(Default)]
struct State {
    answer: Option<Answer>,
    serial: u64,
    running: Option<watch::Receiver<Outcome>>,
}

impl State {
    /// What counts now, if anything does.
    fn current(&self, now: Timestamp) -> Option<Credential> {
        let answer = self.answer.as_ref()?;
        // "Strictly after": at the very moment it still counts (REST-EX-08).
        answer.expires.is_none_or(|expires| now <= expires).then(|| answer.credential.clone())
    }

    /// REST-EX-10.
    fn handle_unauthorized(&mut self, serial: u64) {
        if self.answer.as_ref().is_some_and(|answer| answer.credential.serial == serial) {
            self.answer = None;
        }
    }
}

impl Exec {
    pub(super) fn new(
        exec: &ExecConfig,
        config: &ClientConfig,
        server: &Server,
    ) -> Result<Self, ConfigError> {
        exec.validate()?;
        let cluster = if exec.provide_cluster_info {
            let ca =
                match &config.tls.ca {
                    None => None,
                    Some(Pem::Data(data)) => Some(data.clone()),
                    Some(Pem::File(path)) => Some(std::fs::read(path).map_err(|source| {
                        ConfigError::Read { what: "certificate-authority".into(), path: path.clone(), source }
                    })?),
                };
            let proxy = match &config.proxy {
                crate::Proxy::None => None,
                crate::Proxy::Url(url) => Some(url.expose().to_owned()),
                crate::Proxy::Environment(env) => env.proxy_for(server),
            };
            let info = ClusterInfo { server, config, ca, proxy };
            Some(Arc::new(info.to_json(exec.cluster_config.as_ref())))
        } else {
            None
        };
        let config = Arc::new(exec.clone());
        Ok(Exec { config, cluster, state: Arc::default(), runs: Mutex::default() })
    }

    /// What counts now; runs the plugin if nothing does. Cancel safe: the run goes on for the others.
    pub(super) async fn credential(&self) -> Result<Credential, BoxError> {
        let mut running = {
            let mut state = lock(&self.state);
            if let Some(current) = state.current(Timestamp::now()) {
                return Ok(current);
            }
            match &state.running {
                Some(running) => running.clone(),
                None => self.start(&mut state),
            }
        };
        let outcome = running.wait_for(Option::is_some).await.map(|outcome| outcome.clone());
        match outcome {
            Ok(Some(Ok(answer))) => Ok(answer.credential),
            Ok(Some(Err(problem))) => Err(problem.to_string().into()),
            Ok(None) | Err(_) => {
                lock(&self.state).running = None;
                Err(format!("the run of the credential plugin {:?} was ended", self.config.command).into())
            }
        }
    }

    pub(super) fn handle_unauthorized(&self, serial: u64) {
        lock(&self.state).handle_unauthorized(serial);
    }

    fn start(&self, state: &mut State) -> watch::Receiver<Outcome> {
        let (tell, told) = watch::channel(None);
        state.serial += 1;
        state.running = Some(told.clone());
        let (config, cluster) = (Arc::clone(&self.config), self.cluster.clone());
        let (shared, serial) = (Arc::clone(&self.state), state.serial);
        let mut runs = lock(&self.runs);
        while runs.try_join_next().is_some() {}
        runs.spawn(async move {
            let outcome = exec_run::run(&config, cluster.as_deref(), serial).await;
            let mut state = lock(&shared);
            state.running = None;
            if let Ok(answer) = &outcome {
                state.answer = Some(answer.clone());
            }
            drop(state);
            tell.send_replace(Some(outcome.map_err(Arc::from)));
        });
        told
    }
}

impl std::fmt::Debug for Exec {
    /// What a plugin is told and what it answered may be secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Exec").field(&self.config).finish()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
