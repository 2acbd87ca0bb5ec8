//! `request`: single requests, once or many times, alone or side by side.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};
use steersman::{
    Api, ApiError, ApiResource, Client, CreateOptions, Decode, DeleteOptions, DynamicObject, GetOptions,
    ListOptions, Object, ObjectKey, Patch, PatchOptions, Scope, UpdateOptions,
};
use tokio::task::JoinSet;

use crate::args::{Args, usage};
use crate::commands::Commands;
use crate::out::{describe, emit, unsupported};
use crate::resource::{WithType, with_type};
use crate::{common, resource, unknown};

const MANAGER: &str = "probe";

/// One kind of request.
struct Call {
    verb: &'static str,
    patch_type: &'static str,
    resource: ApiResource,
    namespace: String,
    name: String,
    body: Value,
    limit: u32,
    timeout: Option<Duration>,
    typed: bool,
}

pub(crate) async fn run(args: &Args, client: &Client, mut commands: Commands) {
    let call = Arc::new(call(args, client));
    let (repeat, pause) = (args.number("repeat", 1_usize), args.millis("pause-ms"));
    let next = Arc::new(AtomicUsize::new(0));
    let mut workers = JoinSet::new();
    for _ in 0..args.number("concurrency", 1_usize).max(1) {
        let (call, next, client) = (call.clone(), next.clone(), client.clone());
        workers.spawn(async move {
            loop {
                let n = next.fetch_add(1, Ordering::Relaxed);
                if n >= repeat {
                    return;
                }
                once(&call, &client, n).await;
                if n + 1 < repeat {
                    tokio::time::sleep(pause).await;
                }
            }
        });
    }
    loop {
        tokio::select! {
            joined = workers.join_next() => if joined.is_none() { return },
            command = commands.next() => match command {
                None => return workers.shutdown().await,
                Some(command) => {
                    if !common(&command, None, &Value::Null) {
                        unknown(&command);
                    }
                }
            },
        }
    }
}

fn call(args: &Args, client: &Client) -> Call {
    let resource = resource::parse(args.need("resource"));
    let verb = args.one_of("verb", &["get", "list", "create", "update", "patch", "delete"]).unwrap_or("get");
    let body = args.get("body").map_or(Value::Null, |path| {
        let text = std::fs::read_to_string(path).unwrap_or_else(|error| usage(&format!("{path}: {error}")));
        serde_saphyr::from_str(&text).unwrap_or_else(|error| usage(&format!("{path}: {error}")))
    });
    let of_body = |field: &str| body["metadata"][field].as_str().map(str::to_owned);
    let name = args.get("name").map(str::to_owned).or_else(|| of_body("name")).unwrap_or_default();
    let namespace = match args.get("namespace") {
        Some(namespace) => namespace.to_owned(),
        None if verb == "list" || resource.scope == Scope::Cluster => String::new(),
        None => of_body("namespace").unwrap_or_else(|| client.default_namespace().to_owned()),
    };
    let typed = match args.one_of("form", &["typed", "dynamic", "json"]) {
        Some("dynamic") => false,
        Some(_) => true,
        None => has_type(&resource),
    };
    if typed && !has_type(&resource) {
        unsupported(&format!("--form typed of {}", resource.plural));
    }
    Call {
        verb,
        patch_type: args.one_of("patch-type", &["json", "merge", "strategic", "apply"]).unwrap_or("merge"),
        resource,
        namespace,
        name,
        body,
        limit: args.number("limit", 0),
        timeout: Some(args.number("timeout-s", 0)).filter(|s| *s > 0).map(Duration::from_secs),
        typed,
    }
}

fn has_type(resource: &ApiResource) -> bool {
    struct Nothing;
    impl WithType for Nothing {
        type Output = ();
        fn call<T>(self) {}
    }
    with_type(resource, Nothing).is_ok()
}

async fn once(call: &Call, client: &Client, n: usize) {
    let answer = match call.timeout {
        None => dispatch(call, client).await,
        Some(limit) => match tokio::time::timeout(limit, dispatch(call, client)).await {
            Ok(answer) => answer,
            Err(_) => Err(ApiError::Timeout { during: "the request", earlier: None }),
        },
    };
    match answer {
        Ok(Value::Object(mut fields)) => {
            fields.insert("n".to_owned(), n.into());
            // The library says that it went well, and not how well: a create is 201, all else 200.
            fields.insert("code".to_owned(), if call.verb == "create" { 201 } else { 200 }.into());
            emit("answer", Value::Object(fields));
        }
        Ok(other) => emit("answer", json!({ "n": n, "code": 200, "object": other })),
        Err(error) => {
            let key = ObjectKey::new(&call.namespace, &call.name);
            let object = Some(key.as_str()).filter(|_| !call.name.is_empty());
            let mut fields = describe("request", &error, object);
            fields["n"] = n.into();
            emit("failed", fields);
        }
    }
}

/// A request whose type is still to be found.
struct Pending<'a> {
    call: &'a Call,
    client: &'a Client,
}

impl<'a> WithType for Pending<'a> {
    type Output = Pin<Box<dyn Future<Output = Result<Value, ApiError>> + Send + 'a>>;

    fn call<T>(self) -> Self::Output
    where
        T: Object + Decode + Serialize + Sync,
    {
        Box::pin(perform(self.call, api::<T>(self.call, self.client)))
    }
}

async fn dispatch(call: &Call, client: &Client) -> Result<Value, ApiError> {
    let pending = Pending { call, client };
    let request = match if call.typed { with_type(&call.resource, pending) } else { Err(pending) } {
        Ok(request) => request,
        Err(pending) => pending.call::<DynamicObject>(),
    };
    request.await
}

fn api<T: Object + Decode>(call: &Call, client: &Client) -> Api<T> {
    if call.namespace.is_empty() {
        client.all_of(call.resource.clone())
    } else {
        client.namespaced_of(&call.namespace, call.resource.clone())
    }
}

async fn perform<T>(call: &Call, api: Api<T>) -> Result<Value, ApiError>
where
    T: Object + Decode + Serialize + Sync,
{
    let key = ObjectKey::new(&call.namespace, &call.name);
    let object = match call.verb {
        "list" => {
            let mut options = ListOptions::default();
            options.limit = call.limit;
            let page =
                if call.limit > 0 { api.list(&options).await? } else { api.list_all(&options).await? };
            return Ok(json!({
                "items": page.items.len() + page.undecodable.len(),
                "resourceVersion": page.resource_version.as_str(),
                "continue": page.continue_token,
            }));
        }
        "get" => api.get(&key, &GetOptions::default()).await?,
        "create" => api.create(&read::<T>(call)?, &options()).await?,
        "update" => api.update(&read::<T>(call)?, &UpdateOptions::from(options())).await?,
        "patch" => {
            let patch = match call.patch_type {
                "json" => Patch::Json(call.body.clone()),
                "strategic" => Patch::Strategic(call.body.clone()),
                "apply" => Patch::Apply(call.body.clone()),
                _ => Patch::Merge(call.body.clone()),
            };
            api.patch(&key, None, &patch, &PatchOptions::apply(MANAGER)).await?
        }
        _ => {
            api.delete(&key, &DeleteOptions::default()).await?;
            return Ok(json!({ "object": null }));
        }
    };
    let object = serde_json::to_value(object).map_err(|error| ApiError::InvalidRequest(error.to_string()))?;
    Ok(json!({ "object": object }))
}

fn options() -> CreateOptions {
    let mut options = CreateOptions::default();
    options.field_manager = Some(MANAGER.to_owned());
    options
}

fn read<T: Decode>(call: &Call) -> Result<T, ApiError> {
    let mut body = call.body.clone();
    body["metadata"]["name"] = call.name.as_str().into();
    if !call.namespace.is_empty() {
        body["metadata"]["namespace"] = call.namespace.as_str().into();
    }
    Ok(T::decode(body.to_string().as_bytes(), steersman::apimachinery::DecodeContext::default())?)
}
