//! The desk over a policy in a folder of its own.

mod definition;
mod manifest;
mod question;

use std::path::PathBuf;

use ringfence_server::PinBook as _;
use ringfence_server::console::{DefinitionId, DefinitionPage, Desk as _};
use serde_json::{Value, json};

use super::*;
use crate::book::Seen;

/// The numbers are those of the lines that tests name.
const POLICY: &str = r#"# 1
[personality]
id = "researcher"
network.allow = [
    "*.github.com",
    "api.weather.gov:443",
]
secrets = ["WEATHER"]
process = { allow = ["rg"] }
approvals = { write = "human", tools = { grep = "dual" } }

[personality.fs_reach]
read = ["${workspace}", "/usr/share"]
write = ["${workspace}/out"]

[[tool]]
name = "fetch"
description = "Fetch a page"
builtin = "fetch_url"
[tool.capabilities]
network = { allow = ["api.github.com", "api.weather.gov:443"] }
secrets = ["WEATHER"]

[[tool]]
name = "grep"
description = "Search the workspace"
command = ["rg"]
input = { type = "object" }
output = { type = "string" }
[tool.capabilities]
fs_reach = { read = "from-personality" }
process = { allow = ["rg"] }
environment = ["LANG"]

[[tool]]
name = "save"
description = "Write a note"
builtin = "write_file"
[tool.capabilities.fs_reach]
write = ["${workspace}/out"]

[[server]]
name = "git"
command = ["uvx", "mcp-server-git"]
[server.capabilities]
network = { allow = ["api.github.com"] }
[server.tool.push]
class = "financial"
[server.tool.gone]
enabled = false

[[tool]]
name = "roam"
description = "Fetch whatever is permitted"
builtin = "fetch_url"
[tool.capabilities.network]
allowedHosts = ["*"]
"#;

/// A folder with a policy in it, and the desk over it.
struct Bench {
    folder: tempfile::TempDir,
    desk: FileDesk,
}

impl Bench {
    fn new() -> Self {
        Self::of("ringfence.toml", POLICY)
    }

    fn of(file: &str, text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let policy = folder.path().join(file);
        std::fs::write(&policy, text).unwrap();
        let workspace = Some(folder.path().to_path_buf());
        Self { desk: FileDesk::new(Place { policy, is_named: true, workspace }), folder }
    }

    fn path(&self, file: &str) -> PathBuf {
        self.folder.path().join(file)
    }

    /// Replaces a part of the policy.
    fn edit(&self, from: &str, to: &str) {
        let path = self.path("ringfence.toml");
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.matches(from).count(), 1, "{from}");
        std::fs::write(path, text.replace(from, to)).unwrap();
    }

    /// Lets a server send these definitions, which nobody has accepted.
    fn sends(&self, definitions: &[Value]) {
        let seen: Vec<Seen> = definitions.iter().map(seen).collect();
        self.desk.book.keep("git", "tool", &[], &seen).unwrap();
    }

    fn page(&self, server: Option<&str>, key: &str) -> DefinitionPage {
        self.desk.definition(&id(server, key)).unwrap().unwrap()
    }
}

fn id(server: Option<&str>, key: &str) -> DefinitionId {
    DefinitionId { server: server.map(str::to_owned), key: key.to_owned() }
}

fn tool(name: &str, description: &str) -> Value {
    json!({"name": name, "description": description, "inputSchema": {"type": "object"}})
}

fn seen(definition: &Value) -> Seen {
    Seen {
        key: format!("tool:{}", definition["name"].as_str().unwrap()),
        digest: ringfence::json_digest(definition).unwrap(),
        definition: definition.clone(),
        why: "it was not accepted yet".into(),
        verdict: "accept".into(),
        renamed_from: None,
    }
}
