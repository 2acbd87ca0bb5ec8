//! `controller`: the usual one over the informer, with a reconciler that does as it was told.

#![expect(clippy::disallowed_types, reason = "the workers share what is still to fail")]

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use steersman::controller::{Action, Controller, Handle, reconcile_fn};
use steersman::{Lister, Object, ObjectKey, SharedInformer};

use crate::args::{Args, usage};
use crate::out::{chain, emit};

/// What the command line says of the reconciler, and a look at the controller.
pub(crate) struct Watched {
    controller: Mutex<Option<Controller>>,
    handle: Handle,
    told: Arc<Told>,
}

struct Told {
    takes: Duration,
    /// Failures still to come, by key.
    failures: Mutex<HashMap<String, u32>>,
    panics: HashSet<String>,
    handle: Handle,
}

impl Watched {
    pub(crate) fn new(args: &Args) -> Self {
        let controller = Controller::new("probe").workers(args.number("workers", 1));
        let handle = controller.handle();
        let failure = |text: &String| {
            let parsed = text.rsplit_once(':').and_then(|(key, n)| Some((key.to_owned(), n.parse().ok()?)));
            parsed.unwrap_or_else(|| usage("--fail wants KEY:N"))
        };
        let told = Told {
            takes: args.millis("reconcile-ms"),
            failures: Mutex::new(args.all("fail").iter().map(failure).collect()),
            panics: args.all("panic").iter().cloned().collect(),
            handle: handle.clone(),
        };
        Self { controller: Mutex::new(Some(controller)), handle, told: Arc::new(told) }
    }

    /// Runs the controller over the informer.
    pub(crate) fn run<T: Object>(
        &self,
        informer: SharedInformer<T>,
        resource: steersman::ApiResource,
        shutdown: impl Future<Output = ()> + Send + 'static,
    ) -> impl Future<Output = ()> + Send + 'static {
        let controller = self.controller.lock().ok().and_then(|mut taken| taken.take());
        let (told, lister) = (self.told.clone(), informer.lister());
        async move {
            let Some(controller) = controller else { return };
            let reconciler = reconcile_fn(move |key| reconcile(told.clone(), lister.clone(), key));
            if let Err(error) =
                controller.watches_resource(informer, resource).run(reconciler, shutdown).await
            {
                emit(
                    "error",
                    json!({ "during": "watch", "code": null, "reason": null, "message": chain(&error), "object": null }),
                );
            }
        }
    }

    pub(crate) fn print_queue(&self) {
        let counts = self.handle.queue();
        emit(
            "queue",
            json!({ "len": counts.queued, "waiting": counts.waiting, "processing": counts.processing }),
        );
    }
}

async fn reconcile<T: Object>(told: Arc<Told>, lister: Lister<T>, key: ObjectKey) -> Result<Action, String> {
    let attempt = told.handle.failures(&key) + 1;
    emit("reconcile", json!({ "key": key.as_str(), "attempt": attempt, "found": lister.contains(&key) }));
    tokio::time::sleep(told.takes).await;
    if told.panics.contains(key.as_str()) {
        emit(
            "error",
            json!({ "during": "panic", "code": null, "reason": null, "message": format!("reconcile of {key}"), "object": key.as_str() }),
        );
        panic!("reconcile of {key}");
    }
    let fails = told.failures.lock().is_ok_and(|mut failures| match failures.get_mut(key.as_str()) {
        Some(left) if *left > 0 => {
            *left -= 1;
            true
        }
        _ => false,
    });
    emit("reconciled", json!({ "key": key.as_str(), "ok": !fails }));
    if fails { Err(format!("{key} was told to fail")) } else { Ok(Action::AwaitChange) }
}
