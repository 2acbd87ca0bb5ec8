//! A source that answers as it was told to, and remembers what it was asked.

use std::collections::VecDeque;
use std::future::pending;
use std::pin::Pin;
#[expect(clippy::disallowed_types, reason = "the test and the source look at one script")]
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use apimachinery::{ApiError, Bookmark, ListOptions, ListWatch, Page, WatchEvent};
use futures_core::Stream;
use k8s_openapi::api::core::v1::ConfigMap;
use tokio::sync::mpsc;

pub(crate) type Event = Result<WatchEvent<ConfigMap>, ApiError>;

/// What comes of the next request.
pub(crate) enum Answer {
    Page(Page<ConfigMap>),
    Refuse(ApiError),
    /// A stream; the test holds the other end. Without one, it ends when the script is over.
    Open(mpsc::UnboundedReceiver<Event>),
    /// No answer, ever.
    Hang,
    Panic,
}

#[derive(Default)]
pub(crate) struct Script {
    #[expect(clippy::disallowed_types, reason = "see above")]
    state: Mutex<State>,
    /// Requests and streams that are open.
    open: AtomicUsize,
    /// Events that were read.
    read: AtomicUsize,
}

#[derive(Default)]
struct State {
    answers: VecDeque<Answer>,
    asked: Vec<String>,
}

#[derive(Clone, Default)]
pub(crate) struct Scripted {
    pub(crate) script: Arc<Script>,
    pub(crate) watch_list: bool,
}

impl Script {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn then(&self, answer: Answer) -> &Self {
        self.state().answers.push_back(answer);
        self
    }

    pub(crate) fn then_stream(&self) -> mpsc::UnboundedSender<Event> {
        let (sender, receiver) = mpsc::unbounded_channel();
        self.then(Answer::Open(receiver));
        sender
    }

    /// `list 0`, `watch 10`, `stream `: the verb and the version.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.state().asked.clone()
    }

    pub(crate) fn open(&self) -> usize {
        self.open.load(Ordering::SeqCst)
    }

    pub(crate) fn read(&self) -> usize {
        self.read.load(Ordering::SeqCst)
    }

    async fn answer(&self, verb: &str, options: &ListOptions) -> Answer {
        let answer = {
            let mut state = self.state();
            state.asked.push(format!("{verb} {}", options.resource_version));
            state.answers.pop_front().unwrap_or(Answer::Hang)
        };
        match answer {
            Answer::Hang => pending().await,
            Answer::Panic => panic!("the source's own"),
            answer => answer,
        }
    }
}

/// Counts as open until it is dropped.
pub(crate) struct Open(Arc<Script>);

impl Open {
    fn new(script: &Arc<Script>) -> Self {
        script.open.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(script))
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::SeqCst);
    }
}

pub(crate) struct Events {
    open: Open,
    receiver: mpsc::UnboundedReceiver<Event>,
}

impl Stream for Events {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        let event = std::task::ready!(self.receiver.poll_recv(cx));
        if event.is_some() {
            self.open.0.read.fetch_add(1, Ordering::SeqCst);
        }
        Poll::Ready(event)
    }
}

impl ListWatch<ConfigMap> for Scripted {
    type Events = Events;

    async fn list(&self, options: &ListOptions) -> Result<Page<ConfigMap>, ApiError> {
        let _open = Open::new(&self.script);
        match self.script.answer("list", options).await {
            Answer::Page(page) => Ok(page),
            Answer::Refuse(error) => Err(error),
            _ => panic!("the script has no page for a list"),
        }
    }

    async fn watch(&self, options: &ListOptions) -> Result<Events, ApiError> {
        let open = Open::new(&self.script);
        let verb = if options.send_initial_events == Some(true) { "stream" } else { "watch" };
        match self.script.answer(verb, options).await {
            Answer::Open(receiver) => Ok(Events { open, receiver }),
            Answer::Refuse(error) => Err(error),
            _ => panic!("the script has no stream for a watch"),
        }
    }

    fn supports_watch_list(&self) -> bool {
        self.watch_list
    }

    fn describe(&self) -> String {
        "things".to_owned()
    }
}

pub(crate) fn object(name: &str, version: u64) -> ConfigMap {
    let mut object = ConfigMap::default();
    object.metadata.name = Some(name.to_owned());
    object.metadata.resource_version = Some(version.to_string());
    object
}

pub(crate) fn page(names: &[&str], version: &str) -> Answer {
    Answer::Page(Page {
        items: names.iter().map(|name| object(name, 1)).collect(),
        undecodable: Vec::new(),
        resource_version: version.into(),
        continue_token: None,
        remaining_item_count: None,
    })
}

pub(crate) fn bookmark(version: &str, initial_events_end: bool) -> WatchEvent<ConfigMap> {
    WatchEvent::Bookmark(Bookmark { resource_version: version.into(), initial_events_end })
}
