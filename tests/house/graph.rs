//! The crate graph is the one that `docs/architecture.md` draws.

use std::collections::{BTreeMap, BTreeSet};

use cargo_metadata::{DependencyKind, MetadataCommand};

/// crate → the crates of ours that it depends on.
type Graph = BTreeMap<String, BTreeSet<String>>;

const PREFIX: &str = "steersman-";

/// The plain word of a package of ours; the façade's is `steersman`.
fn word(package: &str) -> Option<&str> {
    if package == "steersman" { Some(package) } else { package.strip_prefix(PREFIX) }
}

fn actual() -> Graph {
    let metadata = MetadataCommand::new()
        .manifest_path(super::root().join("Cargo.toml"))
        .no_deps()
        .exec()
        .expect("cargo metadata answers");
    let mut graph = Graph::new();
    for package in &metadata.packages {
        let Some(name) = word(&package.name) else { continue };
        let edges = package
            .dependencies
            .iter()
            .filter(|dependency| dependency.kind == DependencyKind::Normal)
            .filter_map(|dependency| word(&dependency.name))
            .map(str::to_owned)
            .collect();
        graph.insert(name.to_owned(), edges);
    }
    graph
}

/// The table between the two `crate graph` marks: `| `name` | … | a, b |`.
fn documented() -> Graph {
    let page = super::read("docs/architecture.md");
    let table = page
        .split("<!-- crate graph -->")
        .nth(1)
        .expect("docs/architecture.md has a table between two `<!-- crate graph -->` marks");
    let mut graph = Graph::new();
    for line in table.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let name = cells[0].trim_matches('`').to_owned();
        let edges = cells[cells.len() - 1]
            .split(',')
            .map(str::trim)
            .filter(|edge| !edge.is_empty() && *edge != "—")
            .map(str::to_owned)
            .collect();
        graph.insert(name, edges);
    }
    graph
}

#[test]
fn the_crate_graph_is_the_one_in_the_architecture_page() {
    let (actual, documented) = (actual(), documented());
    let names: BTreeSet<&String> = actual.keys().chain(documented.keys()).collect();
    let differences: Vec<String> = names
        .into_iter()
        .filter(|name| actual.get(*name) != documented.get(*name))
        .map(|name| {
            format!(
                "{name}: the manifests say {:?}, the page says {:?}",
                actual.get(name),
                documented.get(name)
            )
        })
        .collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// Every crate that can be reached from `from`.
fn reach(graph: &Graph, from: &str) -> BTreeSet<String> {
    let mut seen = BTreeSet::new();
    let mut next = vec![from.to_owned()];
    while let Some(name) = next.pop() {
        for edge in graph.get(&name).into_iter().flatten() {
            if seen.insert(edge.clone()) {
                next.push(edge.clone());
            }
        }
    }
    seen
}

#[test]
fn the_two_halves_do_not_know_each_other() {
    let graph = actual();
    for name in ["reflector", "deltafifo", "indexer", "shared-informer", "workqueue", "controller"] {
        assert!(!reach(&graph, name).contains("rest"), "{name} reaches the network half");
        assert!(!graph["rest"].contains(name), "rest reaches {name} of the cache half");
    }
}

#[test]
fn the_words_depend_on_no_crate_of_ours_and_the_graph_has_no_cycle() {
    let graph = actual();
    assert_eq!(graph["apimachinery"], BTreeSet::new());
    for name in graph.keys() {
        assert!(!reach(&graph, name).contains(name), "{name} depends on itself");
    }
}
