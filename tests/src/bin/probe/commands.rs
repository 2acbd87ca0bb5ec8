//! Commands: the lines of standard input, and what else ends the probe.

use tokio::io::{AsyncBufReadExt, BufReader, Lines, Stdin};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// A command with its argument, and the whole line.
pub(crate) struct Command {
    pub(crate) name: String,
    pub(crate) rest: String,
    pub(crate) line: String,
}

/// Where commands come from.
pub(crate) struct Commands {
    lines: Lines<BufReader<Stdin>>,
    interrupt: Signal,
    terminate: Signal,
}

impl Commands {
    pub(crate) fn new() -> std::io::Result<Self> {
        Ok(Self {
            lines: BufReader::new(tokio::io::stdin()).lines(),
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// The next command; `None` for `stop`, the end of input, SIGINT and SIGTERM. Cancel safe.
    pub(crate) async fn next(&mut self) -> Option<Command> {
        let line = tokio::select! {
            _ = self.interrupt.recv() => return None,
            _ = self.terminate.recv() => return None,
            line = self.lines.next_line() => line.ok().flatten()?,
        };
        let line = line.trim_end_matches('\r').to_owned();
        let (name, rest) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
        if name == "stop" && rest.is_empty() {
            return None;
        }
        Some(Command { name: name.to_owned(), rest: rest.trim().to_owned(), line: line.clone() })
    }
}
