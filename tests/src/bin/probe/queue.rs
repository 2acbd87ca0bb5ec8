//! `queue`: the work queue, by hand.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::{Value, json};
use steersman::workqueue::{InFlight, Queue};
use tokio::sync::mpsc;

use crate::commands::Commands;
use crate::out::emit;
use crate::{common, unknown};

pub(crate) async fn run(mut commands: Commands) {
    let queue: Queue<String> = Queue::new();
    // Who is being worked on: dropping the guard is `done`.
    let mut in_flight: HashMap<String, InFlight<String>> = HashMap::new();
    let (taken, mut got) = mpsc::unbounded_channel();
    let mut waiting = tokio::task::JoinSet::new();
    loop {
        let command = tokio::select! {
            biased;
            Some(guard) = got.recv() => {
                let guard: InFlight<String> = guard;
                emit("got", json!({ "key": guard.key() }));
                in_flight.insert(guard.key().clone(), guard);
                continue;
            }
            command = commands.next() => command,
        };
        let Some(command) = command else { break };
        if common(&command, None, &Value::Null) {
            continue;
        }
        let key = command.rest.clone();
        let ok = |key: &str| {
            let key = Some(key).filter(|key| !key.is_empty());
            emit("ok", json!({ "command": command.name, "key": key }));
        };
        match command.name.as_str() {
            "add" => {
                queue.add(key.clone());
                ok(&key);
            }
            "add-after" => {
                let (key, millis) = key.split_once(' ').unwrap_or((&key, ""));
                match millis.trim().parse() {
                    Ok(millis) => {
                        queue.add_after(key.to_owned(), Duration::from_millis(millis));
                        ok(key);
                    }
                    Err(_) => emit(
                        "failed",
                        json!({ "during": "request", "code": null, "reason": null, "message": "not a number of milliseconds", "object": key }),
                    ),
                }
            }
            "add-rate-limited" => {
                queue.add_rate_limited(key.clone());
                ok(&key);
            }
            "forget" => {
                queue.forget(&key);
                ok(&key);
            }
            "done" => {
                in_flight.remove(&key);
                ok(&key);
            }
            "requeues" => emit("requeues", json!({ "key": key, "n": queue.requeues(&key) })),
            "len" => emit("len", json!({ "n": queue.len() })),
            "get" => {
                let (queue, taken) = (queue.clone(), taken.clone());
                waiting.spawn(async move {
                    match queue.get().await {
                        // The reader is gone only when the probe ends.
                        Some(guard) => drop(taken.send(guard)),
                        None => emit("got", json!({ "key": null, "shutdown": true })),
                    }
                });
            }
            "shutdown" => {
                queue.shutdown();
                ok(&key);
            }
            "drain" => {
                let queue = queue.clone();
                waiting.spawn(async move {
                    // A later plain shutdown lets go of the drain, too.
                    let left = queue.shutdown_with_drain().await.is_err();
                    emit("drained", json!({ "released": left }));
                });
            }
            _ => unknown(&command),
        }
    }
    queue.shutdown();
    in_flight.clear();
    while waiting.join_next().await.is_some() {}
}
