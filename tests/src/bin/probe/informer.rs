//! `informer` and `controller`: a cache with handlers, seen from outside.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use steersman::ObjectKey;
use steersman::shared_informer::{HandlerOptions, NotSynced, ReflectorError, Why};
use steersman::{
    Api, ApiResource, Client, Decode, Deleted, DynamicObject, Index, Lazy, Lister, Notification, Object,
    PartialObjectMetadata, Registration, SharedInformer,
};
use tokio::task::{AbortHandle, JoinSet};

use crate::args::{Args, usage};
use crate::commands::{Command, Commands};
use crate::out::{chain, describe, emit, unsupported};
use crate::resource::{WithType, with_type};
use crate::{common, controller, resource, unknown};

pub(crate) async fn run(args: Args, client: &Client, commands: Commands, is_controller: bool) {
    let wanted = resource::parse(args.need("resource"));
    let form = args.one_of("form", &["typed", "json", "dynamic", "metadata", "lazy"]);
    let start = Start { args, client, commands, is_controller, wanted };
    let running = match form {
        Some("dynamic") => start.call_any::<DynamicObject>(),
        Some("metadata") => start.call_any::<PartialObjectMetadata<DynamicObject>>(),
        Some("lazy") => start.call_any::<Lazy<DynamicObject>>(),
        _ => match with_type(&start.wanted.clone(), start) {
            Ok(running) => running,
            Err(start) if form.is_none() => start.call_any::<DynamicObject>(),
            Err(start) => unsupported(&format!("--form typed of {}", start.wanted.plural)),
        },
    };
    running.await;
}

/// An informer whose kept form is still to be found.
struct Start<'a> {
    args: Args,
    client: &'a Client,
    commands: Commands,
    is_controller: bool,
    wanted: ApiResource,
}

type Running = Pin<Box<dyn Future<Output = ()>>>;

impl Start<'_> {
    fn call_any<T: Object + Decode>(self) -> Running {
        let api: Api<T> = match self.args.get("namespace") {
            None | Some("") => self.client.all_of(self.wanted),
            Some(namespace) => self.client.namespaced_of(namespace, self.wanted),
        };
        Box::pin(watch(self.args, api, self.commands, self.is_controller))
    }
}

impl WithType for Start<'_> {
    type Output = Running;

    fn call<T: Object + Decode>(self) -> Running {
        self.call_any::<T>()
    }
}

/// A handler: called inline, or with a task and a pace of its own.
enum Handler {
    Inline(Registration),
    Task(AbortHandle),
}

impl Handler {
    fn remove(self) {
        match self {
            Self::Inline(registration) => registration.remove(),
            Self::Task(task) => task.abort(),
        }
    }
}

/// A running informer and what the commands ask of it.
struct Watch<T: Object> {
    informer: SharedInformer<T>,
    lister: Lister<T>,
    index: Option<Index<T>>,
    resyncs: Vec<Duration>,
    handlers: BTreeMap<usize, Handler>,
    next: usize,
    waits: JoinSet<()>,
}

async fn watch<T: Object + Decode>(args: Args, mut api: Api<T>, mut commands: Commands, is_controller: bool) {
    let wanted = api.resource().clone();
    if let Some(selector) = args.get("label-selector") {
        api = api.labels(selector);
    }
    if let Some(selector) = args.get("field-selector") {
        api = api.fields(selector);
    }
    let resyncs: Vec<Duration> = args.get("resync-s").unwrap_or("0").split(',').map(seconds).collect();
    let mut config = steersman::reflector::Config::default();
    config.watch_list = args.one_of("initial", &["watchlist", "list"]) != Some("list");
    let mut builder = SharedInformer::builder(api).config(config).on_error(report).on_handled(report);
    if let Some(shortest) = resyncs.iter().filter(|period| !period.is_zero()).min() {
        builder = builder.resync_every(*shortest);
    }
    let informer = builder.build();
    let lister = informer.lister();
    let index = index(&args, &informer);
    let mut watch = Watch {
        informer: informer.clone(),
        lister,
        index,
        resyncs,
        handlers: BTreeMap::new(),
        next: 0,
        waits: JoinSet::new(),
    };
    let controller = is_controller.then(|| controller::Watched::new(&args));
    for _ in 0..args.number("handlers", 1_usize) {
        watch.add_handler(args.millis("handler-delay-ms"));
    }
    let waited_for = informer.clone();
    watch.waits.spawn(async move {
        if is_synced(&waited_for).await {
            emit("store-synced", json!({}));
        }
    });
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let shutdown = async move {
        // Whichever way the sender goes, it is time.
        let _ = stopped.await;
    };
    let mut running = match &controller {
        Some(controller) => tokio::spawn(controller.run(informer.clone(), wanted, shutdown)),
        None => tokio::spawn(informer.run(shutdown)),
    };
    loop {
        tokio::select! {
            command = commands.next() => match command {
                None => break,
                Some(command) => watch.obey(&command, controller.as_ref()),
            },
            _ = &mut running => return,
        }
    }
    drop(stop);
    // A program's own grace period.
    if tokio::time::timeout(Duration::from_secs(10), running).await.is_err() {
        eprintln!("probe: did not stop within 10 s");
    }
    watch.waits.shutdown().await;
}

fn seconds(text: &str) -> Duration {
    text.parse().ok().and_then(|s| Duration::try_from_secs_f64(s).ok()).unwrap_or_else(|| usage("--resync-s"))
}

/// An error as the informer tells it.
fn report(error: &Arc<ReflectorError>) {
    emit("error", error_fields(error));
}

fn error_fields(error: &ReflectorError) -> Value {
    let during = match error {
        ReflectorError::List { .. } => "list",
        ReflectorError::Undecodable { .. } | ReflectorError::Transform { .. } => "decode",
        _ => "watch",
    };
    let mut fields = match error.api_error() {
        Some(cause) => describe(during, cause, None),
        None => json!({ "during": during, "code": null, "reason": null, "object": null }),
    };
    if let ReflectorError::Undecodable { source, .. } = error {
        fields["object"] = source.key.as_ref().map(ObjectKey::as_str).into();
    }
    fields["message"] = chain(error).into();
    fields
}

fn index<T: Object>(args: &Args, informer: &SharedInformer<T>) -> Option<Index<T>> {
    let label = match args.get("index")? {
        "namespace" => return None,
        text => {
            text.strip_prefix("label:").unwrap_or_else(|| unsupported(&format!("--index {text}"))).to_owned()
        }
    };
    Some(informer.index(move |object: &T| object.meta().labels().get(&label).map(str::to_owned)))
}

impl<T: Object> Watch<T> {
    fn add_handler(&mut self, delay: Duration) -> usize {
        let id = self.next;
        self.next += 1;
        let resync = self.resyncs[id.min(self.resyncs.len() - 1)];
        let options = HandlerOptions::named(&format!("handler {id}")).resync_every(resync);
        let handler = if delay.is_zero() {
            let registration =
                self.informer.add_handler_with(move |told: &Notification<T>| print(id, told), options);
            self.waits.spawn(tell_synced(id, self.informer.clone(), registration.synced()));
            Handler::Inline(registration)
        } else {
            // A slow consumer takes its notifications on a task of its own.
            let mut subscription = self.informer.subscribe_with(options);
            self.waits.spawn(tell_synced(id, self.informer.clone(), subscription.synced()));
            Handler::Task(self.waits.spawn(async move {
                while let Some(told) = subscription.next().await {
                    print(id, &told);
                    tokio::time::sleep(delay).await;
                }
            }))
        };
        self.handlers.insert(id, handler);
        id
    }

    fn obey(&mut self, command: &Command, controller: Option<&controller::Watched>) {
        let status = self.informer.status();
        let last_error = status.last_error.as_ref().map_or(Value::Null, |error| error_fields(error));
        if common(command, Some(status.is_synced), &last_error) {
            return;
        }
        match command.name.as_str() {
            "store" => {
                let mut objects: Vec<Value> = Vec::new();
                let mut sorted = self.lister.list();
                sorted.sort_by_key(|object| object.key());
                for object in sorted {
                    objects.push(json!({
                        "key": object.key().as_str(),
                        "uid": object.uid(),
                        "resourceVersion": object.resource_version(),
                    }));
                }
                let version = self.informer.last_resource_version();
                emit("store", json!({ "objects": objects, "lastResourceVersion": version.as_str() }));
            }
            "index" => {
                let mut keys = match &self.index {
                    Some(index) => index.keys(&command.rest),
                    None => {
                        self.lister.in_namespace(&command.rest).iter().map(|object| object.key()).collect()
                    }
                };
                keys.sort();
                let keys: Vec<&str> = keys.iter().map(ObjectKey::as_str).collect();
                emit("index", json!({ "keys": keys }));
            }
            "add-handler" => {
                let id = self.add_handler(Duration::from_millis(command.rest.parse().unwrap_or(0)));
                emit("handler-added", json!({ "handler": id }));
            }
            "remove-handler" => {
                match command.rest.parse().ok().and_then(|id: usize| self.handlers.remove(&id)) {
                    Some(handler) => {
                        handler.remove();
                        emit(
                            "handler-removed",
                            json!({ "handler": command.rest.parse::<usize>().unwrap_or(0) }),
                        );
                    }
                    None => emit(
                        "failed",
                        json!({ "during": "request", "code": null, "reason": null, "message": "no such handler", "object": command.rest }),
                    ),
                }
            }
            "queue" => match controller {
                Some(controller) => controller.print_queue(),
                None => unknown(command),
            },
            _ => unknown(command),
        }
    }
}

/// Waits until the cache is filled; `false`: it never will be. A refusal is told by the error handler; the informer
/// goes on trying, and so does this.
async fn is_synced<T: Object>(informer: &SharedInformer<T>) -> bool {
    while let Err(error) = informer.synced().await {
        if error.why() == Why::Stopped {
            return false;
        }
    }
    true
}

/// Says when a handler has seen what there was at its start.
async fn tell_synced<T: Object>(
    handler: usize,
    informer: SharedInformer<T>,
    synced: impl Future<Output = Result<(), NotSynced>>,
) {
    if is_synced(&informer).await && synced.await.is_ok() {
        emit("handler-synced", json!({ "handler": handler }));
    }
}

/// One notification, as a line.
fn print<T: Object>(handler: usize, told: &Notification<T>) {
    match told {
        Notification::Added { object, is_in_initial_list } => emit(
            "added",
            json!({
                "handler": handler, "key": object.key().as_str(), "uid": object.uid(),
                "resourceVersion": object.resource_version(), "initial": is_in_initial_list,
            }),
        ),
        Notification::Updated { old, new } => emit(
            "updated",
            json!({
                "handler": handler, "key": new.key().as_str(), "uid": new.uid(), "oldUid": old.uid(),
                "resourceVersion": new.resource_version(), "oldResourceVersion": old.resource_version(),
            }),
        ),
        Notification::Deleted(deleted) => {
            let last = deleted.last_state();
            emit(
                "deleted",
                json!({
                    "handler": handler, "key": deleted.key().as_str(),
                    "finalStateKnown": matches!(deleted, Deleted::Observed(_)),
                    "resourceVersion": last.map(|object| object.resource_version()),
                    "uid": last.map(|object| object.uid()),
                }),
            );
        }
    }
}
