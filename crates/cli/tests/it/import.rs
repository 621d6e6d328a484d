//! `ringfence import`: a client's configuration becomes a policy and a configuration that wraps.

use std::os::unix::fs::PermissionsExt as _;

use crate::bench::Bench;

fn shown(bench: &Bench, text: &str) -> String {
    text.replace(bench.path().to_str().unwrap(), "[W]")
        .replace(env!("CARGO_BIN_EXE_ringfence"), "[RINGFENCE]")
}

fn configured() -> Bench {
    let bench = Bench::new().file("data/a.txt", "a").file("home/.keep", "");
    let path = bench.path();
    let configuration = format!(
        r#"{{
  "theme": "dark",
  "mcpServers": {{
    "File System": {{
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-filesystem@2026.1.1", "{0}/data", "{0}/home"],
      "env": {{"LOG_LEVEL": "info"}}
    }},
    "github": {{
      "command": "uvx",
      "args": ["mcp-server-github", "--db", "{0}/new.db"],
      "env": {{"GITHUB_TOKEN": "ghp_16C7e42F292c6912E7710c838347Ae178B4a", "HOST": "${{input:host}}"}},
      "cwd": "{0}/data",
      "autoApprove": ["search"]
    }},
    "remote": {{"url": "https://mcp.example/sse"}}
  }}
}}
"#,
        path.display()
    );
    bench.file("client.json", configuration)
}

#[test]
fn a_configuration_is_imported_once() {
    let bench = configured();
    let file = bench.path().join("client.json");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    std::os::unix::fs::symlink(&file, bench.path().join("link.json")).unwrap();
    let before = bench.read("client.json");
    let home = bench.path().join("home");
    let variables = [("HOME", home.to_str().unwrap())];
    let import = |bench: &Bench, arguments: &[&str]| {
        shown(bench, &bench.ringfence_in(&variables, &[&["import"], arguments].concat()))
    };
    insta::assert_snapshot!(import(&bench, &["link.json", "--policy", "fence.toml"]), @"
    File System: is wrapped as `file-system`
      `[W]/home` is not granted: it is the home folder or one above it
    github: is wrapped
      `GITHUB_TOKEN` looks like a credential: its value stays in the configuration
    remote: stays as it is, outside the fence: it is reached over the network
    policy: [W]/fence.toml (look at what is marked REVIEW)
    backup: [W]/client.json.bak-ringfence
    exit 0
    ");
    insta::assert_snapshot!(shown(&bench, &bench.read("client.json")), @r#"
    {
      "theme": "dark",
      "mcpServers": {
        "File System": {
          "command": "[RINGFENCE]",
          "args": [
            "wrap",
            "--policy",
            "[W]/fence.toml",
            "--name",
            "file-system",
            "--",
            "npx",
            "-y",
            "@modelcontextprotocol/server-filesystem@2026.1.1",
            "[W]/data",
            "[W]/home"
          ]
        },
        "github": {
          "command": "[RINGFENCE]",
          "args": [
            "wrap",
            "--policy",
            "[W]/fence.toml",
            "--name",
            "github",
            "--",
            "uvx",
            "mcp-server-github",
            "--db",
            "[W]/new.db"
          ],
          "env": {
            "GITHUB_TOKEN": "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
            "HOST": "${input:host}"
          },
          "cwd": "[W]/data",
          "autoApprove": [
            "search"
          ]
        },
        "remote": {
          "url": "https://mcp.example/sse"
        }
      }
    }
    "#);
    insta::assert_snapshot!(shown(&bench, &bench.read("fence.toml")), @r#"
    # Written by `ringfence import`. What a server may touch was guessed from its arguments, and narrowly: look at each
    # entry. `ringfence check` finds mistakes, and a server that is refused something says which line would allow it.

    # The ceiling of all servers: exactly what they declare below. What you add to a server, add here too.
    [personality]
    fs_reach = { read = ["[W]/data"], write = [] }
    network = { allow = [] }
    secrets = { allow = ["GITHUB_TOKEN"] }
    environment = { allow = ["HOST"] }
    process = { allow = [] }

    [[server]]
    # The configuration calls it "File System".
    name = "file-system"
    command = ["npx", "-y", "@modelcontextprotocol/server-filesystem@2026.1.1", "[W]/data", "[W]/home"]
    # What the scan finds clean is accepted at first sight; `review` lets each definition wait for you.
    accept = "clean"
    env = { "LOG_LEVEL" = "info" }
    # REVIEW what it may touch. Hosts: network = { allowedHosts = ["api.example.com"] }, and in [personality] too.
    # To let it write there: fs_reach = { read = ["[W]/data"], write = ["[W]/data"] }, and in [personality] too.
    capabilities = { fs_reach = { read = ["[W]/data"] } }

    [[server]]
    name = "github"
    command = ["uvx", "mcp-server-github", "--db", "[W]/new.db"]
    # What the scan finds clean is accepted at first sight; `review` lets each definition wait for you.
    accept = "clean"
    # Each value is taken from the variable of the same name, which the client sets; or, when you take it out of
    # the client's file, from the keyring: `keyctl padd user keyring:NAME@ringfence @s` reads it from standard input.
    secrets = { "GITHUB_TOKEN" = "GITHUB_TOKEN" }
    directory = "[W]/data"
    # REVIEW what it may touch. Hosts: network = { allowedHosts = ["api.example.com"] }, and in [personality] too.
    # To let it write there: fs_reach = { read = ["[W]/data"], write = ["[W]/data"] }, and in [personality] too.
    # "[W]/new.db" is not there yet, and is not granted.
    capabilities = { fs_reach = { read = ["[W]/data"] }, secrets = ["GITHUB_TOKEN"], environment = ["HOST"] }
    "#);
    insta::assert_snapshot!(bench.ringfence(&["check", "--policy", "fence.toml"]), @"
    fence.toml: 0 tools fit, 2 servers
    exit 0
    ");
    assert_eq!(bench.read("client.json.bak-ringfence"), before);
    for name in ["client.json", "client.json.bak-ringfence"] {
        let mode = bench.path().join(name).metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{name}");
    }
    assert!(bench.path().join("link.json").is_symlink());
    // Once more changes nothing.
    let after = bench.read("client.json");
    insta::assert_snapshot!(import(&bench, &["client.json", "--policy", "fence.toml"]), @"
    File System: is wrapped already
    github: is wrapped already
    remote: stays as it is, outside the fence: it is reached over the network
    exit 0
    ");
    assert_eq!(bench.read("client.json"), after);
    assert!(!bench.path().join("client.json.bak-ringfence.2").exists());
    // A new entry does not cost the old ones their policy.
    let bench =
        bench.file("client.json", after.replace("\"remote\":", "\"new\": {\"command\": \"x\"}, \"remote\":"));
    insta::assert_snapshot!(import(&bench, &["client.json", "--policy", "fence.toml", "--force"]), @"
    error: `[W]/fence.toml` is the policy of servers that are wrapped already
      hint: name another file with --policy FILE
    exit 2
    ");
    let bench = bench.file("other.toml", "");
    insta::assert_snapshot!(import(&bench, &["client.json", "--policy", "other.toml"]), @"
    error: `[W]/other.toml` is there already
      hint: name another file with --policy FILE, use this one with --keep-policy, or overwrite it with --force
    exit 2
    ");
    assert!(import(&bench, &["client.json", "--policy", "other.toml", "--force"]).ends_with("exit 0"));
    assert!(bench.path().join("client.json.bak-ringfence.2").exists());
    assert!(bench.read("other.toml").contains("name = \"new\""));
}

#[test]
fn what_cannot_be_imported_changes_nothing() {
    let bench = Bench::new().file("client.json", "{ // mine\n}");
    insta::assert_snapshot!(bench.ringfence(&["import", "client.json"]), @"
    error: `client.json`: it holds comments, which would be lost: take them out first
      hint: give the file in which the client lists its MCP servers, such as claude_desktop_config.json, .cursor/mcp.json or .vscode/mcp.json
    exit 2
    ");
    insta::assert_snapshot!(bench.ringfence(&["import", "nowhere.json"]), @"
    error: cannot read `nowhere.json`: No such file or directory (os error 2)
      hint: give the file in which the client lists its MCP servers, such as claude_desktop_config.json, .cursor/mcp.json or .vscode/mcp.json
    exit 1
    ");
    assert_eq!(std::fs::read_dir(bench.path()).unwrap().count(), 1);
}
