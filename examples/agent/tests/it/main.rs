//! The example, as somebody runs it.

#![cfg(test)]
#![expect(clippy::disallowed_methods, reason = "the test starts the program it tests")]

use std::process::Command;

/// Runs it and puts a word in the place of the port, which is another every time.
fn played() -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_agent")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let (before, after) = text.split_once("weather.example:").unwrap();
    format!(
        "{before}weather.example:[PORT]{}",
        after.trim_start_matches(|letter: char| letter.is_ascii_digit())
    )
}

#[test]
fn refusals_are_heard_and_mended() {
    insta::assert_snapshot!(played(), @"");
}

#[test]
fn the_readme_shows_what_is_printed() {
    let readme = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).unwrap();
    let played = played();
    let shown = readme.split("```text\n").nth(1).unwrap().split("```").next().unwrap();
    // The README leaves parts out, and says so.
    for line in shown.lines().filter(|line| !line.starts_with('$') && *line != "…" && !line.is_empty()) {
        assert!(played.lines().any(|one| one == line), "not printed any more: {line}");
    }
}
