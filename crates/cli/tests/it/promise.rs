//! What a policy file promises of a tool is what its calls do.

use serde_json::Value;

use crate::bench::{Bench, command};

fn value(bench: &Bench, arguments: &[&str]) -> (String, String) {
    value_in(bench, &[], arguments)
}

/// What a call returned, or the code that it was refused with.
fn value_in(bench: &Bench, variables: &[(&str, &str)], arguments: &[&str]) -> (String, String) {
    let output = command(&bench.path()).args(arguments).envs(variables.iter().copied()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{said}"));
    let text = |key: &str| answer[key].as_str().unwrap_or_default().trim_end().to_owned();
    (text("value"), text("refusal"))
}

const RUNS: &str = r#"
[personality]
id = "clerk"
fs_reach = { read = ["${workspace}"] }

[[tool]]
name = "look"
description = "Read a file"
builtin = "read_file"
capabilities = { fs_reach = { read = "from-personality" } }

[[tool]]
name = "once"
description = "Read a file once"
builtin = "read_file"
capabilities = { fs_reach = { read = "from-personality" } }
constraints = { maxInvocations = 1, onlyAfter = ["look"] }
"#;

#[test]
fn a_run_in_a_store_is_counted_by_every_process() {
    let bench = Bench::new().file("ringfence.toml", RUNS).file("a.txt", "a");
    let call = |run: &str, tool: &str| {
        value(&bench, &["call", "--store", "s.db", "--run", run, tool, r#"{"path": "a.txt"}"#]).1
    };
    assert_eq!(call("today", "once"), "CONSTRAINT_VIOLATED");
    assert_eq!(call("today", "look"), "");
    assert_eq!(call("today", "once"), "");
    assert_eq!(call("today", "once"), "CONSTRAINT_VIOLATED");
    assert_eq!(call("tomorrow", "once"), "CONSTRAINT_VIOLATED");
    assert_eq!(call("tomorrow", "look"), "");
    assert_eq!(call("tomorrow", "once"), "");
    // A run that nobody named is a new one every time.
    for _ in 0..2 {
        assert_eq!(value(&bench, &["call", "--store", "s.db", "look", r#"{"path": "a.txt"}"#]).1, "");
    }
}

const COMMANDS: &str = r#"
[personality]
id = "clerk"
fs_reach = { read = ["${workspace}/jail", "/usr", "/bin", "/lib"] }
process = { allow = ["cat", "env", "sh"] }
secrets = { allow = ["API_KEY", "prod/db"] }
environment = { allow = ["GREETING"] }

[[tool]]
name = "show"
description = "Show a file"
command = ["cat", "--", "{path}"]
input = { type = "object", properties = { path = { type = "string", format = "path", direction = "read" } }, required = ["path"] }
output = { type = "string" }
capabilities = { fs_reach = { read = ["${workspace}/jail"], jail = true }, process = { allowedBinaries = ["cat"] } }

[[tool]]
name = "variables"
description = "Show variables"
command = ["sh", "-c", "echo $GREETING $API_KEY $PROD_DB $OTHER"]
input = { type = "object" }
output = { type = "string" }
capabilities = { process = { allowedBinaries = ["sh"] }, secrets = ["API_KEY", "prod/db"], environment = ["GREETING"] }
"#;

#[test]
fn a_jailed_command_opens_the_path_that_was_judged() {
    let bench = Bench::new()
        .file("ringfence.toml", COMMANDS)
        .file("a.txt", "outside")
        .file("jail/a.txt", "inside")
        .file("only-outside.txt", "outside");
    assert_eq!(
        value(&bench, &["call", "show", r#"{"path": "a.txt"}"#]),
        ("inside".to_owned(), String::new())
    );
    assert_ne!(value(&bench, &["call", "show", r#"{"path": "only-outside.txt"}"#]).0, "outside");
    let absolute = format!(r#"{{"path": "{}"}}"#, bench.path().join("jail/a.txt").display());
    assert_eq!(value(&bench, &["call", "show", &absolute]).1, "PATH_NOT_REACHABLE");
}

#[test]
fn a_command_gets_its_variables_and_secrets() {
    let bench = Bench::new().file("ringfence.toml", COMMANDS).file("jail/a.txt", "inside");
    let variables = [("GREETING", "hello"), ("API_KEY", "k-1"), ("PROD_DB", "d-2"), ("OTHER", "no")];
    let (said, refused) = value_in(&bench, &variables, &["call", "variables"]);
    assert_eq!((said.as_str(), refused.as_str()), ("hello k-1 d-2", ""));
    let (_, refused) = value_in(&bench, &[("GREETING", "hello")], &["call", "variables"]);
    assert_eq!(refused, "NOT_AVAILABLE", "a secret has no value");
}

#[test]
fn storage_of_a_command_is_refused_where_it_is_declared() {
    let toolbox = COMMANDS.replace(
        r#"environment = ["GREETING"] }"#,
        r#"environment = ["GREETING"], storage = { scope = "session" } }"#,
    );
    let bench = Bench::new().file("ringfence.toml", toolbox).file("jail/a.txt", "inside");
    let told = bench.ringfence(&["check"]);
    assert!(told.contains("a command has no way to use storage") && told.ends_with("exit 4"), "{told}");
}
