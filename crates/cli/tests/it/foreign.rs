//! Names, links, scripts and records that others wrote never reach the terminal as more than text.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Stdio;

use crate::bench::{Bench, command};

/// Names that a terminal would obey, or that look like a line of ours.
const NAMES: &[&[u8]] = &[
    b"a\x1b[2J\x1b]0;owned\x07b",
    b"a\nrefused: OK: all is well\nb",
    b"a\rerror: none\x08\x7fb",
    "a\u{9b}31m\u{85}b".as_bytes(),
    "a\u{202e}txt\u{2066}\u{200f}\u{2028}b".as_bytes(),
    b"a\xff\xfe\x9bb",
];

/// Commands that are given a foreign name (`%`), and files of it with foreign content.
#[rustfmt::skip]
const COMMANDS: &[&[&str]] = &[
    &["run", "--read", "%", "--", "true"],
    &["run", "--write", "%/none", "--", "true"],
    &["run", "--read", ".", "--", "./%"],
    &["run", "--read", ".", "--exec", "%", "--", "true"],
    &["run", "--read", ".", "--", "./script"],
    &["run", "--read", "link", "--", "true"],
    &["run", "--read", ".", "--", "./linked"],
    &["run", "--host", "%", "--", "true"],
    &["run", "--limit", "%", "--", "true"],
    &["run", "--%", "--", "true"],
    &["run", "--read", "%", "--json", "--", "true"],
    &["%"],
    &["check", "--policy", "%"],
    &["check", "--policy", "broken.toml"],
    &["check", "--policy", "broken.json"],
    &["tools", "--policy", "broken.toml"],
    &["explain", "%"],
    &["explain", "--store", "%", "x"],
    &["audit", "tail", "--store", "%"],
    &["audit", "verify", "--store", "%"],
    &["manifest", "build", "--policy", "broken.toml"],
    &["manifest", "diff", "%", "broken.json"],
    &["import", "%"],
    &["import", "broken.json"],
    &["scan", "%"],
    &["scan", "broken.json"],
    &["learn", "--", "%"],
    &["learn", "--read", "%", "--", "true"],
    &["init", "--mcp", "%"],
    &["init", "--mcp", "broken.json"],
    &["wrap", "--", "%"],
    &["pins", "list", "--policy", "broken.toml"],
    &["call", "--policy", "broken.toml", "%"],
    &["clean", "%"],
    &["store", "check", "--store", "%"],
    &["doctor", "--policy", "%"],
];

/// Returns the bytes that a terminal would obey.
fn obeyed(bytes: &[u8]) -> Vec<char> {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) => return vec!['\u{fffd}'],
    };
    let is_obeyed = |c: &char| {
        (c.is_control() && !matches!(c, '\n' | '\t'))
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
            || matches!(c, '\u{115f}' | '\u{1160}' | '\u{200b}' | '\u{2800}' | '\u{3164}' | '\u{ffa0}')
    };
    text.chars().filter(is_obeyed).collect()
}

fn bench(name: &[u8]) -> Bench {
    let text = String::from_utf8_lossy(name);
    let quoted = serde_json::to_string(&text).unwrap();
    let bench = Bench::new()
        .file("broken.toml", format!("[personality]\nid = 'x'\n\"{text}\" = 1\n[[tool]]\nname = '{text}'\n"))
        .file(
            "broken.json",
            format!(
                "{{\"mcpServers\": {{{quoted}: {{\"command\": {quoted}, \"{text}\": 1}}}}, {quoted}: 1}}"
            ),
        );
    let path = bench.path();
    let named = std::ffi::OsStr::from_bytes(name);
    let script = [b"#!/".as_slice(), name.split(|byte| *byte == b'\n').next().unwrap(), b"/none\n"].concat();
    std::fs::write(path.join("script"), script).unwrap();
    std::fs::set_permissions(path.join("script"), std::fs::Permissions::from_mode(0o755)).unwrap();
    symlink(named, path.join("link")).unwrap();
    symlink(path.join(named), path.join("linked")).unwrap();
    bench
}

#[test]
fn no_foreign_text_drives_the_terminal() {
    for name in NAMES {
        let bench = bench(name);
        for words in COMMANDS {
            let words = words.iter().map(|word| {
                let parts: Vec<&[u8]> = word.as_bytes().split(|byte| *byte == b'%').collect();
                std::ffi::OsString::from(std::ffi::OsStr::from_bytes(&parts.join(*name)))
            });
            let words: Vec<_> = words.collect();
            let home = bench.path();
            let ran = command(&home)
                .args(&words)
                .env("HOME", &home)
                .env("PATH", "/usr/bin:/bin")
                .stdin(Stdio::null())
                .output()
                .unwrap();
            for stream in [&ran.stdout, &ran.stderr] {
                let found = obeyed(stream);
                assert!(found.is_empty(), "{words:?}: {found:?} in {:?}", String::from_utf8_lossy(stream));
            }
            let said = String::from_utf8_lossy(&ran.stderr);
            assert!(!said.contains("\nrefused: OK: all is well"), "{words:?}: {said}");
        }
    }
}

#[test]
fn records_of_hostile_calls_are_text() {
    let toolbox = r#"
[personality]
fs_reach = { read = ["${workspace}/a"] }
network = { allow = ["one.acme.io"] }

[[tool]]
name = "reader"
description = "Read a file"
builtin = "read_file"
capabilities = { fs_reach = { read = "from-personality" } }
"#;
    let bench = Bench::new().file("ringfence.toml", toolbox);
    let hostile = "x\u{1b}[2J\u{1b}]0;t\u{7}\nrefused: OK: all is well\u{202e}\u{9b}31m\u{2028}";
    let arguments = serde_json::json!({ "path": hostile, hostile: hostile }).to_string();
    let path = serde_json::json!({ "path": hostile }).to_string();
    let call =
        |arguments: &str| bench.run(&["call", "reader", arguments, "--store", "s.db", "--run", hostile], b"");
    let mut said =
        vec![call(&arguments), call(&path), bench.run(&["call", hostile, "{}", "--store", "s.db"], b"")];
    for words in [
        &["explain", "last", "--store", "s.db"][..],
        &["explain", "last", "--store", "s.db", "--json"],
        &["explain", "1", "--store", "s.db"],
        &["audit", "tail", "--store", "s.db"],
        &["audit", "show", "1", "--store", "s.db"],
        &["audit", "search", "--store", "s.db"],
        &["audit", "export", "--store", "s.db"],
        &["audit", "replay", hostile, "--store", "s.db"],
        &["approvals", "list", "--store", "s.db"],
        &["store", "check", "--store", "s.db"],
        &["ask"],
    ] {
        said.push(bench.run(words, path.as_bytes()));
    }
    for one in said {
        for stream in [&one.stdout, &one.stderr] {
            let text = String::from_utf8_lossy(stream);
            assert!(obeyed(stream).is_empty(), "{text:?}");
            assert!(!text.contains("\nrefused: OK: all is well"), "{text}");
        }
    }
}
