//! What a tool says of itself.

use std::fmt;
use std::num::NonZeroU32;

use serde::de::value::MapAccessDeserializer;
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::{Assurance, Capabilities, Limits, Risk, SafetyClass, ToolName};

/// A tool's declaration: everything a reviewer reads instead of the code.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Declaration {
    /// What it is called.
    pub name: ToolName,
    /// What a person calls it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it does, for the model.
    pub description: String,
    /// The JSON Schema its arguments must fit.
    pub input: Value,
    /// The JSON Schema its output must fit.
    pub output: Value,
    /// The surfaces it touches. Absent is refused at registration; `{}` touches nothing.
    pub capabilities: Option<Capabilities>,
    /// How consequential it is; absent = what the capabilities imply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<SafetyClass>,
    /// What it could do at worst.
    pub risk: Risk,
    /// Whether calls carry an idempotency key.
    #[serde(skip_serializing_if = "Idempotency::is_none")]
    pub idempotency: Idempotency,
    /// When and how often it may run within one run.
    #[serde(skip_serializing_if = "Constraints::is_none")]
    pub constraints: Constraints,
    /// What one call may spend.
    pub limits: Limits,
    /// How sure it must be that what runs it enforces its grant; absent = a claim is enough.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assurance: Option<Assurance>,
    /// What runs when it is called.
    pub runtime: Runtime,
}

impl Declaration {
    /// Returns the declared class, or what the capabilities imply.
    pub fn class(&self) -> SafetyClass {
        self.class.unwrap_or_else(|| {
            self.capabilities.as_ref().map_or(SafetyClass::Privileged, Capabilities::implied_class)
        })
    }
}

/// What runs when a tool is called.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Runtime {
    /// One of ringfence's own file and network tools.
    Builtin(Builtin),
    /// A program, with its arguments as templates.
    Command(Vec<String>),
    /// A program of an image, with its arguments as templates, in a container engine.
    Container {
        /// The image, by digest.
        image: String,
        /// The program and its arguments.
        command: Vec<String>,
    },
    /// Rust code of this process.
    Native,
    /// A tool of an MCP server that runs in the sandbox.
    Server {
        /// What the operator calls the server.
        server: String,
        /// The definition as the server sent it, every field of it.
        definition: Value,
    },
    /// A WebAssembly component, by the digest of its file.
    Wasm {
        /// The digest.
        component: String,
    },
}

/// Tools that ringfence brings along, so that a toolbox can offer them without any code.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Builtin {
    /// `{"url"}` → the body as text.
    FetchUrl,
    /// `{"path"}` → the names in a directory.
    ListFiles,
    /// `{"path"}` → the text of a file.
    ReadFile,
    /// `{"path", "content"}` → writes a file.
    WriteFile,
}

/// Whether and by what a call is recognised when it comes again.
///
/// Read from a table, or from the mode alone, as in the source documents.
///
/// # Examples
///
/// ```
/// use ringfence_policy::{Idempotency, IdempotencyMode};
///
/// let plain: Idempotency = serde_json::from_str(r#""required""#)?;
/// let table: Idempotency = serde_json::from_str(r#"{"mode": "required"}"#)?;
/// assert_eq!((plain.mode, &plain), (Some(IdempotencyMode::Required), &table));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize)]
pub struct Idempotency {
    /// Absent: keys are ignored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<IdempotencyMode>,
    /// Argument fields that together are the business key; empty = the caller's key.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub key: Vec<String>,
}

impl Idempotency {
    fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

impl<'de> Deserialize<'de> for Idempotency {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Default, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        struct Fields {
            mode: Option<IdempotencyMode>,
            key: Vec<String>,
        }

        struct ModeOrTable;

        impl<'de> Visitor<'de> for ModeOrTable {
            type Value = Idempotency;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`optional`, `required` or a table")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Idempotency, E> {
                let mode = IdempotencyMode::deserialize(de::value::StrDeserializer::new(text))?;
                Ok(Idempotency { mode: Some(mode), key: Vec::new() })
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Idempotency, A::Error> {
                let Fields { mode, key } = Fields::deserialize(MapAccessDeserializer::new(map))?;
                Ok(Idempotency { mode, key })
            }
        }

        deserializer.deserialize_any(ModeOrTable)
    }
}

/// Whether a call must carry an idempotency key.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum IdempotencyMode {
    /// A key is honoured when given.
    Optional,
    /// A call without a key is refused.
    Required,
}

/// When and how often a tool may run within one run.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Constraints {
    /// How often it may run.
    #[serde(rename = "maxInvocations", alias = "max_invocations", skip_serializing_if = "Option::is_none")]
    pub max_invocations: Option<u32>,
    /// Tools that must have completed before.
    #[serde(rename = "onlyAfter", alias = "only_after", skip_serializing_if = "Vec::is_empty")]
    pub only_after: Vec<ToolName>,
    /// The call of a run, counted from 1, that must be this tool: no other tool runs as that call or after it until this one has.
    #[serde(rename = "forceAtStep", alias = "force_at_step", skip_serializing_if = "Option::is_none")]
    pub force_at_step: Option<NonZeroU32>,
    /// Code may call it, a model never.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub forbidden: bool,
}

impl Constraints {
    /// Says whether nothing is constrained.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}
