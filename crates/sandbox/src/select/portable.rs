//! The backend of macOS. Other systems have none.

use super::{Choice, Selector, first_working};
use crate::backend::Seatbelt;
use crate::error::SandboxError;
use crate::sandbox::Sandbox;

pub(super) fn select(selector: &Selector, choice: Choice) -> Result<Sandbox, SandboxError> {
    let seatbelt = || selector.tried(Seatbelt::system()?);
    let only_linux = |backend| Err(SandboxError::Absent { backend, why: "it exists on Linux only".into() });
    match choice {
        // It is the only one, and not a weaker choice.
        Choice::Auto => first_working(&[&seatbelt], 1),
        Choice::Bwrap => only_linux("bwrap"),
        Choice::Firejail => only_linux("firejail"),
        Choice::Native => only_linux("native"),
        Choice::Seatbelt => seatbelt(),
    }
}

/// Nothing here says which boot it is, so every process tries for itself.
pub(super) fn boot_id() -> Option<String> {
    None
}
