//! The backends of Linux, strongest first.

use super::{Choice, Selector, first_working};
use crate::backend::{Bwrap, Firejail, Native, Seatbelt};
use crate::error::SandboxError;
use crate::sandbox::Sandbox;

/// How many of them confine everything a plan says; what comes after them is a fallback.
const STRONG: usize = 2;

pub(super) fn select(selector: &Selector, choice: Choice) -> Result<Sandbox, SandboxError> {
    let native = || selector.tried(Native::new());
    let bwrap = || selector.tried(Bwrap::system(&selector.inner)?);
    let firejail = || selector.tried(Firejail::system(&selector.inner)?);
    match choice {
        Choice::Auto => first_working(&[&native, &bwrap, &firejail], STRONG),
        Choice::Bwrap => bwrap(),
        Choice::Firejail => firejail(),
        Choice::Native => native(),
        Choice::Seatbelt => selector.tried(Seatbelt::system()?),
    }
}

/// Returns what differs from boot to boot.
pub(super) fn boot_id() -> Option<String> {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()
}
