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
mod thing;
mod workers;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};

use world::{Tally, World};

fn number(name: &str) -> Option<u64> {
    std::env::var(name)
        .ok()
        .map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is no number: {text}")))
}

// CACHE-Z-01, CACHE-Z-03, CACHE-Z-05, CACHE-R-48, CACHE-R-14, WQ-01
#[test]
fn whatever_the_dice_say_the_cache_becomes_the_server_and_nothing_is_asked_or_told_in_vain() {
    let seeds = number("SEED").map_or_else(
        || {
            let first = number("STEERSMAN_FIRST_SEED").unwrap_or(0);
            first..first + number("STEERSMAN_SEEDS").unwrap_or(1000)
        },
        |seed| seed..seed + 1,
    );
    let alone = seeds.end - seeds.start == 1;
    let mut tally = Tally::default();
    for seed in seeds {
        match catch_unwind(AssertUnwindSafe(|| World::new(seed).play())) {
            Ok(played) => tally += played,
            Err(cause) => {
                eprintln!("\nSEED={seed}\n");
                std::panic::resume_unwind(cause);
            }
        }
    }
    eprintln!("{tally:?}");
    // That the dice reach everything: a simulation in which nothing goes wrong finds nothing.
    if !alone {
        tally.assert_everything_happened();
    }
}
