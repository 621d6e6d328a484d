//! Why the command did not come to an end.

use std::path::PathBuf;

use ringfence_lint::build::BuildError;
use ringfence_policy::Code;

/// Why the command did not come to an end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
    #[error(transparent)]
    Build(#[from] BuildError),
    #[error("{message}")]
    Input { message: String, hint: Option<&'static str> },
    #[error("the output cannot be written: {0}")]
    Output(#[from] std::io::Error),
    #[error("`{}` cannot be read: {error}", path.display())]
    Read { path: PathBuf, error: std::io::Error },
    #[error(transparent)]
    Waiver(#[from] ringfence_lint::waiver::WaiverError),
}

impl CommandError {
    /// Makes an error from what somebody else says.
    pub(crate) fn input(error: &impl ToString) -> Self {
        Self::Input { message: error.to_string(), hint: None }
    }

    /// Returns what to do about it.
    pub(crate) fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Build(error) => error.hint(),
            Self::Input { hint, .. } => *hint,
            Self::Output(_) | Self::Read { .. } | Self::Waiver(_) => None,
        }
    }

    /// Returns the code of what was refused, where it was.
    pub(crate) const fn code(&self) -> Option<Code> {
        match self {
            Self::Build(BuildError::Sandbox(error)) => Some(error.code()),
            Self::Build(_) | Self::Input { .. } | Self::Output(_) | Self::Read { .. } | Self::Waiver(_) => {
                None
            }
        }
    }

    /// Returns the exit code: 5 where only packages are missing, which `ringfence lint` fetches.
    pub(crate) const fn exit(&self) -> u8 {
        match self {
            Self::Build(BuildError::NotFetched { .. }) => 5,
            Self::Build(BuildError::Sandbox(_)) => 3,
            Self::Input { .. } => 2,
            Self::Build(_) | Self::Output(_) | Self::Read { .. } | Self::Waiver(_) => 1,
        }
    }
}
