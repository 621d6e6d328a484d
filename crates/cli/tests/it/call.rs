//! `ringfence call` and `ringfence tools`: real files through the whole pipeline.

use serde_json::Value;

use crate::bench::Bench;

const TOOLBOX: &str = r#"
[personality]
id = "writer"
fs_reach = { read = ["${workspace}"], write = ["${workspace}/out"] }
network = { allow = ["api.github.com"] }
process = { allow = ["nowhere-to-be-found"] }

[[tool]]
name = "read"
description = "Read a file"
builtin = "read_file"
capabilities = { fs_reach = { read = "from-personality" } }

[[tool]]
name = "list"
description = "List a directory"
builtin = "list_files"
capabilities = { fs_reach = { read = "from-personality" } }

[[tool]]
name = "write"
description = "Write a file"
builtin = "write_file"
risk = "medium"
capabilities = { fs_reach = { write = ["${workspace}/out"] } }

[[tool]]
name = "fetch"
description = "Fetch a page"
builtin = "fetch_url"
capabilities = { network = { allowedHosts = ["api.github.com"] } }

[[tool]]
name = "grep"
description = "Search"
command = ["nowhere-to-be-found", "{pattern}"]
input = "schemas/grep.json"
output = { type = "string" }
capabilities = { process = { allowedBinaries = ["nowhere-to-be-found"] } }

[[tool]]
name = "quarantined"
description = "For code only"
builtin = "read_file"
capabilities = { fs_reach = { read = "from-personality" } }
constraints = { forbidden = true }
"#;

fn bench() -> Bench {
    Bench::new()
        .file("ringfence.toml", TOOLBOX)
        .file("schemas/grep.json", r#"{"type": "object", "properties": {"pattern": {"type": "string"}}}"#)
        .file("notes.txt", "remember the milk\u{1b}[31m\n")
        .file("out/old.txt", "old")
}

#[test]
fn calls_go_through_the_whole_pipeline() {
    let bench = bench();
    let mut all = String::new();
    #[rustfmt::skip]
    let calls: &[&[&str]] = &[
        &["call", "read", r#"{"path": "notes.txt"}"#],
        &["call", "list", r#"{"path": "."}"#],
        &["call", "read", r#"{"path": "/etc/passwd"}"#],
        &["call", "read", r#"{"path": "missing.txt"}"#],
        &["call", "write", r#"{"path": "out/new.txt", "content": "new"}"#],
        &["call", "write", r#"{"path": "notes.txt", "content": "new"}"#],
        &["call", "fetch", r#"{"url": "http://127.0.0.1:1/"}"#],
        &["call", "grep", r#"{"pattern": "milk"}"#],
        &["call", "quarantined", r#"{"path": "notes.txt"}"#],
        &["call", "quarantined", r#"{"path": "notes.txt"}"#, "--asked-by", "code"],
    ];
    for call in calls {
        all.push_str(&bench.ringfence(call));
        all.push('\n');
    }
    insta::assert_snapshot!(all, @r#"
    {"ok":true,"value":"remember the milk\n"}
    exit 0
    {"ok":true,"value":"[\"notes.txt\",\"out\",\"ringfence.toml\",\"schemas\"]","structured":["notes.txt","out","ringfence.toml","schemas"]}
    exit 0
    {"ok":false,"code":"refused","error":"PATH_NOT_REACHABLE: read not permitted for /etc/passwd","refusal":"PATH_NOT_REACHABLE"}
      hint: the personality's `fs_reach.read` does not list it
      why: ringfence explain PATH_NOT_REACHABLE
    exit 3
    {"ok":false,"code":"execution_failed","error":"cannot read `[W]/missing.txt`: entity not found"}
    exit 1
    {"ok":true,"value":"wrote 3 bytes"}
    exit 0
    {"ok":false,"code":"refused","error":"PATH_NOT_REACHABLE: write not permitted for [W]/notes.txt","refusal":"PATH_NOT_REACHABLE"}
      hint: the personality's `fs_reach.write` does not list it
      why: ringfence explain PATH_NOT_REACHABLE
    exit 3
    {"ok":false,"code":"execution_failed","error":"HOST_NOT_ALLOWED: 127.0.0.1 is not in the declared allowedHosts","refusal":"HOST_NOT_ALLOWED"}
      why: ringfence explain HOST_NOT_ALLOWED
    exit 3
    {"ok":false,"code":"execution_failed","error":"BINARY_NOT_FOUND: no program is named `nowhere-to-be-found`","refusal":"BINARY_NOT_FOUND"}
      why: ringfence explain BINARY_NOT_FOUND
    exit 1
    {"ok":false,"code":"refused","error":"CONSTRAINT_VIOLATED: tool `quarantined` may be called by code, never by a model","refusal":"CONSTRAINT_VIOLATED"}
      why: ringfence explain CONSTRAINT_VIOLATED
    exit 3
    {"ok":true,"value":"remember the milk\n"}
    exit 0
    "#);
    assert_eq!(std::fs::read_to_string(bench.path().join("out/new.txt")).unwrap(), "new");
    assert_eq!(
        std::fs::read_to_string(bench.path().join("notes.txt")).unwrap(),
        "remember the milk\u{1b}[31m\n"
    );
}

#[test]
fn every_outcome_is_one_line_of_the_audit() {
    let bench = bench();
    let audit = |arguments: &[&str]| {
        let mut all = vec!["call"];
        all.extend(arguments);
        all.extend(["--audit", "audit.jsonl"]);
        bench.ringfence(&all);
    };
    audit(&["read", r#"{"path": "notes.txt"}"#]);
    audit(&["read", r#"{"path": "/etc/passwd"}"#]);
    audit(&["read", r#"{"path": "missing.txt"}"#]);
    audit(&["nobody", "{}"]);
    let path = bench.path().join("audit.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let outcomes: Vec<String> = lines
        .iter()
        .map(|line| format!("{} {} {}", line["tool"], line["outcome"], line["result"]["refusal"]))
        .collect();
    assert_eq!(
        outcomes,
        [
            r#""read" "done" null"#,
            r#""read" "refused" "PATH_NOT_REACHABLE""#,
            r#""read" "failed" null"#,
            r#""nobody" "refused" "TOOL_UNKNOWN""#,
        ]
    );
    assert_eq!(lines[1]["used_declared_capability"], true);
    use std::os::unix::fs::PermissionsExt;
    assert_eq!(std::fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn lists_tools_with_their_reach() {
    insta::assert_snapshot!(bench().ringfence(&["tools"]), @"
    TOOL         CLASS    REACH                       DESCRIPTION
    fetch        network  hosts api.github.com        Fetch a page
    grep         read     starts nowhere-to-be-found  Search
    list         read     read [W]        List a directory
    quarantined  read     read [W]        For code only
    read         read     read [W]        Read a file
    write        write    write [W]/out   Write a file
    exit 0
    ");
}

#[test]
fn tools_as_json_carry_digests() {
    let output = bench().run(&["tools", "--json"], b"");
    let lines: Vec<Value> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 6);
    assert!(lines.iter().all(|line| line["digest"].as_str().unwrap().len() == 64));
}
