//! Why a crate was not built or asked about.

use std::path::PathBuf;

use ringfence_sandbox::SandboxError;

/// Why the build did not give what is needed.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The compiler writes what this version does not understand.
    #[error("this compiler writes its intermediate form in a way that is not known: {what}")]
    Dialect {
        /// What was expected and what came.
        what: String,
    },
    /// Something ended with an error.
    #[error("{what} failed: {output}")]
    Failed {
        /// What.
        what: &'static str,
        /// The end of what it wrote.
        output: String,
    },
    /// A file cannot be read or written.
    #[error("`{}`: {error}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// The project has no lock file.
    #[error("`{}` is missing, so that it is not decided what would be built", path.display())]
    Lock {
        /// Where it would be.
        path: PathBuf,
    },
    /// Nothing can be built with.
    #[error("no Rust toolchain is found")]
    NoToolchain,
    /// Packages are not on this machine.
    #[error("packages of the lock file are not on this machine: {output}")]
    NotFetched {
        /// What cargo said.
        output: String,
    },
    /// A toolchain file asks for something that is not a channel.
    #[error("`{}` names no channel", path.display())]
    Pin {
        /// Which.
        path: PathBuf,
    },
    /// The sandbox refused.
    #[error("the build is refused: {0}")]
    Sandbox(#[from] SandboxError),
    /// The toolchain that is asked for is not installed.
    #[error("the toolchain `{name}` is not installed")]
    Toolchain {
        /// Which.
        name: String,
    },
    /// What cargo or the compiler said cannot be understood.
    #[error("what {what} said is not understood: {error}")]
    Unexpected {
        /// Who.
        what: &'static str,
        /// Why.
        error: String,
    },
}

impl BuildError {
    /// Returns what to do about it.
    pub const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Dialect { .. } => Some("use a toolchain that this version knows, or `--engine source`"),
            Self::Lock { .. } => Some("run `cargo generate-lockfile`, look at it, and commit it"),
            Self::NotFetched { .. } => {
                Some("run `cargo fetch --locked`, or `ringfence lint`, which does so inside the fence")
            }
            Self::NoToolchain | Self::Toolchain { .. } => {
                Some("install it with rustup, or name another in RUSTUP_TOOLCHAIN")
            }
            Self::Pin { .. } => Some("give `channel = \"…\"`; toolchains by path are not used"),
            Self::Failed { .. } | Self::File { .. } | Self::Sandbox(_) | Self::Unexpected { .. } => None,
        }
    }
}
