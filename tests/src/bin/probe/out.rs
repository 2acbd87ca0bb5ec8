//! What the probe prints: one JSON object a line, each with its event and the seconds since the start.

use std::error::Error;
use std::io::Write;
use std::sync::OnceLock;
use std::time::Instant;

use serde_json::{Map, Value, json};
use steersman::{ApiError, ConnectKind};

static START: OnceLock<Instant> = OnceLock::new();

/// Notes the start of the process.
#[expect(clippy::disallowed_methods, reason = "the probe is a shell: it prints the time of each line")]
pub(crate) fn start() {
    START.get_or_init(Instant::now);
}

/// One line: the event, the time, and the fields of `more`.
pub(crate) fn emit(event: &str, more: Value) {
    let seconds = START.get().map_or(0.0, |start| start.elapsed().as_secs_f64());
    let mut line = Map::new();
    line.insert("event".to_owned(), event.into());
    line.insert("t".to_owned(), json!((seconds * 1e6).round() / 1e6));
    if let Value::Object(more) = more {
        line.extend(more);
    }
    let mut out = std::io::stdout().lock();
    // A reader that has gone wants no more lines.
    let _ = writeln!(out, "{}", Value::Object(line)).and_then(|()| out.flush());
}

/// Something that this probe lacks: says so, and ends the process.
pub(crate) fn unsupported(what: &str) -> ! {
    emit("unsupported", json!({ "what": what }));
    std::process::exit(3);
}

/// The text of an error with all that it was caused by.
pub(crate) fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        next = cause.source();
    }
    text
}

/// The fields of an error line.
pub(crate) fn describe(during: &str, error: &ApiError, object: Option<&str>) -> Value {
    let status = error.status();
    let during = match error {
        ApiError::Connect { kind: ConnectKind::Auth, .. } => "auth",
        ApiError::Connect { .. } => "connect",
        ApiError::Decode(_) => "decode",
        _ => during,
    };
    let object = match error {
        ApiError::Decode(error) => error.key.as_ref().map(|key| key.as_str().to_owned()),
        _ => None,
    }
    .or_else(|| object.map(str::to_owned));
    json!({
        "during": during,
        "code": status.map(steersman::StatusError::code).filter(|code| *code != 0),
        "reason": status.and_then(|status| status.status().reason.clone()),
        "message": chain(error),
        "object": object,
    })
}

/// The process's open TCP sockets, in whatever state.
pub(crate) fn sockets() -> usize {
    let mut inodes = std::collections::HashSet::new();
    for table in ["/proc/self/net/tcp", "/proc/self/net/tcp6"] {
        let text = std::fs::read_to_string(table).unwrap_or_default();
        let inode = |line: &str| line.split_whitespace().nth(9).map(|inode| format!("socket:[{inode}]"));
        inodes.extend(text.lines().skip(1).filter_map(inode));
    }
    let Ok(open) = std::fs::read_dir("/proc/self/fd") else { return 0 };
    open.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok())
        .filter(|target| inodes.contains(&*target.to_string_lossy()))
        .count()
}
