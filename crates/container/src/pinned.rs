//! What an engine of this machine is handed by way of this process: a profile to read, a network namespace to join.
//!
//! The path of a descriptor in `/proc` means the very file, whatever happens to names meanwhile.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use rustix::fs::{MemfdFlags, memfd_create};

use crate::error::ContainerError;

/// A descriptor of ours that somebody else is told the path of. It holds as long as this value.
#[derive(Debug)]
pub(crate) struct Pinned(OwnedFd);

impl Pinned {
    /// Keeps a text in memory, where it can be read but not found by name.
    pub(crate) fn text(text: &str) -> Result<Self, ContainerError> {
        let place = "keeping the seccomp profile in memory";
        let here = |error: rustix::io::Errno| ContainerError::Here { place, error: error.into() };
        let file = memfd_create("ringfence-seccomp", MemfdFlags::CLOEXEC).map_err(here)?;
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            let written = rustix::io::write(&file, rest).map_err(here)?;
            rest = rest.get(written..).unwrap_or_default();
        }
        Ok(Self(file))
    }

    /// Keeps a descriptor.
    pub(crate) const fn descriptor(descriptor: OwnedFd) -> Self {
        Self(descriptor)
    }

    /// Returns where another process of this machine finds it.
    pub(crate) fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.0.as_fd().as_raw_fd())
    }
}
