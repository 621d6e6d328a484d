//! The personality in force, and how each tool fits it.

use std::collections::HashMap;
use std::sync::Arc;

use ringfence_policy::{Gap, NetworkGrant, Personality, ToolName};

use super::Parts;
use crate::digest::digest;
use crate::pipeline::{Fit, Registered, fit};

/// The personality in force and how each tool fits it. Replaced as a whole.
pub(crate) struct Policy {
    pub(super) personality: Arc<Personality>,
    pub(crate) personality_id: Option<Arc<str>>,
    /// The digest of the personality.
    pub(crate) digest: Arc<str>,
    pub(super) entries: HashMap<ToolName, Entry>,
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
        let entries = entries.collect();
        let personality_id = personality.id.as_deref().map(Arc::from);
        let digest = digest(&personality).unwrap_or_default().into();
        Self { personality: Arc::new(personality), personality_id, digest, entries }
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
