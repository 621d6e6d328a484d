//! Tests of building, writing and reading manifests.

use serde_json::{Value, json};

use super::*;
use crate::{NoFiles, Toolbox};

pub(super) const TOOLBOX: &str = r#"
[personality]
id = "researcher"
network = { allow = ["*.github.com", "*:8443"], private = ["10.0.0.0/8"] }
fs_reach = { read = ["${workspace}", "/srv/b*", "~/.ssh/known_hosts"], write = ["${workspace}/out"] }
secrets = { allow = ["API_KEY"] }
process = { allow = ["rg", "git"] }
approvals = { write = "human" }
limits = { wall = "30s", memory = "512M" }

[[tool]]
name = "grep"
title = "Search"
description = "Search the workspace"
command = ["rg", "--", "{pattern}", "${workspace}"]
input = { type = "object", properties = { pattern = { type = "string" } }, required = ["pattern"] }
output = { type = "string" }
capabilities = { fs_reach = { read = "from-personality" }, process = { allowedBinaries = ["*"] } }
limits = { wall = "5s" }

[[tool]]
name = "fetch"
builtin = "fetch_url"
capabilities = { network = { allowedHosts = ["api.github.com", "*"] }, secrets = ["API_KEY"] }
risk = "medium"

[[tool]]
name = "write"
builtin = "write_file"
capabilities = { fs_reach = { read = ["/srv/*.md"], write = ["${workspace}/out/x"] } }
constraints = { maxInvocations = 3, onlyAfter = ["grep", "fetch"] }

[[server]]
name = "git"
command = ["uvx", "mcp-server-git"]
capabilities = { fs_reach = { read = ["${workspace}"] } }
env = { MODE = "plain" }
[server.tool.push]
class = "write"
enabled = false
[gateway]
listen = "192.0.2.1:7117"
tls = { certificate = "/c.pem", key = "/k.pem" }
hosts = ["gate.test"]

[console]
listen = "192.0.2.1:7118"

[[agent]]
name = "bot"
token = "sha256:0000000000000000000000000000000000000000000000000000000000000000"
servers = ["toolbox"]
approves = true

[[notify]]
command = ["mail"]
network = { allow = ["smtp.test:25"] }
"#;

pub(super) fn manifest_of(text: &str) -> Manifest {
    let toolbox = Toolbox::from_toml(text).unwrap();
    let (tools, gaps) = toolbox.written_declarations(NoFiles);
    assert!(gaps.is_empty(), "{gaps:?}");
    Manifest::new(&Sources {
        personality: &toolbox.personality.clone().unwrap_or_default(),
        tools: &tools,
        servers: toolbox.written_servers(),
        binaries: &BTreeMap::from([("rg".to_owned(), "aa".repeat(32))]),
        definitions: &BTreeMap::new(),
        lint: &BTreeMap::new(),
        defaults: DefaultLimits::default(),
        outside: toolbox.outside(),
    })
    .unwrap()
}

#[test]
fn holds_what_each_tool_reaches_and_who_says_so() {
    insta::assert_snapshot!(manifest_of(TOOLBOX).to_json().unwrap());
}

#[test]
fn reads_back_what_it_wrote() {
    let manifest = manifest_of(TOOLBOX);
    let text = manifest.to_json().unwrap();
    assert_eq!(Manifest::from_json(&text).unwrap(), manifest);
    assert_eq!(Manifest::from_json(&text).unwrap().to_json().unwrap(), text);
}

#[test]
fn the_order_of_a_toolbox_is_not_in_it() {
    let swapped = TOOLBOX
        .replace(r#"["rg", "git"]"#, r#"["git", "rg", "git"]"#)
        .replace(r#"["*.github.com", "*:8443"]"#, r#"["*:8443", "*.github.com"]"#)
        .replace(r#"["grep", "fetch"]"#, r#"["fetch", "grep"]"#);
    assert_ne!(swapped, TOOLBOX);
    assert_eq!(manifest_of(&swapped).hash(), manifest_of(TOOLBOX).hash());
    let other = manifest_of(&TOOLBOX.replace("Search the", "Search your"));
    assert_ne!(other.hash(), manifest_of(TOOLBOX).hash());
    assert_ne!(other.tools["grep"].hash, manifest_of(TOOLBOX).tools["grep"].hash);
    assert_eq!(other.tools["fetch"].hash, manifest_of(TOOLBOX).tools["fetch"].hash);
}

/// Puts a right hash on an edited text, as whoever edits it on purpose would.
fn sealed(mut value: Value) -> String {
    value.as_object_mut().unwrap().remove("hash");
    let hash = canonical::digest(&value).unwrap();
    value.as_object_mut().unwrap().insert("hash".into(), hash.into());
    value.to_string()
}

#[test]
fn refuses_what_is_not_whole() {
    let text = manifest_of(TOOLBOX).to_json().unwrap();
    let value: Value = serde_json::from_str(&text).unwrap();
    let edit = |edit: &dyn Fn(&mut Value)| {
        let mut value = value.clone();
        edit(&mut value);
        value
    };
    #[rustfmt::skip]
    let cases: Vec<(String, &str)> = vec![
        (text.replace("*.github.com", "*.gitlab.com"), "the stored hash of the manifest is not that of its content"),
        (text.replace("\"version\": 1", "\"version\": 2"), "the manifest is of version `2`, and this program knows version 1"),
        (text.replace("\"version\": 1", "\"version\": 1, \"version\": 1"), "not a manifest: key `version` appears twice"),
        (text.replacen("\"version\": 1", "\"versions\": 1", 1), "not a manifest: it has no `version`"),
        (text.chars().take(100).collect(), "not a manifest:"),
        (format!("{{\"version\":1,\"tools\":{}", "[".repeat(200)), "not a manifest: nested deeper"),
        (sealed(edit(&|value| value["tools"]["grep"]["class"]["value"] = "write".into())), "the stored hash of tool `grep` is not"),
        (sealed(edit(&|value| value["servers"]["git"]["accept"] = "clean".into())), "the stored hash of server `git` is not"),
        (sealed(edit(&|value| value["agents"]["bot"]["approve"] = true.into())), "not a manifest: unknown field `approve`"),
        (sealed(edit(&|value| value["gateway"]["port"] = 1.into())), "not a manifest: unknown field `port`"),
        (sealed(edit(&|value| value["notify"][0]["shell"] = true.into())), "not a manifest: unknown field `shell`"),
        (sealed(edit(&|value| value["tools"]["grep"]["sandbocks"] = "none".into())), "not a manifest: unknown field `sandbocks`"),
        (sealed(edit(&|value| value["tools"]["grep"]["capabilities"]["network"] = json!({"host": {}}))), "not a manifest: unknown field `host`"),
        (sealed(edit(&|value| value["more"] = 1.into())), "not a manifest: unknown field `more`"),
        (sealed(edit(&|value| value["tools"]["grep"]["input"]["maximum"] = 1.into())), "the stored hash of tool"),
    ];
    for (text, message) in cases {
        let error = std::panic::catch_unwind(|| Manifest::from_json(&text)).unwrap().unwrap_err().to_string();
        assert!(error.starts_with(message), "{message}: {error}");
    }
}

#[test]
fn an_edit_of_any_entry_breaks_the_hash() {
    let text = manifest_of(TOOLBOX).to_json().unwrap();
    for (at, _) in text.match_indices(['a', 'e', 'r', '3']) {
        let mut edited = text.clone();
        edited.replace_range(at..=at, "x");
        assert!(Manifest::from_json(&edited).is_err(), "{at}: {:?}", edited.get(at..at + 20));
    }
}

#[test]
fn who_connects_and_who_is_told_is_in_it() {
    let manifest = manifest_of(TOOLBOX);
    let without = manifest_of(TOOLBOX.split("[gateway]").next().unwrap());
    assert!(without.agents.is_empty() && without.notify.is_empty() && without.gateway.is_default());
    assert!(without.console.is_default() && manifest.console.tls, "the files of the gateway are its own");
    let text = without.to_json().unwrap();
    for section in ["\"agents\"", "\"console\"", "\"gateway\"", "\"notify\""] {
        assert!(!text.contains(section), "absent is none: {section}");
        assert!(manifest.to_json().unwrap().contains(section), "{section}");
    }
    assert_ne!(manifest.hash(), without.hash());
}

#[test]
fn what_has_no_canonical_form_is_refused() {
    let text = TOOLBOX.replace("{ type = \"string\" }\n", "{ maximum = 9007199254740993 }\n");
    let toolbox = Toolbox::from_toml(&text).unwrap();
    let (tools, _) = toolbox.written_declarations(NoFiles);
    let none = BTreeMap::new();
    let error = Manifest::new(&Sources {
        personality: &Personality::default(),
        tools: &tools,
        servers: &[],
        binaries: &none,
        definitions: &BTreeMap::new(),
        lint: &BTreeMap::new(),
        defaults: DefaultLimits::default(),
        outside: Outside::default(),
    });
    assert_eq!(
        error.unwrap_err().to_string(),
        "integer 9007199254740993 is beyond ±(2^53−1) and has no canonical form"
    );
}

#[test]
fn a_command_is_spelled_so_that_its_arguments_can_be_told_apart() {
    let spelled =
        |parts: &[&str]| tool::spelled(&parts.iter().map(|part| (*part).to_owned()).collect::<Vec<_>>());
    assert_eq!(spelled(&["sh", "-c", "echo a", ""]), r#"sh -c "echo a" """#);
    assert_ne!(spelled(&["a", "b"]), spelled(&["a b"]));
    assert_ne!(spelled(&["a", "\"b\""]), spelled(&["a", "b"]));
}
