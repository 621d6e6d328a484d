//! The manifest that a registry works under.
//!
//! INVARIANT: its hash is in every record, and a tool that goes beyond what somebody accepted is never called.

use std::collections::BTreeMap;
use std::sync::Arc;

use ringfence_policy::{Code, Refusal, ToolName};

use crate::pipeline::Quarantine;

/// The manifest that a registry works under, and what goes beyond the one that somebody accepted.
#[derive(Clone, Debug, Default)]
pub struct InForce {
    /// The hash of the manifest of what is registered.
    pub hash: Option<Arc<str>>,
    /// Tools that may do more than was accepted, each with what that is.
    pub widened: BTreeMap<ToolName, String>,
}

impl InForce {
    /// Says why a tool may not be called until somebody accepts what it may do.
    pub(crate) fn quarantine(&self, tool: &ToolName) -> Option<Quarantine> {
        let why = self.widened.get(tool)?;
        let message = format!("`{tool}` may do more than was accepted: {why}");
        let hint = "`ringfence manifest accept` shows what changed, and asks before it accepts it";
        Some(Quarantine {
            refusal: Refusal::new(Code::ToolQuarantined, message).hint(hint),
            changes: Vec::new(),
        })
    }
}
