//! bwrap, with our inner stage inside.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::helper::Helper;
use super::{Backend, Tier, sealed::Sealed};
use crate::adapter::Part;
use crate::error::SandboxError;
use crate::inner::{ARGUMENT, Root};
use crate::linux::budget::Counting;
use crate::plan::Plan;
use crate::render::{INNER, bwrap};
use crate::report::Report;
use crate::stream::Streams;

/// The system's bubblewrap, for machines that give user namespaces to it and not to us.
#[derive(Clone, Debug)]
pub struct Bwrap {
    program: PathBuf,
    inner: PathBuf,
}

impl Bwrap {
    /// The program of the system.
    pub(crate) const PROGRAM: &str = "/usr/bin/bwrap";

    /// Uses the system's bwrap. `inner` is a program that calls [`crate::inner::enter`] when asked to.
    ///
    /// # Errors
    ///
    /// There is no bwrap, or it is set-uid: one that runs as root decides more than a plan does.
    pub fn system(inner: impl Into<PathBuf>) -> Result<Self, SandboxError> {
        let absent = |why: String| SandboxError::Absent { backend: "bwrap", why };
        let program = PathBuf::from(Self::PROGRAM);
        let metadata =
            std::fs::metadata(&program).map_err(|error| absent(format!("`/usr/bin/bwrap`: {error}")))?;
        if metadata.mode() & 0o6000 != 0 {
            return Err(absent("`/usr/bin/bwrap` is set-uid, and would run as root".into()));
        }
        Ok(Self { program, inner: inner.into() })
    }
}

impl Sealed for Bwrap {}

impl Backend for Bwrap {
    fn name(&self) -> &'static str {
        "bwrap"
    }

    fn tier(&self) -> Tier {
        Tier::Strong
    }

    fn unsupported(&self) -> &'static [Part] {
        &[Part::Hosts, Part::Image, Part::Observing, Part::Recording, Part::Terminal]
    }

    fn run(&self, plan: &Plan, streams: Streams<'_>) -> Result<Report, SandboxError> {
        let helper = Helper {
            name: self.name(),
            tier: self.tier(),
            program: &self.program,
            root: Root::Own,
            // bwrap's own process 1.
            counting: Counting::Namespace { beside: 1 },
        };
        helper.run(plan, streams, &|plan_descriptor, first_file| {
            let (options, mut files) = bwrap(plan, Path::new(&self.inner), first_file + 1)?;
            let ids = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
            for file in &mut files {
                *file = file.replace("{uid}", &ids.0.to_string()).replace("{gid}", &ids.1.to_string());
            }
            let mut joined = String::new();
            for option in options {
                joined.push_str(&option);
                joined.push('\0');
            }
            files.insert(0, joined);
            let words =
                ["--args", &first_file.to_string(), "--", INNER, ARGUMENT, &plan_descriptor.to_string()];
            Ok((words.map(str::to_owned).to_vec(), files))
        })
    }
}
