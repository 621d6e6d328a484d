//! firejail, with our inner stage inside: the last choice.

use std::path::PathBuf;

use super::helper::Helper;
use super::{Backend, Tier, sealed::Sealed};
use crate::adapter::Part;
use crate::error::SandboxError;
use crate::inner::{ARGUMENT, Root};
use crate::limit::LimitName;
use crate::linux::budget::Counting;
use crate::plan::Plan;
use crate::render::firejail;
use crate::report::Report;
use crate::stream::Streams;

/// The system's firejail. It runs as root and leaves the machine's files in sight: Landlock alone keeps them closed.
#[derive(Clone, Debug)]
pub struct Firejail {
    program: PathBuf,
    inner: PathBuf,
}

impl Firejail {
    /// The program of the system.
    pub(crate) const PROGRAM: &str = "/usr/bin/firejail";

    /// Uses the system's firejail. `inner` is a program that calls [`crate::inner::enter`] when asked to.
    ///
    /// # Errors
    ///
    /// There is no firejail.
    pub fn system(inner: impl Into<PathBuf>) -> Result<Self, SandboxError> {
        let program = PathBuf::from(Self::PROGRAM);
        if !program.exists() {
            return Err(SandboxError::Absent {
                backend: "firejail",
                why: "there is no `/usr/bin/firejail`".into(),
            });
        }
        Ok(Self { program, inner: inner.into() })
    }
}

impl Sealed for Firejail {}

impl Backend for Firejail {
    fn name(&self) -> &'static str {
        "firejail"
    }

    fn tier(&self) -> Tier {
        Tier::Partial
    }

    /// Its private `/tmp` has no size.
    fn unsupported(&self) -> &'static [Part] {
        &[
            Part::Hosts,
            Part::Image,
            Part::Limit(LimitName::Scratch),
            Part::Observing,
            Part::Recording,
            Part::Terminal,
        ]
    }

    fn run(&self, plan: &Plan, streams: Streams<'_>) -> Result<Report, SandboxError> {
        if crate::linux::kernel::landlock_version() == 0 {
            return Err(SandboxError::Inexpressible {
                what: "reading, with firejail and without Landlock".into(),
            });
        }
        let beside = processes_of_this_user();
        let helper = Helper {
            name: self.name(),
            tier: self.tier(),
            program: &self.program,
            root: Root::Shared,
            // firejail makes no user namespace, so the kernel counts everything this user runs.
            counting: Counting::User { beside },
        };
        let mut report = helper.run(plan, streams, &|plan_descriptor, _| {
            let mut words = firejail(plan, &self.inner, plan_descriptor)?;
            let inner = self.inner.to_string_lossy().into_owned();
            words.extend(["--".to_owned(), inner, ARGUMENT.to_owned(), plan_descriptor.to_string()]);
            Ok((words, Vec::new()))
        })?;
        report.limits.remove(&LimitName::Scratch);
        Ok(report)
    }
}

fn processes_of_this_user() -> u64 {
    use std::os::unix::fs::MetadataExt;
    let user = rustix::process::geteuid().as_raw();
    let Ok(listed) = std::fs::read_dir("/proc") else { return 0 };
    let own = listed.flatten().filter(|entry| entry.metadata().is_ok_and(|metadata| metadata.uid() == user));
    // Threads count too; a process of ours rarely has more than a few.
    own.count() as u64 * 4
}
