//! The index against a model.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::{Postings, Values};

fn sorted(slots: &[u32]) -> Vec<u32> {
    let mut slots = slots.to_vec();
    slots.sort_unstable();
    slots
}

// CACHE-S-21, CACHE-S-23: values {foo,bar} → {bar} → {}.
#[test]
fn values_move_and_the_last_slot_takes_its_value_along() {
    let mut index = Postings::default();
    index.set(0, Values::collect(["foo", "bar"]));
    index.set(1, Values::collect(["bar"]));
    assert_eq!((sorted(index.slots("foo")), sorted(index.slots("bar"))), (vec![0], vec![0, 1]));
    index.set(0, Values::collect(["bar"]));
    assert_eq!((sorted(index.slots("foo")), sorted(index.slots("bar"))), (vec![], vec![0, 1]));
    assert_eq!(index.values().collect::<Vec<_>>(), [&"bar"]);
    index.set(0, Values::None);
    index.clear(1);
    assert_eq!(index.values().count(), 0);
    assert_eq!(index.by_value.len(), 0);
}

// CACHE-S-20
#[test]
fn duplicate_values_collapse() {
    assert_eq!(Values::collect(["a", "a", "a"]), Values::One("a"));
    assert_eq!(Values::collect(["a", "b", "a"]), Values::Many(vec!["a", "b"]));
    assert_eq!(Values::<&str>::collect([]), Values::None);
}

#[test]
fn a_value_and_its_place_take_as_little_memory_as_the_module_says() {
    assert_eq!(std::mem::size_of::<super::Places>(), 16);
}

proptest! {
    // CACHE-S-21, CACHE-S-23
    #[test]
    fn an_index_says_what_a_map_of_sets_says(steps in prop::collection::vec((0u32..12, prop::collection::vec(0u8..6, 0..4)), 0..200)) {
        let mut index = Postings::default();
        let mut model: BTreeMap<u32, BTreeSet<u8>> = BTreeMap::new();
        for (slot, values) in steps {
            model.insert(slot, values.iter().copied().collect());
            index.set(slot, Values::collect(values));
            for value in 0u8..6 {
                let expected: Vec<u32> =
                    model.iter().filter(|(_, values)| values.contains(&value)).map(|(slot, _)| *slot).collect();
                prop_assert_eq!(sorted(index.slots(&value)), expected);
            }
            let mut values: Vec<u8> = index.values().copied().collect();
            values.sort_unstable();
            let expected: BTreeSet<u8> = model.values().flatten().copied().collect();
            prop_assert_eq!(values, expected.into_iter().collect::<Vec<_>>());
        }
    }
}
