//! A world: the server, the cores, the time, and the dice that decide what happens next.

use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use apimachinery::{ApiError, BrokenKind, ConnectKind, Object, Status, StatusError, WatchEvent};
use deltafifo::{Batch, Delta, DeltaFifo, Full, ObjectDelta};
use indexer::{Change, Lister, Write, Writer};
use reflector::{Config, ReflectorCore, Request};
use test_apiserver::core::WatchId;

use crate::dice::Dice;
use crate::ledger::{self, Ledger};
use crate::listener::Mirror;
use crate::server::Server;
use crate::tally::Tally;
use crate::thing::Thing;
use crate::workers::Workers;

/// What is open between the reflector and the server.
enum Line {
    Nothing,
    /// A request on its way; it reaches the server then.
    Asked {
        request: Request,
        asked_at: Instant,
        arrives_at: Instant,
    },
    /// A watch. `streaming`: its initial events have not ended.
    Open {
        id: WatchId,
        streaming: bool,
        asked_at: Instant,
        heard_at: Instant,
        events: u64,
    },
}

pub(crate) struct World {
    dice: Dice,
    now: Instant,
    server: Server,
    /// No more faults, no more writes.
    is_calm: bool,
    line: Line,
    reflector: ReflectorCore<Thing>,
    fifo: DeltaFifo<Thing>,
    held: Option<Delta<Thing>>,
    writer: Writer<Thing>,
    lister: Lister<Thing>,
    mirrors: Vec<Mirror>,
    workers: Workers,
    ledger: Ledger,
    tally: Tally,
}

fn reflector(server: &Server, dice: &mut Dice) -> ReflectorCore<Thing> {
    let mut config = Config::default();
    config.page_size = *dice.pick(&[None, None, Some(2), Some(5)]);
    // The server may know WatchList or not; the source may say so or not.
    let watch_list = server.habits.watch_list || dice.once_in(2);
    ReflectorCore::new("things".into(), config, watch_list, Box::new(dice.fork()))
}

fn fifo(dice: &mut Dice) -> DeltaFifo<Thing> {
    DeltaFifo::new(NonZeroUsize::new(usize::try_from(dice.between(1, 40)).expect("small")).expect("not 0"))
}

impl World {
    pub(crate) fn new(seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let server = Server::new(&mut dice);
        let (writer, lister) = indexer::new();
        #[expect(clippy::disallowed_methods, reason = "only a first instant, to count from")]
        let now = Instant::now();
        Self {
            now,
            is_calm: false,
            line: Line::Nothing,
            reflector: reflector(&server, &mut dice),
            fifo: fifo(&mut dice),
            held: None,
            writer,
            lister,
            mirrors: (0..3).map(|_| Mirror::new(&mut dice)).collect(),
            workers: Workers::new(&mut dice),
            ledger: Ledger::new(),
            tally: Tally::default(),
            server,
            dice,
        }
    }

    /// Plays it to its end.
    pub(crate) fn play(mut self) -> Tally {
        for _ in 0..self.dice.between(30, 200) {
            self.step();
            self.run();
        }
        self.is_calm = true;
        self.come_to_rest();
        self.look_back();
        self.tally_reflector();
        self.tally
    }

    /// One thing that the dice decide.
    fn step(&mut self) {
        match self.dice.below(100) {
            0..20 => self.server.write(&mut self.dice),
            20..40 => {
                let by = self.dice.millis(1, 400);
                self.pass(by);
            }
            40..52 => self.pass(Duration::ZERO),
            52..74 => {
                for _ in 0..self.dice.between(1, 8) {
                    self.read_frame();
                }
            }
            74..82 => self.consume(),
            82..90 => self.turns(),
            90..96 => self.cut(),
            96 => {
                self.tally.compactions += 1;
                self.server.compact(&mut self.dice);
            }
            97 => {
                let by = self.dice.millis(1_000, 900_000);
                self.pass(by);
            }
            98 => {
                // A burst, for the queue to fill.
                for _ in 0..5 {
                    self.server.write(&mut self.dice);
                    self.read_frame();
                }
            }
            _ => {
                if self.dice.once_in(2) {
                    self.restart();
                }
            }
        }
    }

    /// Without faults and writes everything must come to rest.
    fn come_to_rest(&mut self) {
        for _ in 0..20_000 {
            self.run();
            let frames = (0..20).take_while(|_| self.read_frame()).count();
            self.consume();
            self.turns();
            let is_watching = matches!(self.line, Line::Open { streaming: false, .. });
            if is_watching
                && frames == 0
                && self.held.is_none()
                && self.fifo.is_empty()
                && self.workers.is_idle()
            {
                return;
            }
            self.pass(Duration::ZERO);
        }
        panic!("it does not come to rest: {:?}", self.reflector);
    }

    fn look_back(&mut self) {
        for mirror in &mut self.mirrors {
            mirror.catch_up();
        }
        let cached = ledger::cached(&self.lister);
        ledger::assert_became(&self.server.content(), &cached);
        ledger::assert_shown_was_real(&self.server, &self.lister);
        for mirror in &self.mirrors {
            assert_eq!(*mirror.believes(), cached, "a listener believes something else than the cache");
        }
        self.workers.assert_nothing_was_lost();
        assert_eq!(self.writer.stale_writes(), 0, "a delta was older than the cache");
        assert_eq!(self.server.open_watches(), 1, "a watch was left open");
    }

    /// Time passes: so much, or, for zero, until something is to happen.
    fn pass(&mut self, by: Duration) {
        let by = if by.is_zero() {
            let answer = match &self.line {
                Line::Asked { arrives_at, .. } => Some(arrives_at.saturating_duration_since(self.now)),
                _ => None,
            };
            let timeout = self.reflector.poll_timeout().map(|at| at.saturating_duration_since(self.now));
            let next = [answer, timeout, self.server.next_in(), self.workers.next_in(self.now)];
            next.into_iter()
                .flatten()
                .filter(|next| !next.is_zero())
                .min()
                .unwrap_or(Duration::from_millis(1))
        } else {
            by
        };
        self.now += by;
        self.server.advance(by);
    }

    /// Everything that needs no decision: deltas, timeouts, requests.
    fn run(&mut self) {
        loop {
            self.hand_on();
            if self.reflector.poll_timeout().is_some_and(|at| at <= self.now) {
                let streaming = self.is_streaming();
                self.reflector.handle_timeout(self.now);
                if streaming && !self.reflector.holds_stream() {
                    self.ledger.excuse("initial events without an end");
                }
                self.after();
            }
            match &self.line {
                Line::Asked { arrives_at, .. } if *arrives_at <= self.now => self.answer(),
                Line::Nothing => {
                    let Some(request) = self.reflector.poll_request(self.now) else { return };
                    self.ask(request);
                }
                Line::Open { streaming: true, heard_at, .. } => {
                    let silence = self.now.duration_since(*heard_at).as_secs();
                    assert!(silence <= 20, "initial events are waited for in vain");
                    return;
                }
                _ => return,
            }
        }
    }

    fn is_streaming(&self) -> bool {
        match &self.line {
            Line::Asked { request: Request::Watch(options), .. } => options.send_initial_events == Some(true),
            Line::Open { streaming, .. } => *streaming,
            _ => false,
        }
    }

    fn ask(&mut self, request: Request) {
        self.ledger.asked(&request);
        let takes = match self.dice.below(20) {
            0 if !self.is_calm && matches!(request, Request::Watch(_)) => self.dice.millis(1, 60_000),
            0..3 => self.dice.millis(100, 5_000),
            _ => self.dice.millis(0, 50),
        };
        self.line = Line::Asked { request, asked_at: self.now, arrives_at: self.now + takes };
    }

    /// The request reaches the server, or something on the way.
    fn answer(&mut self) {
        let Line::Asked { request, asked_at, .. } = std::mem::replace(&mut self.line, Line::Nothing) else {
            return;
        };
        let fault = if !self.is_calm && self.dice.once_in(7) { Some(self.refusal()) } else { None };
        match request {
            Request::List(options) => {
                match fault.map_or_else(|| self.server.list(&options, &mut self.dice), Err) {
                    Ok(page) => {
                        self.ledger.page(options.continue_token.is_none(), page.resource_version.as_str());
                        let lists = self.reflector.counters().lists;
                        self.reflector.handle_page(self.now, page);
                        if self.reflector.counters().lists > lists {
                            self.ledger.synced_by_list();
                        }
                    }
                    Err(error) => {
                        self.note(&error);
                        self.ledger.excuse("a list that failed");
                        // Of a later page, expiry is that of the token.
                        if options.continue_token.is_none() || error.is_too_large_resource_version() {
                            self.ledger.version_refused(&error);
                        }
                        let may_ask_at_once = error.is_expired() || error.is_too_large_resource_version();
                        self.reflector.handle_list_error(self.now, error);
                        if !may_ask_at_once {
                            ledger::assert_rests(&self.reflector, self.now);
                        }
                    }
                }
            }
            Request::Watch(options) => {
                let streaming = options.send_initial_events == Some(true);
                match fault.map_or_else(|| self.server.watch(&options), Err) {
                    Ok(id) => {
                        self.reflector.handle_opened(self.now);
                        self.line = Line::Open { id, streaming, asked_at, heard_at: self.now, events: 0 };
                    }
                    Err(error) => {
                        self.note(&error);
                        if streaming {
                            self.ledger.excuse("initial events that were refused");
                            self.ledger.version_refused(&error);
                        } else {
                            self.watch_was_refused(&error);
                        }
                        self.reflector.handle_watch_error(self.now, error);
                        if !streaming {
                            ledger::assert_rests(&self.reflector, self.now);
                        }
                    }
                }
            }
        }
        self.after();
    }

    fn watch_was_refused(&mut self, error: &ApiError) {
        let is_busy = error.is_too_many_requests() || error.is_connection_refused();
        match error {
            _ if is_busy => {}
            ApiError::Status(refusal) if refusal.code() < 500 => {
                self.ledger.excuse("a watch that was refused");
            }
            _ if error.is_too_large_resource_version() => self.ledger.excuse("a watch from the future"),
            _ => self.ledger.trouble(self.now),
        }
    }

    /// One of the ways in which a request fails.
    fn refusal(&mut self) -> ApiError {
        let connect = |kind| ApiError::Connect { host: "server".to_owned(), kind, source: "no".into() };
        match self.dice.below(9) {
            0 => connect(ConnectKind::Refused),
            1 => connect(ConnectKind::Timeout),
            2 => StatusError::too_many_requests("busy", 2).into(),
            3 => status(500, "InternalError"),
            4 => status(503, "ServiceUnavailable"),
            5 => status(403, "Forbidden"),
            6 => StatusError::too_large_resource_version("9", "8", 1).into(),
            _ => self.expiry(),
        }
    }

    /// 410 in one of its shapes.
    fn expiry(&mut self) -> ApiError {
        let (code, reason) = *self.dice.pick(&[(410, "Expired"), (410, "Gone"), (410, ""), (0, "Expired")]);
        status(code, reason)
    }

    /// Reads one frame of the stream, if there is room for what comes of it.
    fn read_frame(&mut self) -> bool {
        let Line::Open { id, .. } = self.line else { return false };
        if self.held.is_some() {
            return false;
        }
        match self.server.poll(id) {
            None => return false,
            Some(None) => self.stream_ends(None),
            Some(Some(Err(error))) => self.stream_ends(Some(error)),
            Some(Some(Ok(event))) => self.event(event),
        }
        true
    }

    fn event(&mut self, event: WatchEvent<Thing>) {
        if let WatchEvent::Bookmark(mark) = &event
            && !self.is_calm
            && self.dice.once_in(4)
        {
            // Twice; or not at all, unless it is the mark.
            if !mark.initial_events_end {
                if self.dice.once_in(2) {
                    let again = WatchEvent::Bookmark(mark.clone());
                    self.deliver(again);
                } else {
                    return;
                }
            }
        }
        self.deliver(event);
    }

    fn deliver(&mut self, event: WatchEvent<Thing>) {
        let Line::Open { streaming, events, heard_at, .. } = &mut self.line else { return };
        *events += 1;
        *heard_at = self.now;
        if matches!(&event, WatchEvent::Bookmark(mark) if mark.initial_events_end) && *streaming {
            *streaming = false;
            self.ledger.synced_by_stream();
        }
        if !*streaming {
            self.ledger.no_trouble();
            self.ledger.told(version_of(&event));
        }
        self.reflector.handle_event(self.now, event);
        self.hand_on();
        self.after();
    }

    /// The stream is cut, or the server ends it, in one of many ways.
    fn cut(&mut self) {
        if !matches!(self.line, Line::Open { .. }) {
            return;
        }
        let broken = |kind| ApiError::Broken { during: "reading the events", kind, source: "cut".into() };
        let error = match self.dice.below(9) {
            0 | 1 => None,
            2 => Some(broken(BrokenKind::Eof)),
            3 => Some(broken(BrokenKind::Reset)),
            4 => Some(broken(BrokenKind::GoAway)),
            5 => Some(StatusError::too_many_requests("busy", 1).into()),
            6 => Some(status(500, "InternalError")),
            _ => Some(self.expiry()),
        };
        self.stream_ends(error);
    }

    fn stream_ends(&mut self, error: Option<ApiError>) {
        let Line::Open { id, streaming, asked_at, events, .. } = self.line else { return };
        self.server.stop(id);
        self.line = Line::Nothing;
        let is_short = self.now.duration_since(asked_at) < Duration::from_secs(1);
        let is_cut = error.as_ref().is_none_or(|error| matches!(error, ApiError::Broken { .. }));
        let is_busy = error.as_ref().is_some_and(ApiError::is_too_many_requests);
        if streaming {
            self.ledger.excuse("initial events that ended early");
            if let Some(error) = &error {
                self.ledger.version_refused(error);
            }
        } else if is_cut && is_short && events == 0 {
            match error {
                None => self.ledger.excuse("a very short watch"),
                Some(_) => self.ledger.trouble(self.now),
            }
        } else if !is_cut && !is_busy {
            self.ledger.excuse("a watch that ended with an error");
        } else if !is_short {
            self.ledger.no_trouble();
        }
        self.tally.cuts += u64::from(is_cut);
        match error {
            None => self.reflector.handle_watch_end(self.now),
            Some(error) => {
                self.note(&error);
                self.reflector.handle_watch_error(self.now, error);
            }
        }
        if !streaming && is_cut && !is_short {
            ledger::assert_goes_on_at_once(&self.reflector);
        } else if !streaming && !is_cut {
            ledger::assert_rests(&self.reflector, self.now);
        }
        self.after();
    }

    /// After anything that the reflector was told: what it no longer wants is dropped.
    fn after(&mut self) {
        self.ledger.look_at(&self.reflector);
        while self.reflector.poll_note().is_some() {}
        if !self.reflector.holds_stream() {
            match self.line {
                Line::Open { id, .. } => {
                    self.server.stop(id);
                    self.line = Line::Nothing;
                }
                Line::Asked { request: Request::Watch(_), .. } => self.line = Line::Nothing,
                _ => {}
            }
        }
    }

    fn hand_on(&mut self) {
        while let Some(delta) = self.held.take().or_else(|| self.reflector.poll_delta()) {
            if let Err(Full(delta)) = self.fifo.push(delta) {
                self.tally.full += 1;
                self.held = Some(delta);
                return;
            }
        }
    }

    /// The consumer takes a batch, applies it, and tells everybody.
    fn consume(&mut self) {
        let Some(batch) = self.fifo.pop_batch() else { return };
        self.tally.batches += 1;
        let changes = match batch {
            Batch::Objects(deltas) => self.writer.apply(deltas.into_iter().map(|keyed| match keyed.delta {
                ObjectDelta::Added(object) | ObjectDelta::Updated(object) => {
                    Write::Upsert { key: keyed.key, object }
                }
                ObjectDelta::Deleted(last) => Write::Remove { key: keyed.key, last },
            })),
            Batch::Replaced { items, unreadable, resource_version } => {
                self.writer.replace(items, unreadable, resource_version)
            }
            Batch::Bookmark(version) => {
                self.writer.bookmark(version);
                Vec::new()
            }
        };
        ledger::assert_shown_was_real(&self.server, &self.lister);
        for change in changes {
            ledger::assert_is_real(&self.server, &change);
            self.tally.removals_told += u64::from(matches!(change, Change::Removed { .. }));
            for mirror in &mut self.mirrors {
                mirror.tell(change.clone());
            }
            self.workers.add(change.key());
        }
        self.hand_on();
    }

    fn turns(&mut self) {
        for mirror in &mut self.mirrors {
            mirror.turn(&mut self.dice);
        }
        self.workers.turn(self.now, &mut self.dice);
    }

    /// The process is stopped, wherever it is, and starts again with nothing.
    fn restart(&mut self) {
        self.tally.restarts += 1;
        self.tally_reflector();
        if let Line::Open { id, .. } = self.line {
            self.server.stop(id);
        }
        ledger::assert_shown_was_real(&self.server, &self.lister);
        for mirror in &mut self.mirrors {
            mirror.catch_up();
            assert_eq!(*mirror.believes(), ledger::cached(&self.lister), "even when it is stopped");
        }
        self.line = Line::Nothing;
        self.reflector = reflector(&self.server, &mut self.dice);
        self.fifo = fifo(&mut self.dice);
        self.held = None;
        (self.writer, self.lister) = indexer::new();
        self.mirrors = (0..3).map(|_| Mirror::new(&mut self.dice)).collect();
        self.workers = Workers::new(&mut self.dice);
        self.ledger = Ledger::new();
    }

    fn note(&mut self, error: &ApiError) {
        self.tally.errors += 1;
        self.tally.expired += u64::from(error.is_expired());
    }

    fn tally_reflector(&mut self) {
        let counters = self.reflector.counters();
        self.tally.lists += counters.lists;
        self.tally.list_requests += counters.list_requests;
        self.tally.streamed_lists += counters.streamed_lists;
        self.tally.watches += counters.watch_requests;
        self.tally.fallbacks += counters.fallbacks;
        self.tally.events += counters.events;
        self.tally.undecodable += counters.undecodable;
    }
}

fn version_of(event: &WatchEvent<Thing>) -> &str {
    match event {
        WatchEvent::Added(thing) | WatchEvent::Modified(thing) | WatchEvent::Deleted(thing) => {
            thing.resource_version()
        }
        WatchEvent::Bookmark(mark) => mark.resource_version.as_str(),
        WatchEvent::Undecodable { error, .. } => {
            error.resource_version.as_ref().expect("the server gives one").as_str()
        }
    }
}

fn status(code: u16, reason: &str) -> ApiError {
    StatusError::new(Status {
        code: (code != 0).then_some(code),
        reason: (!reason.is_empty()).then(|| reason.to_owned()),
        ..Status::default()
    })
    .into()
}
