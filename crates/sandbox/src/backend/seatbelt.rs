//! The sandbox of macOS, by a profile.

use std::path::Path;
use std::process::Command;

use super::{Backend, Tier, plain, sealed::Sealed};
use crate::adapter::Part;
use crate::error::SandboxError;
use crate::limit::LimitName;
use crate::plan::Plan;
use crate::render::seatbelt;
use crate::report::Report;
use crate::stream::Streams;

const PROGRAM: &str = "/usr/bin/sandbox-exec";

/// The system's `sandbox-exec`. Confines files, programs and network; of the limits only time and output.
#[derive(Clone, Copy, Debug)]
pub struct Seatbelt(());

impl Seatbelt {
    /// Uses the system's `sandbox-exec`.
    ///
    /// # Errors
    ///
    /// There is none: this is not macOS.
    pub fn system() -> Result<Self, SandboxError> {
        if Path::new(PROGRAM).exists() {
            Ok(Self(()))
        } else {
            Err(SandboxError::Absent { backend: "seatbelt", why: format!("there is no `{PROGRAM}`") })
        }
    }
}

impl Sealed for Seatbelt {}

impl Backend for Seatbelt {
    fn name(&self) -> &'static str {
        "seatbelt"
    }

    fn tier(&self) -> Tier {
        Tier::Partial
    }

    fn unsupported(&self) -> &'static [Part] {
        &[Part::Hosts, Part::Image, Part::Observing, Part::Recording, Part::Terminal]
    }

    fn run(&self, plan: &Plan, streams: Streams<'_>) -> Result<Report, SandboxError> {
        let asked = &plan.asked;
        let unenforced = [
            (LimitName::Cpu, asked.cpu.is_some()),
            (LimitName::Memory, asked.memory.is_some()),
            (LimitName::Processes, asked.processes.is_some()),
            (LimitName::OpenFiles, asked.open_files.is_some()),
            (LimitName::FileSize, asked.file_size.is_some()),
            (LimitName::Scratch, asked.scratch.is_some()),
        ];
        if let Some((limit, _)) = unenforced.into_iter().find(|(_, asked)| *asked) {
            return Err(SandboxError::Limit { limit, why: "a Seatbelt profile holds no limits".into() });
        }
        let mut command = Command::new(PROGRAM);
        command.arg("-p").arg(seatbelt(plan)?).arg(&plan.program).args(plan.arguments.iter().skip(1));
        plain::run(self, command, plan, streams)
    }
}
