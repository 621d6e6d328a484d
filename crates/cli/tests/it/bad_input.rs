//! Bad input of every kind gets one clear error with its place and a non-zero exit, and changes nothing.

use std::os::unix::ffi::OsStrExt;

use crate::bench::{Bench, command};

const TOOLBOX: &str = r#"
[personality]
fs_reach = { read = ["${workspace}"], write = ["${workspace}"] }

[[tool]]
name = "write"
builtin = "write_file"
capabilities = { fs_reach = { write = "from-personality" } }
"#;

#[test]
fn a_broken_toolbox() {
    #[rustfmt::skip]
    let files = [
        ("[personality\n",                                                "toml"),
        ("[personality]\nid = \"a\"\nid = \"b\"\n",                       "toml"),
        ("[personality]\nnetwork = { alow = [] }\n",                      "toml"),
        ("[personality]\nnetwork = { allow = [\"https://x.com/\"] }\n",   "toml"),
        ("[[tool]]\nname = \"a tool\"\n",                                 "toml"),
        ("[personality]\nlimits = { wall = \"soon\" }\n",                 "toml"),
        ("{\"personality\": {}, \"personality\": {}}",                    "json"),
        ("{\"tool\": [{\"nmae\": \"x\"}]}",                               "json"),
        ("{\"tool\": [",                                                  "json"),
        ("\u{feff}{}",                                                    "json"),
    ];
    let mut all = String::new();
    for (text, extension) in files {
        let name = format!("box.{extension}");
        let bench = Bench::new().file(&name, text);
        all.push_str(&bench.ringfence(&["--policy", &name, "check"]));
        all.push('\n');
    }
    insta::assert_snapshot!(all, @"
    box.toml:1:13: unclosed table, expected `]`
    why: ringfence explain check.syntax
    exit 4
    box.toml:3:1: key `id` appears twice
    why: ringfence explain check.syntax
    exit 4
    box.toml:2:13: unknown field `alow`, expected one of `allow`, `private`, `on-unknown`, `onUnknown`, `on_unknown`
    why: ringfence explain check.syntax
    exit 4
    box.toml:2:22: `allow`: `https://x.com/` has a scheme, and only hosts are matched
    why: ringfence explain check.syntax
    exit 4
    box.toml:2:8: `name`: tool name `a tool` is not 1 to 128 characters of letters, digits, `_`, `.` and `-`
    why: ringfence explain check.syntax
    exit 4
    box.toml:2:19: `wall`: `soon` is not a duration such as `500ms`, `30s`, `2m` or `1h`
    why: ringfence explain check.syntax
    exit 4
    box.json:1:21: key `personality` appears twice
    why: ringfence explain check.syntax
    exit 4
    box.json:1:11: `tool`: missing field `name`
    box.json:1:12: unknown field `nmae`, expected one of `name`, `title`, `description`, `input`, `inputSchema`, `input_schema`, `output`, `outputSchema`, `output_schema`, `capabilities`, `class`, `safetyClass`, `safety_class`, `risk`, `idempotency`, `constraints`, `limits`, `assurance`, `command`, `builtin`, `runtime`, `component`, `image`
    why: ringfence explain check.syntax
    exit 4
    box.json:1:11: the text ends where a value should be
    why: ringfence explain check.syntax
    exit 4
    box.json:1:1: expected a JSON value
    why: ringfence explain check.syntax
    exit 4
    ");
}

#[test]
fn files_that_are_not_files() {
    let bench = Bench::new().file("latin.toml", b"id = \"\xe9\"").file("dir/x", "");
    let mut all = String::new();
    for name in ["missing.toml", "dir", "latin.toml"] {
        all.push_str(&bench.ringfence(&["--policy", name, "check"]));
        all.push('\n');
    }
    insta::assert_snapshot!(all, @"
    error: cannot read `missing.toml`: No such file or directory (os error 2)
      hint: write one with `ringfence init`, name another with --policy FILE, or try `ringfence demo`
    exit 1
    error: cannot read `dir`: it is not a regular file
      hint: name a toolbox in TOML or JSON with --policy FILE
    exit 1
    error: cannot read `latin.toml`: it is not UTF-8 at byte 6
      hint: name a toolbox in TOML or JSON with --policy FILE
    exit 1
    ");
}

#[test]
fn the_list_of_problems_is_shown_again_by_a_command_that_names_the_file() {
    let bench = Bench::new().file("broken.toml", "[personality]\nnetwrok = {}\n");
    let said = bench.ringfence(&["--policy", "broken.toml", "tools"]);
    let hint = "hint: `ringfence check --policy broken.toml` shows the same list";
    assert!(said.contains(hint) && said.ends_with("exit 4"), "{said}");
}

#[test]
fn arguments_that_are_not_arguments() {
    let bench = Bench::new().file("ringfence.toml", TOOLBOX);
    let mut all = String::new();
    #[rustfmt::skip]
    let calls: &[&[&str]] = &[
        &["call", "nobody", "{}"],
        &["call", "write", "{"],
        &["call", "write", "{\"path\": \"a\", \"path\": \"b\"}"],
        &["call", "write", "{\"path\": NaN}"],
        &["call", "write", "[]"],
        &["call", "write", "{\"path\": 7, \"content\": \"\"}"],
        &["call", "write", "{\"path\": \"a\", \"content\": \"\", \"extra\": 1}"],
        &["call", "write", "{\"path\": \"a\\u0000b\", \"content\": \"\"}"],
        &["call", "write", "{\"path\": \"\", \"content\": \"\"}"],
        &["call", "write", "--deadline", "soon", "{}"],
        &["call"],
        &["frobnicate"],
    ];
    for call in calls {
        all.push_str(&bench.ringfence(call));
        all.push('\n');
    }
    insta::assert_snapshot!(all, @r#"
    {"ok":false,"code":"refused","error":"TOOL_UNKNOWN: no tool is named `nobody`","refusal":"TOOL_UNKNOWN"}
      hint: `ringfence tools` lists the tools of the toolbox
      why: ringfence explain TOOL_UNKNOWN
    exit 2
    error: the arguments are not JSON: expected a key in double quotes at line 1 column 2
      hint: quote them for the shell, such as '{"path": "notes.txt"}'
    exit 2
    error: the arguments are not JSON: key `path` appears twice at line 1 column 15
      hint: quote them for the shell, such as '{"path": "notes.txt"}'
    exit 2
    error: the arguments are not JSON: expected a JSON value at line 1 column 10
      hint: quote them for the shell, such as '{"path": "notes.txt"}'
    exit 2
    {"ok":false,"code":"input_invalid","error":"INPUT_INVALID: value is not of type \"object\"","refusal":"INPUT_INVALID"}
      hint: `ringfence tools --json` shows which arguments each tool takes
      why: ringfence explain INPUT_INVALID
    exit 2
    {"ok":false,"code":"input_invalid","error":"INPUT_INVALID: `/path`: value is not of type \"string\"","refusal":"INPUT_INVALID"}
      hint: `ringfence tools --json` shows which arguments each tool takes
      why: ringfence explain INPUT_INVALID
    exit 2
    {"ok":false,"code":"input_invalid","error":"INPUT_INVALID: additional properties are not allowed ('extra' was unexpected)","refusal":"INPUT_INVALID"}
      hint: `ringfence tools --json` shows which arguments each tool takes
      why: ringfence explain INPUT_INVALID
    exit 2
    {"ok":false,"code":"refused","error":"PATH_NOT_REACHABLE: write not permitted for a\\0b","refusal":"PATH_NOT_REACHABLE"}
      hint: it contains a NUL character
      why: ringfence explain PATH_NOT_REACHABLE
    exit 3
    {"ok":false,"code":"execution_failed","error":"PATH_NOT_REACHABLE: write not permitted for ","refusal":"PATH_NOT_REACHABLE"}
      why: ringfence explain PATH_NOT_REACHABLE
    exit 3
    error: invalid value 'soon' for '--deadline <TIME>': `soon` is not a duration such as `500ms`, `30s`, `2m` or `1h`

    For more information, try '--help'.
    exit 2
    error: the following required arguments were not provided:
      <TOOL>

    Usage: ringfence call <TOOL> [ARGUMENTS]

    For more information, try '--help'.
    exit 2
    error: unrecognized subcommand 'frobnicate'

    Usage: ringfence [OPTIONS] <COMMAND>

    For more information, try '--help'.
    exit 2
    "#);
    let files: Vec<_> =
        std::fs::read_dir(bench.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(files, ["ringfence.toml"], "something was half done");
}

#[test]
fn ten_megabytes_of_arguments() {
    let bench = Bench::new().file("ringfence.toml", TOOLBOX);
    let big = format!(r#"{{"path": "a", "content": "{}"}}"#, "x".repeat(10 << 20));
    insta::assert_snapshot!(bench.ringfence_with(&["call", "write", "-"], big.as_bytes()), @"
    error: the arguments are larger than 4194304 bytes
    exit 2
    ");
    insta::assert_snapshot!(bench.ringfence_with(&["call", "write", "-"], b"\xff\xfe"), @"
    error: the arguments are not UTF-8 at byte 0
    exit 2
    ");
    let line = format!(r#"{{"id": 1, "tool": "write", "want": {{"args": {big}}}}}"#);
    insta::assert_snapshot!(bench.ringfence_with(&["ask"], line.as_bytes()), @r#"
    {"id":1,"decision":"deny","code":"INPUT_INVALID","message":"the arguments are larger than 4194304 bytes"}
    why: ringfence explain INPUT_INVALID
    exit 0
    "#);
}

#[test]
fn a_path_that_is_not_utf_8() {
    let bench = Bench::new().file("ringfence.toml", TOOLBOX);
    let odd = std::ffi::OsStr::from_bytes(b"bad\xff.toml");
    std::fs::write(bench.path().join(odd), "[personality").unwrap();
    let output = command(&bench.path()).arg("--policy").arg(odd).arg("check").output().unwrap();
    assert_eq!(output.status.code(), Some(4));
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("bad\u{fffd}.toml:1:"), "{output:?}");
    let output = command(&bench.path()).args(["call", "write"]).arg(odd).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}

#[test]
fn an_audit_file_that_cannot_be_written_stops_the_call() {
    let bench = Bench::new().file("ringfence.toml", TOOLBOX);
    let call = ["call", "write", r#"{"path": "new.txt", "content": "x"}"#, "--audit", "missing/audit.jsonl"];
    insta::assert_snapshot!(bench.ringfence(&call), @"
    error: cannot open the audit file `missing/audit.jsonl`: No such file or directory (os error 2)
      hint: no tool was run
    exit 1
    ");
    assert!(!bench.path().join("new.txt").exists());
}
