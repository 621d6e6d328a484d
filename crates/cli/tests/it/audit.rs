//! `ringfence audit` over a store that `ringfence call` has written.

use crate::bench::Bench;

const TOOLBOX: &str = r#"
[personality]
id = "reader"
fs_reach = { read = ["${workspace}/notes"] }

[[tool]]
name = "read"
description = "Read a note"
builtin = "read_file"
capabilities = { fs_reach = { read = "from-personality" } }
"#;

/// A store with a policy, a call that was done and one that was refused, and the key that verifies it.
fn logged() -> (Bench, String) {
    let bench = Bench::new()
        .file("ringfence.toml", TOOLBOX)
        .file("notes/today.txt", "\u{1b}[31mthe workshop is on Thursday\n");
    assert!(
        bench
            .ringfence(&["call", "--store", "log.db", "read", r#"{"path": "notes/today.txt"}"#])
            .contains("Thursday")
    );
    let refused = bench.ringfence(&["call", "--store", "log.db", "read", r#"{"path": "/etc/passwd"}"#]);
    assert!(refused.contains("PATH_NOT_REACHABLE"), "{refused}");
    let key = bench.ringfence(&["audit", "keygen", "acme.io/agents", "key"]);
    let key = key.lines().next().unwrap().to_owned();
    (bench, key)
}

#[test]
fn a_log_is_read_signed_verified_and_proven() {
    let (bench, key) = logged();
    let audit = |arguments: &[&str]| bench.ringfence(&[&["audit", "--store", "log.db"], arguments].concat());
    let kinds: Vec<String> = audit(&["tail"])
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .map(|record| format!("{} {} {}", record["index"], record["kind"], record["outcome"]))
        .collect();
    assert_eq!(
        kinds,
        [r#"0 "policy" null"#, r#"1 "call" "done""#, r#"2 "policy" null"#, r#"3 "call" "refused""#]
    );
    assert!(audit(&["search", "--code", "PATH_NOT_REACHABLE"]).contains("/etc/passwd"));
    let shown = audit(&["show", "1"]);
    assert!(
        shown.contains("\\u001b[31mthe workshop") && shown.contains("\"value\": \"the workshop"),
        "{shown}"
    );
    assert_eq!(audit(&["export"]).lines().count(), 5); // and the exit code

    insta::assert_snapshot!(audit(&["verify", "--trust", &key]), @"
    intact: 4 records, 0 under a signed checkpoint
    exit 0
    ");
    insta::assert_snapshot!(audit(&["verify", "--trust", &key, "--unsigned", "0"]), @"
    unsigned: no checkpoint covers the records 0 to 3
    exit 4
    ");
    insta::assert_snapshot!(audit(&["prove", "1", "--trust", &key]), @"
    error: no checkpoint covers record 1
      hint: sign one with `ringfence audit checkpoint`
    exit 2
    ");
    let note = audit(&["checkpoint", "--key", "key"]);
    let bench = bench.file("kept", note.rsplit_once("exit").unwrap().0);
    let audit = |arguments: &[&str]| bench.ringfence(&[&["audit", "--store", "log.db"], arguments].concat());
    insta::assert_snapshot!(audit(&["verify", "--trust", &key, "--unsigned", "0", "--checkpoint", "kept"]), @"
    intact: 4 records, 4 under a signed checkpoint
    exit 0
    ");
    let proof = audit(&["prove", "1", "--trust", &key]);
    let bench = bench.file("proof.json", proof.rsplit_once("exit").unwrap().0);
    assert!(
        bench
            .ringfence(&["audit", "check-proof", "proof.json", "--trust", &key])
            .contains("\"tool\":\"read\"")
    );
    let bench = bench
        .file("proof.json", proof.rsplit_once("exit").unwrap().0.replace("\\\"done\\\"", "\\\"sold\\\""));
    insta::assert_snapshot!(bench.ringfence(&["audit", "check-proof", "proof.json", "--trust", &key]), @"
    the proof does not hold: the proof does not lead to the root
    exit 4
    ");
}

#[test]
fn what_cannot_be_done_is_said() {
    let (bench, key) = logged();
    insta::assert_snapshot!(bench.ringfence(&["audit", "--store", "no.db", "tail"]), @"
    error: the file `[W]/no.db` cannot be used: entity not found
    exit 1
    ");
    insta::assert_snapshot!(bench.ringfence(&["audit", "--store", "ringfence.toml", "tail"]), @"
    error: the file `[W]/ringfence.toml` is not a regular file of this user alone; it must have mode 600
    exit 1
    ");
    insta::assert_snapshot!(bench.ringfence(&["audit", "--store", "log.db", "show", "99"]), @"
    error: there is no record 99
    exit 2
    ");
    insta::assert_snapshot!(bench.ringfence(&["audit", "--store", "log.db", "verify", "--trust", "nonsense"]), @"
    error: `--trust` is not a verifying key: not a key of the form `name+id+base64`
    exit 2
    ");
    insta::assert_snapshot!(bench.ringfence(&["audit", "keygen", "acme.io/agents", "key"]), @"
    error: cannot write `key`: File exists (os error 17)
    exit 1
    ");
    assert!(!key.is_empty());
}
