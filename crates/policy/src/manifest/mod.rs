//! The permission manifest (`ringfence.lock.json`): what every tool may touch, for a person to approve and a program to compare.
//!
//! A manifest is built from a toolbox with its variables as they are written, so that it is the same on every machine. It holds
//! no time and no path of a machine, and absent means none.
//!
//! INVARIANT: a [`Manifest`] has the hash of its content, and so has each entry; one that was read had it stored.

mod canonical;
mod ceiling;
pub mod diff;
mod error;
mod limits;
mod outside;
mod paths;
mod reached;
mod server;
pub mod show;
mod sourced;
mod tool;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Declaration, JsonLimits, Personality, ServerEntry, ServerName, ToolName, parse_json};

pub use error::ManifestError;
pub use limits::{DefaultLimits, SourcedLimits};
pub use outside::{AgentRecord, ConsoleRecord, GatewayRecord, NotifyRecord, Outside};
pub use paths::{Paths, ReachedPaths};
pub use reached::{Reached, ReachedHosts};
pub use server::{ServerRecord, ServerToolRecord};
pub use sourced::{Listed, Provenance, Sourced};
pub use tool::{Approval, Class, LintRecord, RuntimeRecord, Tier, ToolRecord};

/// How a manifest is called beside its toolbox.
pub const FILE_NAME: &str = "ringfence.lock.json";

/// What a manifest may be: more than any toolbox, less than what would stop a review.
const LIMITS: JsonLimits = JsonLimits { bytes: 16 << 20, depth: 96, values: 500_000 };

/// Fields that stand on one line, however long they are.
const COMPACT: [&str; 4] = ["command", "input", "only_after", "output"];

/// What a manifest is made from. Everything is as it was written, with variables.
#[derive(Clone, Copy, Debug)]
pub struct Sources<'a> {
    /// The ceiling.
    pub personality: &'a Personality,
    /// The tools.
    pub tools: &'a [Declaration],
    /// The servers.
    pub servers: &'a [ServerEntry],
    /// Digests of programs, by the names they are looked up by.
    pub binaries: &'a BTreeMap<String, String>,
    /// Digests of the definitions that were accepted of servers, by server and then by kind and name.
    pub definitions: &'a BTreeMap<String, BTreeMap<String, String>>,
    /// What code was seen to do, by tool or server.
    pub lint: &'a BTreeMap<String, LintRecord>,
    /// The limits of processes where nothing is written.
    pub defaults: DefaultLimits,
    /// Who connects, and who is told.
    pub outside: Outside<'a>,
}

impl Sources<'_> {
    /// Returns the digests of the programs that a command starts: its own, and those that are reached by name.
    fn binaries_of(&self, command: &[String], reached: &Reached) -> BTreeMap<String, String> {
        let names = reached.process.entries().map(|(name, _)| name);
        let names = names.chain(command.first().map(String::as_str));
        names.filter_map(|name| Some((name.to_owned(), self.binaries.get(name)?.clone()))).collect()
    }
}

/// What every tool of a toolbox may touch.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    /// The agents.
    pub agents: BTreeMap<ToolName, AgentRecord>,
    /// The page for people.
    pub console: ConsoleRecord,
    /// The endpoint for agents.
    pub gateway: GatewayRecord,
    /// Whom to tell when a call waits for people, in order.
    pub notify: Vec<NotifyRecord>,
    /// The ceiling, without its examples and with its lists in order.
    pub personality: Personality,
    /// The servers.
    pub servers: BTreeMap<ServerName, ServerRecord>,
    /// The tools.
    pub tools: BTreeMap<ToolName, ToolRecord>,
    hash: String,
}

/// The file.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    agents: BTreeMap<ToolName, AgentRecord>,
    #[serde(default, skip_serializing_if = "ConsoleRecord::is_default")]
    console: ConsoleRecord,
    #[serde(default, skip_serializing_if = "GatewayRecord::is_default")]
    gateway: GatewayRecord,
    #[serde(default)]
    hash: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    notify: Vec<NotifyRecord>,
    #[serde(default)]
    personality: Personality,
    #[serde(default)]
    servers: BTreeMap<ServerName, ServerRecord>,
    #[serde(default)]
    tools: BTreeMap<ToolName, ToolRecord>,
    version: u32,
}

impl Manifest {
    /// Makes the manifest of a toolbox.
    ///
    /// # Errors
    ///
    /// Something that cannot be recorded, such as a tool without capabilities.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::collections::BTreeMap;
    /// use ringfence_policy::manifest::{DefaultLimits, Manifest, Sources};
    /// use ringfence_policy::{NoFiles, Personality, Toolbox};
    ///
    /// let toolbox = Toolbox::from_toml(r#"
    ///     [personality]
    ///     fs_reach = { read = ["${workspace}"] }
    ///     [[tool]]
    ///     name = "read"
    ///     builtin = "read_file"
    ///     capabilities = { fs_reach = { read = "from-personality" } }
    /// "#)?;
    /// let (tools, _) = toolbox.written_declarations(NoFiles);
    /// let manifest = Manifest::new(&Sources {
    ///     personality: &toolbox.personality.clone().unwrap_or_default(),
    ///     tools: &tools,
    ///     servers: toolbox.written_servers(),
    ///     binaries: &BTreeMap::new(),
    ///     definitions: &BTreeMap::new(),
    ///     lint: &BTreeMap::new(),
    ///     defaults: DefaultLimits::default(),
    ///     outside: toolbox.outside(),
    /// })?;
    /// assert_eq!(Manifest::from_json(&manifest.to_json()?)?, manifest);
    /// assert!(manifest.to_json()?.contains("${workspace}")); // not a path of this machine
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(sources: &Sources<'_>) -> Result<Self, ManifestError> {
        let ceiling = ceiling::sorted(sources.personality);
        let sources = Sources { personality: &ceiling, ..*sources };
        let tools =
            sources.tools.iter().map(|tool| Ok((tool.name.clone(), ToolRecord::new(tool, &sources)?)));
        let tools = tools.collect::<Result<_, ManifestError>>()?;
        let servers = sources.servers.iter();
        let servers = servers.map(|server| Ok((server.name.clone(), ServerRecord::new(server, &sources)?)));
        let servers = servers.collect::<Result<_, ManifestError>>()?;
        // Each tool that runs in an image says which engine runs it.
        let Outside { agents, console, container: _, gateway, notify } = sources.outside;
        let agents = agents.iter().map(|agent| (agent.name.clone(), AgentRecord::new(agent))).collect();
        Self {
            agents,
            console: console.map(|console| ConsoleRecord::new(console, gateway)).unwrap_or_default(),
            gateway: gateway.map(GatewayRecord::new).unwrap_or_default(),
            notify: NotifyRecord::all(notify),
            personality: ceiling.clone(),
            servers,
            tools,
            hash: String::new(),
        }
        .hashed()
    }

    /// Returns the digest of the whole manifest in hexadecimal.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// Writes the file: keys sorted, one entry a line.
    ///
    /// # Errors
    ///
    /// A schema that has no canonical form.
    pub fn to_json(&self) -> Result<String, ManifestError> {
        let value = canonical::normal(&self.document(self.hash.clone()))?;
        Ok(canonical::pretty(&value, &COMPACT))
    }

    /// Reads a file: no unknown and no duplicate key, and every stored hash is right.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong with it.
    pub fn from_json(text: &str) -> Result<Self, ManifestError> {
        let value =
            parse_json(text, LIMITS).map_err(|error| ManifestError::Json { message: error.to_string() })?;
        match value.get("version") {
            Some(Value::Number(version)) if version.as_u64() == Some(1) => {}
            Some(other) => {
                let found = other.to_string().chars().take(40).collect();
                return Err(ManifestError::Version { found });
            }
            None => return Err(ManifestError::Shape { message: "it has no `version`".to_owned() }),
        }
        let stored = value.get("hash").and_then(Value::as_str).unwrap_or_default().to_owned();
        let mut content = value.clone();
        if let Some(map) = content.as_object_mut() {
            map.remove("hash");
        }
        let mismatch = || ManifestError::Hash { place: "the manifest".to_owned() };
        if canonical::digest(&content)? != stored {
            return Err(mismatch());
        }
        let document: Document = serde_json::from_value(value)
            .map_err(|error| ManifestError::Shape { message: error.to_string() })?;
        let manifest = Self {
            agents: document.agents,
            console: document.console,
            gateway: document.gateway,
            notify: document.notify,
            personality: document.personality,
            servers: document.servers,
            tools: document.tools,
            hash: String::new(),
        };
        for (name, tool) in &manifest.tools {
            tool.check(name.as_str())?;
        }
        for (name, server) in &manifest.servers {
            server.check(name.as_str())?;
        }
        let manifest = manifest.hashed()?;
        // Another spelling of the same content would be another manifest under the same hash.
        if manifest.hash == stored { Ok(manifest) } else { Err(mismatch()) }
    }

    fn hashed(self) -> Result<Self, ManifestError> {
        let mut value = serde_json::to_value(self.document(String::new()))
            .map_err(|error| ManifestError::unwritable(&error))?;
        if let Some(map) = value.as_object_mut() {
            map.remove("hash");
        }
        let hash = canonical::digest(&value)?;
        Ok(Self { hash, ..self })
    }

    fn document(&self, hash: String) -> Document {
        Document {
            agents: self.agents.clone(),
            console: self.console.clone(),
            gateway: self.gateway.clone(),
            hash,
            notify: self.notify.clone(),
            personality: self.personality.clone(),
            servers: self.servers.clone(),
            tools: self.tools.clone(),
            version: 1,
        }
    }
}

#[cfg(test)]
mod tests;
