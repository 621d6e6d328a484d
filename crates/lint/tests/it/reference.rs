//! Reference pages are written by the code they describe.

use std::fmt::Write as _;
use std::process::Command;

use ringfence_lint::judge::RULES;
use ringfence_lint::{Effect, declared};

/// Compares a page with what the code says; writes it anew when asked to.
fn assert_page(name: &str, page: &str) {
    let path = format!("{}/../../docs/reference/{name}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("UPDATE_REFERENCE").is_some() {
        std::fs::write(&path, page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(written, page, "run the tests with UPDATE_REFERENCE=1 to write docs/reference/{name} anew");
}

#[test]
fn codes_and_effects() {
    let mut page = String::from(
        "# Codes and effects of the lint\n\nStable: a code and an effect keep their spelling and their meaning. Written by a test from `crates/lint/src`.\n\n| code | meaning |\n|---|---|\n",
    );
    for (code, meaning) in RULES {
        writeln!(page, "| `{code}` | {meaning} |").unwrap();
    }
    page.push_str("\n| effect | opaque | declared by |\n|---|---|---|\n");
    for effect in Effect::ALL {
        let surface = match declared::surface(effect, &[]) {
            Some(line) => format!("`{line}`"),
            None if declared::FREE.contains(&effect) => "nothing is needed".to_owned(),
            None => "a waiver".to_owned(),
        };
        writeln!(page, "| `{effect}` | {} | {surface} |", if effect.is_opaque() { "yes" } else { "" })
            .unwrap();
    }
    assert_page("lint-codes.md", &page);
}

#[test]
fn every_code_is_explained_with_the_same_meaning() {
    let explained = ringfence_policy::explain::all();
    let lint: Vec<(&str, &str)> = explained
        .iter()
        .filter(|one| one.family == ringfence_policy::explain::Family::Lint)
        .map(|one| (one.code, one.meaning))
        .collect();
    assert_eq!(lint, RULES);
}

#[test]
fn command() {
    let output = Command::new(env!("CARGO_BIN_EXE_ringfence-lint")).arg("--help").output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    let help: Vec<&str> = help.lines().map(str::trim_end).collect();
    let page = format!(
        "# `ringfence lint`\n\nWritten by a test from the command's own help (`crates/lint/tests/it/reference.rs`).\n\n```text\n{}\n```\n",
        help.join("\n").trim_end()
    );
    assert_page("lint.md", &page);
}
