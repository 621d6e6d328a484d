//! Taking tools in: one by one, or all those of one owner at once.

use std::collections::HashMap;
use std::sync::Arc;

use ringfence_policy::{Declaration, Gap, ToolName, validate_declaration, validate_registration};

use super::Registry;
use super::policy::{Entry, Policy};
use crate::pipeline::{Quarantine, Registered, fit};
use crate::tool::Tool;

/// Why a tool was not registered.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum RegistrationError {
    /// Another tool has the name.
    #[error("a tool named `{0}` is already registered")]
    Duplicate(ToolName),
    /// Another tool has a name that passes for this one.
    #[error("the tool name `{new}` passes for `{registered}`, which is already registered")]
    Collision {
        /// The name that was refused.
        new: ToolName,
        /// The name it passes for.
        registered: ToolName,
    },
    /// The declaration is faulty or asks for more than the personality permits.
    #[error("tool does not fit: {}", listed(.0))]
    Gaps(Vec<Gap>),
}

fn listed(gaps: &[Gap]) -> String {
    gaps.iter().map(|gap| format!("{}: {}", gap.capability, gap.message)).collect::<Vec<_>>().join("; ")
}

/// Returns the gap of a tool that must be the same call of a run as one that is registered.
fn forced_alike(policy: &Policy, declaration: &Declaration) -> Option<Gap> {
    let step = declaration.constraints.force_at_step?;
    let other = policy.entries.values().map(|entry| entry.registered.declaration());
    let other = other.into_iter().find(|other| other.constraints.force_at_step == Some(step))?;
    Some(Gap {
        tool: declaration.name.clone(),
        capability: "constraints".into(),
        message: format!("`forceAtStep` names the call of a run that must be `{}`", other.name),
        fix: "give one of them another step".into(),
    })
}

/// A tool that somebody else has judged.
pub struct Incoming {
    /// The tool.
    pub tool: Arc<dyn Tool>,
    /// Why it may not be called yet, if so.
    pub quarantine: Option<Quarantine>,
}

/// What a registry does with a tool that asks for more than the personality permits.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum OnGaps {
    /// Registers it and lets it run with what both allow. What no personality could permit is refused all the same.
    Narrow,
    /// Does not register it, and refuses its calls after the personality has changed.
    #[default]
    Refuse,
}

impl Registry {
    /// Registers a tool, or says everything that is wrong with it.
    ///
    /// # Errors
    ///
    /// See [`RegistrationError`]. Nothing is registered then.
    pub fn register(&self, tool: impl Tool + 'static) -> Result<(), RegistrationError> {
        let tool: Arc<dyn Tool> = Arc::new(tool);
        self.register_shared(&tool).map(drop)
    }

    /// Registers a tool and returns where it was narrowed, if the registry narrows.
    ///
    /// # Errors
    ///
    /// See [`RegistrationError`].
    pub fn register_shared(&self, tool: &Arc<dyn Tool>) -> Result<Vec<Gap>, RegistrationError> {
        let name = tool.declaration().name.clone();
        let registered = Registered::new(Arc::clone(tool), self.parts.pins.as_ref(), &self.parts.in_force);
        let registered = Arc::new(registered.map_err(|mut gaps| {
            gaps.extend(validate_registration(tool.declaration(), &self.policy().personality));
            RegistrationError::Gaps(gaps)
        })?);
        self.replace_policy(|policy| {
            if policy.entries.contains_key(&name) {
                return Err(RegistrationError::Duplicate(name.clone()));
            }
            let alike = |other: &&ToolName| ringfence_text::collide(other.as_str(), name.as_str());
            if let Some(registered) = policy.entries.keys().find(alike) {
                return Err(RegistrationError::Collision {
                    new: name.clone(),
                    registered: registered.clone(),
                });
            }
            let fit = fit(&registered, &policy.personality, &self.parts.backends);
            let gaps = fit.gaps.clone();
            let is_faulty = || !validate_declaration(registered.declaration()).is_empty();
            if !gaps.is_empty() && (self.parts.refuses_gaps || is_faulty()) {
                return Err(RegistrationError::Gaps(gaps));
            }
            if let Some(gap) = forced_alike(policy, registered.declaration()) {
                return Err(RegistrationError::Gaps(vec![gap]));
            }
            let mut entries = policy.entries.clone();
            entries.insert(name.clone(), Entry { registered: Arc::clone(&registered), fit: Arc::new(fit) });
            let next = policy.with_entries(entries);
            Ok((next, gaps))
        })
    }

    /// Replaces all the tools of one owner at once, such as those of a server that has changed its list, and returns what was
    /// not taken in and why. Whoever brings them has judged them: pins are not looked at.
    pub fn replace(
        &self,
        owned: impl Fn(&Declaration) -> bool,
        tools: Vec<Incoming>,
    ) -> Vec<(ToolName, RegistrationError)> {
        let mut refused = Vec::new();
        let mut taken = Vec::new();
        for incoming in tools {
            let name = incoming.tool.declaration().name.clone();
            match Registered::judged(incoming.tool, incoming.quarantine) {
                Ok(registered) => taken.push((name, Arc::new(registered))),
                Err(gaps) => refused.push((name, RegistrationError::Gaps(gaps))),
            }
        }
        let replaced = self.replace_policy(|policy| {
            let mut refused = Vec::new();
            let mut entries = policy.entries.clone();
            entries.retain(|_, entry| !owned(entry.registered.declaration()));
            // What names look like is worked out once for each: comparing all pairs takes seconds for thousands of tools.
            let mut likenesses: HashMap<String, ToolName> =
                entries.keys().map(|name| (ringfence_text::likeness(name.as_str()), name.clone())).collect();
            for (name, registered) in &taken {
                let likeness = ringfence_text::likeness(name.as_str());
                if entries.contains_key(name) {
                    refused.push((name.clone(), RegistrationError::Duplicate(name.clone())));
                } else if let Some(other) = likenesses.get(&likeness).cloned() {
                    let error = RegistrationError::Collision { new: name.clone(), registered: other };
                    refused.push((name.clone(), error));
                } else {
                    let fit = fit(registered, &policy.personality, &self.parts.backends);
                    if !fit.gaps.is_empty() && self.parts.refuses_gaps {
                        refused.push((name.clone(), RegistrationError::Gaps(fit.gaps.clone())));
                    }
                    let entry = Entry { registered: Arc::clone(registered), fit: Arc::new(fit) };
                    entries.insert(name.clone(), entry);
                    likenesses.insert(likeness, name.clone());
                }
            }
            let next = policy.with_entries(entries);
            Ok::<_, std::convert::Infallible>((next, refused))
        });
        match replaced {
            Ok(more) => refused.extend(more),
            Err(never) => match never {},
        }
        refused
    }
}
