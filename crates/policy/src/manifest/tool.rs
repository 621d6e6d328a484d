//! One tool of a manifest.
//!
//! INVARIANT: the hash is that of everything else in the entry.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::canonical::digest;
use super::limits::SourcedLimits;
use super::reached::Reached;
use super::sourced::Provenance;
use super::{ManifestError, Sources};
use crate::{
    Assurance, Builtin, Capabilities, Constraints, Decision, Declaration, Idempotency, Limits, Risk, Runtime,
    SafetyClass,
};

/// What a manifest says of one tool.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ToolRecord {
    /// Who must agree to a call.
    pub approval: Approval,
    /// What it reaches.
    #[serde(default, skip_serializing_if = "Reached::is_nothing")]
    pub capabilities: Reached,
    /// How sure it must be that it is confined.
    #[serde(default, skip_serializing_if = "is_default")]
    pub assurance: Assurance,
    /// How consequential it is.
    pub class: Class,
    /// When and how often it may run.
    #[serde(default, skip_serializing_if = "Constraints::is_none")]
    pub constraints: Constraints,
    /// The digest of its title and description.
    pub description: String,
    /// The digest of the entry.
    #[serde(default)]
    pub hash: String,
    /// Whether calls carry a key.
    #[serde(default, skip_serializing_if = "is_default")]
    pub idempotency: Idempotency,
    /// The schema of its arguments.
    pub input: Value,
    /// The digest of that schema.
    pub input_digest: String,
    /// What one call may spend.
    #[serde(default, skip_serializing_if = "SourcedLimits::is_empty")]
    pub limits: SourcedLimits,
    /// What its code was seen to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lint: Option<LintRecord>,
    /// The schema of what it returns.
    pub output: Value,
    /// The digest of that schema.
    pub output_digest: String,
    /// Whether the toolset of the personality holds it.
    #[serde(default = "yes", skip_serializing_if = "is_true")]
    pub permitted: bool,
    /// What it could do at worst.
    #[serde(default)]
    pub risk: Risk,
    /// What runs.
    pub runtime: RuntimeRecord,
    /// The weakest confinement it may run under.
    pub sandbox: Tier,
}

/// A class and who chose it.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Class {
    /// The tool, or what its capabilities imply.
    pub from: Provenance,
    /// The class.
    pub value: SafetyClass,
}

/// A decision and who made it.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Approval {
    /// The personality, or the default of the class.
    pub from: Provenance,
    /// The decision.
    pub value: Decision,
}

impl Approval {
    pub(super) fn new(
        sources: &Sources<'_>,
        class: SafetyClass,
        capabilities: &Capabilities,
        tool: &crate::ToolName,
    ) -> Self {
        let approvals = &sources.personality.approvals;
        let value = approvals.decision_with(class, capabilities, tool);
        let is_default = value == class.default_decision();
        Self { from: if is_default { Provenance::Default } else { Provenance::Personality }, value }
    }
}

/// What confines a tool. Ordered: later is stronger.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tier {
    /// Code of the process that holds the policy: only its own good manners.
    NativeCode,
    /// Code of ringfence itself, through scoped handles.
    Builtin,
    /// A process in a container engine, which says that it confines it.
    Container,
    /// A process of its own in the sandbox of the operating system.
    Sandboxed,
    /// A WebAssembly component, which has nothing but what it is handed.
    Component,
}

impl Tier {
    /// Returns the tier as it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NativeCode => "native-code",
            Self::Builtin => "builtin",
            Self::Component => "component",
            Self::Container => "container",
            Self::Sandboxed => "sandboxed",
        }
    }
}

/// What runs when a tool is called.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields, rename_all = "lowercase", tag = "kind")]
pub enum RuntimeRecord {
    /// A tool of ringfence.
    Builtin {
        /// Which.
        name: Builtin,
    },
    /// A program.
    Command {
        /// Digests of the programs it starts, by the names they were looked up by.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        binaries: BTreeMap<String, String>,
        /// The program and its arguments, as templates.
        command: Vec<String>,
    },
    /// A program of an image.
    Container {
        /// The program and its arguments, as templates.
        command: Vec<String>,
        /// Where the engine is asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        engine: Option<String>,
        /// The image, by digest.
        image: String,
    },
    /// Code of the process that holds the policy.
    Native,
    /// A tool of an MCP server.
    Server {
        /// The digest of what the server sent.
        definition: String,
        /// Which server.
        server: String,
    },
    /// A WebAssembly component.
    Wasm {
        /// The digest of its file.
        component: String,
    },
}

/// What code was seen to do, as `ringfence lint` found it.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LintRecord {
    /// What each dependency does, by `name@version`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub dependencies: BTreeMap<String, BTreeSet<String>>,
    /// What the tool does, dependencies included.
    pub effects: BTreeSet<String>,
    /// How it was looked at: `mir`, `source`, `python`, `script`.
    pub engine: String,
}

impl ToolRecord {
    pub(super) fn new(tool: &Declaration, sources: &Sources<'_>) -> Result<Self, ManifestError> {
        let place = format!("tool `{}`", tool.name);
        let source = |message: String| ManifestError::Source { place: place.clone(), message };
        let Some(capabilities) = &tool.capabilities else {
            return Err(source("has no `capabilities`, so nobody can say what it touches".to_owned()));
        };
        let reached = Reached::new(capabilities, sources.personality, &place)?;
        let class = Class {
            from: if tool.class.is_some() { Provenance::Tool } else { Provenance::Default },
            value: tool.class(),
        };
        let (runtime, sandbox) = match &tool.runtime {
            Runtime::Builtin(name) => (RuntimeRecord::Builtin { name: *name }, Tier::Builtin),
            Runtime::Command(command) => {
                let binaries = sources.binaries_of(command, &reached);
                (RuntimeRecord::Command { binaries, command: command.clone() }, Tier::Sandboxed)
            }
            Runtime::Container { image, command } => {
                let engine = sources.outside.container.and_then(|container| container.engine.clone());
                let (command, image) = (command.clone(), image.clone());
                let runtime = RuntimeRecord::Container { command, engine, image };
                (runtime, Tier::Container)
            }
            Runtime::Native => (RuntimeRecord::Native, Tier::NativeCode),
            Runtime::Server { server, definition } => {
                let definition = digest(definition)?;
                (RuntimeRecord::Server { definition, server: server.clone() }, Tier::Sandboxed)
            }
            Runtime::Wasm { component } => {
                (RuntimeRecord::Wasm { component: component.clone() }, Tier::Component)
            }
        };
        let default = match &tool.runtime {
            Runtime::Command(_) | Runtime::Container { .. } => sources.defaults.command,
            Runtime::Builtin(_) | Runtime::Native | Runtime::Server { .. } | Runtime::Wasm { .. } => {
                Limits::default()
            }
        };
        let record = Self {
            assurance: tool.assurance.unwrap_or_default(),
            approval: Approval::new(sources, class.value, capabilities, &tool.name),
            capabilities: reached,
            class,
            constraints: sorted(&tool.constraints),
            description: digest(&json!({"description": tool.description, "title": tool.title}))?,
            hash: String::new(),
            idempotency: tool.idempotency.clone(),
            input: tool.input.clone(),
            input_digest: digest(&tool.input)?,
            limits: SourcedLimits::new(&tool.limits, &sources.personality.limits, &default)
                .map_err(source)?,
            lint: sources.lint.get(tool.name.as_str()).cloned(),
            output: tool.output.clone(),
            output_digest: digest(&tool.output)?,
            permitted: sources.personality.permits_tool(tool.name.as_str()),
            risk: tool.risk,
            runtime,
            sandbox,
        };
        Ok(Self { hash: record.computed_hash()?, ..record })
    }

    /// Returns the hash that the entry should have.
    pub(super) fn computed_hash(&self) -> Result<String, ManifestError> {
        let mut value = serde_json::to_value(self).map_err(|error| ManifestError::unwritable(&error))?;
        if let Some(map) = value.as_object_mut() {
            map.remove("hash");
        }
        digest(&value)
    }

    /// Returns an error where a stored digest is not that of what it stands for.
    pub(super) fn check(&self, name: &str) -> Result<(), ManifestError> {
        let is_sound = self.hash == self.computed_hash()?
            && self.input_digest == digest(&self.input)?
            && self.output_digest == digest(&self.output)?;
        if is_sound { Ok(()) } else { Err(ManifestError::Hash { place: format!("tool `{name}`") }) }
    }
}

/// Returns a command for people, with quotes where an argument would read as several.
pub(super) fn spelled(command: &[String]) -> String {
    let is_plain = |c: char| c.is_ascii_graphic() && !matches!(c, '"' | '\\');
    let spell = |part: &String| {
        if !part.is_empty() && part.chars().all(is_plain) { part.clone() } else { format!("{part:?}") }
    };
    command.iter().map(spell).collect::<Vec<_>>().join(" ")
}

/// Returns constraints with their set in order.
pub(super) fn sorted(constraints: &Constraints) -> Constraints {
    let mut constraints = constraints.clone();
    constraints.only_after.sort_unstable();
    constraints.only_after.dedup();
    constraints
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

const fn yes() -> bool {
    true
}

const fn is_true(value: &bool) -> bool {
    *value
}
