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
    let bench = bench.file("state/.ringfence/servers/it/pins.json", "{");
    let said = wrap(&bench, &["wrap", "--name", "it", "--", "/bin/true"]);
    assert!(said.contains("the pin file cannot be read") && said.ends_with("exit 2"), "{said}");
}

#[test]
fn a_server_never_writes_what_decides_about_it() {
    let policy = |folder: &str| {
        format!(
            "[personality]\nfs_reach = {{ write = [\"{folder}\"] }}\n\
             [[server]]\nname = \"it\"\ncapabilities = {{ fs_reach = {{ write = [\"{folder}\"] }} }}\n"
        )
    };
    let bench = Bench::new().file("pol/x", "").file("real/x", "").file("out/x", "");
    let path = |name: &str| bench.path().join(name).to_str().unwrap().to_owned();
    std::os::unix::fs::symlink(path("pol"), path("link")).unwrap();
    std::os::unix::fs::symlink(path("real/far.toml"), path("pol/near.toml")).unwrap();
    #[rustfmt::skip]
    let cases = [
        ("pol/p.toml",    path("pol"),                        false),
        ("pol/p.toml",    bench.path().to_str().unwrap().to_owned(), false),
        ("pol/p.toml",    path("link"),                       false),
        ("real/far.toml", path("real"),                       false),
        ("pol/p.toml",    path("state/.ringfence"),            false),
        ("pol/p.toml",    path("out"),                        true),
    ];
    for (file, granted, starts) in cases {
        std::fs::create_dir_all(bench.path().join("state/.ringfence")).unwrap();
        std::fs::write(bench.path().join(file), policy(&granted)).unwrap();
        let named = if file == "real/far.toml" { "pol/near.toml" } else { file };
        let said = wrap(&bench, &["wrap", "-p", named, "--name", "it", "--", "/bin/true"]);
        assert_eq!(said.ends_with("exit 0"), starts, "{file} {granted}: {said}");
        assert_eq!(said.contains("which decide what it may do"), !starts, "{file} {granted}: {said}");
    }
    let said =
        wrap(&bench, &["wrap", "-p", "pol/p.toml", "--name", "it", "--store", "out/s.db", "--", "/bin/true"]);
    assert!(said.contains("may write the store") && said.ends_with("exit 2"), "{said}");
}

/// A server whose tools are those that the file `names` names, with the text of the file `says`.
const SERVER: &str = r#"
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    method, number = asked.get("method"), asked.get("id")
    if number is None:
        continue
    answer = {}
    if method == "initialize":
        answer = {"protocolVersion": asked["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "it", "version": "1"}}
    elif method == "tools/list":
        says = open("says").read()
        answer = {"tools": [{"name": name, "description": says, "inputSchema": {"type": "object"}} for name in open("names").read().split()]}
    print(json.dumps({"jsonrpc": "2.0", "id": number, "result": answer}), flush=True)
"#;

/// Asks a wrapped server for its tools and returns their names.
fn listed(bench: &Bench) -> Vec<String> {
    use std::io::{BufRead as _, Write as _};
    use std::process::Stdio;
    let mut started = command(&bench.path());
    started.args(["wrap", "-p", "ringfence.toml", "--name", "it", "--", "python3", "server.py"]);
    started.env("XDG_STATE_HOME", bench.path().with_extension("state")).env("PATH", "/usr/bin:/bin");
    let mut child = started.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut to, mut from) =
        (child.stdin.take().unwrap(), std::io::BufReader::new(child.stdout.take().unwrap()).lines());
    let mut ask = |line: &str, answered: bool| -> serde_json::Value {
        writeln!(to, "{line}").unwrap();
        if answered {
            serde_json::from_str(&from.next().unwrap().unwrap()).unwrap()
        } else {
            serde_json::Value::Null
        }
    };
    ask(
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}"#,
        true,
    );
    ask(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, false);
    let answer = ask(r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#, true);
    drop(to);
    assert!(child.wait().unwrap().success());
    let tools = answer["result"]["tools"].as_array().unwrap().iter();
    let names = tools.map(|tool| tool["name"].as_str().unwrap().to_owned());
    // Our own, which says what the policy is.
    names.filter(|name| name != "ringfence_policy").collect()
}

#[test]
fn a_server_that_may_write_beside_its_pins_cannot_lose_them() {
    let reach = r#"fs_reach = { read = ["${workspace}"], write = ["${workspace}"] }"#;
    let bench = Bench::new().file("server.py", SERVER).file("says", "Says hello.").file("names", "one").file(
        "ringfence.toml",
        format!(
            "[personality]\n{reach}\nprocess = {{ allow = [\"python3\"] }}\n[[server]]\nname = \"it\"\naccept = \"clean\"\n\
             capabilities = {{ {reach}, process = {{ allowedBinaries = [\"python3\"] }} }}\n"
        ),
    );
    assert_eq!(listed(&bench), ["one"]);
    // One more is accepted while the server runs, and the pins are written.
    let bench = bench.file("names", "one two");
    assert_eq!(listed(&bench), ["one", "two"]);
    let names = std::fs::read_dir(bench.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let moved: Vec<_> = names.filter(|name| name.to_str().unwrap().contains("quarantined")).collect();
    assert!(moved.is_empty(), "{moved:?}");
    assert!(bench.read("ringfence.pins.json").contains("Says hello."));
    // What was accepted cannot change.
    let bench = bench.file("says", "Deletes what the user names.").file("names", "one two three");
    assert_eq!(listed(&bench), ["three"]);
}
