//! The contracts' rules and the tests that name them: no test names a rule that is not there, the rules that the
//! project took on are held or openly left, and `docs/contract-status.md` says so.
//!
//! `UPDATE=1 cargo test -p tests --test house` writes the page anew.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

const PAGE: &str = "docs/contract-status.md";

/// The groups that the project took on so far. `core`: of these only the rules marked [core].
const TAKEN_ON: &[(&str, bool)] = &[
    ("REST-CF", true),
    ("REST-IC", true),
    ("REST-KC", true),
    ("REST-AU", true),
    ("REST-TL", true),
    ("REST-RQ", true),
    ("REST-RS", true),
    ("REST-RT", true),
    ("REST-FC", true),
    ("REST-ER", true),
    ("REST-OP", true),
    ("REST-CL", true),
    ("REST-DY", true),
    ("REST-SE", true),
    ("REST-WA", true),
    ("CACHE-Z", false),
    ("CACHE-K", false),
    ("CACHE-S", false),
    ("CACHE-Q", false),
    ("CACHE-W", false),
    ("CACHE-R", false),
    ("CACHE-C", false),
    ("CACHE-H", false),
    ("CACHE-I", false),
    ("CACHE-T", false),
    ("CACHE-F", false),
    ("GN", false),
    ("WQ", false),
    ("DQ", false),
    ("RL", false),
    ("FC", false),
    ("CT", false),
    ("CTRL", true),
];

/// A rule as a contract states it.
struct Rule {
    contract: String,
    group: String,
    core: bool,
}

/// `REST-KC-01` at the start of `text`, if it is an id: one or two words of capitals and two digits.
fn id_at(text: &str) -> Option<&str> {
    let bytes = text.as_bytes();
    let mut at = 0;
    for word in 0..3 {
        let start = at;
        while bytes.get(at).is_some_and(u8::is_ascii_uppercase) {
            at += 1;
        }
        if at == start && word == 0 {
            return None;
        }
        if at > start {
            if bytes.get(at) != Some(&b'-') {
                return None;
            }
            at += 1;
            continue;
        }
        let digits = bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        return (digits == 2).then(|| &text[..at + 2]);
    }
    None
}

/// Every id in `text`.
fn ids(text: &str) -> impl Iterator<Item = &str> {
    text.char_indices().filter_map(|(at, c)| {
        let before = text[..at].chars().next_back();
        let starts = c.is_ascii_uppercase() && !before.is_some_and(|b| b.is_ascii_alphanumeric() || b == '-');
        if starts { id_at(&text[at..]) } else { None }
    })
}

fn group(id: &str) -> &str {
    id.rsplit_once('-').map_or(id, |(group, _)| group)
}

fn rules() -> BTreeMap<String, Rule> {
    let mut rules = BTreeMap::new();
    for path in super::files("docs/contracts", &["md"]) {
        let contract = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).expect("a contract is text");
        for line in text.lines() {
            let stripped = line.strip_prefix("- ").or_else(|| {
                line.split_once(". ").filter(|(n, _)| n.parse::<u16>().is_ok()).map(|(_, rest)| rest)
            });
            let Some(rest) = stripped else { continue };
            let rest = rest.trim_start_matches("**");
            // `B-R-12` is a bug of the past and `T-R-12` a test that should be: neither is a rule.
            if let Some(id) = id_at(rest).filter(|id| !id.starts_with("B-") && !id.starts_with("T-")) {
                let core = rest[id.len()..].get(..24).unwrap_or(&rest[id.len()..]).contains("[core]");
                let rule = Rule { contract: contract.clone(), group: group(id).to_owned(), core };
                rules.insert(id.to_owned(), rule);
            }
        }
    }
    rules
}

/// id → where tests name it: `file::test`.
fn named() -> BTreeMap<String, BTreeSet<String>> {
    let mut named: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for path in ["crates", "tests", "benches"].iter().flat_map(|folder| super::files(folder, &["rs"])) {
        let short = super::short(&path);
        if short.starts_with("tests/house") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a source file is text");
        let is_test = short.contains("tests/")
            || path.file_stem().is_some_and(|s| s.to_string_lossy().contains("test"));
        let from = if is_test { Some(0) } else { text.find("#[cfg(test)]") };
        let Some(from) = from else { continue };
        let mut waiting: Vec<&str> = Vec::new();
        for line in text[from..].lines() {
            let trimmed = line.trim_start();
            if trimmed.starts_with("//") {
                waiting.extend(ids(trimmed));
                continue;
            }
            let function = trimmed
                .split_once("fn ")
                .filter(|(before, _)| before.is_empty() || *before == "async " || before.starts_with("pub"))
                .and_then(|(_, rest)| rest.split(['(', '<']).next());
            if let Some(function) = function {
                for id in waiting.drain(..) {
                    named.entry(id.to_owned()).or_default().insert(format!("{short}::{function}"));
                }
            }
        }
        for id in waiting {
            named.entry(id.to_owned()).or_default().insert(short.clone());
        }
    }
    named
}

/// id → why it is left open, from `docs/open-rules/`: `- ID: reason`, `- ID, ID: reason`.
fn open() -> BTreeMap<String, String> {
    let mut open = BTreeMap::new();
    for path in super::files("docs/open-rules", &["md"]) {
        let text = std::fs::read_to_string(&path).expect("a page is text");
        for line in text.lines().filter_map(|line| line.strip_prefix("- ")) {
            let Some((who, why)) = line.split_once(": ") else { continue };
            for id in ids(who) {
                open.insert(id.to_owned(), why.trim().to_owned());
            }
        }
    }
    open
}

fn taken_on(rule: &Rule) -> bool {
    TAKEN_ON.iter().any(|(group, core_only)| *group == rule.group && (rule.core || !core_only))
}

#[test]
fn every_rule_that_a_test_names_is_in_a_contract() {
    let rules = rules();
    let groups: BTreeSet<&str> = rules.values().map(|rule| rule.group.as_str()).collect();
    let strangers: Vec<String> = named()
        .into_iter()
        .filter(|(id, _)| groups.contains(group(id)) || id.starts_with("REST-") || id.starts_with("CACHE-"))
        .filter(|(id, _)| !rules.contains_key(id))
        .map(|(id, places)| format!("{id} in {places:?}"))
        .collect();
    assert!(strangers.is_empty(), "no contract has these rules:\n{}", strangers.join("\n"));
}

#[test]
fn every_open_rule_is_in_a_contract() {
    let rules = rules();
    let strangers: Vec<String> = open().into_keys().filter(|id| !rules.contains_key(id)).collect();
    assert!(strangers.is_empty(), "docs/open-rules names what is in no contract: {strangers:?}");
}

#[test]
fn every_rule_that_the_project_took_on_is_held_by_a_test_or_openly_left() {
    let (named, open) = (named(), open());
    let silent: Vec<String> = rules()
        .into_iter()
        .filter(|(id, rule)| taken_on(rule) && !named.contains_key(id) && !open.contains_key(id))
        .map(|(id, _)| id)
        .collect();
    assert!(silent.is_empty(), "{} rules are passed over in silence:\n{}", silent.len(), silent.join(" "));
}

/// The page, made from the contracts, the tests and `docs/open-rules/`.
fn page() -> String {
    let (rules, named, open) = (rules(), named(), open());
    let mut groups: BTreeMap<(&str, &str), Vec<&String>> = BTreeMap::new();
    for (id, rule) in &rules {
        groups.entry((&rule.contract, &rule.group)).or_default().push(id);
    }
    let mut page = String::from(
        "# Contract status\n\n\
         Which rule of [the contracts](contracts/) is held by which test, and which are open, with the reason. Made by\n\
         `UPDATE=1 cargo test -p tests --test house`; a house test fails when it is out of date. Naming is a pointer, not\n\
         a proof: read the test.\n\n\
         | contract | section | held | openly left | not begun | all |\n|---|---|---:|---:|---:|---:|\n",
    );
    let mut body = String::new();
    for ((contract, group), ids) in &groups {
        let held: Vec<_> = ids.iter().filter(|id| named.contains_key(**id)).collect();
        let left: Vec<_> =
            ids.iter().filter(|id| !named.contains_key(**id) && open.contains_key(**id)).collect();
        let rest = ids.len() - held.len() - left.len();
        let _ = writeln!(
            page,
            "| {contract} | {group} | {} | {} | {rest} | {} |",
            held.len(),
            left.len(),
            ids.len()
        );
        if held.is_empty() && left.is_empty() {
            continue;
        }
        let _ = writeln!(body, "\n## {group} ({contract})\n");
        for id in ids {
            if let Some(places) = named.get(*id) {
                let places: Vec<String> = places.iter().map(|place| format!("`{place}`")).collect();
                let partly = open.get(*id).map(|why| format!(" **Partly open.** {why}")).unwrap_or_default();
                let _ = writeln!(body, "* {id}: {}{partly}", places.join(", "));
            } else if let Some(why) = open.get(*id) {
                let _ = writeln!(body, "* {id}: **open.** {why}");
            }
        }
    }
    page + &body
}

#[test]
fn the_status_page_is_up_to_date() {
    let page = page();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(super::root().join(PAGE), &page).expect("the page can be written");
    }
    assert!(super::read(PAGE) == page, "{PAGE} is out of date: UPDATE=1 cargo test -p tests --test house");
}

#[test]
fn an_id_is_found_wherever_it_stands_and_nothing_else_is() {
    assert_eq!(
        ids("// CACHE-R-20, REST-KC-01; WQ-01.").collect::<Vec<_>>(),
        ["CACHE-R-20", "REST-KC-01", "WQ-01"]
    );
    assert_eq!(ids("XCACHE, A-1, WQ-001, x-WQ-01, utf-8").count(), 0);
}
