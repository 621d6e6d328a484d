//! The only `unsafe` of ringfence: raw system calls, the clone, and what runs between clone and exec.
//!
//! Everything that runs in a clone shares this process's memory until it executes a program. It therefore makes raw
//! system calls only: no allocation, no locks, no `errno`, no panics. All it needs was prepared by the parent.

#![expect(unsafe_code, reason = "system calls that no safe crate offers, kept in this one module")]

mod act;
mod child;
mod clone;
mod init;
mod landlock;
mod memory;
pub(crate) mod notify;
mod syscall;

pub(crate) use act::MOST_SENT;
pub(crate) use child::{FIRST_RECEIVED, Failure, Instructions, MAX_RECEIVED, Part};
pub(crate) use clone::{Prepared, enter};
pub(crate) use init::init_program;
pub(crate) use memory::give_back_code;

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

/// Waits for a process of ours to end, and returns its status and what it and its children used.
pub(crate) fn wait(pidfd: std::os::fd::BorrowedFd<'_>) -> Option<(i32, libc::rusage)> {
    use std::os::fd::AsRawFd;
    let descriptor = pidfd.as_raw_fd() as usize;
    // SAFETY: both are plain data for which zero is a value.
    let (mut info, mut usage): (libc::siginfo_t, libc::rusage) =
        unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
    let arguments = [
        libc::P_PIDFD as usize,
        descriptor,
        (&raw mut info) as usize,
        libc::WEXITED as usize,
        (&raw mut usage) as usize,
        0,
    ];
    // SAFETY: the kernel writes one `siginfo_t` and one `rusage`, which both are.
    if unsafe { syscall::call(libc::SYS_waitid, arguments) } != 0 {
        return None;
    }
    // SAFETY: after `waitid` the value holds the fields of a child that ended.
    let status = unsafe { info.si_status() };
    let ended_by_signal = info.si_code != libc::CLD_EXITED;
    Some((if ended_by_signal { status & 0x7f } else { (status & 0xff) << 8 }, usage))
}
