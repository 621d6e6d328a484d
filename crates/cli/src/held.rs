//! What people have agreed to: the pins of definitions, and the manifest of permissions.
//!
//! INVARIANT: with a manifest beside the toolbox, nothing that reaches further than it says is called or started.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ringfence::policy::manifest::Manifest;
use ringfence::policy::manifest::diff::{Change, Drift, ToolOrServerName};
use ringfence::{InForce, Pins};

use crate::commands::manifest::{Lockfile, current};
use crate::error::CommandError;
use crate::load::{Loaded, Place};

/// How many changes of a tool are told with a refusal.
const TOLD: usize = 3;

/// What people have agreed to.
#[derive(Debug, Default)]
pub(crate) struct Held {
    pub(crate) pins: Option<Pins>,
    /// The hash of the manifest, and the tools that go beyond the accepted one.
    pub(crate) in_force: InForce,
    /// Servers that go beyond it, each with what that is.
    pub(crate) servers: BTreeMap<String, String>,
}

impl Place {
    /// Returns where the manifest of the toolbox is.
    pub(crate) fn manifest(&self) -> PathBuf {
        Lockfile::beside(self).path
    }

    /// Reads what people have agreed to, and compares the toolbox with it, as it was read: the file may say something else by now.
    /// A file that cannot be trusted stops everything.
    pub(crate) fn held(&self, loaded: &Loaded) -> Result<Held, CommandError> {
        let mut held = self.agreed(loaded)?;
        held.pins = self.pins()?;
        Ok(held)
    }

    /// Reads what people have agreed to where a component is called that is no tool of the toolbox.
    pub(crate) fn held_beside(&self, component: &Path) -> Result<Held, CommandError> {
        if !self.policy.exists() {
            return Ok(Held::default());
        }
        if Lockfile::beside(self).is_there()? {
            let (component, policy) = (component.display(), self.policy.display());
            return Err(CommandError::Input {
                message: format!("`{component}` is not in the manifest that is in force beside `{policy}`"),
                hint: Some("make it a tool of the toolbox, and accept the manifest"),
            });
        }
        Ok(Held { pins: self.pins()?, ..Held::default() })
    }

    /// The same without the pins of the toolbox's own tools.
    pub(crate) fn agreed(&self, loaded: &Loaded) -> Result<Held, CommandError> {
        let lock = Lockfile::beside(self);
        let accepted = if lock.is_there()? { Some(lock.read()?) } else { None };
        let new = current(self, loaded, accepted.as_ref())?;
        let mut held = Held {
            in_force: InForce { hash: Some(new.hash().into()), ..InForce::default() },
            ..Held::default()
        };
        let widened = accepted.map(|old| Manifest::widened_tools(&old, &new)).unwrap_or_default();
        for (name, changes) in widened {
            let why = told(&changes);
            match name {
                ToolOrServerName::Server(name) => drop(held.servers.insert(name, why)),
                ToolOrServerName::Tool(name) => {
                    let name = name.parse().map_err(|error| CommandError::Input {
                        message: format!("`{name}`: {error}"),
                        hint: None,
                    })?;
                    held.in_force.widened.insert(name, why);
                }
            }
        }
        Ok(held)
    }
}

/// Says in a sentence what goes beyond.
fn told(changes: &[Change]) -> String {
    let widened: Vec<&str> = changes
        .iter()
        .filter(|change| change.direction == Drift::Widened)
        .map(|change| change.message.as_str())
        .collect();
    let more = widened.len().saturating_sub(TOLD);
    let first = widened.iter().take(TOLD).copied().collect::<Vec<_>>().join("; ");
    if more == 0 { first } else { format!("{first}; and {more} more") }
}
