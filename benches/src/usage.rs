//! What this process used: CPU time, page faults, resident memory, as the kernel counts them.

use nix::sys::resource::{UsageWho, getrusage};

/// User and system seconds, and minor page faults, so far.
pub fn usage() -> (f64, f64, i64) {
    let usage = getrusage(UsageWho::RUSAGE_SELF).expect("the kernel knows its own process");
    let seconds = |time: nix::sys::time::TimeVal| {
        // Both parts are far below 2^52 in a process that ever ends.
        #[expect(clippy::cast_precision_loss, reason = "see above")]
        let (whole, micros) = (time.tv_sec() as f64, time.tv_usec() as f64);
        whole + micros / 1e6
    };
    (seconds(usage.user_time()), seconds(usage.system_time()), usage.minor_page_faults())
}

/// User and system seconds so far.
pub fn cpu_seconds() -> f64 {
    let (user, system, _) = usage();
    user + system
}

/// A field of `/proc/self/status` in KiB: `VmRSS`, `VmHWM`. 0 where there is no such file.
pub fn status_kib(field: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    text.lines()
        .find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))
        .and_then(|rest| rest.split_whitespace().next()?.parse().ok())
        .unwrap_or(0)
}

/// The value at `share` (0 to 1) of sorted values; 0 if there are none.
pub fn percentile(sorted: &[u64], share: f64) -> u64 {
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an index of a vector that fits in memory, and a share between 0 and 1"
    )]
    let at = (sorted.len().saturating_sub(1) as f64 * share).round() as usize;
    sorted.get(at).copied().unwrap_or(0)
}
