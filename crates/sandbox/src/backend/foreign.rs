//! The one way from an open [`Adapter`] to a sealed [`Backend`]: everything it cannot enforce is refused here.

use std::collections::BTreeMap;
use std::time::Instant;

use ringfence_policy::Assurance;

use super::{Backend, Tier, sealed::Sealed};
use crate::adapter::{Adapter, Part, Session};
use crate::error::SandboxError;
use crate::limit::{Enforcer, LimitName};
use crate::plan::Plan;
use crate::quarantine::quarantine;
use crate::report::Report;
use crate::stream::Streams;

/// Runs plans through an adapter.
#[derive(Debug)]
pub(crate) struct Foreign(pub(crate) Box<dyn Adapter>);

impl Sealed for Foreign {}

impl Backend for Foreign {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    /// A plan is run only where every part of it is enforced, by somebody else.
    fn tier(&self) -> Tier {
        Tier::Strong
    }

    /// Asked of the adapter, for each plan.
    fn unsupported(&self) -> &'static [Part] {
        // Nobody else has a report to put it in.
        &[Part::Recording]
    }

    fn run(&self, plan: &Plan, streams: Streams<'_>) -> Result<Report, SandboxError> {
        let mut enforced = self.0.enforces(plan);
        // The session sees to it.
        enforced.insert(Part::Limit(LimitName::Output));
        let missing: Vec<String> = plan.parts().difference(&enforced).map(ToString::to_string).collect();
        if !missing.is_empty() {
            let what = format!("with `{}`: {}", self.name(), missing.join("; "));
            return Err(SandboxError::Inexpressible { what });
        }
        let begun = Instant::now();
        let mut session = Session::new(plan, streams);
        let ran = self.0.run(plan, &mut session);
        // Also where it failed: what an adapter says did not run may have run.
        let aftermath = quarantine(plan);
        let ran = ran?;
        let mut limits = ran.limits;
        limits.insert(LimitName::Output, Enforcer::Supervisor);
        let mut exceeded = ran.exceeded;
        if session.wrote_too_much() && !exceeded.contains(&LimitName::Output) {
            exceeded.push(LimitName::Output);
        }
        let mut usage = ran.usage;
        usage.wall = begun.elapsed();
        Ok(Report {
            ending: ran.ending,
            stdout: session.stdout,
            stderr: session.stderr,
            usage,
            backend: self.name(),
            tier: self.tier(),
            limits,
            exceeded,
            denied: BTreeMap::new(),
            record: None,
            quarantined: aftermath.moved,
            left: aftermath.left,
            assurance: Assurance::Claimed,
        })
    }
}
