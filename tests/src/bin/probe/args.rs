//! The command line: global options, a mode, and the mode's options, anywhere.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::out;

/// What each mode takes, beside `kubeconfig`, `context` and `namespace`.
const MODES: &[(&str, &str)] = &[
    ("config", ""),
    ("request", "verb resource name body patch-type limit timeout-s repeat pause-ms concurrency form"),
    (
        "informer",
        "resource label-selector field-selector initial form handlers handler-delay-ms resync-s index",
    ),
    (
        "controller",
        "resource label-selector field-selector initial form handlers handler-delay-ms resync-s index workers \
         reconcile-ms fail panic",
    ),
    ("queue", ""),
    ("decode", "as"),
];

/// A parsed command line.
pub(crate) struct Args {
    pub(crate) mode: String,
    options: BTreeMap<String, Vec<String>>,
}

impl Args {
    /// Reads the process's own; what is wrong ends the process as the README of the cases says.
    pub(crate) fn parse() -> Self {
        let mut mode = None;
        let mut options: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            let Some(option) = word.strip_prefix("--") else {
                if mode.replace(word.clone()).is_some() {
                    usage(&format!("unexpected argument {word}"));
                }
                continue;
            };
            let (name, value) = match option.split_once('=') {
                Some((name, value)) => (name, value.to_owned()),
                None if option == "release" => (option, "true".to_owned()),
                None => match words.next() {
                    Some(value) => (option, value),
                    None => usage(&format!("--{option} needs a value")),
                },
            };
            options.entry(name.to_owned()).or_default().push(value);
        }
        let Some(mode) = mode else { usage("no mode given") };
        let Some((_, takes)) = MODES.iter().find(|(name, _)| *name == mode) else {
            out::unsupported(&format!("mode {mode}"));
        };
        let known = |name: &str| {
            takes
                .split_whitespace()
                .chain(["kubeconfig", "context", "namespace"])
                .any(|option| option == name)
        };
        if let Some(stranger) = options.keys().find(|name| !known(name)) {
            out::unsupported(&format!("option --{stranger} of {mode}"));
        }
        Self { mode, options }
    }

    /// Every value of an option that may be repeated.
    pub(crate) fn all(&self, name: &str) -> &[String] {
        self.options.get(name).map_or(&[], Vec::as_slice)
    }

    /// The last value of an option.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.all(name).last().map(String::as_str)
    }

    /// An option that the mode cannot do without.
    pub(crate) fn need(&self, name: &str) -> &str {
        self.get(name).unwrap_or_else(|| usage(&format!("{} needs --{name}", self.mode)))
    }

    /// A number.
    pub(crate) fn number<N: std::str::FromStr>(&self, name: &str, or: N) -> N {
        match self.get(name) {
            None => or,
            Some(text) => text.parse().unwrap_or_else(|_| usage(&format!("--{name}: not a number: {text}"))),
        }
    }

    /// Milliseconds.
    pub(crate) fn millis(&self, name: &str) -> Duration {
        Duration::from_millis(self.number(name, 0))
    }

    /// One of a closed set of values; another is one that this probe lacks. `None`: not given.
    pub(crate) fn one_of(&self, name: &str, values: &[&'static str]) -> Option<&'static str> {
        let given = self.get(name)?;
        let found = values.iter().find(|value| **value == given).copied();
        Some(found.unwrap_or_else(|| out::unsupported(&format!("--{name} {given}"))))
    }
}

/// A wrong use of the command line.
pub(crate) fn usage(problem: &str) -> ! {
    eprintln!("probe: {problem}");
    std::process::exit(2);
}
