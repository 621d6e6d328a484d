//! What can go wrong before a command runs.

use std::path::PathBuf;

use ringfence_policy::{Assurance, Code};

use crate::limit::LimitName;
use crate::step::Step;

/// Why nothing was started.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The backend is not usable on this machine.
    #[error("the sandbox backend `{backend}` is not available: {why}")]
    Absent {
        /// Which backend.
        backend: &'static str,
        /// What was tried and what came of it.
        why: String,
    },
    /// A step of the launch failed; the command never ran.
    #[error("the sandbox could not be built, {step}{}: {error}", about(.path))]
    Step {
        /// Which step.
        step: Step,
        /// What it was about, where that is a path.
        path: Option<PathBuf>,
        /// What the kernel said.
        error: std::io::Error,
    },
    /// A path is missing or cannot be looked at.
    #[error("`{}` cannot be granted: {error}", path.display())]
    Path {
        /// Which path.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// The working directory is missing.
    #[error("`{}` does not exist", path.display())]
    Missing {
        /// Which folder.
        path: PathBuf,
    },
    /// There is no such program.
    #[error("`{}` cannot be started: {why}", path.display())]
    NoProgram {
        /// Which program.
        path: PathBuf,
        /// What was found instead.
        why: String,
    },
    /// The program may not be started.
    #[error("`{}` cannot be started: {why}", path.display())]
    Program {
        /// Which program.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A part of the grant that this backend cannot enforce.
    #[error("the sandbox cannot enforce {what}")]
    Inexpressible {
        /// Which part.
        what: String,
    },
    /// A run before this one was killed, and what it left could not all be moved aside.
    #[error("a run was killed before anybody looked at what it left: {what}")]
    Unfinished {
        /// What is left, and why.
        what: String,
    },
    /// A limit that nothing on this machine enforces.
    #[error("the limit `{limit}` cannot be enforced here: {why}")]
    Limit {
        /// Which limit.
        limit: LimitName,
        /// Why not.
        why: String,
    },
    /// The tool accepts no backend as weak as the one at hand.
    #[error("the sandbox enforces tier `{found}`, and `{wanted}` is the weakest accepted")]
    Tier {
        /// What is enforced.
        found: crate::Tier,
        /// What was asked for.
        wanted: crate::Tier,
    },
    /// The tool wants it to be known better that it is enforced.
    #[error("what `{backend}` enforces is {found}, and the tool asks for what is {wanted}")]
    Assurance {
        /// Which backend.
        backend: &'static str,
        /// How it is known.
        found: Assurance,
        /// How it should be.
        wanted: Assurance,
    },
    /// An argument or a variable that no program can be given.
    #[error("{0} contains a NUL character")]
    Nul(&'static str),
}

fn about(path: &Option<PathBuf>) -> String {
    path.as_ref().map(|path| format!(" `{}`", path.display())).unwrap_or_default()
}

impl SandboxError {
    /// Returns the stable code.
    pub const fn code(&self) -> Code {
        match self {
            Self::Absent { .. }
            | Self::Assurance { .. }
            | Self::Inexpressible { .. }
            | Self::Limit { .. }
            | Self::Step { .. }
            | Self::Tier { .. }
            | Self::Unfinished { .. } => Code::NotAvailable,
            Self::Missing { .. } | Self::Path { .. } => Code::PathNotReachable,
            Self::NoProgram { .. } => Code::BinaryNotFound,
            Self::Program { .. } => Code::BinaryNotAllowed,
            Self::Nul(_) => Code::InputInvalid,
        }
    }

    /// Returns what to do about it, where that is known.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Absent { .. } => {
                Some("`ringfence doctor` says what this machine can enforce and how to fix the rest")
            }
            Self::Step { step: Step::Clone | Step::IdMap, error, .. }
                if error.raw_os_error() == Some(1) || error.raw_os_error() == Some(13) =>
            {
                Some("this machine restricts user namespaces; `ringfence doctor` says which rule does it")
            }
            Self::Step { step: Step::Changed, .. } => {
                Some("a granted path was replaced while the sandbox was built; run it again")
            }
            Self::Limit { .. } => Some("raise or remove the limit, or delegate a control group to this user"),
            Self::Assurance { .. } => {
                Some("only a sandbox of this machine that was tried is `probed`; choose one, or ask for less")
            }
            Self::Missing { .. } => Some("create it, or name another working directory with `--cwd`"),
            Self::Unfinished { .. } => {
                Some("look at what is named, remove it if it is not yours, and run it again")
            }
            Self::Inexpressible { .. }
            | Self::NoProgram { .. }
            | Self::Nul(_)
            | Self::Path { .. }
            | Self::Program { .. }
            | Self::Step { .. }
            | Self::Tier { .. } => None,
        }
    }
}
