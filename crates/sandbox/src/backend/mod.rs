//! What can confine a command on this machine, behind one sealed trait.

#[cfg(target_os = "linux")]
mod bwrap;
mod deny;
#[cfg(target_os = "linux")]
mod firejail;
pub(crate) mod foreign;
#[cfg(target_os = "linux")]
mod helper;
#[cfg(target_os = "linux")]
mod native;
mod plain;
#[cfg(target_os = "linux")]
mod replacement;
mod seatbelt;
mod unconfined;

use std::fmt;

use serde::Serialize;

#[cfg(target_os = "linux")]
pub use bwrap::Bwrap;
pub use deny::DenyAll;
#[cfg(target_os = "linux")]
pub use firejail::Firejail;
#[cfg(target_os = "linux")]
pub use native::Native;
pub use seatbelt::Seatbelt;
pub use unconfined::Unconfined;

use crate::adapter::Part;
use crate::error::SandboxError;
use crate::plan::Plan;
use crate::report::Report;
use crate::stream::Streams;

/// How much of a plan is enforced. Ordered: more is stronger.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    /// Nothing is enforced.
    Unconfined,
    /// Contents of files, programs, network and system calls are confined; names of files outside can be seen.
    Partial,
    /// As full, through a helper program of the system.
    Strong,
    /// Everything the plan says.
    Full,
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full => "full",
            Self::Partial => "partial",
            Self::Strong => "strong",
            Self::Unconfined => "unconfined",
        })
    }
}

/// Something that confines commands. Sealed: only this crate may claim that a plan is enforced.
pub trait Backend: fmt::Debug + Send + Sync + sealed::Sealed {
    /// Its name, as it is asked for.
    fn name(&self) -> &'static str;

    /// How much of a plan it enforces.
    fn tier(&self) -> Tier;

    /// Returns the parts that it never enforces. A plan that needs one is refused by its name.
    fn unsupported(&self) -> &'static [Part];

    /// Runs a plan to its end, or starts nothing.
    ///
    /// # Errors
    ///
    /// The plan cannot be enforced; nothing ran.
    fn run(&self, plan: &Plan, streams: Streams<'_>) -> Result<Report, SandboxError>;
}

pub(crate) mod sealed {
    /// Keeps [`super::Backend`] to this crate.
    pub trait Sealed {}
}
