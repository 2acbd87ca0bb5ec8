//! What must hold, beside what the listeners and the workers check for themselves.
//!
//! * The cache becomes the server, and a listener that is told of every change believes what the cache holds.
//! * What is shown was once a state of the server's; the version that is published never goes back.
//! * **Requests are counted.** A list, or a watch for the initial events, needs an excuse: the start, an expired version,
//!   a refusal, a very short watch, a minute in which no watch could be opened. A cut is none. Whoever falls back to a list
//!   does so at once; whoever was refused rests first.

use std::collections::BTreeMap;
use std::time::Instant;

use apimachinery::{ApiError, Object};
use indexer::{Change, Lister};
use reflector::{ReflectorCore, Request};

use crate::server::{Content, Server};
use crate::thing::{Thing, version};

/// What was asked, and why it may be.
#[derive(Debug)]
pub(crate) struct Ledger {
    excuses: Vec<&'static str>,
    initial_states: usize,
    fallbacks: u64,
    version: u64,
    /// Since when no watch could be opened.
    trouble_since: Option<Instant>,
    /// The server does not have the last version: the most recent one may be asked for.
    version_is_gone: bool,
    /// The last version that the reflector was told.
    told: String,
    /// That of the first page of the list that is under way.
    first_page: String,
}

impl Ledger {
    pub(crate) fn new() -> Self {
        let excuses = vec!["the start"];
        Self {
            excuses,
            initial_states: 0,
            fallbacks: 0,
            version: 0,
            trouble_since: None,
            version_is_gone: false,
            told: String::new(),
            first_page: String::new(),
        }
    }

    /// Something happened after which the whole state may be asked for once.
    pub(crate) fn excuse(&mut self, why: &'static str) {
        self.excuses.push(why);
    }

    /// A request, as it is sent.
    pub(crate) fn asked(&mut self, request: &Request) {
        match request {
            Request::List(options) if options.continue_token.is_none() => {
                let nothing_known = if self.told.is_empty() { "0" } else { &self.told };
                self.initial_state_asked(options.resource_version.as_str(), nothing_known.to_owned());
            }
            Request::Watch(options) if options.send_initial_events == Some(true) => {
                self.initial_state_asked(options.resource_version.as_str(), self.told.clone());
            }
            Request::Watch(options) => {
                assert_eq!(
                    options.resource_version,
                    self.told.as_str(),
                    "a watch goes on from the last version"
                );
            }
            Request::List(_) => {}
        }
    }

    /// A list or the initial events were refused.
    pub(crate) fn version_refused(&mut self, error: &ApiError) {
        self.version_is_gone |= error.is_expired() || error.is_too_large_resource_version();
    }

    /// A page, an event or a bookmark was told.
    pub(crate) fn told(&mut self, version: &str) {
        version.clone_into(&mut self.told);
    }

    pub(crate) fn page(&mut self, is_first: bool, version: &str) {
        if is_first {
            version.clone_into(&mut self.first_page);
        }
    }

    /// The whole state was handed on.
    pub(crate) fn synced_by_list(&mut self) {
        self.version_is_gone = false;
        self.told = std::mem::take(&mut self.first_page);
    }

    pub(crate) fn synced_by_stream(&mut self) {
        self.version_is_gone = false;
    }

    /// The whole state is asked for.
    fn initial_state_asked(&mut self, version: &str, known: String) {
        let known = if self.version_is_gone { String::new() } else { known };
        assert_eq!(version, known, "nothing older than the last version, and that if it can be had");
        self.initial_states += 1;
        self.trouble_since = None;
        assert!(
            self.initial_states <= self.excuses.len(),
            "the whole state is asked for without need, after {:?}",
            self.excuses
        );
    }

    /// The watch could not be opened, or as good as not: for a minute that is no reason for a list.
    pub(crate) fn trouble(&mut self, now: Instant) {
        let since = *self.trouble_since.get_or_insert(now);
        if now.duration_since(since).as_secs() >= 60 {
            self.excuse("a minute without a watch");
        }
    }

    pub(crate) fn no_trouble(&mut self) {
        self.trouble_since = None;
    }

    /// After whatever happened to the reflector.
    pub(crate) fn look_at(&mut self, reflector: &ReflectorCore<Thing>) {
        let fallbacks = reflector.counters().fallbacks;
        if fallbacks > self.fallbacks {
            self.fallbacks = fallbacks;
            assert_eq!(reflector.poll_timeout(), None, "no rest before falling back to a list");
        }
        let text = reflector.last_resource_version();
        if !text.is_empty() {
            let version: u64 = text.parse().expect("the server counts");
            assert!(version >= self.version, "the version goes back from {} to {version}", self.version);
            self.version = version;
        }
    }
}

pub(crate) fn assert_rests(reflector: &ReflectorCore<Thing>, now: Instant) {
    assert!(
        reflector.poll_timeout().is_some_and(|until| until > now),
        "refused, it asks again without a rest"
    );
}

pub(crate) fn assert_goes_on_at_once(reflector: &ReflectorCore<Thing>) {
    assert!(!reflector.holds_stream());
    assert_eq!(reflector.poll_timeout(), None, "no rest after a mere cut");
}

pub(crate) fn cached(lister: &Lister<Thing>) -> BTreeMap<String, u64> {
    lister.list().iter().map(|object| (object.key().to_string(), version(object))).collect()
}

/// Whatever the cache holds was there once.
pub(crate) fn assert_shown_was_real(server: &Server, lister: &Lister<Thing>) {
    for (key, version) in cached(lister) {
        assert!(server.was_once(&key, version), "{key} at {version} is the cache's invention");
    }
}

/// A deletion that is told has happened.
pub(crate) fn assert_is_real(server: &Server, change: &Change<Thing>) {
    if let Change::Removed { key, old: Some(old), .. } = change {
        assert!(server.deleted_after(key.as_str(), version(old)), "{key} is told to be gone, and never was");
    }
}

/// Of an object that cannot be decoded the cache may hold an older state; of all others the last.
pub(crate) fn assert_became(content: &Content, cached: &BTreeMap<String, u64>) {
    for (key, (version, is_readable)) in content {
        let known = cached.get(key);
        if *is_readable {
            assert_eq!(known, Some(version), "{key} is not in the cache as it is on the server");
        } else {
            assert!(known.is_none_or(|known| known < version), "{key} cannot be known at {version}");
        }
    }
    for key in cached.keys() {
        assert!(content.contains_key(key), "{key} is gone and nobody was told");
    }
}
