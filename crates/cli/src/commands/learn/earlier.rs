//! The file of the round before: what it grants is kept, and the command has it while it is learnt again.

use std::path::{Path, PathBuf};

use ringfence::policy::{Capabilities, Direction, HostPattern, NamePattern, resolve_capabilities};
use ringfence::sandbox::SearchPath;
use serde_json::Value;

use super::beyond::beyond;
use super::learnt::Learnt;
use super::written::Kind;
use crate::error::CommandError;
use crate::load::{Place, is_json};

/// What the round before grants.
#[derive(Debug, Default)]
pub(super) struct Earlier {
    pub(super) learnt: Learnt,
    pub(super) hosts: Vec<HostPattern>,
    /// Paths that somebody has named: they were looked at.
    pub(super) named: Vec<PathBuf>,
    /// The command of the entry, as it is written.
    pub(super) command: Vec<String>,
    /// What the file holds beside what `learn` writes, key by key: a new round does not know it.
    pub(super) beyond: Vec<String>,
}

impl Earlier {
    /// Reads the entry of this name; any other, where it is the only one.
    pub(super) fn read(file: &Path, place: &Place, name: &str, entry: Kind) -> Result<Self, CommandError> {
        let place = Place { policy: file.to_path_buf(), is_named: true, workspace: place.workspace.clone() };
        let loaded = place.load()?.sound()?;
        let tools = loaded
            .declarations
            .iter()
            .filter_map(|tool| Some((tool.name.as_str().to_owned(), tool.capabilities.clone()?)));
        let servers = loaded
            .servers
            .iter()
            .map(|server| (server.name.as_str().to_owned(), server.capabilities.clone()));
        let all: Vec<(String, Capabilities)> = tools.chain(servers).collect();
        let chosen = match all.as_slice() {
            [only] => Some(only),
            several => several.iter().find(|(own, _)| own == name),
        };
        let (chosen, declared) = chosen.ok_or_else(|| CommandError::Input {
            message: format!("`{}` has no entry `{name}`", file.display()),
            hint: Some("name the entry with --name"),
        })?;
        let grant = resolve_capabilities(declared, &loaded.personality)
            .map_err(|refusal| CommandError::Input { message: refusal.to_string(), hint: None })?;
        let mut earlier = Self::default();
        let written: Option<Value> = if is_json(file) {
            serde_json::from_str(loaded.text()).ok()
        } else {
            toml::from_str(loaded.text()).ok()
        };
        match written {
            Some(written) => {
                earlier.command = command_of(&written, chosen);
                earlier.beyond = beyond(&written, entry);
            }
            None => earlier.beyond.push("what cannot be read".to_owned()),
        }
        if let Some(fs) = &grant.fs {
            earlier.learnt.read = fs.trees(Direction::Read).0;
            earlier.learnt.write = fs.trees(Direction::Write).0;
            let named = [Direction::Read, Direction::Write].into_iter().flat_map(|way| fs.named(way));
            earlier.named = named.map(Path::to_path_buf).collect();
        }
        if let Some(network) = &grant.network {
            earlier.hosts = network.hosts().iter().cloned().collect();
            earlier.learnt.hosts = earlier.hosts.iter().map(ToString::to_string).collect();
            earlier.learnt.private = network.private().iter().map(ToString::to_string).collect();
        }
        let exact = |pattern: &NamePattern| match pattern {
            NamePattern::Exact(name) => Some(name.to_string()),
            NamePattern::Any | NamePattern::Below(_) => None,
        };
        let search = SearchPath::default();
        let programs = grant.process.iter().flat_map(|names| names.iter()).filter_map(exact);
        earlier.learnt.programs = programs.filter_map(|name| search.find(&name)).collect();
        let variables = grant.environment.iter().flat_map(|names| names.iter());
        earlier.learnt.environment = variables.filter_map(exact).collect();
        Ok(earlier)
    }
}

/// Returns the command of an entry, as it is written; nothing where it has none.
fn command_of(file: &Value, name: &str) -> Vec<String> {
    let lists =
        ["server", "servers", "tool", "tools"].into_iter().filter_map(|key| file.get(key)?.as_array());
    let is_named = |entry: &&Value| entry.get("name").and_then(Value::as_str) == Some(name);
    let command = lists.flatten().find(is_named).and_then(|entry| entry.get("command")?.as_array());
    let words = command.into_iter().flatten().filter_map(Value::as_str);
    words.map(str::to_owned).collect()
}
