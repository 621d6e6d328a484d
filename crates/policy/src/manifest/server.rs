//! One MCP server of a manifest.
//!
//! INVARIANT: the hash is that of everything else in the entry; no value of a variable is in it, only its digest.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::canonical::digest;
use super::limits::SourcedLimits;
use super::reached::Reached;
use super::sourced::{Provenance, Sourced};
use super::tool::{Approval, Class, LintRecord, Tier, sorted};
use super::{ManifestError, Sources};
use crate::{
    Accept, Constraints, HostSet, Idempotency, Limits, Risk, SafetyClass, ServerEntry, ServerTool, Size,
    ToolName,
};

/// What a manifest says of one server.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ServerRecord {
    /// What happens to definitions that nobody has accepted yet.
    #[serde(with = "accept")]
    pub accept: Accept,
    /// Who must agree to a call of a tool that nothing is said of.
    pub approval: Approval,
    /// Digests of the programs it starts, by the names they were looked up by.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub binaries: BTreeMap<String, String>,
    /// What its process reaches.
    #[serde(default, skip_serializing_if = "Reached::is_nothing")]
    pub capabilities: Reached,
    /// How consequential a tool is that nothing is said of: what the capabilities imply.
    pub class: Class,
    /// The program and its arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// Digests of the definitions that were accepted, by kind and name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub definitions: BTreeMap<String, String>,
    /// Where it is started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// Its variables, with the digests of their values.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Whether it may ask the person at the client.
    #[serde(default = "yes", skip_serializing_if = "is_true")]
    pub elicitation: bool,
    /// The digest of the entry.
    #[serde(default)]
    pub hash: String,
    /// What its process may spend.
    #[serde(default, skip_serializing_if = "SourcedLimits::is_empty")]
    pub limits: SourcedLimits,
    /// What its code was seen to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lint: Option<LintRecord>,
    /// The largest message that it may send; absent = 16 MiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_message: Option<Size>,
    /// The hosts that its install step may reach, where they are written.
    #[serde(default, skip_serializing_if = "Sourced::is_empty")]
    pub registry: Sourced<HostSet>,
    /// Whether it may have the client's model complete texts.
    #[serde(default = "yes", skip_serializing_if = "is_true")]
    pub sampling: bool,
    /// The weakest confinement it may run under.
    pub sandbox: Tier,
    /// The variables that hold secrets, with their refs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub secrets: BTreeMap<String, String>,
    /// What is said of single tools.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tools: BTreeMap<ToolName, ServerToolRecord>,
    /// Whether its process may open Unix sockets.
    #[serde(default, skip_serializing_if = "is_false")]
    pub unix_sockets: bool,
}

const fn yes() -> bool {
    true
}

const fn is_true(flag: &bool) -> bool {
    *flag
}

const fn is_false(flag: &bool) -> bool {
    !*flag
}

/// What a manifest says of one tool of a server.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ServerToolRecord {
    /// Who must agree to a call.
    pub approval: Approval,
    /// How consequential it is.
    pub class: Class,
    /// When and how often it may run.
    #[serde(default, skip_serializing_if = "Constraints::is_none")]
    pub constraints: Constraints,
    /// Whether it is offered at all.
    pub enabled: bool,
    /// Whether calls carry a key.
    #[serde(default)]
    pub idempotency: Idempotency,
    /// What one call may spend.
    #[serde(default, skip_serializing_if = "SourcedLimits::is_empty")]
    pub limits: SourcedLimits,
    /// What it could do at worst.
    #[serde(default)]
    pub risk: Risk,
}

impl ServerRecord {
    pub(super) fn new(server: &ServerEntry, sources: &Sources<'_>) -> Result<Self, ManifestError> {
        let place = format!("server `{}`", server.name);
        let source = |message: String| ManifestError::Source { place: place.clone(), message };
        let reached = Reached::new(&server.capabilities, sources.personality, &place)?;
        let implied = server.capabilities.implied_class();
        let directory = server.directory().map(|directory| {
            directory.into_os_string().into_string().map_err(|_| source("its folder is not UTF-8".to_owned()))
        });
        let env = server.env.iter().map(|(name, value)| Ok((name.clone(), digest(value)?)));
        let registry = server.registry.iter().flat_map(|hosts| hosts.iter());
        let registry = registry.map(|host| (host.to_string(), Provenance::Tool));
        let tools = server.tools.iter().map(|(name, tool)| {
            let full = format!("{}__{name}", server.name);
            let full: ToolName =
                full.parse().map_err(|error: crate::ToolNameError| source(error.to_string()))?;
            let record = ServerToolRecord::new(tool, implied, &full, server, sources).map_err(source)?;
            Ok((name.clone(), record))
        });
        let record = Self {
            accept: server.accept,
            approval: Approval::new(sources, implied, &server.capabilities, &ToolName::from(&server.name)),
            binaries: sources.binaries_of(&server.command, &reached),
            capabilities: reached,
            class: Class { from: Provenance::Default, value: implied },
            command: server.command.clone(),
            definitions: sources.definitions.get(server.name.as_str()).cloned().unwrap_or_default(),
            directory: directory.transpose()?,
            env: env.collect::<Result<_, ManifestError>>()?,
            elicitation: server.elicitation,
            hash: String::new(),
            limits: SourcedLimits::new(&server.limits, &sources.personality.limits, &sources.defaults.server)
                .map_err(source)?,
            lint: sources.lint.get(server.name.as_str()).cloned(),
            max_message: server.max_message,
            registry: Sourced::new(registry).map_err(source)?,
            sampling: server.sampling,
            sandbox: Tier::Sandboxed,
            secrets: server.secrets.clone(),
            tools: tools.collect::<Result<_, ManifestError>>()?,
            unix_sockets: server.unix_sockets,
        };
        Ok(Self { hash: record.computed_hash()?, ..record })
    }

    /// Returns what holds for a tool that nothing is said of.
    pub(super) fn unmentioned(&self) -> ServerToolRecord {
        ServerToolRecord {
            approval: self.approval,
            class: self.class,
            constraints: Constraints::default(),
            enabled: true,
            idempotency: Idempotency::default(),
            limits: self.limits.clone(),
            risk: Risk::default(),
        }
    }

    /// Returns the hash that the entry should have.
    pub(super) fn computed_hash(&self) -> Result<String, ManifestError> {
        let mut value = serde_json::to_value(self).map_err(|error| ManifestError::unwritable(&error))?;
        if let Some(map) = value.as_object_mut() {
            map.remove("hash");
        }
        digest(&value)
    }

    /// Returns an error where the stored hash is not that of the entry.
    pub(super) fn check(&self, name: &str) -> Result<(), ManifestError> {
        if self.hash == self.computed_hash()? {
            Ok(())
        } else {
            Err(ManifestError::Hash { place: format!("server `{name}`") })
        }
    }
}

impl ServerToolRecord {
    fn new(
        tool: &ServerTool,
        implied: SafetyClass,
        full: &ToolName,
        server: &ServerEntry,
        sources: &Sources<'_>,
    ) -> Result<Self, String> {
        let class = Class {
            from: if tool.class.is_some() { Provenance::Tool } else { Provenance::Default },
            value: tool.class.unwrap_or(implied),
        };
        let ceiling: Limits = server.limits.meet(&sources.personality.limits);
        Ok(Self {
            approval: Approval::new(sources, class.value, &server.capabilities, full),
            class,
            constraints: sorted(&tool.constraints),
            enabled: tool.enabled,
            idempotency: tool.idempotency.clone(),
            limits: SourcedLimits::new(&tool.limits, &ceiling, &sources.defaults.server)?,
            risk: tool.risk.unwrap_or_default(),
        })
    }
}

/// The word for a way to accept.
mod accept {
    use serde::{Deserialize as _, Deserializer, Serializer};

    use crate::Accept;

    pub(super) fn serialize<S: Serializer>(accept: &Accept, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(match accept {
            Accept::Clean => "clean",
            Accept::Review => "review",
        })
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Accept, D::Error> {
        Accept::deserialize(deserializer)
    }
}
