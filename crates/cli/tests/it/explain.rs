//! `ringfence explain`: every code has its text, and a change that is advised really lets the call through.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use ringfence::policy::explain::{Family, all};
use serde_json::{Value, json};

use crate::bench::Bench;

/// Applies a unified diff without context, as `patch` does.
fn patched(text: &str, diff: &str) -> String {
    let old: Vec<&str> = text.lines().collect();
    let mut new: Vec<&str> = Vec::new();
    let mut next = 0;
    for line in diff.lines().skip(2) {
        if let Some(range) = line.strip_prefix("@@ -") {
            let (start, count) = range.split(' ').next().unwrap().split_once(',').map_or_else(
                || (range.split(' ').next().unwrap().parse::<usize>().unwrap(), 1),
                |(start, count)| (start.parse().unwrap(), count.parse::<usize>().unwrap()),
            );
            let start = if count == 0 { start } else { start - 1 };
            new.extend(&old[next..start]);
            next = start;
        } else if let Some(gone) = line.strip_prefix('-') {
            assert_eq!(old[next], gone, "{diff}");
            next += 1;
        } else {
            new.push(line.strip_prefix('+').unwrap());
        }
    }
    new.extend(&old[next..]);
    new.join("\n") + "\n"
}

/// Explains the last call that was not done.
fn explained(bench: &Bench) -> Value {
    let output = bench.run(&["explain", "last", "--store", "s.db", "--json"], b"");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn call(bench: &Bench, tool: &str, arguments: &str) -> Value {
    let output = bench.run(&["call", tool, arguments, "--store", "s.db", "--run", "r1"], b"");
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)))
}

/// Says that a call is refused with a code, that the advised change is sound, and that with it the call goes through.
#[track_caller]
fn assert_change_helps(bench: &Bench, tool: &str, arguments: &str, code: &str, lacking: &str) -> Value {
    let refused = call(bench, tool, arguments);
    let is_expected = |answer: &Value| code.split('|').any(|code| answer["refusal"] == code);
    assert!(is_expected(&refused), "{refused}");
    let told = explained(bench);
    assert_eq!((&told["code"], &told["lacking"]), (&refused["refusal"], &json!(lacking)), "{told:#}");
    let again = call(bench, tool, arguments);
    assert!(is_expected(&again), "explaining changes nothing: {again}");
    let diff = told["change"]["diff"].as_str().unwrap_or_else(|| panic!("no change is told: {told:#}"));
    let rules = told["rules"].as_array().unwrap();
    assert!(!rules.is_empty() && rules.iter().all(|rule| rule["line"].is_u64()), "{told:#}");
    let policy = bench.read("ringfence.toml");
    for rule in rules {
        let line = policy.lines().nth(rule["line"].as_u64().unwrap() as usize - 1).unwrap();
        assert_eq!(rule["text"], line.trim_end());
    }
    std::fs::write(bench.path().join("ringfence.toml"), patched(&policy, diff)).unwrap();
    let checked = bench.ringfence(&["check"]);
    assert!(checked.ends_with("exit 0"), "{checked}\n{diff}");
    let done = call(bench, tool, arguments);
    assert_eq!(done["ok"], true, "{done}\n{diff}");
    told
}

fn also(told: &Value) -> String {
    let all = told["change"]["also"].as_array().unwrap();
    all.iter().map(|one| one.as_str().unwrap()).collect::<Vec<_>>().join("\n")
}

#[test]
fn every_code_has_its_text() {
    let bench = Bench::new();
    for one in all() {
        let said = bench.ringfence(&["explain", one.code]);
        assert!(said.starts_with(&format!("{}: ", one.code)) && said.ends_with("exit 0"), "{said}");
        assert!(said.contains("what to do") && said.contains("what that would also allow"), "{said}");
    }
    for family in [Family::Call, Family::Check, Family::Lint, Family::Manifest] {
        assert!(all().iter().any(|one| one.family == family));
    }
    let told: Value =
        serde_json::from_slice(&bench.run(&["explain", "tool.exec.widened", "--json"], b"").stdout).unwrap();
    assert_eq!((&told["family"], &told["meaning"]), (&json!("manifest"), &json!("it starts more programs")));
}

#[test]
fn a_code_is_told_in_full() {
    insta::assert_snapshot!(Bench::new().ringfence(&["explain", "path_not_reachable"]), @"
    PATH_NOT_REACHABLE: the path is not in the granted set

    which rule decides
      the tool's `fs_reach` and the personality's `fs_reach`, for reading and writing each; below both
      is the floor of `docs/reference/floor.md`

    what to do
      add that very path to the list that lacks it; for a path of the floor none is advised: give the
      tool a copy of what it needs

    what that would also allow
      a path is itself and everything below it, now and later

    With a record of the call, the same command names the line: `ringfence explain last --store STORE`.
    exit 0
    ");
}

#[test]
fn what_is_no_code_is_an_error_that_names_the_nearest() {
    let bench = Bench::new();
    insta::assert_snapshot!(bench.ringfence(&["explain", "HOST_NOT_ALOWED"]), @"
    error: `HOST_NOT_ALOWED` is neither a code nor a call that is recorded; the nearest codes are `HOST_NOT_ALLOWED`, `HOST_NOT_FOUND`
      hint: a call is named by its number in the audit, by `RUN/NUMBER`, by its run or a part of that, or by `last`; codes are in docs/reference/codes.md
    exit 2
    ");
    insta::assert_snapshot!(bench.ringfence(&["explain", "zzzzzzzzzzzzzzzzzzzzzzzzz"]), @"
    error: `zzzzzzzzzzzzzzzzzzzzzzzzz` is neither a code nor a call that is recorded
      hint: a call is named by its number in the audit, by `RUN/NUMBER`, by its run or a part of that, or by `last`; codes are in docs/reference/codes.md
    exit 2
    ");
    insta::assert_snapshot!(bench.ringfence(&["explain", "17"]), @"
    error: the file `[W]/ringfence.db` is not there
      hint: nothing has made this store yet: `ringfence approver add`, `ringfence call --store` or `ringfence store migrate` makes one; another is named with --store STORE or in the variable RINGFENCE_STORE
    exit 1
    ");
}

#[test]
fn a_log_without_a_refusal_is_said_to_have_none() {
    let bench = Bench::new().file("junk.jsonl", "not\njson\n").file("empty.jsonl", "");
    assert!(bench.ringfence(&["store", "migrate", "--store", "s.db"]).ends_with("exit 0"));
    insta::assert_snapshot!(bench.ringfence(&["explain", "last", "--store", "s.db"]), @"
    error: no call is recorded there that was refused or failed
      hint: `ringfence audit tail` lists what is recorded in a store
    exit 2
    ");
    for file in ["junk.jsonl", "empty.jsonl"] {
        let said = bench.ringfence(&["explain", "last", "--audit", file]);
        assert!(said.starts_with(&format!("error: `{file}` holds no record of a call\n")), "{said}");
        assert!(said.contains("hint: give the file that `ringfence call --audit FILE` wrote"), "{said}");
    }
    let said = bench.ringfence(&["explain", "last", "--audit", "absent.jsonl"]);
    assert!(said.contains("hint: look whether its name and its folder are right"), "{said}");
}

const FILES: &str = r#"
[personality]
id = "writer"
# what the role may see
fs_reach = { read = ["${workspace}/in"], write = ["${workspace}"] }

[[tool]]
name = "read"
description = "Read a file"
builtin = "read_file"
capabilities = { fs_reach = { read = "from-personality" } }

[[tool]]
name = "read_too"
description = "Read a file"
builtin = "read_file"
capabilities = { fs_reach = { read = "from-personality" } }

[[tool]]
name = "write"
description = "Write a file"
builtin = "write_file"
capabilities = { fs_reach = { write = ["${workspace}/out"] } }
"#;

#[test]
fn a_path_is_added_where_it_is_missing() {
    let bench = Bench::new()
        .file("ringfence.toml", FILES)
        .file("notes.txt", "milk")
        .file("more/a", "")
        .file("more/b/c", "");
    let told =
        assert_change_helps(&bench, "read", r#"{"path": "notes.txt"}"#, "PATH_NOT_REACHABLE", "personality");
    assert!(
        told["change"]["diff"].as_str().unwrap().contains(r#""${workspace}/in", "${workspace}/notes.txt""#)
    );
    assert!(also(&told).contains("the file ") && also(&told).contains("tool read_too: "), "{told:#}");
    let told = assert_change_helps(
        &bench,
        "write",
        r#"{"path": "more/new", "content": "x"}"#,
        "PATH_NOT_REACHABLE",
        "declaration",
    );
    assert!(also(&told).contains("no other tool gains anything"), "{told:#}");
    let refused = call(&bench, "read", r#"{"path": "more"}"#);
    assert_eq!(refused["refusal"], "PATH_NOT_REACHABLE");
    assert!(also(&explained(&bench)).contains("everything below it: 3 files now"), "{:#}", explained(&bench));
}

/// The same toolbox in JSON, as somebody writes it and as a program does.
#[test]
fn a_policy_in_json_has_lines_and_a_change_too() {
    let written = r#"{
  "personality": {
    "fs_reach": { "read": ["${workspace}/in"] }
  },
  "tool": [
    {
      "name": "read",
      "description": "Read a file",
      "builtin": "read_file",
      "capabilities": { "fs_reach": { "read": "from-personality" } }
    }
  ]
}
"#;
    let dense = serde_json::from_str::<Value>(written).unwrap().to_string() + "\n";
    for (policy, place) in [(written, ":3:27"), (&dense, ":1:36")] {
        let bench =
            Bench::new().file("ringfence.json", policy).file("notes.txt", "milk").file("in/other", "");
        let asked =
            ["call", "read", r#"{"path": "notes.txt"}"#, "--store", "s.db", "--policy", "ringfence.json"];
        let refused = bench.ringfence(&asked);
        assert!(refused.ends_with("exit 3"), "{refused}");
        let explain = ["explain", "last", "--store", "s.db", "--policy", "ringfence.json"];
        let told = bench.ringfence(&explain);
        assert!(told.contains(&format!("ringfence.json{place}: personality fs_reach.read")), "{told}");
        let told = bench.run(&[&explain[..], &["--json"]].concat(), b"").stdout;
        let told: Value = serde_json::from_slice(&told).unwrap();
        let diff = told["change"]["diff"].as_str().unwrap_or_else(|| panic!("no change is told: {told:#}"));
        assert!(also(&told).contains("no other tool gains anything"), "{told:#}");
        let changed = patched(policy, diff);
        assert_eq!(changed.replace(r#", "${workspace}/notes.txt""#, ""), policy, "nothing else changes");
        let bench = bench.file("ringfence.json", changed);
        let done = bench.ringfence(&asked);
        assert!(done.contains("milk") && done.ends_with("exit 0"), "{done}");
    }
    // What cannot be pointed at is said, and what to do.
    let bench = Bench::new().file("ringfence.json", format!(" {written}")).file("notes.txt", "milk");
    bench.ringfence(&[
        "call",
        "read",
        r#"{"path": "notes.txt"}"#,
        "--store",
        "s.db",
        "--policy",
        "ringfence.json",
    ]);
    let told = bench.ringfence(&["explain", "last", "--store", "s.db", "--policy", "ringfence.json"]);
    assert!(told.contains("make the change by hand: add that very path"), "{told}");
}

#[test]
fn where_a_link_leads_is_what_is_added() {
    let bench = Bench::new().file("ringfence.toml", FILES).file("notes.txt", "milk").file("in/other", "");
    std::os::unix::fs::symlink(bench.path().join("notes.txt"), bench.path().join("in/link")).unwrap();
    let told =
        assert_change_helps(&bench, "read", r#"{"path": "in/link"}"#, "PATH_NOT_REACHABLE", "personality");
    assert!(told["notes"].to_string().contains("a link leads from"), "{told:#}");
}

#[test]
fn everything_is_told_of_a_call() {
    let bench = Bench::new().file("ringfence.toml", FILES).file("notes.txt", "milk");
    call(&bench, "read", r#"{"path": "notes.txt"}"#);
    let said = bench.ringfence(&["explain", "r1", "--store", "s.db"]);
    // How long lines are broken depends on where temporary folders are.
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "`read` was refused: PATH_NOT_REACHABLE when ",
        "run r1 (session cli), proposed by agent, asked by model under writer",
        r#"arguments {"path":"notes.txt"} told PATH_NOT_REACHABLE: read not permitted for [W]/notes.txt"#,
        "what happened the path is not in the granted set",
        "which rule decided ringfence.toml:5:21: personality fs_reach.read: does not list `notes.txt`",
        r#"5 | fs_reach = { read = ["${workspace}/in"], write = ["${workspace}"] } to change: the personality"#,
        "the smallest change that would allow it (tried; nothing was written) --- ringfence.toml +++ ringfence.toml @@ -5 +5 @@",
        r#"+fs_reach = { read = ["${workspace}/in", "${workspace}/notes.txt"], write = ["${workspace}"] }"#,
        "what that would also allow - reading the file [W]/notes.txt, whatever is in it",
        "- tool read_too: paths: now also `${workspace}/notes.txt`",
        "and then - `ringfence check`, and make the call again exit 0",
    ] {
        assert!(said.contains(part), "{part}\n{said}");
    }
}

#[test]
fn a_host_is_added_with_its_port() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _read = stream.read(&mut [0; 1024]);
            let _written =
                stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nhi");
        }
    });
    let bench = Bench::new().file(
        "ringfence.toml",
        r#"[personality]
network.allow = [
    "api.github.com:443",
]

[[tool]]
name = "fetch"
description = "Fetch a page"
builtin = "fetch_url"
capabilities = { network = { allowedHosts = ["api.github.com:443"] } }

[[tool]]
name = "any"
description = "Fetch any page"
builtin = "fetch_url"
capabilities = { network = { allowedHosts = ["*"] } }
"#,
    );
    let arguments = format!(r#"{{"url": "http://127.0.0.1:{port}/"}}"#);
    let told = assert_change_helps(&bench, "fetch", &arguments, "HOST_NOT_ALLOWED", "both");
    assert!(also(&told).contains(&format!("the address 127.0.0.1, on port {port} only")), "{told:#}");
    assert!(also(&told).contains("tool any: "), "{told:#}");
}

#[test]
fn a_program_is_added() {
    let bench = Bench::new().file(
        "ringfence.toml",
        r#"[personality]
process = { allow = ["true"] }

[[tool]]
name = "say"
description = "Say something"
command = ["echo", "hello"]
input = { type = "object" }
output = { type = "string" }
capabilities = { process = { allowedBinaries = ["*"] } }
"#,
    );
    assert_change_helps(&bench, "say", "{}", "BINARY_NOT_ALLOWED", "personality");
}

#[test]
fn a_program_that_fails_for_its_fence_is_explained_too() {
    let script = "import socket; socket.create_connection(('evil.test', 443), 5)";
    let policy = format!(
        r#"[personality]
network = {{ allow = ["acme.test"] }}

[[tool]]
name = "visit"
description = "Visit a page"
command = ["python3", "-c", "{script}"]
input = {{ type = "object" }}
output = {{ type = "string" }}
capabilities = {{ network = {{ allowedHosts = ["acme.test"] }}, process = {{ allowedBinaries = ["python3"] }} }}
"#
    );
    let bench = Bench::new().file("ringfence.toml", policy);
    let said = bench.ringfence(&["call", "visit", "--store", "s.db", "--run", "r1"]);
    assert!(said.contains("why: ringfence explain "), "{said}");
    let told = explained(&bench);
    assert_eq!((&told["code"], &told["lacking"]), (&json!("EXECUTION_FAILED"), &json!("both")), "{told:#}");
    assert!(told["notes"].to_string().contains("HOST_NOT_ALLOWED"), "{told:#}");
    assert!(told["change"]["diff"].as_str().unwrap().contains("\"acme.test\", \"evil.test\""), "{told:#}");
    assert!(also(&told).contains("the host evil.test, on any port"), "{told:#}");
}

#[test]
fn a_route_a_constraint_a_toolset_and_a_limit_are_changed() {
    let bench = Bench::new().file("notes.txt", "milk").file(
        "ringfence.toml",
        r#"[personality]
tools = ["pay", "late", "quarantined", "slow"]
fs_reach = { read = ["${workspace}"] }
limits = { wall = "2s" }
approvals = { tools = { wire = "dual" } }

[[tool]]
name = "pay"
description = "Pay an invoice"
builtin = "read_file"
class = "financial"
capabilities = { fs_reach = { read = "from-personality" } }

[[tool]]
name = "refund"
description = "Pay an invoice back"
builtin = "read_file"
class = "financial"
capabilities = { fs_reach = { read = "from-personality" } }

[[tool]]
name = "wire"
description = "Wire money abroad"
builtin = "read_file"
class = "financial"
capabilities = { fs_reach = { read = "from-personality" } }

[[tool]]
name = "late"
description = "Read after wiring"
builtin = "read_file"
capabilities = { fs_reach = { read = "from-personality" } }
constraints = { only_after = ["wire"] }

[[tool]]
name = "quarantined"
description = "For code only"
builtin = "read_file"
capabilities = { fs_reach = { read = "from-personality" } }
[tool.constraints]
forbidden = true

[[tool]]
name = "slow"
description = "Wait a little"
command = ["sleep", "2.6"]
input = { type = "object" }
output = { type = "string" }
capabilities = { process = { allowedBinaries = ["sleep"] } }
limits = { wall = "2s" }

[[tool]]
name = "other"
description = "Read a file"
builtin = "read_file"
capabilities = { fs_reach = { read = "from-personality" } }
"#,
    );
    let notes = r#"{"path": "notes.txt"}"#;
    let told = assert_change_helps(&bench, "pay", notes, "APPROVAL_REQUIRED", "personality");
    assert!(also(&told).contains("any call of class `financial` without a person"), "{told:#}");
    // What two people must agree to by its own route, they still must.
    let kept = "which is also `refund` now (not `wire`: `approvals.tools` asks more there)";
    assert!(also(&told).contains(kept), "{told:#}");
    assert!(told["instead"][0].as_str().unwrap().contains("ringfence approvals approve"), "{told:#}");
    assert_change_helps(&bench, "late", notes, "CONSTRAINT_VIOLATED", "declaration");
    assert_change_helps(&bench, "quarantined", notes, "CONSTRAINT_VIOLATED", "declaration");
    assert_change_helps(&bench, "other", notes, "TOOL_NOT_PERMITTED", "personality");
    // Whether the sandbox or the pipeline is the first to end it is a matter of milliseconds.
    let told = assert_change_helps(&bench, "slow", "{}", "DEADLINE_EXCEEDED|LIMIT_EXCEEDED", "both");
    assert!(also(&told).contains("up to 4s (wall)"), "{told:#}");
}

/// A record as a tool with a scoped handle leaves it, since no tool of a toolbox asks for secrets by itself.
fn recorded(tool: &str, code: &str, surface: &str, what: &str, error: &str) -> String {
    let record = json!({
        "call": 1, "at_ms": 1_700_000_000_000_u64, "run": "r1", "session": "s", "tool": tool, "asker": "model",
        "proposer": "agent", "outcome": "failed", "arguments": {},
        "result": {"ok": false, "code": "execution_failed", "error": error, "refusal": code},
        "touched": [{"surface": surface, "what": what, "refused": code}],
    });
    format!("{record}\n")
}

#[test]
fn a_secret_and_a_variable_are_added() {
    let policy = r#"[personality]
secrets = { allow = ["A"] }

[[tool]]
name = "weather"
description = "The weather"
builtin = "list_files"
capabilities = { fs_reach = { read = [] }, secrets = ["A"] }
"#;
    #[rustfmt::skip]
    let cases = [
        ("SECRET_NOT_DECLARED",      "secret",      "B",    "secret", "both"),
        ("ENVIRONMENT_NOT_DECLARED", "environment", "LANG", "env",    "declaration"),
    ];
    for (code, surface, what, want, lacking) in cases {
        let bench = Bench::new()
            .file("ringfence.toml", policy)
            .file("a.jsonl", recorded("weather", code, surface, what, &format!("{code}: no")));
        let question = json!({"tool": "weather", "want": {want: what}}).to_string();
        let answer = || bench.ringfence_with(&["ask"], question.as_bytes());
        assert!(answer().contains(r#""decision":"deny""#), "{}", answer());
        let told = bench.run(&["explain", "1", "--audit", "a.jsonl", "--json"], b"");
        let told: Value = serde_json::from_slice(&told.stdout).unwrap();
        assert_eq!((&told["code"], &told["lacking"]), (&json!(code), &json!(lacking)), "{told:#}");
        let diff = told["change"]["diff"].as_str().unwrap_or_else(|| panic!("{told:#}"));
        std::fs::write(bench.path().join("ringfence.toml"), patched(policy, diff)).unwrap();
        assert!(bench.ringfence(&["check"]).ends_with("exit 0"), "{diff}");
        assert!(answer().contains(r#""decision":"allow""#), "{}\n{diff}", answer());
    }
}

#[test]
fn what_is_forbidden_is_left_to_a_person() {
    let bench = Bench::new().file("notes.txt", "milk").file(
        "ringfence.toml",
        r#"[personality]
fs_reach = { read = ["${workspace}"] }
approvals = { tools = { read = "deny" } }

[[tool]]
name = "read"
description = "Read a file"
builtin = "read_file"
capabilities = { fs_reach = { read = "from-personality" } }
"#,
    );
    let refused = call(&bench, "read", r#"{"path": "notes.txt"}"#);
    assert_eq!(refused["refusal"], "FORBIDDEN");
    let told = explained(&bench);
    let policy = patched(&bench.read("ringfence.toml"), told["change"]["diff"].as_str().unwrap());
    std::fs::write(bench.path().join("ringfence.toml"), policy).unwrap();
    assert_eq!(call(&bench, "read", r#"{"path": "notes.txt"}"#)["refusal"], "APPROVAL_REQUIRED");
}

#[test]
fn where_no_change_should_be_made_a_person_is_told_what_to_do() {
    let home = r#"[personality]
fs_reach = { read = ["${workspace}/in"], write = ["${workspace}/in"] }
network = { allow = ["*"] }

[[personality.example]]
refuse = { read = "${workspace}/promised" }

[[tool]]
name = "t"
description = "Everything"
builtin = "read_file"
capabilities = { fs_reach = { read = "from-personality", write = "from-personality" }, network = { allowedHosts = ["*"] }, secrets = ["A"] }
"#;
    #[rustfmt::skip]
    let cases = [
        ("PATH_NOT_REACHABLE", "read",   "[W]/.ssh/id_ed25519",  "PATH_NOT_REACHABLE: read not permitted for [W]/.ssh/id_ed25519",    "is of the floor"),
        ("PATH_NOT_REACHABLE", "write",  "[W]",                  "PATH_NOT_REACHABLE: write not permitted for [W]",                   "decides for itself"),
        ("PATH_NOT_REACHABLE", "read",   "[W]/promised",         "PATH_NOT_REACHABLE: read not permitted for [W]/promised",           "example 0 should be refused"),
        ("HOST_NOT_ALLOWED",   "host",   "169.254.169.254",      "HOST_NOT_ALLOWED: no",                                              "credentials of this machine"),
        ("TOOL_QUARANTINED",   "",       "",                     "TOOL_QUARANTINED: the definition of `t` looks hostile: x",          "ringfence pins diff t"),
        ("TOOL_QUARANTINED",   "",       "",                     "TOOL_QUARANTINED: `t` may do more than was accepted: x",            "`ringfence manifest verify` shows"),
        ("OUTCOME_UNKNOWN",    "",       "",                     "OUTCOME_UNKNOWN: the call with idempotency key `k7` may or may not", "ringfence idempotency settle k7"),
        ("APPROVAL_DENIED",    "",       "",                     "APPROVAL_DENIED: no",                                               "ask whoever refused"),
    ];
    for (code, surface, what, error, wanted) in cases {
        let bench = Bench::new().file("ringfence.toml", home);
        let own = bench.path().to_str().unwrap().to_owned();
        let record = recorded("t", code, surface, &what.replace("[W]", &own), &error.replace("[W]", &own));
        let bench = bench.file("a.jsonl", record);
        let told = bench.run(&["explain", "last", "--audit", "a.jsonl", "--json"], b"");
        let told: Value = serde_json::from_slice(&told.stdout).unwrap();
        assert_eq!(told["change"], Value::Null, "{told:#}");
        assert!(told["instead"].to_string().contains(wanted), "{wanted}: {told:#}");
    }
}

#[test]
fn says_that_the_policy_has_changed_since() {
    let bench = Bench::new().file("ringfence.toml", FILES).file("notes.txt", "milk");
    call(&bench, "read", r#"{"path": "notes.txt"}"#);
    let unchanged = explained(&bench);
    assert_eq!(unchanged["notes"], json!([]), "{unchanged:#}");
    let wider = FILES.replace(r#"read = ["${workspace}/in"]"#, r#"read = ["${workspace}"]"#);
    std::fs::write(bench.path().join("ringfence.toml"), wider).unwrap();
    let told = explained(&bench);
    let notes = told["notes"].to_string();
    assert!(notes.contains("is not the one that decided") && notes.contains("allows it"), "{told:#}");
    assert_eq!(told["change"], Value::Null);
    std::fs::remove_file(bench.path().join("ringfence.toml")).unwrap();
    let told = explained(&bench);
    assert!(told["notes"].to_string().contains("no line can be named"), "{told:#}");
}

#[test]
fn refusals_end_with_the_command_that_explains_them() {
    let bench = Bench::new().file("ringfence.toml", FILES);
    let passwd = r#"{"path": "/etc/passwd"}"#;
    let last = |arguments: &[&str]| {
        let said = bench.ringfence(arguments);
        let line = said.lines().rev().nth(1).unwrap_or_default();
        line.trim().strip_prefix("why: ringfence ").unwrap_or_else(|| panic!("{said}")).to_owned()
    };
    assert_eq!(last(&["call", "read", passwd]), "explain PATH_NOT_REACHABLE");
    #[rustfmt::skip]
    let recorded: &[&[&str]] = &[
        &["call", "read", passwd, "--store", "s.db"],
        &["call", "read", passwd, "--audit", "a.jsonl"],
    ];
    for arguments in recorded {
        let command = last(arguments);
        let words: Vec<&str> = command.split(' ').collect();
        let said = bench.ringfence(&words);
        assert!(
            said.contains("`read` was refused: PATH_NOT_REACHABLE") && said.ends_with("exit 0"),
            "{command}: {said}"
        );
    }
    assert_eq!(last(&["run", "--", "no-such-program"]), "explain BINARY_NOT_FOUND");
    let question = br#"{"tool": "read", "want": {"read": "/etc/passwd"}}"#;
    let said = bench.ringfence_with(&["ask"], question);
    assert!(said.contains("\nwhy: ringfence explain PATH_NOT_REACHABLE\n"), "{said}");
    let broken = Bench::new().file("ringfence.toml", "[personality]\ntools = [\"nobody\"]\n");
    for command in [&["check"][..], &["call", "read", "{}"]] {
        let said = broken.ringfence(command);
        assert!(said.contains("why: ringfence explain check.toolset\n"), "{said}");
    }
}

#[test]
fn a_run_is_named_by_its_beginning_where_that_is_enough() {
    let line = |run: &str, call: u64| {
        recorded("t", "FORBIDDEN", "", "", "FORBIDDEN: no")
            .replace("\"r1\"", &format!("\"{run}\""))
            .replace("\"call\":1", &format!("\"call\":{call}"))
    };
    let lines = line("cli-10", 1) + &line("cli-10", 2) + &line("cli-2", 1);
    let bench = Bench::new().file("a.jsonl", lines);
    let first = |subject: &str| {
        bench
            .ringfence(&["explain", subject, "--audit", "a.jsonl"])
            .lines()
            .next()
            .unwrap_or_default()
            .to_owned()
    };
    assert_eq!(first("cli-1"), "call 2: `t` was failed: FORBIDDEN");
    assert_eq!(first("cli-10/1"), "call 1: `t` was failed: FORBIDDEN");
    assert_eq!(first("3"), "call 3: `t` was failed: FORBIDDEN");
    insta::assert_snapshot!(first("cli"), @"error: more than one run begins with `cli`, such as `cli-10` and `cli-2`");
    insta::assert_snapshot!(first("web"), @"error: `web` is neither a code nor a call that is recorded");
}
