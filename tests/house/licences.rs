//! Every dependency may be used under a licence that `deny.toml` allows.

use cargo_metadata::MetadataCommand;

/// The list between the brackets of `allow = [ … ]` in `deny.toml`.
fn allowed() -> Vec<String> {
    let text = super::read("deny.toml");
    let list = text
        .split("allow = [")
        .nth(1)
        .and_then(|rest| rest.split(']').next())
        .expect("deny.toml has `allow = [ … ]`");
    list.split(',')
        .map(|name| name.trim().trim_matches('"').to_owned())
        .filter(|name| !name.is_empty())
        .collect()
}

/// Whether an SPDX expression (`A OR B`, `A AND (B OR C)`, the old `A/B`) can be satisfied.
fn satisfied(expression: &str, allowed: &[String]) -> bool {
    let spaced =
        expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ").replace(" WITH ", "_WITH_");
    let tokens: Vec<&str> = spaced.split_whitespace().collect();
    let mut at = 0;
    any(&tokens, &mut at, allowed)
}

fn any(tokens: &[&str], at: &mut usize, allowed: &[String]) -> bool {
    let mut held = all(tokens, at, allowed);
    while tokens.get(*at) == Some(&"OR") {
        *at += 1;
        held |= all(tokens, at, allowed);
    }
    held
}

fn all(tokens: &[&str], at: &mut usize, allowed: &[String]) -> bool {
    let mut held = one(tokens, at, allowed);
    while tokens.get(*at) == Some(&"AND") {
        *at += 1;
        held &= one(tokens, at, allowed);
    }
    held
}

fn one(tokens: &[&str], at: &mut usize, allowed: &[String]) -> bool {
    let token = tokens.get(*at).copied().unwrap_or_default();
    *at += 1;
    if token == "(" {
        let held = any(tokens, at, allowed);
        *at += 1; // the closing bracket
        return held;
    }
    allowed.iter().any(|name| name == &token.replace("_WITH_", " WITH "))
}

#[test]
fn every_dependency_has_a_licence_that_is_allowed() {
    let metadata = MetadataCommand::new()
        .manifest_path(super::root().join("Cargo.toml"))
        .exec()
        .expect("cargo metadata answers");
    let allowed = allowed();
    let refused: Vec<String> = metadata
        .packages
        .iter()
        .filter(|package| !package.license.as_deref().is_some_and(|licence| satisfied(licence, &allowed)))
        .map(|package| format!("{} {}: {:?}", package.name, package.version, package.license))
        .collect();
    assert!(refused.is_empty(), "no allowed licence:\n{}", refused.join("\n"));
}

#[test]
fn a_licence_expression_is_read_as_spdx() {
    let allowed = ["MIT".to_owned(), "ISC".to_owned(), "Apache-2.0 WITH LLVM-exception".to_owned()];
    for (expression, holds) in [
        ("MIT", true),
        ("GPL-3.0", false),
        ("GPL-3.0 OR MIT", true),
        ("GPL-3.0/MIT", true),
        ("MIT AND GPL-3.0", false),
        ("MIT AND (GPL-3.0 OR ISC)", true),
        ("Apache-2.0 WITH LLVM-exception", true),
    ] {
        assert_eq!(satisfied(expression, &allowed), holds, "{expression}");
    }
}
