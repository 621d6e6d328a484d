//! The examples work as their READMEs say. (The agent has a test of its own, components and MCP servers have theirs.)

use std::path::{Path, PathBuf};

use crate::bench::Bench;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

/// Every toolbox below a folder.
fn toolboxes(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(toolboxes(&path));
        } else if path.file_name().is_some_and(|name| name == "ringfence.toml") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// A workbench with a copy of one toolbox.
fn of(example: &str) -> Bench {
    let text = std::fs::read_to_string(folder().join(example).join("ringfence.toml")).unwrap();
    Bench::new().file("ringfence.toml", text)
}

#[test]
fn every_toolbox_is_sound() {
    let toolboxes = toolboxes(&folder());
    assert!(toolboxes.len() >= 11, "only {toolboxes:?}");
    for path in toolboxes {
        let bench = Bench::new().file("ringfence.toml", std::fs::read(&path).unwrap());
        let said = bench.ringfence(&["check"]);
        assert!(said.ends_with("exit 0"), "{}: {said}", path.display());
    }
}

#[test]
fn every_example_has_a_page_and_is_listed() {
    let list = std::fs::read_to_string(folder().join("README.md")).unwrap();
    let mut seen = 0;
    for entry in std::fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        if !path.is_dir() {
            continue;
        }
        seen += 1;
        let name = path.file_name().unwrap().to_str().unwrap();
        let page = std::fs::read_to_string(path.join("README.md"))
            .unwrap_or_else(|_| panic!("{name} has no README"));
        assert!(page.lines().count() <= 40, "{name}/README.md is long");
        assert!(page.contains("```"), "{name}/README.md shows no command");
        assert!(list.contains(&format!("[`{name}`]({name}/README.md)")), "{name} is not listed");
    }
    assert!(seen >= 7, "only {seen} examples");
}

#[test]
fn the_demo_plays_the_example() {
    let example = std::fs::read_to_string(folder().join("demo/ringfence.toml")).unwrap();
    let played = Bench::new().run(&["demo", "--policy-text"], b"").stdout;
    assert_eq!(
        String::from_utf8(played).unwrap(),
        example,
        "copy crates/cli/src/commands/demo/ringfence.toml to examples/demo/ringfence.toml"
    );
}

#[test]
fn the_clerk_pays_once_when_somebody_agrees() {
    let bench = of("clerk").file("ledger/keep", "");
    let store = bench.path().join("clerk.db");
    let call =
        |arguments: &[&str]| bench.ringfence_in(&[("RINGFENCE_STORE", store.to_str().unwrap())], arguments);
    let token = call(&["approver", "add", "ada"]);
    let token =
        token.split_whitespace().find(|word| word.starts_with("rfa_")).unwrap_or_else(|| panic!("{token}"));
    std::fs::write(bench.path().join("ada.token"), token).unwrap();
    let pay = ["call", "--run", "today", "pay", r#"{"invoice": "7", "amount": 3}"#];
    let refused = call(&pay);
    assert!(refused.contains("APPROVAL_REQUIRED") && refused.ends_with("exit 3"), "{refused}");
    let waiting = call(&["approvals", "list"]);
    let request = waiting.lines().nth(1).unwrap().split_whitespace().next().unwrap().to_owned();
    let agreed = call(&[
        "approvals",
        "approve",
        &request,
        "--token-file",
        "ada.token",
        "--reason",
        "matches the order",
    ]);
    assert!(agreed.ends_with("exit 0"), "{agreed}");
    for _ in 0..2 {
        assert_eq!(call(&pay), "{\"ok\":true,\"value\":\"paid 3\\n\"}\nexit 0");
    }
    assert_eq!(bench.read("ledger/paid"), "7 3\n");
}

#[test]
fn what_is_no_repository_never_gets_to_curl() {
    let refused =
        of("hosts").ringfence(&["call", "latest_release", r#"{"repository": "../../gists?per_page=1"}"#]);
    assert!(refused.contains("INPUT_INVALID") && refused.ends_with("exit 2"), "{refused}");
}
