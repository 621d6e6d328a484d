//! `ringfence wrap`: which server it is, and whose word counts.

use crate::bench::{Bench, command};

/// Wraps a command for a client that says nothing, and returns what was said and the exit code.
fn wrap(bench: &Bench, arguments: &[&str]) -> String {
    let mut started = command(&bench.path());
    started.args(arguments).env("XDG_STATE_HOME", bench.path().join("state"));
    let output = started.stdin(std::process::Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).replace(bench.path().to_str().unwrap(), "[W]");
    format!("{said}exit {}", output.status.code().unwrap_or(-1))
}

#[test]
fn a_package_does_not_choose_what_it_is_granted() {
    let bench = Bench::new()
        .file("it/package.json", r#"{"name": "files"}"#)
        .file("it/dist/index.js", "")
        .file("alone/index.js", "")
        .file("fence.toml", "[personality]\n[[server]]\nname = \"files\"\n");
    insta::assert_snapshot!(wrap(&bench, &["wrap", "-p", "fence.toml", "--", "node", "it/dist/index.js"]), @"
    error: `files` is only what the package calls itself, and the policy has a server of that name
      hint: say that it is the one with `--name NAME`, or give the entry its `command`
    exit 2
    ");
    insta::assert_snapshot!(wrap(&bench, &["wrap", "--", "node", "alone/index.js"]), @"
    error: no name for the server can be made of its command, and its pins are kept by its name
      hint: give it one with `--name NAME`
    exit 2
    ");
}

#[test]
fn what_lies_where_a_client_starts_it_is_not_believed() {
    let bench = Bench::new()
        .file("ringfence.toml", "not a policy")
        .file("ringfence.pins.json", "{")
        .file("state/x", "");
    let said = wrap(&bench, &["wrap", "--name", "it", "--", "/bin/true"]);
    assert!(said.ends_with("exit 0") && said.contains("has no `[[server]]` entry"), "{said}");
    let said = wrap(&bench, &["wrap", "-p", "ringfence.toml", "--name", "it", "--", "/bin/true"]);
    assert!(said.ends_with("exit 4"), "{said}");
    let bench = bench.file("ringfence.toml", "[personality]\n");
    let said = wrap(&bench, &["wrap", "-p", "ringfence.toml", "--name", "it", "--", "/bin/true"]);
    assert!(said.contains("the pin file cannot be read") && said.ends_with("exit 2"), "{said}");
    // The book of a server without a policy that cannot be trusted stops it as well.
    let bench = bench.file("state/ringfence/servers/it/pins.json", "{");
    let said = wrap(&bench, &["wrap", "--name", "it", "--", "/bin/true"]);
    assert!(said.contains("the pin file cannot be read") && said.ends_with("exit 2"), "{said}");
}
