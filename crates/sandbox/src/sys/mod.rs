//! The only `unsafe` of ringfence: raw system calls, the clone, and what runs between clone and exec.
//!
//! Everything that runs in a clone shares this process's memory until it executes a program. It therefore makes raw
//! system calls only: no allocation, no locks, no `errno`, no panics. All it needs was prepared by the parent.

#![expect(unsafe_code, reason = "system calls that no safe crate offers, kept in this one module")]

mod child;
mod clone;
mod init;
mod syscall;

pub(crate) use child::{Failure, Instructions, Part};
pub(crate) use clone::{Prepared, enter};
pub(crate) use init::init_program;

/// Turns the end of an inner stage into its own process image: applies the steps to this very process.
///
/// Only for the inner stage, which is single-threaded and about to execute the command.
pub(crate) fn apply_here(ops: &[crate::linux::op::Op]) -> Failure {
    child::apply_here(ops)
}

/// Asks the kernel for its version of Landlock; 0 where there is none.
pub(crate) fn landlock_version() -> u32 {
    const VERSION: usize = 1;
    // SAFETY: with this flag the call takes no attributes (null, size 0) and makes nothing.
    let version = unsafe { syscall::call(libc::SYS_landlock_create_ruleset, [0, 0, VERSION, 0, 0, 0]) };
    u32::try_from(version).unwrap_or(0)
}

// SAFETY: the pointers of an `Execution` point into texts that it owns and that nobody changes; the other steps are
// plain data.
unsafe impl Send for crate::linux::op::Execution {}
// SAFETY: as for `Send`; nothing is changed through a shared reference.
unsafe impl Sync for crate::linux::op::Execution {}
