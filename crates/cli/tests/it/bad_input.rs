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
    insta::assert_snapshot!(all, @"");
}

#[test]
fn files_that_are_not_files() {
    let bench = Bench::new().file("latin.toml", b"id = \"\xe9\"").file("dir/x", "");
    let mut all = String::new();
    for name in ["missing.toml", "dir", "latin.toml"] {
        all.push_str(&bench.ringfence(&["--policy", name, "check"]));
        all.push('\n');
    }
    insta::assert_snapshot!(all, @"");
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
    insta::assert_snapshot!(all, @"");
    let files: Vec<_> =
        std::fs::read_dir(bench.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(files, ["ringfence.toml"], "something was half done");
}

#[test]
fn ten_megabytes_of_arguments() {
    let bench = Bench::new().file("ringfence.toml", TOOLBOX);
    let big = format!(r#"{{"path": "a", "content": "{}"}}"#, "x".repeat(10 << 20));
    insta::assert_snapshot!(bench.ringfence_with(&["call", "write", "-"], big.as_bytes()), @"");
    insta::assert_snapshot!(bench.ringfence_with(&["call", "write", "-"], b"\xff\xfe"), @"");
    let line = format!(r#"{{"id": 1, "tool": "write", "want": {{"args": {big}}}}}"#);
    insta::assert_snapshot!(bench.ringfence_with(&["ask"], line.as_bytes()), @"");
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
    insta::assert_snapshot!(bench.ringfence(&call), @"");
    assert!(!bench.path().join("new.txt").exists());
}
