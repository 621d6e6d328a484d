//! Pins: the definitions somebody has accepted.
//!
//! A tool's digest covers its whole definition: name, description, schemas, capabilities, class, constraints, limits
//! and what runs. Of an MCP server it covers whatever the server sent, field by field. A pin keeps the digest and the
//! definition itself, so that a change can be shown, not only noticed.
//!
//! INVARIANT: a pin's digest is that of its definition; a file in which one is not is refused whole.

mod server;

use std::collections::BTreeMap;
use std::fmt;

use ringfence_policy::{Declaration, JsonLimits, ToolName, parse_json};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::digest::digest;

/// How many differences a message lists.
const SHOWN: usize = 20;

/// The definitions that were accepted, by tool.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Pins {
    version: Version,
    tools: BTreeMap<ToolName, Pin>,
    /// What servers sent, by server and then by kind and name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    servers: BTreeMap<String, BTreeMap<String, server::Known>>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
enum Version {
    #[default]
    #[serde(rename = "1")]
    One,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
struct Pin {
    digest: String,
    definition: Value,
}

/// Why a pin file was refused.
#[non_exhaustive]
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum PinError {
    /// The definition of a tool has no digest.
    #[error("the definition of `{tool}` has no digest: {error}")]
    Definition {
        /// The tool.
        tool: ToolName,
        /// Why.
        error: String,
    },
    /// What a server sent cannot be pinned.
    #[error("`{key}` of server `{server}` cannot be pinned: {error}")]
    Sent {
        /// The server.
        server: String,
        /// The kind and the name.
        key: String,
        /// Why.
        error: String,
    },
    /// A digest of what a server sent is not that of its definition.
    #[error(
        "the pin of `{key}` of server `{server}` was edited: its digest or its name is not that of its definition"
    )]
    SentEdited {
        /// The server.
        server: String,
        /// The kind and the name.
        key: String,
    },
    /// A digest is not that of its definition.
    #[error("the pin of `{0}` was edited: its digest is not that of its definition")]
    Edited(ToolName),
    /// It cannot be read.
    #[error("the pin file cannot be read: {0}")]
    Malformed(String),
}

/// How a definition stands to its pin.
#[derive(Clone, Debug, PartialEq)]
pub enum PinStatus {
    /// It is what was accepted.
    Accepted,
    /// It is not what was accepted.
    Changed(Vec<Change>),
    /// Nobody has accepted it yet.
    New,
    /// Somebody has looked at this very definition and said no.
    Rejected,
}

/// One difference between two definitions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// The JSON pointer of what differs.
    pub place: String,
    /// What was accepted; absent when it was added.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old: Option<Value>,
    /// What is there now; absent when it was removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new: Option<Value>,
}

impl Pins {
    /// Reads a pin file.
    ///
    /// # Errors
    ///
    /// It is not a pin file, or it was edited by hand.
    pub fn from_json(text: &str) -> Result<Self, PinError> {
        let malformed = |error: String| PinError::Malformed(error);
        let value = parse_json(text, JsonLimits::DOCUMENT).map_err(|error| malformed(error.to_string()))?;
        let pins: Self = serde_json::from_value(value).map_err(|error| malformed(error.to_string()))?;
        for (tool, pin) in &pins.tools {
            let real = digest(&pin.definition)
                .map_err(|error| PinError::Definition { tool: tool.clone(), error })?;
            if real != pin.digest || pin.definition.get("name").and_then(Value::as_str) != Some(tool.as_str())
            {
                return Err(PinError::Edited(tool.clone()));
            }
        }
        pins.verify_servers()?;
        Ok(pins)
    }

    /// Writes the pin file.
    pub fn to_json(&self) -> String {
        // The types hold nothing that JSON cannot express.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }

    /// Accepts a definition as it is now.
    ///
    /// # Errors
    ///
    /// The definition has no digest.
    pub fn accept(&mut self, declaration: &Declaration) -> Result<(), PinError> {
        let tool = declaration.name.clone();
        let failed = |error: String| PinError::Definition { tool: tool.clone(), error };
        let definition = serde_json::to_value(declaration).map_err(|error| failed(error.to_string()))?;
        let digest = digest(&definition).map_err(failed)?;
        self.tools.insert(tool, Pin { digest, definition });
        Ok(())
    }

    /// Forgets a tool; returns whether it was there.
    pub fn forget(&mut self, tool: &str) -> bool {
        self.tools.remove(tool).is_some()
    }

    /// Goes through the pinned tools and their digests.
    pub fn iter(&self) -> impl Iterator<Item = (&ToolName, &str)> {
        self.tools.iter().map(|(tool, pin)| (tool, pin.digest.as_str()))
    }

    /// Returns the accepted definition of a tool with its digest.
    pub fn definition(&self, tool: &str) -> Option<(&str, &Value)> {
        self.tools.get(tool).map(|pin| (pin.digest.as_str(), &pin.definition))
    }

    /// Says how a definition with this digest stands to its pin.
    pub fn status(&self, declaration: &Declaration, digest: &str) -> PinStatus {
        match self.tools.get(&declaration.name) {
            None => PinStatus::New,
            Some(pin) if pin.digest == digest => PinStatus::Accepted,
            Some(pin) => {
                let now = serde_json::to_value(declaration).unwrap_or_default();
                PinStatus::Changed(compare_definitions(&pin.definition, &now))
            }
        }
    }
}

/// Returns where two definitions differ; empty when they do not.
pub fn compare_definitions(old: &Value, new: &Value) -> Vec<Change> {
    let mut changes = Vec::new();
    compare(old, new, String::new(), &mut changes);
    changes
}

fn compare(old: &Value, new: &Value, place: String, changes: &mut Vec<Change>) {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            for (key, value) in old {
                let place = crate::schema::child(&place, key);
                match new.get(key) {
                    Some(now) => compare(value, now, place, changes),
                    None => changes.push(Change { place, old: Some(value.clone()), new: None }),
                }
            }
            for (key, value) in new.iter().filter(|(key, _)| !old.contains_key(*key)) {
                let place = crate::schema::child(&place, key);
                changes.push(Change { place, old: None, new: Some(value.clone()) });
            }
        }
        (old, new) if old != new => {
            changes.push(Change { place, old: Some(old.clone()), new: Some(new.clone()) });
        }
        _ => {}
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |value: &Value| {
            let text = value.to_string();
            if text.chars().count() <= 120 { text } else { text.chars().take(119).chain(['…']).collect() }
        };
        match (&self.old, &self.new) {
            (Some(old), Some(new)) => write!(f, "{}: {} → {}", self.place, shown(old), shown(new)),
            (Some(old), None) => write!(f, "{}: {} removed", self.place, shown(old)),
            (None, Some(new)) => write!(f, "{}: {} added", self.place, shown(new)),
            (None, None) => f.write_str(&self.place),
        }
    }
}

/// Writes differences on one line, for a refusal.
pub(crate) fn summed_up(changes: &[Change]) -> String {
    let places: Vec<&str> = changes.iter().take(SHOWN).map(|change| change.place.as_str()).collect();
    places.join(", ")
}
