//! Ages as kubectl shows them: `5s`, `3m20s`, `7h`, `12d`.

use jiff::Timestamp;
use serde_json::Value;

/// How long ago the RFC 3339 text in `value` was; `<unknown>` if there is none.
pub(super) fn since(value: &Value, now: Timestamp) -> String {
    match value.as_str() {
        None | Some("") => "<unknown>".to_owned(),
        Some(text) => match text.parse::<Timestamp>() {
            Ok(then) => between(then, now),
            Err(_) => "<invalid>".to_owned(),
        },
    }
}

/// The span from `then` to `now`, rounded down to two units at most (apimachinery `duration.HumanDuration`).
pub(super) fn between(then: Timestamp, now: Timestamp) -> String {
    let seconds = now.as_second() - then.as_second();
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    let two = |big: i64, unit: &str, small: i64, sub: &str| {
        if small == 0 { format!("{big}{unit}") } else { format!("{big}{unit}{small}{sub}") }
    };
    match seconds {
        ..-1 => "<invalid>".to_owned(),
        -1..0 => "0s".to_owned(),
        0..120 => format!("{seconds}s"),
        _ if minutes < 10 => two(minutes, "m", seconds % 60, "s"),
        _ if minutes < 180 => format!("{minutes}m"),
        _ if hours < 8 => two(hours, "h", minutes % 60, "m"),
        _ if hours < 48 => format!("{hours}h"),
        _ if hours < 24 * 8 => two(hours / 24, "d", hours % 24, "h"),
        _ if hours < 24 * 365 * 2 => format!("{}d", hours / 24),
        _ if hours < 24 * 365 * 8 => two(hours / 24 / 365, "y", (hours / 24) % 365, "d"),
        _ => format!("{}y", hours / 24 / 365),
    }
}
