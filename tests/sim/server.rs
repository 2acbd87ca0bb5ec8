//! The server: the core of the test API server, and the ways in which real ones differ from it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use apimachinery::{
    ApiError, Bookmark, CreateOptions, DeleteOptions, EventKind, ListOptions, Page, ResourceVersionMatch,
    StatusError, UpdateOptions, WatchEvent,
};
use jiff::Timestamp;
use serde_json::json;
use test_apiserver::core::{Core, CoreOptions, ExpiredWatch, Polled, Stored, Target, WatchFrame, WatchId};

use crate::dice::Dice;
use crate::thing::{POISON, Thing, decode, is_poisoned};

/// How many keys there are. Few, so that they meet.
const KEYS: u64 = 12;

/// What kind of server it is; for a whole world.
#[expect(clippy::struct_excessive_bools, reason = "habits that have nothing to do with each other")]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Habits {
    /// It marks the end of the initial events.
    pub(crate) marks_end: bool,
    /// It knows WatchList.
    pub(crate) watch_list: bool,
    /// Its cache may lag behind: a list "not older than" may be older than the last write.
    pub(crate) lags: bool,
    /// It sends bookmarks.
    pub(crate) bookmarks: bool,
    /// It takes objects that the kept form cannot be made of.
    pub(crate) poison: bool,
}

pub(crate) struct Server {
    core: Core,
    here: Target,
    pub(crate) habits: Habits,
    /// Every state that any object ever had: `(key, version)`.
    history: BTreeSet<(String, u64)>,
    /// Every deletion.
    deletions: BTreeSet<(String, u64)>,
    now: Timestamp,
    /// A mark that comes late: after changes that happened meanwhile, as of their version.
    held_mark: Option<(WatchId, u64)>,
    dice: Dice,
}

/// What the server holds: version by key, and whether it can be read.
pub(crate) type Content = BTreeMap<String, (u64, bool)>;

impl Server {
    pub(crate) fn new(dice: &mut Dice) -> Self {
        let options = CoreOptions {
            seed: dice.below(u64::MAX),
            history: usize::try_from(dice.between(8, 60)).expect("a small number"),
            bookmark_every: dice.millis(500, 60_000),
            expired_watch: *dice.pick(&[ExpiredWatch::Frame, ExpiredWatch::Answer]),
            managed_fields: false,
            ..CoreOptions::default()
        };
        let habits = Habits {
            marks_end: !dice.once_in(6),
            watch_list: !dice.once_in(4),
            lags: dice.once_in(3),
            bookmarks: !dice.once_in(5),
            poison: dice.once_in(4),
        };
        let mut server = Self {
            core: Core::new(options),
            here: Target::new("v1", "configmaps").namespaced("default"),
            habits,
            history: BTreeSet::new(),
            deletions: BTreeSet::new(),
            now: Timestamp::UNIX_EPOCH,
            held_mark: None,
            dice: dice.fork(),
        };
        for _ in 0..dice.below(10) {
            server.write(dice);
        }
        server
    }

    /// Somebody writes something.
    pub(crate) fn write(&mut self, dice: &mut Dice) {
        if dice.once_in(5) {
            return self.write_elsewhere();
        }
        let name = format!("k{}", dice.below(KEYS));
        let target = self.here.clone();
        let exists = self.core.get(&target, &name, &apimachinery::GetOptions::default()).is_ok();
        let labels = if self.habits.poison && dice.once_in(5) { json!({POISON: "yes"}) } else { json!({}) };
        let object = json!({
            "metadata": {"name": name, "labels": labels},
            "data": {"n": dice.below(u64::MAX).to_string()},
        });
        let (create, update) = (CreateOptions::default(), UpdateOptions::default());
        let written = if exists && dice.once_in(3) {
            let gone =
                self.core.delete(&target, &name, &DeleteOptions::default(), self.now).expect("it is there");
            self.remember(&gone.object);
            self.deletions.insert((key_of(&gone.object), self.core.version()));
            // At once again, under the same name.
            if !dice.once_in(3) {
                return;
            }
            self.core.create(&target, object, &create, self.now)
        } else if exists {
            self.core.update(&target, &name, object, &update, self.now)
        } else {
            self.core.create(&target, object, &create, self.now)
        };
        let written = written.expect("the server takes it");
        self.remember(&written.object);
    }

    /// Versions move without a change of our collection: what bookmarks are for.
    fn write_elsewhere(&mut self) {
        let target = Target::new("v1", "secrets").namespaced("default");
        let object = json!({"metadata": {"generateName": "elsewhere-"}});
        self.core.create(&target, object, &CreateOptions::default(), self.now).expect("the server takes it");
    }

    /// So many writes that old versions are forgotten.
    pub(crate) fn compact(&mut self, dice: &mut Dice) {
        for _ in 0..90 {
            self.write(dice);
        }
    }

    fn remember(&mut self, object: &Stored) {
        self.history.insert((key_of(object), object.resource_version()));
    }

    pub(crate) fn was_once(&self, key: &str, version: u64) -> bool {
        self.history.contains(&(key.to_owned(), version))
    }

    pub(crate) fn deleted_after(&self, key: &str, version: u64) -> bool {
        self.deletions.range((key.to_owned(), version + 1)..=(key.to_owned(), u64::MAX)).next().is_some()
    }

    pub(crate) fn content(&self) -> Content {
        let all = self.core.list(&self.here, &ListOptions::default()).expect("a list");
        all.items
            .iter()
            .map(|object| (key_of(object), (object.resource_version(), !is_poisoned(object))))
            .collect()
    }

    /// Time passes.
    pub(crate) fn advance(&mut self, by: Duration) {
        self.now = self.now.checked_add(by).expect("a short life");
        while self.core.poll_timeout().is_some_and(|at| at <= self.now) {
            self.core.handle_timeout(self.now);
        }
    }

    /// How long until the server has something to do.
    pub(crate) fn next_in(&self) -> Option<Duration> {
        let at = self.core.poll_timeout()?;
        Some(at.duration_since(self.now).try_into().unwrap_or(Duration::ZERO))
    }

    pub(crate) fn list(&mut self, options: &ListOptions, dice: &mut Dice) -> Result<Page<Thing>, ApiError> {
        let mut options = options.clone();
        let asked = options.resource_version.as_str().to_owned();
        if self.habits.lags && !asked.is_empty() && options.limit == 0 || asked == "0" && self.habits.lags {
            // A cache that has not seen everything yet: any version that is not older than what was asked for.
            let least = asked.parse::<u64>().unwrap_or(0);
            let lagging = dice.between(least.min(self.core.version()), self.core.version());
            let mut exact = options.clone();
            exact.resource_version = lagging.to_string().into();
            exact.resource_version_match = Some(ResourceVersionMatch::Exact);
            if lagging > 0 && lagging >= least && self.core.list(&self.here, &exact).is_ok() {
                options = exact;
            }
        }
        let answer = self.core.list(&self.here, &options)?;
        let (mut items, mut undecodable) = (Vec::new(), Vec::new());
        for stored in &answer.items {
            match decode(stored) {
                Ok(thing) => items.push(thing),
                Err(error) => undecodable.push(error),
            }
        }
        Ok(Page {
            items,
            undecodable,
            resource_version: answer.resource_version.to_string().into(),
            continue_token: answer.continue_token,
            remaining_item_count: None,
        })
    }

    pub(crate) fn watch(&mut self, options: &ListOptions) -> Result<WatchId, ApiError> {
        let mut options = options.clone();
        if options.send_initial_events.is_some() && !self.habits.watch_list {
            return Err(StatusError::bad_request("sendInitialEvents is forbidden for watch").into());
        }
        if !self.habits.bookmarks && options.send_initial_events.is_none() {
            options.allow_watch_bookmarks = false;
        }
        Ok(self.core.watch(&self.here, &options, self.now)?)
    }

    /// The next frame of a watch: `None` for nothing now, `Some(None)` for its end.
    #[expect(clippy::option_option, reason = "as a stream is polled")]
    pub(crate) fn poll(&mut self, id: WatchId) -> Option<Option<Result<WatchEvent<Thing>, ApiError>>> {
        let mark = |version: u64, is_end| {
            WatchEvent::Bookmark(Bookmark {
                resource_version: version.to_string().into(),
                initial_events_end: is_end,
            })
        };
        let held = self.held_mark.take_if(|(of, _)| *of == id);
        let frame = match self.core.poll_event(id) {
            Polled::Pending => match held {
                Some((_, version)) if self.dice.once_in(3) => return Some(Some(Ok(mark(version, true)))),
                held => {
                    self.held_mark = held;
                    return None;
                }
            },
            Polled::Ended => return Some(None),
            Polled::Frame(frame) => frame,
        };
        if let Some((_, held)) = held {
            let version = match &frame {
                WatchFrame::Added(stored) | WatchFrame::Modified(stored) | WatchFrame::Deleted(stored) => {
                    stored.resource_version()
                }
                _ => held,
            };
            self.held_mark = Some((id, version));
        }
        let event = |kind, stored: &Arc<Stored>| match decode(stored) {
            Err(error) => WatchEvent::Undecodable { kind, error },
            Ok(thing) => match kind {
                EventKind::Added => WatchEvent::Added(thing),
                EventKind::Modified => WatchEvent::Modified(thing),
                EventKind::Deleted => WatchEvent::Deleted(thing),
            },
        };
        Some(Some(Ok(match frame {
            WatchFrame::Added(stored) => event(EventKind::Added, &stored),
            WatchFrame::Modified(stored) => event(EventKind::Modified, &stored),
            WatchFrame::Deleted(stored) => event(EventKind::Deleted, &stored),
            // Before the mark no bookmark tells of later versions.
            WatchFrame::Bookmark(_) if held.is_some() => return self.poll(id),
            WatchFrame::Bookmark(end)
                if end.ends_initial_events && self.habits.marks_end && self.dice.once_in(2) =>
            {
                self.held_mark = Some((id, end.resource_version));
                return self.poll(id);
            }
            WatchFrame::Bookmark(it) => {
                mark(it.resource_version, it.ends_initial_events && self.habits.marks_end)
            }
            WatchFrame::Error(refusal) => return Some(Some(Err(refusal.into()))),
        })))
    }

    pub(crate) fn stop(&mut self, id: WatchId) {
        self.core.stop_watch(id);
    }

    /// How many watches are open.
    pub(crate) fn open_watches(&self) -> usize {
        self.core.watches().count()
    }
}

fn key_of(object: &Stored) -> String {
    format!("{}/{}", object.namespace(), object.name())
}
