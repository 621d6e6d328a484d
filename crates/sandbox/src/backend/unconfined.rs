//! No sandbox at all, for who names it: every record says so.

use std::process::Command;

use super::{Backend, Tier, plain, sealed::Sealed};
use crate::adapter::Part;
use crate::error::SandboxError;
use crate::plan::Plan;
use crate::report::Report;
use crate::stream::Streams;

/// Runs commands with everything this process may do. Nothing of a plan is enforced but the environment, the working
/// directory, the deadline and the size of the output; a [`Sandbox`](crate::Sandbox) refuses it unless it was told to
/// accept [`Tier::Unconfined`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Unconfined;

impl Sealed for Unconfined {}

impl Backend for Unconfined {
    fn name(&self) -> &'static str {
        "unconfined"
    }

    fn tier(&self) -> Tier {
        Tier::Unconfined
    }

    fn unsupported(&self) -> &'static [Part] {
        &[Part::Hosts, Part::Image, Part::Observing, Part::Recording, Part::Terminal]
    }

    fn run(&self, plan: &Plan, streams: Streams<'_>) -> Result<Report, SandboxError> {
        let mut command = Command::new(&plan.program);
        command.args(plan.arguments.iter().skip(1));
        plain::run(self, command, plan, streams)
    }
}
