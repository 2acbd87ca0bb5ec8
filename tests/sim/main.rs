//! The whole cache half, in one thread and in virtual time, against an API server that misbehaves by dice.
//!
//! ```text
//! writes ─► server core ─► faults ─► reflector core ─► fifo core ─► writer ─► mirrors
//!                                                                         └─► queue core ─► workers
//! ```
//!
//! A world is played for some steps, in each of which the dice decide what happens next; then the faults and the writes end,
//! and everything must come to rest. What must hold is in [`ledger`]. A failure prints `SEED=…`: with that in the
//! environment the same world is played alone.
//!
//! * `SEED=7 cargo test -p tests --test sim` plays one world.
//! * `STEERSMAN_SEEDS=100000` plays so many (default 1000), from `STEERSMAN_FIRST_SEED` on (default 0).

mod dice;
mod ledger;
mod listener;
mod server;
mod shells;
mod tally;
mod thing;
mod workers;
mod world;

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use tally::Tally;
use world::World;

fn number(name: &str) -> Option<u64> {
    std::env::var(name)
        .ok()
        .map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is no number: {text}")))
}

/// The worlds to play; `default` is how many.
fn seeds(default: u64) -> Range<u64> {
    number("SEED").map_or_else(
        || {
            let first = number("STEERSMAN_FIRST_SEED").unwrap_or(0);
            first..first + number("STEERSMAN_SEEDS").unwrap_or(default)
        },
        |seed| seed..seed + 1,
    )
}

/// Plays a world, and says which one if it fails.
fn play<R>(seed: u64, world: impl FnOnce(u64) -> R) -> R {
    catch_unwind(AssertUnwindSafe(|| world(seed))).unwrap_or_else(|cause| {
        eprintln!("\nSEED={seed}\n");
        resume_unwind(cause)
    })
}

// CACHE-Z-01, CACHE-Z-03, CACHE-Z-05, CACHE-R-48, CACHE-R-14, WQ-01
#[test]
fn whatever_the_dice_say_the_cache_becomes_the_server_and_nothing_is_asked_or_told_in_vain() {
    let seeds = seeds(1000);
    let alone = seeds.end - seeds.start == 1;
    let mut tally = Tally::default();
    for seed in seeds {
        tally += play(seed, |seed| World::new(seed).play());
    }
    eprintln!("{tally:?}");
    // That the dice reach everything: a simulation in which nothing goes wrong finds nothing.
    if !alone {
        tally.assert_everything_happened();
    }
}

// CACHE-Z-01, CACHE-Z-04, WQ-01
#[test]
fn the_shells_come_to_rest_with_every_listener_agreeing_and_leave_nothing_behind() {
    let events: u64 = seeds(150).map(|seed| play(seed, shells::play)).sum();
    assert!(events > 10);
}
