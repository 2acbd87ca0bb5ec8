//! A reflector core and a clock, and short words for what goes in and what comes out.

use std::time::{Duration, Instant};

use apimachinery::{
    ApiError, Bookmark, BrokenKind, ConnectKind, DecodeError, EventKind, ListOptions, Object, ObjectKey,
    Page, Status, StatusError, WatchEvent,
};
use deltafifo::Delta;
use flowcontrol::{Jitter, NoJitter};
use k8s_openapi::api::core::v1::ConfigMap;
use steersman_reflector::{Config, Note, Phase, ReflectorCore, ReflectorError, Request};

/// Neither the system's clock nor a runtime's: it moves when it is told to.
#[expect(clippy::disallowed_methods, reason = "only a first instant, to count from")]
pub(crate) fn start() -> Instant {
    Instant::now()
}

pub(crate) struct World {
    pub(crate) core: ReflectorCore<ConfigMap>,
    pub(crate) now: Instant,
}

pub(crate) fn world(watch_list: bool, config: Config) -> World {
    world_with(watch_list, config, NoJitter)
}

pub(crate) fn world_with(watch_list: bool, config: Config, jitter: impl Jitter + Send + 'static) -> World {
    World { core: ReflectorCore::new("things".into(), config, watch_list, Box::new(jitter)), now: start() }
}

/// Synced at version 10 by a list, with a watch open.
pub(crate) fn watching() -> World {
    watching_with(Config::default())
}

pub(crate) fn watching_with(config: Config) -> World {
    let mut world = world(false, config);
    world.list();
    world.page(&["a@1"], "10", None);
    world.watch();
    world.opened();
    assert_eq!(world.deltas(), ["replaced a@1 at 10"]);
    world
}

impl World {
    pub(crate) fn after(&mut self, duration: Duration) -> &mut Self {
        self.now += duration;
        self.core.handle_timeout(self.now);
        self
    }

    pub(crate) fn request(&mut self) -> Option<Request> {
        self.core.poll_request(self.now)
    }

    /// What is asked for now, which must be a list.
    pub(crate) fn list(&mut self) -> ListOptions {
        match self.request() {
            Some(Request::List(options)) => options,
            other => panic!("not a list: {other:?}"),
        }
    }

    /// What is asked for now, which must be a watch.
    pub(crate) fn watch(&mut self) -> ListOptions {
        match self.request() {
            Some(Request::Watch(options)) => options,
            other => panic!("not a watch: {other:?}"),
        }
    }

    /// How long it rests. It must, and must ask for nothing meanwhile.
    pub(crate) fn rest(&mut self) -> Duration {
        let now = self.now;
        assert_eq!(self.request(), None, "it rests");
        let until = self.core.poll_timeout().expect("a rest has an end");
        let rest = until - now;
        assert!(!rest.is_zero());
        let early = now + rest.saturating_sub(Duration::from_nanos(1));
        self.core.handle_timeout(early);
        assert_eq!(self.core.poll_request(early), None, "not a moment early");
        self.now = until;
        self.core.handle_timeout(until);
        rest
    }

    pub(crate) fn page(&mut self, items: &[&str], version: &str, next: Option<&str>) {
        self.core.handle_page(self.now, page(items, version, next));
    }

    pub(crate) fn list_error(&mut self, error: impl Into<ApiError>) {
        self.core.handle_list_error(self.now, error.into());
    }

    pub(crate) fn opened(&mut self) {
        self.core.handle_opened(self.now);
    }

    pub(crate) fn watch_error(&mut self, error: impl Into<ApiError>) {
        self.core.handle_watch_error(self.now, error.into());
    }

    pub(crate) fn end(&mut self) {
        self.core.handle_watch_end(self.now);
    }

    pub(crate) fn event(&mut self, event: WatchEvent<ConfigMap>) {
        self.core.handle_event(self.now, event);
    }

    pub(crate) fn version(&self) -> &str {
        self.core.last_resource_version()
    }

    pub(crate) fn deltas(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.core.poll_delta()).map(|delta| word(&delta)).collect()
    }

    pub(crate) fn phase(&mut self) -> Option<Phase> {
        self.core.poll_status().map(|status| status.phase)
    }

    /// The errors that were told: `(of a failed cycle, everything else)`.
    pub(crate) fn errors(&mut self) -> (Vec<String>, Vec<String>) {
        let mut errors = (Vec::new(), Vec::new());
        while let Some(note) = self.core.poll_note() {
            match note {
                Note::Failed(error) => errors.0.push(error.to_string()),
                Note::Handled(error) => errors.1.push(error.to_string()),
                _ => {}
            }
        }
        errors
    }

    pub(crate) fn notes(&mut self) -> Vec<Note> {
        std::iter::from_fn(|| self.core.poll_note()).collect()
    }
}

pub(crate) fn word<T: Object>(delta: &Delta<T>) -> String {
    let object = |object: &T| format!("{}@{}", object.key(), object.resource_version());
    match delta {
        Delta::Added(it) => format!("added {}", object(it)),
        Delta::Updated(it) => format!("updated {}", object(it)),
        Delta::Deleted(it) => format!("deleted {}", object(it)),
        Delta::DeletedKey(key) => format!("deleted {key}"),
        Delta::Replaced { items, unreadable, resource_version } => {
            let mut items: Vec<_> = items.iter().map(|it| object(it)).collect();
            items.sort();
            let mut text = format!("replaced {}", items.join(","));
            if !unreadable.keys.is_empty() {
                let mut keys: Vec<_> = unreadable.keys.iter().map(ObjectKey::as_str).collect();
                keys.sort_unstable();
                text.push_str(" unreadable ");
                text.push_str(&keys.join(","));
            }
            if unreadable.some_nameless {
                text.push_str(" and nameless");
            }
            text + &format!(" at {resource_version}")
        }
        Delta::Bookmark(version) => format!("bookmark {version}"),
    }
}

/// `name@version`
pub(crate) fn object(text: &str) -> ConfigMap {
    let (name, version) = text.split_once('@').expect("name@version");
    let mut object = ConfigMap::default();
    object.metadata.name = Some(name.to_owned());
    object.metadata.resource_version = Some(version.to_owned());
    object
}

pub(crate) fn page(items: &[&str], version: &str, next: Option<&str>) -> Page<ConfigMap> {
    Page {
        items: items.iter().map(|text| object(text)).collect(),
        undecodable: Vec::new(),
        resource_version: version.into(),
        continue_token: next.map(str::to_owned),
        remaining_item_count: None,
    }
}

pub(crate) fn added(text: &str) -> WatchEvent<ConfigMap> {
    WatchEvent::Added(object(text))
}
pub(crate) fn modified(text: &str) -> WatchEvent<ConfigMap> {
    WatchEvent::Modified(object(text))
}
pub(crate) fn deleted(text: &str) -> WatchEvent<ConfigMap> {
    WatchEvent::Deleted(object(text))
}
pub(crate) fn bookmark(version: &str) -> WatchEvent<ConfigMap> {
    WatchEvent::Bookmark(Bookmark { resource_version: version.into(), initial_events_end: false })
}
pub(crate) fn end_mark(version: &str) -> WatchEvent<ConfigMap> {
    WatchEvent::Bookmark(Bookmark { resource_version: version.into(), initial_events_end: true })
}

/// An object that could not be decoded; `@version` or `name@version`.
pub(crate) fn bad(text: &str) -> DecodeError {
    let (name, version) = text.split_once('@').expect("name@version");
    let mut error = DecodeError::new("it is bad");
    error.key = (!name.is_empty()).then(|| ObjectKey::cluster(name));
    error.resource_version = (!version.is_empty()).then(|| version.into());
    error
}
pub(crate) fn undecodable(kind: EventKind, text: &str) -> WatchEvent<ConfigMap> {
    WatchEvent::Undecodable { kind, error: bad(text) }
}

/// A refusal with that code and that reason; `""` for none.
pub(crate) fn refusal(code: u16, reason: &str) -> StatusError {
    StatusError::new(Status {
        code: (code != 0).then_some(code),
        reason: (!reason.is_empty()).then(|| reason.to_owned()),
        message: Some("said the server".to_owned()),
        ..Status::default()
    })
}

pub(crate) fn expired() -> StatusError {
    refusal(410, "Expired")
}

pub(crate) fn too_large() -> StatusError {
    StatusError::too_large_resource_version("10", "9", 1)
}

pub(crate) fn connect(kind: ConnectKind) -> ApiError {
    ApiError::Connect { host: "server".to_owned(), kind, source: "no".into() }
}

pub(crate) fn refused() -> ApiError {
    connect(ConnectKind::Refused)
}

pub(crate) fn broken(kind: BrokenKind) -> ApiError {
    ApiError::Broken { during: "reading the events", kind, source: "cut".into() }
}

/// The last error of a status, and its causes.
pub(crate) fn chain(error: &ReflectorError) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
