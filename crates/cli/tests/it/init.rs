//! `ringfence init`: what it writes passes `check`, and nothing that is there is lost.

use crate::bench::Bench;
use crate::terminal::Terminal;

const CLIENT: &str = r#"{"mcpServers": {
  "git": {"command": "uvx", "args": ["mcp-server-git"], "env": {"GIT_TOKEN": "ghp_16C7e42F292c6912E7710c838347Ae178B4a"}},
  "remote": {"url": "https://mcp.example/sse"}
}}"#;

const CRATE: &str = r#"
[package]
name = "tools"
version = "0.1.0"

[[package.metadata.ringfence.tool]]
name = "grep"
entry = "tools::grep"
capabilities = { fs_reach = { read = ["${workspace}"] }, process = { allowedBinaries = ["rg", "*"] } }

[[package.metadata.ringfence.tool]]
name = "weather"
entry = "tools::weather"
capabilities = { network = { allowedHosts = ["api.weather.gov"] }, secrets = ["WEATHER_API_KEY"] }
"#;

/// The lines that are neither comments nor empty.
fn used(text: &str) -> String {
    text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_command_becomes_a_tool() {
    let bench = Bench::new();
    let arguments =
        ["init", "--command", "--host", "api.github.com", "--", "cat", "-n", "--", "{file}", "{}"];
    insta::assert_snapshot!(bench.ringfence(&arguments), @r#"
    wrote ringfence.toml
    wrote ringfence.schema.json, from which editors complete

    next:
      ringfence check                    # all problems at once; there are none now
      ringfence tools                    # what it may reach
      ringfence call cat '{"file":"…"}'  # call it, inside the fence
    exit 0
    "#);
    let text = bench.read("ringfence.toml");
    insta::assert_snapshot!(used(&text), @r#"
    [personality]
    id = "cat"
    fs_reach = { read = ["${workspace}"], write = [] }
    network = { allow = ["api.github.com"] }
    process = { allow = ["cat"] }
    [[tool]]
    name = "cat"
    description = "Run cat"
    command = ["cat", "-n", "--", "{file}", "{{}}"]
    input = { type = "object", properties = { "file" = { type = "string" } }, required = ["file"], additionalProperties = false }
    output = { type = "string" }
    capabilities = { fs_reach = { read = "from-personality" }, network = { allowedHosts = ["api.github.com"] }, process = { allowedBinaries = ["cat"] } }
    "#);
    assert!(text.starts_with("#:schema ./ringfence.schema.json\n"), "{text}");
    for explained in [
        "# What it is called: letters, digits, `_`, `.` and `-`. Required.\nname = \"cat\"\n",
        "# How consequential it is; never lower than the capabilities imply. \"read\", \"write\", \"network\", \"financial\", \"privileged\". Absent: what the capabilities imply.\n# class = \"read\"\n",
        "# [[notify]]\n",
    ] {
        assert!(text.contains(explained), "{explained}\n{text}");
    }
    insta::assert_snapshot!(bench.ringfence(&["check"]), @"
    ringfence.toml: 1 tool fits
    exit 0
    ");
    let schema: serde_json::Value = serde_json::from_str(&bench.read("ringfence.schema.json")).unwrap();
    assert_eq!(schema["$id"], "ringfence.schema.json");
}

#[test]
fn what_it_writes_runs() {
    let bench = Bench::new().file("notes.txt", "hello\n");
    assert!(bench.ringfence(&["init", "--command-line", "cat -- {file}"]).ends_with("exit 0"));
    let said = bench.ringfence(&["call", "cat", r#"{"file": "notes.txt"}"#]);
    assert!(said.contains(r#""value":"hello\n""#), "{said}");
    let refused = bench.ringfence(&["call", "cat", r#"{"file": "/etc/hostname"}"#]);
    assert!(!refused.contains(r#""ok":true"#), "{refused}");
}

#[test]
fn a_configuration_becomes_servers_and_stays_as_it_is() {
    let bench = Bench::new().file("mcp.json", CLIENT);
    insta::assert_snapshot!(bench.ringfence(&["init", "--mcp", "mcp.json"]), @"
    wrote ringfence.toml
    wrote ringfence.schema.json, from which editors complete
    note: git: will be fenced
    note:   `GIT_TOKEN` looks like a credential: its value stays in the configuration
    note: remote: stays as it is, outside the fence: it is reached over the network

    next:
      ringfence check                          # all problems at once; there are none now
      ringfence import mcp.json --keep-policy  # let the client start them inside the fence; a backup is kept
      ringfence pins list                      # once they ran: which of their tools were accepted
    exit 0
    ");
    insta::assert_snapshot!(used(&bench.read("ringfence.toml")), @r#"
    [personality]
    id = "clients"
    fs_reach = { read = [], write = [] }
    network = { allow = [] }
    process = { allow = [] }
    secrets = { allow = ["GIT_TOKEN"] }
    environment = { allow = [] }
    [[server]]
    name = "git"
    command = ["uvx", "mcp-server-git"]
    capabilities = { secrets = ["GIT_TOKEN"] }
    accept = "clean"
    secrets = { "GIT_TOKEN" = "GIT_TOKEN" }
    "#);
    let text = bench.read("ringfence.toml");
    assert!(!text.contains("ghp_") && text.contains("# REVIEW what it may touch."), "{text}");
    assert_eq!(bench.read("mcp.json"), CLIENT);
    assert!(bench.ringfence(&["check"]).ends_with("exit 0"));

    // The next step uses the policy as it is.
    let before = bench.read("ringfence.toml") + "\n# looked at\n";
    let bench = bench.file("ringfence.toml", &before);
    let said = bench.ringfence(&["import", "mcp.json", "--keep-policy"]);
    assert!(said.contains("policy: [W]/ringfence.toml (as it was)") && said.ends_with("exit 0"), "{said}");
    assert_eq!(bench.read("ringfence.toml"), before);
    assert!(bench.read("mcp.json").contains("\"wrap\""));
    let bench = Bench::new().file("mcp.json", CLIENT).file("ringfence.toml", "[personality]\n");
    insta::assert_snapshot!(bench.ringfence(&["import", "mcp.json", "--keep-policy"]), @"
    error: `ringfence.toml` has no entry for the server `git`
      hint: add a `[[server]]` of that name, or let it be written without --keep-policy
    exit 2
    ");
    assert_eq!(bench.read("mcp.json"), CLIENT);
}

#[test]
fn a_crate_gets_the_ceiling_of_its_tools() {
    let bench = Bench::new().file("tools/Cargo.toml", CRATE);
    insta::assert_snapshot!(bench.ringfence(&["init", "--crate", "tools"]), @"
    wrote tools/ringfence.toml
    wrote tools/ringfence.schema.json, from which editors complete
    wrote tools/ringfence-lint.toml

    next:
      ringfence lint tools                              # what the code uses, beside what it declares
      ringfence check --policy tools/ringfence.toml     # all problems of the policy at once
      ringfence manifest --policy tools/ringfence.toml  # a page of permissions to commit; what widens later is told
    exit 0
    ");
    insta::assert_snapshot!(used(&bench.read("tools/ringfence.toml")), @r#"
    [personality]
    id = "tools"
    fs_reach = { read = ["${workspace}"], write = [] }
    network = { allow = ["api.weather.gov"] }
    process = { allow = ["rg"] }
    secrets = { allow = ["WEATHER_API_KEY"] }
    environment = { allow = [] }
    "#);
    assert!(bench.ringfence(&["check", "--policy", "tools/ringfence.toml"]).ends_with("exit 0"));
    assert!(bench.read("tools/ringfence-lint.toml").starts_with("# What `ringfence lint` cannot analyse"));
    // What somebody answers for is not written over.
    let bench = bench.file("tools/ringfence-lint.toml", "# mine\n");
    assert!(bench.ringfence(&["init", "--crate", "tools", "--force"]).ends_with("exit 0"));
    assert_eq!(bench.read("tools/ringfence-lint.toml"), "# mine\n");
}

#[test]
fn nothing_that_is_there_is_lost() {
    let bench = Bench::new().file("ringfence.toml", "# mine\n");
    let init = ["init", "--command", "--", "cat", "{file}"];
    insta::assert_snapshot!(bench.ringfence(&init), @"
    error: `ringfence.toml` is there already
      hint: name another file with --policy FILE, look at a new one with --print, or write over it with --force, which keeps a backup
    exit 2
    ");
    assert_eq!(bench.read("ringfence.toml"), "# mine\n");
    assert!(!bench.path().join("ringfence.schema.json").exists());

    let printed = bench.ringfence(&[&init[..1], &["--print"], &init[1..]].concat());
    assert!(printed.starts_with("#:schema") && printed.ends_with("exit 0"), "{printed}");
    assert_eq!(bench.read("ringfence.toml"), "# mine\n");
    assert!(!bench.path().join("ringfence.schema.json").exists());

    let forced = bench.ringfence(&[&init[..1], &["--force"], &init[1..]].concat());
    assert!(forced.contains("what it said before is in ringfence.toml.bak-ringfence"), "{forced}");
    assert_eq!(bench.read("ringfence.toml.bak-ringfence"), "# mine\n");

    let other = Bench::new().file("ringfence.schema.json", "{}");
    insta::assert_snapshot!(other.ringfence(&init), @"
    error: `ringfence.schema.json` is there already, and is not ours
      hint: move it away, or write the policy elsewhere with --policy FILE
    exit 2
    ");
    assert!(!other.path().join("ringfence.toml").exists(), "refused before anything is written");
}

#[test]
fn what_cannot_be_made_says_what_to_do() {
    let bench = Bench::new()
        .file("none.json", "{\"mcpServers\": {}}")
        .file("work/Cargo.toml", "[workspace]\n")
        .file("odd.json", "[]");
    let wrong: &[&[&str]] = &[
        &["init"],
        &["init", "--command"],
        &["init", "--command-line", "cat a | wc"],
        &["init", "--command", "--read", "a/*/../b", "--", "cat"],
        &["init", "--command", "--host", "*.*", "--", "cat"],
        &["init", "--mcp", "absent.json"],
        &["init", "--mcp", "none.json"],
        &["init", "--mcp", "odd.json"],
        &["init", "--crate", "absent"],
        &["init", "--crate", "work"],
        &["init", "--policy", "no/such/folder/x.toml", "--command", "--", "cat"],
        &["init", "--policy", "x.json", "--command", "--", "cat"],
    ];
    let mut said = String::new();
    for arguments in wrong {
        said += &format!("$ ringfence {}\n{}\n", arguments.join(" "), bench.ringfence(arguments));
        assert!(!bench.path().join("ringfence.toml").exists(), "{arguments:?}");
    }
    insta::assert_snapshot!(said, @"
    $ ringfence init
    error: nobody is at a terminal to be asked what to fence
      hint: say it with `--command -- CMD`, `--mcp FILE` or `--crate DIR`
    exit 2
    $ ringfence init --command
    error: the following required arguments were not provided:
      <CMD>...

    Usage: ringfence init --command -- <CMD>...

    For more information, try '--help'.
    exit 2
    $ ringfence init --command-line cat a | wc
    error: `|` is for a shell, and no shell is involved
      hint: quote it, or fence a script: `--command -- sh script.sh`
    exit 2
    $ ringfence init --command --read a/*/../b -- cat
    error: nothing was written, since `ringfence check` would say: `read`: `${workspace}/a/*/../b` contains `..`; write the path it means
      hint: correct the path, the host or the command; `ringfence init --help` has examples
    exit 2
    $ ringfence init --command --host *.* -- cat
    error: nothing was written, since `ringfence check` would say: `allow`: `*.*` has a wildcard other than `*` alone or a leading `*.`
      hint: correct the path, the host or the command; `ringfence init --help` has examples
    exit 2
    $ ringfence init --mcp absent.json
    error: cannot read `absent.json`: No such file or directory (os error 2)
      hint: give the file in which the client lists its MCP servers, such as .cursor/mcp.json or .vscode/mcp.json
    exit 1
    $ ringfence init --mcp none.json
    error: `none.json` lists no server that can be fenced
      hint: a server that is reached over the network runs elsewhere; fence one that the client starts itself
    exit 2
    $ ringfence init --mcp odd.json
    error: `odd.json`: it has neither `mcpServers` nor `servers`
      hint: give the file in which the client lists its MCP servers, such as claude_desktop_config.json, .cursor/mcp.json or .vscode/mcp.json
    exit 2
    $ ringfence init --crate absent
    error: cannot read `absent/Cargo.toml`: No such file or directory (os error 2)
      hint: give the folder that holds the Cargo.toml of the crate
    exit 1
    $ ringfence init --crate work
    error: `work/Cargo.toml`: it is of no package
      hint: name the folder of a member, where this is a workspace
    exit 2
    $ ringfence init --policy no/such/folder/x.toml --command -- cat
    error: cannot write `no/such/folder/x.toml`: No such file or directory (os error 2)
      hint: make the folder first
    exit 1
    $ ringfence init --policy x.json --command -- cat
    error: `x.json` would be read as JSON, and what is written here is TOML
      hint: give --policy a name that ends in `.toml`
    exit 2
    ");
}

#[test]
fn it_asks_on_a_terminal() {
    let bench = Bench::new().file("notes.txt", "hello\n");
    let said = Terminal::new(&bench).typed("1\ncat -- {file}\n\n\n\n").run(&["init"]);
    assert!(said.contains("What do you want to fence?") && said.contains("What may it read?"), "{said}");
    assert!(said.contains("wrote ringfence.toml") && said.ends_with("exit 0"), "{said}");
    assert!(bench.read("ringfence.toml").contains("command = [\"cat\", \"--\", \"{file}\"]"));
    assert!(bench.ringfence(&["check"]).ends_with("exit 0"));
}

#[test]
fn who_ends_the_questions_has_changed_nothing() {
    let bench = Bench::new();
    let said = Terminal::new(&bench).typed("1\n\u{4}").run(&["init"]);
    assert!(said.contains("error: the questions were ended, and nothing was written"), "{said}");
    assert!(said.ends_with("exit 1"), "{said}");
    assert_eq!(std::fs::read_dir(bench.path()).unwrap().count(), 0);
}

#[test]
fn an_empty_path_is_not_the_whole_machine() {
    let bench = Bench::new();
    for flag in ["--read", "--write", "--host"] {
        let said = bench.ringfence(&["init", flag, "", "--command", "--", "ls"]);
        assert!(said.contains(flag) && said.ends_with("exit 2"), "{said}");
        assert!(!bench.path().join("ringfence.toml").exists());
    }
}
