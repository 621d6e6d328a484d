//! The default when nothing was chosen: nothing runs.

use super::{Backend, Tier, sealed::Sealed};
use crate::adapter::Part;
use crate::error::SandboxError;
use crate::plan::Plan;
use crate::report::Report;
use crate::stream::Streams;

/// Refuses every command.
#[derive(Clone, Copy, Debug, Default)]
pub struct DenyAll;

impl Sealed for DenyAll {}

impl Backend for DenyAll {
    fn name(&self) -> &'static str {
        "deny-all"
    }

    fn tier(&self) -> Tier {
        Tier::Full
    }

    fn unsupported(&self) -> &'static [Part] {
        &[]
    }

    fn run(&self, _: &Plan, _: Streams<'_>) -> Result<Report, SandboxError> {
        Err(SandboxError::Absent {
            backend: self.name(),
            why: "no sandbox was chosen, so nothing is started".into(),
        })
    }
}
