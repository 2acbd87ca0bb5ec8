//! The tree looks as CONTRIBUTING says.

/// More lines than this are two ideas.
const LONGEST_FILE: usize = 600;

#[test]
fn no_source_file_is_longer_than_one_idea() {
    let long: Vec<String> = ["crates", "examples", "benches", "tests"]
        .iter()
        .flat_map(|folder| super::files(folder, &["rs"]))
        .filter_map(|path| {
            let lines = std::fs::read_to_string(&path).expect("a source file is text").lines().count();
            (lines > LONGEST_FILE).then(|| format!("{} has {lines} lines", super::short(&path)))
        })
        .collect();
    assert!(long.is_empty(), "longer than {LONGEST_FILE} lines:\n{}", long.join("\n"));
}

#[test]
fn every_pipeline_crate_opens_with_the_picture_and_its_four_lines() {
    for name in [
        "apimachinery",
        "flowcontrol",
        "rest",
        "deltafifo",
        "reflector",
        "indexer",
        "shared-informer",
        "workqueue",
        "controller",
    ] {
        let text = super::read(format!("crates/{name}/src/lib.rs"));
        let head: String = text.lines().take_while(|line| line.starts_with("//!")).collect();
        for part in ["socket ─► frame ─► event", "In / out.", "May touch.", "Never touches.", "Promises."]
        {
            assert!(head.contains(part), "crates/{name}/src/lib.rs: its head lacks {part:?}");
        }
    }
}

#[test]
fn every_local_link_of_the_documents_leads_somewhere() {
    let mut broken = Vec::new();
    let mut pages = super::files("docs", &["md"]);
    pages.extend(["README.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(|page| super::root().join(page)));
    for page in pages {
        let text = std::fs::read_to_string(&page).expect("a page is text");
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let target = link.split('#').next().unwrap_or_default();
            let leads_out = link.contains("://") || target.is_empty() || target.contains(' ');
            if !leads_out && !page.parent().expect("a page is in a folder").join(target).exists() {
                broken.push(format!("{}: {link}", super::short(&page)));
            }
        }
    }
    assert!(broken.is_empty(), "links that lead nowhere:\n{}", broken.join("\n"));
}
