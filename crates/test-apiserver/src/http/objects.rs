//! Requests about objects: what the verb does with the core, and how its outcome is shown.

use std::sync::Arc;

use apimachinery::{Patch, StatusError};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::core::{Core, ListAnswer, ResourceInfo, Stored, Target, errors};
use crate::faults::{NoWatchList, Verb};
use crate::http::answer::{Answer, JSON};
use crate::http::body::Content;
use crate::http::negotiate::{self, Form};
use crate::http::request::{Query, ResourcePath};
use crate::http::shared::Shared;
use crate::http::stream::{ListStream, Show, WatchStream};
use crate::http::{bodies, options, status};

/// A request about objects, in parts.
pub(crate) struct Call<'a> {
    pub(crate) verb: Verb,
    pub(crate) path: &'a ResourcePath,
    pub(crate) query: &'a Query,
    pub(crate) accept: Option<&'a str>,
    pub(crate) content_type: Option<&'a str>,
    pub(crate) user_agent: Option<&'a str>,
    pub(crate) body: &'a [u8],
}

/// Planned faults that are about what is answered, not how it is sent.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Twist {
    pub(crate) no_watch_list: Option<NoWatchList>,
    pub(crate) withhold_end: bool,
}

/// Answers a call.
pub(crate) fn answer(shared: &Arc<Shared>, call: &Call<'_>, twist: Twist) -> Result<Answer, StatusError> {
    let form = negotiate::form(call.accept).ok_or_else(not_acceptable)?;
    let target = Target {
        group: call.path.group.clone(),
        version: call.path.version.clone(),
        plural: call.path.plural.clone(),
        namespace: call.path.namespace.clone(),
        subresource: call.path.subresource.clone(),
    };
    let name = call.path.name.as_deref();
    let now = Timestamp::now();
    match (call.verb, name) {
        (Verb::Get, Some(name)) => {
            let wanted = options::get(call.query);
            let found = shared.read(|core| core.get(&target, name, &wanted))?;
            Ok(one(shared, call, form, &target, 200, &found))
        }
        (Verb::List, _) => {
            let wanted = options::list(call.query)?;
            let found = shared.read(|core| core.list(&target, &wanted))?;
            Ok(list(call, form, found))
        }
        (Verb::Watch, _) => watch(shared, call, form, &target, twist, now),
        (Verb::Create, None) => {
            let wanted = managed(options::create(call.query)?, call);
            let object = bodies::object(call.content_type, call.body)?;
            let written = shared.with(|core| core.create(&target, object, &wanted, now))?;
            let code = if written.created { 201 } else { 200 };
            Ok(one(shared, call, form, &target, code, &written.object))
        }
        (Verb::Create, Some(name)) if target.subresource.is_some() => {
            let wanted = managed(options::create(call.query)?, call);
            let object = bodies::object(call.content_type, call.body)?;
            let made = shared.with(|core| core.create_subresource(&target, name, &object, &wanted, now))?;
            Ok(Answer::json(201, &made))
        }
        (Verb::Update, Some(name)) => {
            let wanted = managed(options::create(call.query)?, call);
            let object = bodies::object(call.content_type, call.body)?;
            let written = shared.with(|core| core.update(&target, name, object, &wanted, now))?;
            let code = if written.created { 201 } else { 200 };
            Ok(one(shared, call, form, &target, code, &written.object))
        }
        (Verb::Patch, Some(name)) => {
            let mut wanted = options::patch(call.query)?;
            let patch = bodies::patch(call.content_type, call.body)?;
            if !matches!(patch, Patch::Apply(_)) {
                wanted.field_manager = wanted.field_manager.or_else(|| agent(call));
            }
            let written = shared.with(|core| core.patch(&target, name, &patch, &wanted, now))?;
            let code = if written.created { 201 } else { 200 };
            Ok(one(shared, call, form, &target, code, &written.object))
        }
        (Verb::Delete, Some(name)) => {
            let wanted =
                options::delete(call.query, bodies::optional(call.content_type, call.body)?.as_ref())?;
            let deletion = shared.with(|core| core.delete(&target, name, &wanted, now))?;
            Ok(Answer::new(200, JSON, Content::Whole(deletion.answer())))
        }
        (Verb::DeleteCollection, None) => {
            let wanted =
                options::delete(call.query, bodies::optional(call.content_type, call.body)?.as_ref())?;
            let which = options::list(call.query)?;
            let found = shared.with(|core| core.delete_collection(&target, &which, &wanted, now))?;
            Ok(list(call, form, found))
        }
        _ => Err(shared.read(|core| no_such_method(core, &target, call.verb))),
    }
}

/// 405 where the resource is there, 404 where it is not.
fn no_such_method(core: &Core, target: &Target, verb: Verb) -> StatusError {
    match core.resource(&target.group, &target.version, &target.plural) {
        Some(resource) => errors::method_not_allowed(resource, &format!("{verb:?}").to_lowercase()),
        None => errors::no_such_path(),
    }
}

fn not_acceptable() -> StatusError {
    status::refusal(406, "NotAcceptable", "only the following media types are accepted: application/json")
}

fn one(
    shared: &Shared,
    call: &Call<'_>,
    form: Form,
    target: &Target,
    code: u16,
    stored: &Arc<Stored>,
) -> Answer {
    if form == Form::Object {
        let mut bytes = Vec::with_capacity(stored.bytes().len() + 1);
        bytes.extend_from_slice(stored.bytes());
        bytes.push(b'\n');
        return Answer::new(code, JSON, Content::Whole(bytes.into()));
    }
    let Some(resource) = resource(shared, target) else { return Answer::json(code, &stored.value()) };
    let mut show = Show::new(form, &resource, call.query.text("includeObject"));
    Answer::json(code, &show.one(&stored.value()))
}

fn resource(shared: &Shared, target: &Target) -> Option<Arc<ResourceInfo>> {
    shared.read(|core| core.resource(&target.group, &target.version, &target.plural).cloned())
}

fn list(call: &Call<'_>, form: Form, found: ListAnswer) -> Answer {
    let mut metadata = json!({ "resourceVersion": found.resource_version.to_string() });
    if let Some(token) = &found.continue_token {
        metadata["continue"] = json!(token);
    }
    if let Some(remaining) = found.remaining {
        metadata["remainingItemCount"] = json!(remaining);
    }
    let resource = &found.resource;
    match Show::new(form, resource, call.query.text("includeObject")) {
        Show::Object => {
            let head = format!(
                "{{\"kind\":\"{}\",\"apiVersion\":\"{}\",\"metadata\":{metadata},\"items\":[",
                resource.list_kind,
                resource.api_version(),
            );
            let stream = ListStream::new(head, found.items, resource);
            Answer::new(200, JSON, Content::List(stream))
        }
        Show::Partial => {
            let items: Vec<Value> =
                found.items.iter().map(|item| crate::table::partial(&item.value())).collect();
            let list = json!({
                "kind": "PartialObjectMetadataList",
                "apiVersion": "meta.k8s.io/v1",
                "metadata": metadata,
                "items": items,
            });
            Answer::json(200, &list)
        }
        Show::Table { printer, include, .. } => {
            let now = Timestamp::now();
            let rows: Vec<Value> =
                found.items.iter().map(|item| printer.row(&item.value(), &include, now)).collect();
            Answer::json(200, &printer.table(&metadata, &rows, true))
        }
    }
}

fn watch(
    shared: &Arc<Shared>,
    call: &Call<'_>,
    form: Form,
    target: &Target,
    twist: Twist,
    now: Timestamp,
) -> Result<Answer, StatusError> {
    let mut wanted = options::list(call.query)?;
    if let Some(name) = &call.path.name {
        let only = format!("metadata.name={name}");
        wanted.field_selector = Some(match wanted.field_selector.take() {
            Some(fields) => format!("{fields},{only}"),
            None => only,
        });
    }
    match twist.no_watch_list {
        Some(NoWatchList::Refused) if wanted.send_initial_events.is_some() => {
            let why = "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled";
            let error = errors::FieldError::forbidden("sendInitialEvents", why);
            return Err(errors::invalid_kind("meta.k8s.io", "ListOptions", "", &[error]));
        }
        Some(NoWatchList::Ignored) => {
            wanted.send_initial_events = None;
            wanted.resource_version_match = None;
        }
        _ => {}
    }
    let resource = resource(shared, target).ok_or_else(errors::no_such_path)?;
    let id = shared.with(|core| core.watch(target, &wanted, now))?;
    let show = Show::new(form, &resource, call.query.text("includeObject"));
    let stream = WatchStream::new(Arc::clone(shared), id, show, twist.withhold_end);
    Ok(Answer::new(200, JSON, Content::Watch(stream)))
}

/// Who manages the fields, where the query is silent: the client's name, up to its slash.
fn agent(call: &Call<'_>) -> Option<String> {
    let agent = call.user_agent?.split('/').next().unwrap_or_default();
    (!agent.is_empty()).then(|| agent.to_owned())
}

fn managed(mut options: apimachinery::CreateOptions, call: &Call<'_>) -> apimachinery::CreateOptions {
    options.field_manager = options.field_manager.or_else(|| agent(call));
    options
}
