//! What a policy file promises of a tool is what its calls do.

use serde_json::Value;

use crate::bench::{Bench, command, reading_tool};

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

/// A policy whose tools may run so often in a run, and in this order.
fn counted_policy() -> String {
    [
        r#"[personality]
id = "clerk"
fs_reach = { read = ["${workspace}"] }
"#
        .to_owned(),
        reading_tool("look", "Read a file", ""),
        reading_tool(
            "once",
            "Read a file once",
            r#"constraints = { maxInvocations = 1, onlyAfter = ["look"] }"#,
        ),
    ]
    .concat()
}

#[test]
fn a_run_in_a_store_is_counted_by_every_process() {
    let bench = Bench::new().file("ringfence.toml", counted_policy()).file("a.txt", "a");
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

#[test]
fn a_call_of_a_run_can_be_forced() {
    let forced = counted_policy().replace("maxInvocations = 1, onlyAfter = [\"look\"]", "forceAtStep = 1");
    let bench = Bench::new().file("ringfence.toml", forced.clone()).file("a.txt", "a");
    let call = |tool: &str| {
        value(&bench, &["call", "--store", "s.db", "--run", "r", tool, r#"{"path": "a.txt"}"#]).1
    };
    assert_eq!(call("look"), "CONSTRAINT_VIOLATED");
    let said = bench.ringfence(&["explain", "--store", "s.db", "last"]);
    assert!(said.contains("constraints.forceAtStep") && said.contains("call `once` first"), "{said}");
    assert_eq!(call("once"), "");
    assert_eq!(call("look"), "");
    let both = forced.replace("name = \"look\"", "name = \"look\"\nconstraints = { forceAtStep = 1 }");
    let bench = Bench::new().file("ringfence.toml", both);
    let said = bench.ringfence(&["check"]);
    assert!(
        said.contains("names the call of a run that must be `look`") && said.contains("exit 4"),
        "{said}"
    );
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

#[test]

fn no_tool_may_write_the_policy_that_decides_about_it() {
    let policy = r#"
[personality]
id = "clerk"
fs_reach = { read = ["${workspace}"], write = ["${workspace}"] }

[[tool]]
name = "write"
description = "Write a file"
builtin = "write_file"
capabilities = { fs_reach = { write = "from-personality" } }
"#;
    let bench = Bench::new().file("agent.toml", policy).file("ringfence.toml", policy);
    let write = |policy: &str, file: &str| {
        let input = format!(r#"{{"path": "{file}", "content": "x"}}"#);
        bench.ringfence(&["-p", policy, "call", "write", &input])
    };
    let told = write("agent.toml", "a.txt");
    assert!(told.contains("`write` may write `agent.toml`") && told.ends_with("exit 2"), "{told}");
    assert!(!bench.path().join("a.txt").exists());
    // By this name nothing may write it.
    assert!(write("ringfence.toml", "a.txt").ends_with("exit 0"));
    let told = write("ringfence.toml", "ringfence.toml");
    assert!(told.contains(r#""ok":false"#) && told.ends_with("exit 3"), "{told}");
    assert_eq!(bench.read("ringfence.toml"), policy);
}

#[test]
fn a_command_does_not_see_a_policy_that_it_could_write() {
    let policy = r#"
[personality]
id = "clerk"
fs_reach = { read = ["${workspace}"], write = ["${workspace}"] }
process = { allow = ["sh"] }

[[tool]]
name = "edit"
description = "Edit files of the workspace"
class = "write"
command = ["sh", "-c", "echo '# changed' >> agent.toml; echo done > done.txt"]
input = { type = "object" }
output = { type = "string" }
capabilities = { fs_reach = { read = "from-personality", write = "from-personality" }, process = { allowedBinaries = ["sh"] } }
"#;
    let bench = Bench::new().file("agent.toml", policy);
    let _told = bench.ringfence(&["-p", "agent.toml", "call", "edit", "{}"]);
    assert_eq!(bench.read("done.txt"), "done\n");
    assert_eq!(bench.read("agent.toml"), policy);
}

#[test]
fn a_folder_that_a_link_names_is_there_by_that_name() {
    let bench = Bench::new().file("real/a.txt", "through the link");
    std::os::unix::fs::symlink(bench.path().join("real"), bench.path().join("link")).unwrap();
    let policy = r#"
[personality]
fs_reach = { read = ["${workspace}/link"] }
process = { allow = ["cat"] }

[[tool]]
name = "show"
description = "Show a file"
command = ["cat", "{path}"]
input = { type = "object", properties = { path = { type = "string" } } }
output = { type = "string" }
capabilities = { fs_reach = { read = "from-personality" }, process = { allowedBinaries = ["cat"] } }
"#;
    let bench = bench.file("ringfence.toml", policy);
    let asked = serde_json::json!({"path": bench.path().join("link/a.txt")}).to_string();
    for (backend, program) in
        [("native", "/bin/sh"), ("bwrap", "/usr/bin/bwrap"), ("firejail", "/usr/bin/firejail")]
    {
        if !std::path::Path::new(program).exists() {
            eprintln!("not tried: there is no {program}");
            continue;
        }
        let (said, refused) = value(&bench, &["call", "--backend", backend, "show", &asked]);
        assert_eq!((said.as_str(), refused.as_str()), ("through the link", ""), "{backend}");
    }
}
