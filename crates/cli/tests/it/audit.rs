//! `ringfence audit` over a store that `ringfence call` has written.

use ringfence::audit::PolicyChange;
use ringfence::{AuditEntry, AuditSink as _};
use serde_json::Value;

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
    // The record names where the file is, which outputs are shown without.
    let proof = audit(&["prove", "1", "--trust", &key]).replace("[W]", bench.path().to_str().unwrap());
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
    error: the file `[W]/no.db` is not there
      hint: nothing has made this store yet: `ringfence approver add`, `ringfence call --store` or `ringfence store migrate` makes one; another is named with --store STORE or in the variable RINGFENCE_STORE
    exit 1
    ");
    insta::assert_snapshot!(bench.ringfence(&["audit", "--store", "ringfence.toml", "tail"]), @"
    error: the file `[W]/ringfence.toml` is not a regular file of this user alone; it must have mode 600
      hint: let nobody else read or write it (`chmod 600`), if it is a store; name another with --store STORE
    exit 1
    ");
    insta::assert_snapshot!(bench.ringfence(&["audit", "--store", "log.db", "show", "99"]), @"
    error: there is no record 99
      hint: records are counted from 0; `ringfence audit tail` shows the newest
    exit 2
    ");
    insta::assert_snapshot!(bench.ringfence(&["audit", "--store", "log.db", "verify", "--trust", "nonsense"]), @r#"
    error: `--trust` is not a verifying key: not a key of the form `name+id+base64`
      hint: give what `ringfence audit keygen` printed, as in --trust "$(cat log.pub)"
    exit 2
    "#);
    insta::assert_snapshot!(bench.ringfence(&["audit", "keygen", "acme.io/agents", "key"]), @"
    error: cannot write `key`: File exists (os error 17)
      hint: name another file, or move this one away
    exit 1
    ");
    assert!(!key.is_empty());
}

#[test]
fn the_newest_records_are_printed_and_time_narrows_them() {
    let (bench, _) = logged();
    let audit = |arguments: &[&str]| bench.ringfence(&[&["audit", "--store", "log.db"], arguments].concat());
    let indices = |said: String| -> Vec<u64> {
        let records = said.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        records.filter_map(|record| record["index"].as_u64()).collect()
    };
    assert_eq!(indices(audit(&["tail", "-n", "2"])), [2, 3]);
    assert_eq!(indices(audit(&["search", "-n", "1"])), [3]);
    assert_eq!(indices(audit(&["search", "-n", "1", "--kind", "policy"])), [2]);
    assert_eq!(indices(audit(&["search", "--since", "1h"])), [0, 1, 2, 3]);
    assert_eq!(indices(audit(&["search", "--until", "1h"])), [0_u64; 0]);
    assert_eq!(
        indices(audit(&["search", "--since", "2000-01-01T00:00:00Z", "--until", "2001-01-01"])),
        [0_u64; 0]
    );
    insta::assert_snapshot!(audit(&["search", "--since", "lately"]), @"
    error: invalid value 'lately' for '--since <TIME>': it is neither a moment such as `2026-11-15T12:00:00Z` nor an age such as `2h` or `30d`

    For more information, try '--help'.
    exit 2
    ");
}

#[test]
fn an_export_of_several_pages_is_whole() {
    let bench = Bench::new();
    let path = bench.path().join("log.db");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = ringfence_store::SqliteStore::open(&path).unwrap();
        let policy = |number: u64| PolicyChange {
            at: std::time::Duration::from_millis(number),
            personality: Some(format!("p{number}").into()),
            digest: String::new(),
            manifest: None,
            start: true,
            version: "0",
        };
        let changes: Vec<_> = (0..1_201).map(policy).collect();
        let entries: Vec<_> = changes.iter().map(AuditEntry::Policy).collect();
        store.append(&entries).await.unwrap();
    });
    let said = bench.ringfence(&["audit", "export", "--store", "log.db"]);
    let numbers: Vec<u64> = said
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter_map(|record| {
            assert_eq!(record["personality"], format!("p{}", record["index"]));
            record["index"].as_u64()
        })
        .collect();
    assert_eq!(numbers, (0..1_201).collect::<Vec<_>>());
}

#[test]
fn raw_outputs_are_forgotten_and_the_log_stays_intact() {
    let (bench, key) = logged();
    let audit = |arguments: &[&str]| bench.ringfence(&[&["audit", "--store", "log.db"], arguments].concat());
    insta::assert_snapshot!(audit(&["forget-raw", "--older-than", "30d"]), @"
    raw outputs forgotten: 0
    exit 0
    ");
    assert!(audit(&["show", "1"]).contains("\\u001b[31m"));
    std::thread::sleep(std::time::Duration::from_millis(20));
    insta::assert_snapshot!(audit(&["forget-raw", "--older-than", "1ms"]), @"
    raw outputs forgotten: 1
    exit 0
    ");
    let shown = audit(&["show", "1"]);
    assert!(shown.contains("Thursday") && !shown.contains("\\u001b[31m"), "{shown}");
    audit(&["checkpoint", "--key", "key"]);
    assert!(audit(&["verify", "--trust", &key]).starts_with("intact: 4 records"));
    insta::assert_snapshot!(audit(&["forget-raw", "--older-than", "old"]), @"
    error: invalid value 'old' for '--older-than <TIME>': it is not a length of time such as `90s`, `15m`, `2h` or `30d`

    For more information, try '--help'.
    exit 2
    ");
    insta::assert_snapshot!(bench.ringfence(&["audit", "--store", "typo.db", "forget-raw", "--older-than", "1d"]), @"
    error: the file `[W]/typo.db` is not there
      hint: nothing has made this store yet: `ringfence approver add`, `ringfence call --store` or `ringfence store migrate` makes one; another is named with --store STORE or in the variable RINGFENCE_STORE
    exit 1
    ");
    assert!(!bench.path().join("typo.db").exists());

    let read =
        ["call", "--store", "never.db", "--keep-raw", "never", "read", r#"{"path": "notes/today.txt"}"#];
    assert!(bench.ringfence(&read).contains("Thursday"));
    let shown = bench.ringfence(&["audit", "--store", "never.db", "show", "1"]);
    assert!(shown.contains("Thursday") && !shown.contains("\\u001b[31m"), "{shown}");
    let read = ["call", "--store", "never.db", "--keep-raw", "soon", "read"];
    insta::assert_snapshot!(bench.ringfence(&read), @"
    error: invalid value 'soon' for '--keep-raw <TIME>': it is none of `always`, `never` and `30d`

    For more information, try '--help'.
    exit 2
    ");
}

#[test]
fn the_variable_names_the_store_and_the_flag_wins() {
    let (bench, _) = logged();
    let whole = |name: &str| bench.path().join(name).display().to_string();
    let tail = |variable: &str, arguments: &[&str]| {
        let variables = [("RINGFENCE_STORE", &*whole(variable))];
        bench.ringfence_in(&variables, &[&["audit", "tail"], arguments].concat()).lines().count()
    };
    assert_eq!(tail("log.db", &[]), 5);
    assert_eq!(tail("no.db", &["--store", "log.db"]), 5);
    insta::assert_snapshot!(bench.ringfence_in(&[("RINGFENCE_STORE", "")], &["audit", "tail"]), @"
    error: the file `[W]/ringfence.db` is not there
      hint: nothing has made this store yet: `ringfence approver add`, `ringfence call --store` or `ringfence store migrate` makes one; another is named with --store STORE or in the variable RINGFENCE_STORE
    exit 1
    ");
    let read = ["call", "read", r#"{"path": "notes/today.txt"}"#];
    insta::assert_snapshot!(bench.ringfence_in(&[("RINGFENCE_STORE", "other.db")], &read), @"
    error: RINGFENCE_STORE names `other.db`, which is not an absolute path
      hint: in another directory it would be another store; write the whole path, or use --store
    exit 2
    ");
    // What may hold a password is not printed, also where it is no address of ours.
    for name in ["postgress://u:hunter2@h/x", "Postgres://u:hunter2@h/x", "mysql://u:hunter2@h/x"] {
        let said = bench.ringfence_in(&[("RINGFENCE_STORE", name)], &["approvals", "list"]);
        assert!(said.contains("begins with `postgres://`") && !said.contains("hunter2"), "{said}");
    }
    assert!(bench.ringfence_in(&[("RINGFENCE_STORE", &whole("other.db"))], &read).contains("Thursday"));
    assert_eq!(tail("other.db", &[]), 3);
    let read = [&read[..], &["--audit", "audit.jsonl"]].concat();
    insta::assert_snapshot!(bench.ringfence_in(&[("RINGFENCE_STORE", &whole("other.db"))], &read), @"
    error: `--audit` writes to a file what the store of RINGFENCE_STORE keeps
      hint: leave `--audit` out, or unset RINGFENCE_STORE
    exit 2
    ");
}

#[test]
fn a_url_with_a_password_is_never_printed() {
    let bench = Bench::new().file("ringfence.toml", TOOLBOX);
    let url = "postgres://u:hunter2@127.0.0.1:1/x";
    let mut all = String::new();
    for arguments in
        [&["audit", "tail"][..], &["call", "read", "{}"], &["approvals", "list"], &["store", "check"]]
    {
        all.push_str(&bench.ringfence_in(&[("RINGFENCE_STORE", url)], arguments));
        all.push('\n');
        all.push_str(&bench.ringfence(&[arguments, &["--store", url]].concat()));
        all.push('\n');
    }
    for mistyped in ["postgres:/u:hunter2@db/x", "postgres:u:hunter2@db", "PostgreSQL://u:hunter2@db/x"] {
        let said = bench.ringfence(&["audit", "tail", "--store", mistyped]);
        assert!(
            said.contains("a store is a file, or its name begins with") && !said.contains("hunter2"),
            "{said}"
        );
    }
    all.push_str(&bench.ringfence(&["audit", "tail", "--store", "mysql://u:hunter2@db/x"]));
    assert!(!all.contains("hunter2"), "{all}");
    insta::assert_snapshot!(all, @"
    error: the database `x` at `127.0.0.1:1` cannot be reached: error connecting to server: Connection refused (os error 111)
      hint: look whether the database runs, and at the host and port of its address
    exit 1
    error: the database `x` at `127.0.0.1:1` cannot be reached: error connecting to server: Connection refused (os error 111)
      hint: look whether the database runs, and at the host and port of its address
    exit 1
    error: the database `x` at `127.0.0.1:1` cannot be reached: error connecting to server: Connection refused (os error 111)
      hint: look whether the database runs, and at the host and port of its address
    exit 1
    error: the database `x` at `127.0.0.1:1` cannot be reached: error connecting to server: Connection refused (os error 111)
      hint: look whether the database runs, and at the host and port of its address
    exit 1
    error: the database `x` at `127.0.0.1:1` cannot be reached: error connecting to server: Connection refused (os error 111)
      hint: look whether the database runs, and at the host and port of its address
    exit 1
    error: the database `x` at `127.0.0.1:1` cannot be reached: error connecting to server: Connection refused (os error 111)
      hint: look whether the database runs, and at the host and port of its address
    exit 1
    error: the database `x` at `127.0.0.1:1` cannot be reached: error connecting to server: Connection refused (os error 111)
      hint: look whether the database runs, and at the host and port of its address
    exit 1
    error: the database `x` at `127.0.0.1:1` cannot be reached: error connecting to server: Connection refused (os error 111)
      hint: look whether the database runs, and at the host and port of its address
    exit 1
    error: a store is a file, or its name begins with `postgres://`
      hint: write `--store clerk.db` or `--store postgres://user@host/database`
    exit 2
    ");
}
