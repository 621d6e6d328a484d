//! The personality in force, and how each tool fits it.

use std::collections::HashMap;
use std::sync::Arc;

use ringfence_policy::{Gap, NetworkGrant, Personality, ToolName};

use super::Parts;
use crate::digest::digest;
use crate::pipeline::{Fit, Registered, fit};
use crate::step::ForcedStep;

/// The personality in force and how each tool fits it. Replaced as a whole.
pub(crate) struct Policy {
    pub(super) personality: Arc<Personality>,
    pub(crate) personality_id: Option<Arc<str>>,
    /// The digest of the personality.
    pub(crate) digest: Arc<str>,
    pub(super) entries: HashMap<ToolName, Entry>,
    /// The calls of every run that must be one tool.
    pub(crate) forced: Vec<ForcedStep>,
    /// Whether a constraint of any tool depends on what else has run. Where none does, nothing is counted in a store.
    pub(crate) counts_runs: bool,
}

#[derive(Clone)]
pub(super) struct Entry {
    pub(super) registered: Arc<Registered>,
    pub(super) fit: Arc<Fit>,
}

impl Policy {
    pub(super) fn new<'a>(
        personality: Personality,
        tools: impl Iterator<Item = &'a Arc<Registered>>,
        parts: &Parts,
    ) -> Self {
        let entries = tools.map(|registered| {
            let fit = Arc::new(fit(registered, &personality, &parts.backends));
            (registered.declaration().name.clone(), Entry { registered: Arc::clone(registered), fit })
        });
        let entries: HashMap<_, _> = entries.collect();
        let (forced, counts_runs) = (forced_steps(&entries), counts_runs(&entries));
        let personality_id = personality.id.as_deref().map(Arc::from);
        let digest = digest(&personality).unwrap_or_default().into();
        Self { personality: Arc::new(personality), personality_id, digest, entries, forced, counts_runs }
    }

    /// Returns the same policy for other tools.
    pub(super) fn with_entries(&self, entries: HashMap<ToolName, Entry>) -> Self {
        Self {
            personality: Arc::clone(&self.personality),
            personality_id: self.personality_id.clone(),
            digest: Arc::clone(&self.digest),
            forced: forced_steps(&entries),
            counts_runs: counts_runs(&entries),
            entries,
        }
    }

    /// What each tool that may be called is granted of the network.
    pub(super) fn network_grants(&self) -> HashMap<ToolName, NetworkGrant> {
        let granted =
            self.entries.iter().filter(|(_, entry)| entry.fit.in_toolset).filter_map(|(name, entry)| {
                let network = entry.fit.grant()?.network.clone()?;
                Some((name.clone(), network))
            });
        granted.collect()
    }

    pub(super) fn gaps(&self) -> Vec<Gap> {
        let mut gaps: Vec<Gap> =
            self.entries.values().flat_map(|entry| entry.fit.gaps.iter().cloned()).collect();
        gaps.sort_by(|one, other| one.tool.cmp(&other.tool));
        gaps
    }
}

fn counts_runs(entries: &HashMap<ToolName, Entry>) -> bool {
    entries.values().any(|entry| {
        let constraints = &entry.registered.declaration().constraints;
        constraints.max_invocations.is_some()
            || constraints.force_at_step.is_some()
            || !constraints.only_after.is_empty()
    })
}

/// Returns the calls of a run that must be one tool; a tool outside the toolset forces nothing.
fn forced_steps(entries: &HashMap<ToolName, Entry>) -> Vec<ForcedStep> {
    let offered = entries.iter().filter(|(_, entry)| entry.fit.in_toolset);
    let mut forced: Vec<ForcedStep> = offered
        .filter_map(|(tool, entry)| {
            let step = entry.registered.declaration().constraints.force_at_step?.get();
            Some(ForcedStep { tool: tool.clone(), step })
        })
        .collect();
    forced.sort_by_key(|forced| forced.step);
    forced
}
