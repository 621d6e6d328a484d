//! A `[[server]]` entry of a toolbox file: one MCP server behind the fence, and what the operator says of its tools.
//!
//! The server is one process with one grant, so its tools share its capabilities. What is written of a single tool may make
//! it graver or rarer, and never widens what it reaches.
//!
//! INVARIANT: an entry that [`expanded`](ServerEntry::expanded) returns holds no variable that was not replaced.

mod check;
mod name;

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Deserializer};

use crate::expand::{expand_path, expand_text};
use crate::{
    Capabilities, Constraints, HostSet, Idempotency, Limits, Risk, SafetyClass, Size, Span, ToolName,
    Variables,
};

pub use check::check_servers;
pub use name::{ServerName, ServerNameError, TOOLBOX};

/// One MCP server behind the fence.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct ServerEntry {
    /// What it is called: the prefix of its tools at a gateway, and the key of its pins.
    pub name: ServerName,
    /// The program and its arguments; empty when only `ringfence wrap` starts it.
    #[serde(default, deserialize_with = "command")]
    pub command: Vec<String>,
    /// The surfaces it touches; absent = nothing.
    #[serde(default)]
    pub capabilities: Capabilities,
    /// What happens to definitions that nobody has accepted yet.
    #[serde(default)]
    pub accept: Accept,
    /// Variables with their values.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Variables, and the refs of the secrets they are to hold.
    #[serde(default)]
    pub secrets: BTreeMap<String, String>,
    /// Where it is started; must be granted.
    #[serde(default)]
    directory: Option<String>,
    /// The hosts that its install step may reach; absent = the registry of the program that installs it.
    #[serde(default)]
    pub registry: Option<HostSet>,
    /// What its process may spend; `wall` limits each call instead, because the process goes on.
    #[serde(default)]
    pub limits: Limits,
    /// The largest message that it may send; absent = 16 MiB.
    #[serde(default, alias = "maxMessage")]
    pub max_message: Option<Size>,
    /// Whether its process may open Unix sockets, which reach only what a granted path holds.
    #[serde(default, alias = "unixSockets")]
    pub unix_sockets: bool,
    /// Whether it may have the client's model complete texts (`sampling/createMessage`).
    #[serde(default = "yes")]
    pub sampling: bool,
    /// Whether it may ask the person at the client (`elicitation/create`).
    #[serde(default = "yes")]
    pub elicitation: bool,
    /// After how long without a question it is stopped.
    #[serde(default)]
    pub idle: Option<Span>,
    /// Whether the agent is offered a tool that tells what it may reach.
    #[serde(default = "yes", alias = "policyTool")]
    pub policy_tool: bool,
    /// What the operator says of single tools, by the names that the server gives them.
    #[serde(default, rename = "tool", alias = "tools")]
    pub tools: BTreeMap<ToolName, ServerTool>,
}

impl ServerEntry {
    /// Returns the entry of a server that nothing is written of: it reaches nothing, and each of its definitions waits for a
    /// person.
    pub fn of_nothing(name: ServerName) -> Self {
        Self {
            name,
            command: Vec::new(),
            capabilities: Capabilities::default(),
            accept: Accept::Review,
            env: BTreeMap::new(),
            secrets: BTreeMap::new(),
            directory: None,
            registry: None,
            limits: Limits::default(),
            max_message: None,
            unix_sockets: false,
            sampling: true,
            elicitation: true,
            idle: None,
            policy_tool: true,
            tools: BTreeMap::new(),
        }
    }

    /// Returns the folder it is started in, as it was written or expanded.
    pub fn directory(&self) -> Option<PathBuf> {
        self.directory.as_ref().map(PathBuf::from)
    }

    /// Replaces the variables in its command, its variables, its paths and its folder.
    ///
    /// # Errors
    ///
    /// The field, and what is wrong with it; all of them.
    pub fn expanded(&self, variables: &Variables) -> Result<Self, Vec<(&'static str, String)>> {
        let mut faults = Vec::new();
        let mut entry = self.clone();
        for part in &mut entry.command {
            expand_text(part, variables, str::to_owned)
                .map_or_else(|fault| faults.push(("command", fault)), |value| *part = value);
        }
        for value in entry.env.values_mut() {
            expand_text(value, variables, str::to_owned)
                .map_or_else(|fault| faults.push(("env", fault)), |expanded| *value = expanded);
        }
        if let Some(directory) = &mut entry.directory {
            expand_path(directory, variables)
                .map_or_else(|fault| faults.push(("directory", fault)), |expanded| *directory = expanded);
        }
        match self.capabilities.expand(variables) {
            Ok(capabilities) => entry.capabilities = capabilities,
            Err(error) => faults.push(("fs_reach", error.to_string())),
        }
        if faults.is_empty() { Ok(entry) } else { Err(faults) }
    }
}

/// What happens to definitions that nobody has accepted yet.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "lowercase")]
pub enum Accept {
    /// One that the scan finds clean is accepted at first sight, and pinned.
    Clean,
    /// Each waits for a person.
    #[default]
    Review,
}

/// What the operator says of one tool of a server.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct ServerTool {
    /// How consequential it is; never lower than the server's capabilities imply.
    #[serde(alias = "safetyClass", alias = "safety_class")]
    pub class: Option<SafetyClass>,
    /// What it could do at worst.
    pub risk: Option<Risk>,
    /// Whether calls carry an idempotency key.
    pub idempotency: Idempotency,
    /// When and how often it may run within one run.
    pub constraints: Constraints,
    /// What one call may spend.
    pub limits: Limits,
    /// Whether it is offered at all.
    pub enabled: bool,
}

impl Default for ServerTool {
    fn default() -> Self {
        Self {
            class: None,
            risk: None,
            idempotency: Idempotency::default(),
            constraints: Constraints::default(),
            limits: Limits::default(),
            enabled: true,
        }
    }
}

const fn yes() -> bool {
    true
}

fn command<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let command = Vec::<String>::deserialize(deserializer)?;
    match command.first() {
        Some(program) if !program.is_empty() => Ok(command),
        _ => Err(serde::de::Error::custom(
            "`command` names no program: write `[\"program\", …]` or leave it out",
        )),
    }
}

#[cfg(test)]
mod tests;
