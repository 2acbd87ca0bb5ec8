//! The core against a naive model of its contract, step by step.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::links::{NONE, at};
use super::slots::Stage;
use super::{Added, Core, Done, Ticket};

impl Core<u8> {
    /// What holds between any two steps (WQ-01).
    fn check(&mut self) {
        let mut queued = BTreeSet::new();
        let mut slot = self.ready.head();
        let mut list = Vec::new();
        while slot != NONE {
            assert_eq!(self.slots.all[at(slot)].stage, Stage::Queued);
            assert!(queued.insert(slot), "a slot is in the queue once");
            list.push(slot);
            slot = super::links::Linked::links(&mut self.slots.all[at(slot)]).next;
        }
        assert_eq!(list.len(), self.ready.len());
        let (mut used, mut processing, mut held, mut waiting) = (0, 0, 0, 0);
        let mut keys = BTreeSet::new();
        for (slot, it) in self.slots.all.iter().enumerate() {
            let Some(key) = it.key else { continue };
            used += 1;
            assert!(keys.insert(key), "a key has one slot");
            assert_eq!(self.slots.find(&key).map(at), Some(slot), "a key is found in its slot");
            assert_eq!(it.stage == Stage::Queued, queued.contains(&u32::try_from(slot).unwrap()));
            processing += usize::from(matches!(it.stage, Stage::Processing | Stage::ProcessingDirty));
            held += usize::from(it.stage == Stage::ProcessingDirty);
            waiting += usize::from(it.delay != NONE);
            assert!(it.stage != Stage::Idle || it.delay != NONE, "what nothing keeps is gone");
        }
        assert_eq!(used, self.slots.used());
        let counts = self.counts();
        assert_eq!((counts.processing, counts.processing_dirty, counts.waiting), (processing, held, waiting));
    }
}

/// The contract's words: an ordered queue, a dirty set, a processing set, and the moments waited for.
#[derive(Default)]
struct Model {
    queue: VecDeque<u8>,
    dirty: BTreeSet<u8>,
    processing: BTreeSet<u8>,
    waiting: BTreeMap<u8, (u64, u64)>,
    calls: u64,
    shut: bool,
    adds: u64,
}

impl Model {
    fn add(&mut self, key: u8) {
        if self.shut || !self.dirty.insert(key) {
            return;
        }
        self.adds += 1;
        if !self.processing.contains(&key) {
            self.queue.push_back(key);
        }
    }

    fn add_after(&mut self, now_ms: u64, key: u8, delay_ms: u64) {
        if self.shut {
            return;
        }
        if delay_ms == 0 {
            return self.add(key);
        }
        self.calls += 1;
        let new = (now_ms + delay_ms, self.calls);
        let known = self.waiting.entry(key).or_insert(new);
        *known = (*known).min(new);
    }

    fn advance(&mut self, now_ms: u64) {
        let mut due: Vec<_> =
            self.waiting.iter().filter(|(_, w)| w.0 <= now_ms).map(|(&k, &w)| (w, k)).collect();
        due.sort_unstable();
        for (_, key) in due {
            self.waiting.remove(&key);
            self.add(key);
        }
    }

    fn take(&mut self) -> Option<u8> {
        let key = self.queue.pop_front()?;
        self.dirty.remove(&key);
        assert!(self.processing.insert(key));
        Some(key)
    }

    fn done(&mut self, key: u8) {
        self.processing.remove(&key);
        if self.dirty.contains(&key) {
            self.queue.push_back(key);
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Add(u8),
    AddAfter(u8, u64),
    Cancel(u8),
    Sleep(u64),
    Take,
    Done(usize),
    DoneAgain(usize),
    Shutdown,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let key = 0_u8..8;
    let step = prop_oneof![
        8 => key.clone().prop_map(Step::Add),
        6 => (key.clone(), prop_oneof![Just(0), 1_u64..20]).prop_map(|(k, d)| Step::AddAfter(k, d)),
        1 => key.prop_map(Step::Cancel),
        4 => (0_u64..15).prop_map(Step::Sleep),
        8 => Just(Step::Take),
        8 => any::<usize>().prop_map(Step::Done),
        1 => any::<usize>().prop_map(Step::DoneAgain),
    ];
    (prop::collection::vec(step, 1..120), prop::option::of(0_usize..120)).prop_map(|(mut steps, shutdown)| {
        if let Some(at) = shutdown {
            steps.insert(at.min(steps.len()), Step::Shutdown);
        }
        steps
    })
}

#[expect(clippy::disallowed_methods, reason = "a test needs some first moment")]
fn start() -> Instant {
    Instant::now()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    // WQ-01, WQ-02, WQ-04, WQ-05, WQ-07, WQ-08, WQ-09, WQ-10, WQ-15, DQ-01, DQ-02, DQ-04, DQ-05, DQ-06, DQ-07, DQ-08, DQ-09
    #[test]
    fn any_steps_do_what_the_three_sets_say(steps in steps()) {
        let start = start();
        let (mut core, mut model, mut now_ms) = (Core::new(), Model::default(), 0_u64);
        let mut held: Vec<(Ticket, u8)> = Vec::new();
        let mut past: Vec<Ticket> = Vec::new();
        for step in steps {
            let now = start + Duration::from_millis(now_ms);
            match step {
                Step::Add(key) => {
                    core.add(key);
                    model.add(key);
                }
                Step::AddAfter(key, ms) => {
                    core.add_after(now, key, Duration::from_millis(ms));
                    model.add_after(now_ms, key, ms);
                }
                Step::Cancel(key) => {
                    prop_assert_eq!(core.cancel(&key), model.waiting.remove(&key).is_some());
                }
                Step::Sleep(ms) => {
                    now_ms += ms;
                    core.advance(start + Duration::from_millis(now_ms));
                    model.advance(now_ms);
                }
                Step::Take => {
                    let taken = core.take();
                    prop_assert_eq!(taken.map(|(_, key)| key), model.take());
                    held.extend(taken);
                }
                Step::Done(n) if !held.is_empty() => {
                    let (ticket, key) = held.swap_remove(n % held.len());
                    let requeues = model.dirty.contains(&key);
                    prop_assert_eq!(core.done(ticket) == Done::Requeued, requeues);
                    model.done(key);
                    past.push(ticket);
                }
                Step::DoneAgain(n) if !past.is_empty() => {
                    prop_assert_eq!(core.done(past[n % past.len()]), Done::Stray);
                }
                Step::Done(_) | Step::DoneAgain(_) => {}
                Step::Shutdown => {
                    let discarded = core.shutdown();
                    model.shut = true;
                    for key in discarded {
                        prop_assert!(model.waiting.contains_key(&key));
                    }
                    model.waiting.clear();
                }
            }
            core.check();
            let counts = core.counts();
            prop_assert_eq!(core.len(), model.queue.len());
            prop_assert_eq!(counts.waiting, model.waiting.len());
            prop_assert_eq!(counts.processing, model.processing.len());
            prop_assert_eq!(counts.adds, model.adds);
            let due = model.waiting.values().min().map(|w| start + Duration::from_millis(w.0));
            prop_assert_eq!(core.next_due(), due);
        }
        // No key is lost: each that is dirty or waits comes out, once everything is done and the time has passed.
        for (ticket, key) in held.drain(..) {
            core.done(ticket);
            model.done(key);
        }
        core.advance(start + Duration::from_millis(now_ms + 1000));
        model.advance(now_ms + 1000);
        let mut left: BTreeSet<u8> = model.dirty.iter().copied().collect();
        while let Some((ticket, key)) = core.take() {
            prop_assert!(left.remove(&key), "{} came out once, and was wanted", key);
            core.done(ticket);
        }
        prop_assert!(left.is_empty(), "lost: {:?}", left);
        core.check();
        prop_assert_eq!(core.slots.used(), 0, "a queue at rest has empty sets");
    }
}

// WQ-15
#[test]
fn a_done_of_a_hand_out_that_has_ended_changes_nothing() {
    let mut core = Core::new();
    core.add(1_u8);
    let (ticket, _) = core.take().unwrap();
    assert_eq!(core.done(ticket), Done::Finished(Some(1)));
    core.add(1);
    assert_eq!(core.done(ticket), Done::Stray, "queued, not handed out");
    assert_eq!(core.len(), 1);
    let (second, _) = core.take().unwrap();
    core.add(1);
    assert_eq!(core.done(ticket), Done::Stray, "handed out, but by another ticket");
    assert_eq!(core.len(), 0);
    assert_eq!(core.counts().stray_dones, 2);
    assert_eq!(core.done(second), Done::Requeued);
    core.check();
}

// DQ-16
#[test]
fn a_delay_beyond_the_clock_waits_without_a_timer() {
    let mut core = Core::new();
    let now = start();
    core.add_after(now, 1_u8, Duration::MAX);
    assert_eq!(core.next_due(), None);
    assert_eq!(core.counts().waiting, 1);
    core.add_after(now, 2, Duration::from_secs(5));
    assert_eq!(core.next_due(), Some(now + Duration::from_secs(5)), "the other one's timer");
    assert_eq!(core.advance(now + Duration::from_hours(24 * 365)), 1);
    // A moment that comes is earlier than one that does not.
    core.add_after(now, 1, Duration::from_secs(1));
    assert_eq!(core.advance(now + Duration::from_secs(1)), 1);
    assert_eq!(core.counts().waiting, 0);
}

// DQ-06
#[test]
fn equal_moments_keep_the_order_of_their_calls() {
    let mut core = Core::new();
    let now = start();
    for key in 0..100_u8 {
        core.add_after(now, key, Duration::from_secs(1));
    }
    core.advance(now + Duration::from_secs(1));
    let order: Vec<u8> = std::iter::from_fn(|| core.take().map(|(_, key)| key)).collect();
    assert_eq!(order, (0..100).collect::<Vec<_>>());
}

// DQ-02, DQ-03
#[test]
fn retries_count_calls_until_shutdown() {
    let mut core = Core::new();
    let now = start();
    core.add_after(now, 1_u8, Duration::ZERO);
    core.add_after(now, 1, Duration::from_secs(1));
    core.add_after(now, 1, Duration::from_secs(2));
    assert_eq!(core.counts().retries, 3);
    assert_eq!(core.counts().adds, 1);
    core.shutdown();
    assert_eq!(core.add_after(now, 2, Duration::ZERO), Added::Refused(2));
    assert_eq!(core.add_after(now, 2, Duration::from_secs(1)), Added::Refused(2));
    assert_eq!(core.counts().retries, 3);
}

// WQ-17
#[test]
fn a_bursts_room_is_given_back() {
    let mut core = Core::new();
    for key in 0..100_000_u32 {
        core.add(key);
    }
    let burst = core.capacity();
    while let Some((ticket, _)) = core.take() {
        core.done(ticket);
    }
    for key in 0..200_000_u32 {
        core.add(key % 10);
        let (ticket, _) = core.take().unwrap();
        core.done(ticket);
    }
    assert!(core.capacity() < burst / 10, "{} of {burst}", core.capacity());
}

// WQ-17
#[test]
fn room_is_given_back_around_keys_that_stay() {
    let mut core = Core::new();
    for key in 0..10_000_u32 {
        core.add(key);
    }
    let mut tickets: Vec<_> = std::iter::from_fn(|| core.take()).collect();
    // One of the last stays handed out; it keeps its slot, and the rest is still right.
    let (ticket, kept) = tickets.remove(9_000);
    for (ticket, key) in tickets {
        assert_eq!(core.done(ticket), Done::Finished(Some(key)));
    }
    for key in 0..50_000_u32 {
        core.add(key % 7);
        let (ticket, _) = core.take().unwrap();
        core.done(ticket);
    }
    assert_eq!(core.add(kept), Added::WhileProcessing);
    assert_eq!(core.done(ticket), Done::Requeued);
    assert_eq!(core.take().map(|(_, key)| key), Some(kept));
}
