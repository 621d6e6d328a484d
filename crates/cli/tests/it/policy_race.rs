//! A policy that is replaced while it is read: what was judged is what is used.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::bench::Bench;

const ACCEPTED: &str = r#"
[personality]
id = "reviewed"
fs_reach = { read = ["${workspace}"] }

[[tool]]
name = "reader"
description = "Read a file"
builtin = "read_file"
capabilities = { fs_reach = { read = ["${workspace}/a"] } }
"#;

/// How often it is tried.
const TRIES: usize = 40;

#[test]
fn a_wide_policy_is_never_judged_by_a_narrow_one() {
    let bench = Bench::new()
        .file("ringfence.toml", ACCEPTED)
        .file("wide", ACCEPTED.replace("${workspace}/a", "${workspace}"))
        .file("narrow", ACCEPTED)
        .file("a", "hello")
        .file("secret", "canary");
    assert!(bench.ringfence(&["manifest"]).contains("1 tool"));
    exchanged(&bench, "ringfence.toml", || {
        let said = bench.ringfence(&["call", "reader", r#"{"path": "secret"}"#]);
        let is_refused = said.contains("PATH_NOT_REACHABLE") || said.contains("TOOL_QUARANTINED");
        if is_refused && !said.contains("canary") { Ok(()) } else { Err(said) }
    });
}

/// Tries something while the file is exchanged for `wide` and for `narrow` in turn.
fn exchanged(bench: &Bench, file: &str, attempt: impl Fn() -> Result<(), String>) {
    let (folder, is_over) = (bench.path(), AtomicBool::new(false));
    let replace = |from: &str| {
        std::fs::copy(folder.join(from), folder.join("next")).unwrap();
        std::fs::rename(folder.join("next"), folder.join(file)).unwrap();
    };
    let tried = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                replace("wide");
                replace("narrow");
            }
        });
        let tried = (0..TRIES).try_for_each(|_| attempt());
        is_over.store(true, Ordering::Relaxed);
        tried
    });
    assert_eq!(tried, Ok(()));
}

const SCHEMA: &str = r#"
[personality]
id = "reviewed"
process = { allow = ["echo"] }

[[tool]]
name = "pay"
description = "Pay an amount"
command = ["echo", "paid", "{amount}"]
input = "pay.json"
output = { type = "string" }
capabilities = { process = { allowedBinaries = ["echo"] } }
"#;

#[test]
fn a_wide_schema_is_never_judged_by_a_narrow_one() {
    let schema = |most: u32| {
        format!(
            r#"{{"type": "object", "properties": {{"amount": {{"type": "integer", "maximum": {most}}}}}, "required": ["amount"]}}"#
        )
    };
    let bench = Bench::new()
        .file("ringfence.toml", SCHEMA)
        .file("pay.json", schema(10))
        .file("wide", schema(1_000_000))
        .file("narrow", schema(10));
    assert!(bench.ringfence(&["manifest"]).contains("1 tool"));
    exchanged(&bench, "pay.json", || {
        let said = bench.ringfence(&["call", "pay", r#"{"amount": 1000000}"#]);
        let is_refused = said.contains("INPUT_INVALID") || said.contains("TOOL_QUARANTINED");
        if is_refused && !said.contains("paid 1000000") { Ok(()) } else { Err(said) }
    });
}
