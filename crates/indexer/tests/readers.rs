//! Readers beside a writer: whole states only, and waits for a version.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use apimachinery::{Object, ResourceVersion};
use common::{Thing, tagged, thing};
use indexer::{Index, WaitError, Write};
use steersman_indexer as indexer;
use tokio::time::timeout;

/// Far more than anything here takes.
const LIMIT: Duration = Duration::from_secs(30);

// CACHE-Z-07, CACHE-S-04, CACHE-S-05: T-S-9.
#[test]
fn every_answer_is_one_state_while_the_cache_is_replaced() {
    let (mut writer, lister) = indexer::new::<Thing>();
    let index = lister.index(|thing: &Thing| thing.tags.clone());
    let states = [("n/old", "old", 100u32), ("n/new", "new", 150)];
    let items = |state: usize| {
        let (prefix, tag, count) = states[state];
        (0..count).map(move |n| tagged(&format!("{prefix}-{n}"), "1", &[tag]))
    };
    writer.replace(items(0), [], "1".into());
    let done = Arc::new(AtomicBool::new(false));
    let readers: Vec<_> = (0..4)
        .map(|_| {
            let (lister, index, done) = (lister.clone(), index.clone(), done.clone());
            std::thread::spawn(move || {
                let mut answers = 0u32;
                while !done.load(Ordering::Relaxed) {
                    let list = lister.list();
                    assert!([100, 150].contains(&list.len()), "half of each: {}", list.len());
                    assert!(list.iter().all(|thing| thing.tags == list[0].tags));
                    let snapshot = lister.snapshot();
                    assert_eq!(snapshot.len(), snapshot.in_namespace("n").count());
                    assert_eq!(snapshot.len(), snapshot.keys().count());
                    drop(snapshot);
                    let (old, new) = (index.count("old"), index.count("new"));
                    assert!([0, 100].contains(&old) && [0, 150].contains(&new));
                    answers += 1;
                }
                answers
            })
        })
        .collect();
    for round in 1..200 {
        writer.replace(items(round % 2), [], "1".into());
    }
    done.store(true, Ordering::Relaxed);
    for reader in readers {
        assert!(reader.join().unwrap() > 0);
    }
}

// CACHE-S-08: a batch is seen whole or not at all.
#[test]
fn a_batch_is_seen_whole_or_not_at_all() {
    let (mut writer, lister) = indexer::new::<Thing>();
    let done = Arc::new(AtomicBool::new(false));
    let reader = {
        let (lister, done) = (lister.clone(), done.clone());
        std::thread::spawn(move || {
            while !done.load(Ordering::Relaxed) {
                let mut versions: Vec<String> =
                    lister.list().iter().map(|thing| thing.resource_version().to_owned()).collect();
                versions.dedup();
                assert!(versions.len() <= 1, "states of two batches: {versions:?}");
            }
        })
    };
    for round in 1..500u32 {
        writer.apply((0..10).map(|n| Write::upsert(thing(&n.to_string(), &round.to_string()))));
    }
    done.store(true, Ordering::Relaxed);
    reader.join().unwrap();
}

#[tokio::test]
async fn who_waits_for_a_version_sees_what_was_written_at_it() {
    let (mut writer, lister) = indexer::new::<Thing>();
    let wait = |version: &str| {
        let (lister, version) = (lister.clone(), ResourceVersion::from(version));
        tokio::spawn(async move {
            let result = lister.wait_until(&version).await;
            (result, lister.get("a").map(|a| a.resource_version().to_owned()))
        })
    };
    let (first, second) = (wait("9"), wait("10"));
    tokio::task::yield_now().await;
    writer.apply([Write::upsert(thing("a", "9"))]);
    let (result, seen) = timeout(LIMIT, first).await.unwrap().unwrap();
    assert_eq!((result, seen.as_deref()), (Ok(()), Some("9")));
    assert!(!second.is_finished());
    // Anything newer will do, by any of the ways in which the cache gets newer.
    writer.bookmark("11".into());
    let (result, _) = timeout(LIMIT, second).await.unwrap().unwrap();
    assert_eq!(result, Ok(()));
    assert_eq!(lister.wait_until(&"10".into()).await, Ok(()));
}

#[tokio::test]
async fn a_wait_that_cannot_end_says_so() {
    let (mut writer, lister) = indexer::new::<Thing>();
    for version in ["", "0", "07", "x"] {
        let version = ResourceVersion::from(version);
        assert_eq!(lister.wait_until(&version).await, Err(WaitError::NotComparable(version)));
    }
    writer.bookmark("5".into());
    let waiting = {
        let lister = lister.clone();
        tokio::spawn(async move { lister.wait_until(&"6".into()).await })
    };
    tokio::task::yield_now().await;
    drop(writer);
    let stopped = WaitError::Stopped { wanted: "6".into(), reached: "5".into() };
    assert_eq!(timeout(LIMIT, waiting).await.unwrap().unwrap(), Err(stopped.clone()));
    assert_eq!(lister.wait_until(&"6".into()).await, Err(stopped));
    assert_eq!(lister.wait_until(&"5".into()).await, Ok(()), "what was reached stays reached");
}

// CACHE-S-28, GN-07
#[test]
fn an_index_that_is_added_runs_under_no_lock_of_the_content() {
    let (mut writer, lister) = indexer::new();
    writer.apply([Write::upsert(thing("a", "1"))]);
    let (asked, asks) = mpsc::channel();
    let (marked, marks) = mpsc::channel();
    // The function waits until a bookmark was written meanwhile, then reads the cache. If it held the content, the
    // bookmark would wait for it, and it, behind the bookmark, for ever.
    let bookkeeper = std::thread::spawn(move || {
        asks.recv().unwrap();
        writer.bookmark("2".into());
        marked.send(()).unwrap();
    });
    let reader = lister.clone();
    let index: Index<Thing> = lister.index(move |_: &Thing| {
        asked.send(()).unwrap();
        let was_marked = marks.recv_timeout(LIMIT).is_ok();
        was_marked.then(|| reader.resource_version().to_string())
    });
    assert_eq!(index.values(), ["2"], "the bookmark waited for the function");
    bookkeeper.join().unwrap();
}
