//! The same plan for other confiners: pure texts, made alike on every machine.
//!
//! What one of them cannot express it refuses by name. bwrap and firejail start an inner stage of ours, which adds what
//! they lack: see [`crate::inner`].

mod bwrap;
mod firejail;
mod seatbelt;

pub use crate::seccomp::oci_seccomp;
pub use bwrap::bwrap;
pub use firejail::firejail;
pub use seatbelt::seatbelt;

use std::path::Path;

use crate::error::SandboxError;

/// Where the inner stage is inside.
pub const INNER: &str = "/.ringfence-inner";

/// Returns a path as text, which is what command lines and profiles are made of.
fn text(path: &Path) -> Result<String, SandboxError> {
    path.to_str().map(str::to_owned).ok_or_else(|| SandboxError::Inexpressible {
        what: format!("the path `{}`, which is not UTF-8", path.display()),
    })
}

#[cfg(test)]
mod tests;
