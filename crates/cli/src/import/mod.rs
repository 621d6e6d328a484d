//! Turning a client's configuration of MCP servers into a policy file and a configuration that wraps them.
//!
//! Everything here is pure: texts in, texts out. What is guessed is narrow and marked for review.
//!
//! INVARIANT: no credential of the configuration is copied into the policy.

mod configuration;
mod credential;
mod entry;
mod name;
mod policy;

use std::path::{Path, PathBuf};

use ringfence::policy::{JsonLimits, ServerName, parse_json};
use serde_json::{Map, Value};

use entry::Entry;
pub(crate) use policy::{Line, listed, quoted};

/// What the importer must know of the machine.
pub(crate) struct Surroundings<'a> {
    /// The program that is to stand before each server.
    pub(crate) ringfence: &'a str,
    /// Where the policy will be, as an absolute path.
    pub(crate) policy: &'a Path,
    /// The home folder, which is never granted whole.
    pub(crate) home: Option<&'a Path>,
    /// Says whether something is at a path.
    pub(crate) exists: &'a dyn Fn(&Path) -> bool,
}

/// What became of a configuration.
#[derive(Debug, PartialEq)]
pub(crate) struct Imported {
    /// The policy file.
    pub(crate) policy: String,
    /// The configuration that wraps the servers.
    pub(crate) configuration: String,
    /// What was done with each entry, and what a person should know.
    pub(crate) notes: Vec<String>,
    /// The ceiling of the policy, line by line.
    pub(crate) personality: Vec<Line>,
    /// The servers of the policy, line by line: those that are wrapped by the configuration.
    pub(crate) servers: Vec<(ServerName, Vec<Line>)>,
    /// The policy files of entries that were wrapped before.
    pub(crate) before: Vec<PathBuf>,
}

/// Imports a configuration.
///
/// # Errors
///
/// The text is not a configuration, as one sentence that names the place.
pub(crate) fn import(text: &str, around: &Surroundings<'_>) -> Result<Imported, String> {
    let mut document = parse_json(text, JsonLimits::DOCUMENT).map_err(|error| {
        if configuration::has_comments(text) {
            "it holds comments, which would be lost: take them out first".to_owned()
        } else {
            error.to_string()
        }
    })?;
    let key = ["mcpServers", "servers"].into_iter().find(|key| document.get(key).is_some());
    let key = key.ok_or("it has neither `mcpServers` nor `servers`")?;
    let servers = document
        .get_mut(key)
        .and_then(Value::as_object_mut)
        .ok_or_else(|| format!("`{key}` is not an object"))?;
    let (mut notes, mut entries, mut before): (_, Vec<Entry>, _) = (Vec::new(), Vec::new(), Vec::new());
    for (own, value) in servers.iter_mut() {
        let shown = own.escape_debug();
        let object = value.as_object_mut().ok_or_else(|| format!("`{key}.{shown}` is not an object"))?;
        if let Some(policy) = wrapped_with(object) {
            notes.push(format!("{shown}: is wrapped already"));
            before.extend(policy);
            continue;
        }
        let name = name::server_name(own, |taken| entries.iter().any(|other| other.name == *taken));
        let name = name.ok_or_else(|| format!("`{key}.{shown}` can be given no name"))?;
        match Entry::read(name, own, object, around) {
            Err(fault) => return Err(format!("`{key}.{shown}` {fault}")),
            Ok(Err(left)) => notes.push(format!("{shown}: stays as it is, outside the fence: {left}")),
            Ok(Ok(entry)) => {
                notes.push(if entry.name.as_str() == own {
                    format!("{shown}: is wrapped")
                } else {
                    format!("{shown}: is wrapped as `{}`", entry.name)
                });
                notes.extend(entry.notes.iter().map(|note| format!("  {note}")));
                wrap(object, &entry, around);
                entries.push(entry);
            }
        }
    }
    if configuration::has_more(&document, key) {
        notes.push(format!(
            "servers elsewhere than in the outermost `{key}` stay as they are, outside the fence"
        ));
    }
    Ok(Imported {
        policy: policy::written(&entries),
        configuration: configuration::written(&document, text),
        notes,
        personality: policy::personality(&entries),
        servers: entries.iter().map(|entry| (entry.name.clone(), policy::server(entry))).collect(),
        before,
    })
}

/// Returns the policy file of an entry that runs `ringfence wrap`; `Some(None)` where it names none.
fn wrapped_with(object: &Map<String, Value>) -> Option<Option<PathBuf>> {
    let program = object.get("command")?.as_str()?;
    let arguments: Vec<&str> = object.get("args")?.as_array()?.iter().filter_map(Value::as_str).collect();
    let own = arguments.split(|argument| *argument == "--").next().unwrap_or_default();
    let is_ours =
        Path::new(program).file_name().is_some_and(|name| name == "ringfence") && own.contains(&"wrap");
    let policy = own.windows(2).find_map(|pair| match pair {
        ["--policy" | "-p", policy] => Some(PathBuf::from(policy)),
        _ => None,
    });
    is_ours.then_some(policy)
}

/// Puts `ringfence wrap` before an entry. Fields that we do not know stay, and so do variables that the client must give.
fn wrap(object: &mut Map<String, Value>, entry: &Entry, around: &Surroundings<'_>) {
    let policy = around.policy.to_string_lossy();
    let own = ["wrap", "--policy", &policy, "--name", entry.name.as_str(), "--"];
    let arguments: Vec<Value> =
        own.into_iter().chain(entry.command.iter().map(String::as_str)).map(Value::from).collect();
    object.insert("command".into(), around.ringfence.into());
    object.insert("args".into(), arguments.into());
    if let Some(Value::Object(env)) = object.get_mut("env") {
        env.retain(|name, _| !entry.env.contains_key(name));
        if env.is_empty() {
            object.shift_remove("env");
        }
    }
}

#[cfg(test)]
mod tests;
