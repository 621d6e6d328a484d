//! What would be decided about a call now, without running it.

use std::sync::Arc;

use ringfence_policy::{Decision, Grant, Refusal};

use super::admit::{Desk, denied};
use super::registered::{Fit, Registered};
use crate::call::Call;

/// What would be decided about a call now.
#[derive(Clone, Debug)]
pub struct Review {
    /// Who must agree before it runs, or why it would not run.
    pub decision: Result<Decision, Refusal>,
    /// What it would be granted, where the tool is there and its declaration fits.
    pub grant: Option<Arc<Grant>>,
}

impl Desk<'_> {
    /// Judges everything that comes before the tool runs, but for people, interceptors and what a key has been used for.
    pub(crate) fn review(&self, call: &Call, registered: Option<(&Arc<Registered>, &Fit)>) -> Review {
        let grant = registered.and_then(|(_, fit)| fit.grant());
        Review { decision: self.reviewed(call, registered), grant }
    }

    /// Judges what depends on no argument and on no run: the tool may be called at all.
    pub(crate) fn review_tool(
        &self,
        call: &Call,
        registered: Option<(&Arc<Registered>, &Fit)>,
    ) -> Result<Decision, Refusal> {
        let (registered, fit) = self.permitted(call, registered)?;
        if fit.decision == Decision::Forbid {
            return Err(denied(registered));
        }
        Ok(fit.decision)
    }

    fn reviewed(
        &self,
        call: &Call,
        registered: Option<(&Arc<Registered>, &Fit)>,
    ) -> Result<Decision, Refusal> {
        let (registered, fit) = self.permitted(call, registered)?;
        let declaration = registered.declaration();
        // Given back at once: nothing runs.
        drop(self.run.reserve(&declaration.name, &declaration.constraints, &self.policy.forced)?);
        let arguments = call.arguments();
        self.fitting(registered, fit, &arguments)?;
        if fit.decision == Decision::Forbid {
            return Err(denied(registered));
        }
        self.granted(registered, fit)?;
        self.keys(call, registered, &arguments)?;
        Ok(fit.decision)
    }
}
