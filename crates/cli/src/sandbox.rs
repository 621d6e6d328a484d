//! Choosing what confines commands on this machine.

use ringfence::sandbox::{Native, Sandbox, SandboxError};

/// What confines a command.
#[derive(Clone, Copy, Debug, Eq, PartialEq, clap::ValueEnum)]
pub(crate) enum BackendChoice {
    /// The strongest that works here
    Auto,
    /// Our own launcher
    Native,
}

/// Returns the sandbox of a choice.
pub(crate) fn choose(choice: BackendChoice) -> Result<Sandbox, SandboxError> {
    match choice {
        BackendChoice::Auto | BackendChoice::Native => Ok(Sandbox::new(Native::new())),
    }
}
