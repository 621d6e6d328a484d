//! What people have agreed to, in the way of what goes beyond it.

use crate::bench::Bench;

const TOOLBOX: &str = r#"
[personality]
id = "reviewed"
fs_reach = { read = ["${workspace}"] }
environment = { allow = ["LANG"] }

[[tool]]
name = "reader"
description = "Read a file"
builtin = "read_file"
capabilities = { fs_reach = { read = ["${workspace}/a"] } }
"#;

fn bench() -> Bench {
    let bench = Bench::new().file("ringfence.toml", TOOLBOX).file("a", "hello");
    let written = bench.ringfence(&["manifest"]);
    assert!(written.contains("ringfence.lock.json: 1 tool"), "{written}");
    bench
}

#[test]
fn a_tool_that_reaches_further_than_was_accepted_is_not_called() {
    let bench = bench();
    assert!(bench.ringfence(&["call", "reader", r#"{"path": "a"}"#]).contains("hello"));
    let bench = bench.file("ringfence.toml", TOOLBOX.replace("${workspace}/a", "${workspace}"));
    let refused = bench.ringfence(&["call", "reader", r#"{"path": "a"}"#]);
    assert!(refused.contains("TOOL_QUARANTINED: `reader` may do more than was accepted: paths"), "{refused}");
    assert!(refused.contains("ringfence manifest accept"), "{refused}");
    assert!(bench.ringfence(&["tools"]).contains("quarantined"));
    bench.ringfence(&["manifest", "accept", "--yes"]);
    assert!(bench.ringfence(&["call", "reader", r#"{"path": "a"}"#]).contains("hello"));
    // Less than was accepted needs nobody.
    let bench = bench.file("ringfence.toml", TOOLBOX);
    assert!(bench.ringfence(&["call", "reader", r#"{"path": "a"}"#]).contains("hello"));
}

#[test]
fn a_manifest_that_was_touched_stops_everything() {
    let bench = bench();
    let touched = bench.read("ringfence.lock.json").replace("/a\"", "/b\"");
    let bench = bench.file("ringfence.lock.json", touched);
    let refused = bench.ringfence(&["call", "reader", r#"{"path": "a"}"#]);
    assert!(refused.contains("ringfence.lock.json") && !refused.contains("hello"), "{refused}");
}

#[test]
fn a_link_to_nothing_is_not_the_absence_of_a_manifest() {
    let bench = bench();
    let lock = bench.path().join("ringfence.lock.json");
    std::fs::remove_file(&lock).unwrap();
    std::os::unix::fs::symlink("nothing.json", &lock).unwrap();
    for arguments in
        [&["call", "reader", r#"{"path": "a"}"#][..], &["manifest"], &["manifest", "accept", "--yes"]]
    {
        let refused = bench.ringfence(arguments);
        assert!(refused.contains("ringfence.lock.json`: it is a link to nothing"), "{refused}");
        assert!(!refused.contains("hello") && !refused.ends_with("exit 0"), "{refused}");
    }
}

#[test]
fn the_manifest_is_in_the_record() {
    let bench = bench();
    bench.ringfence(&["call", "reader", r#"{"path": "a"}"#, "--audit", "log.jsonl"]);
    let line: serde_json::Value =
        serde_json::from_str(bench.read("log.jsonl").lines().next().unwrap()).unwrap();
    let lock: serde_json::Value = serde_json::from_str(&bench.read("ringfence.lock.json")).unwrap();
    assert_eq!(line["manifest"], lock["hash"]);
}

#[test]
fn the_lint_is_found_beside_the_command() {
    let bench = Bench::new();
    let said = bench.ringfence(&["lint", "--version"]);
    let is_there =
        std::path::Path::new(env!("CARGO_BIN_EXE_ringfence")).with_file_name("ringfence-lint").is_file();
    if is_there {
        assert!(said.starts_with("ringfence lint 0."), "{said}");
    } else {
        assert!(
            said.contains("is not installed") && said.contains("cargo install --path crates/lint"),
            "{said}"
        );
    }
}
