//! Refused system calls as the kernel tells them: read, and answered.

use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::io::Errno;

use super::syscall::call;

/// `struct seccomp_notif` of the kernel.
#[repr(C)]
#[derive(Default)]
struct Notification {
    id: u64,
    process: u32,
    flags: u32,
    number: i32,
    architecture: u32,
    instruction: u64,
    arguments: [u64; 6],
}

/// `struct seccomp_notif_resp` of the kernel.
#[repr(C)]
struct Response {
    id: u64,
    value: i64,
    error: i32,
    flags: u32,
}

const RECEIVE: usize = 0xc050_2100;
const SEND: usize = 0xc018_2101;

/// A system call that waits for an answer.
pub(crate) struct Refused {
    id: u64,
    /// Its number.
    pub(crate) number: u32,
    /// Its arguments.
    pub(crate) arguments: [u64; 6],
}

/// Takes one refused call from a listener. `None` when whoever made it is gone meanwhile.
///
/// # Errors
///
/// Nobody is left who could be refused anything.
pub(crate) fn receive(listener: BorrowedFd<'_>) -> Result<Option<Refused>, Errno> {
    let mut told = Notification::default();
    let arguments = [listener.as_raw_fd() as usize, RECEIVE, (&raw mut told) as usize, 0, 0, 0];
    // SAFETY: the kernel demands a zeroed notification and writes one of the size that the request's number holds.
    let result = unsafe { call(libc::SYS_ioctl, arguments) };
    match i32::try_from(-result).unwrap_or(libc::EINVAL) {
        0 => {
            Ok(Some(Refused { id: told.id, number: told.number.cast_unsigned(), arguments: told.arguments }))
        }
        libc::EINTR | libc::ENOENT => Ok(None),
        errno => Err(Errno::from_raw_os_error(errno)),
    }
}

/// Answers a refused call with an error number.
pub(crate) fn answer(listener: BorrowedFd<'_>, refused: &Refused, errno: u16) {
    let response = Response { id: refused.id, value: 0, error: -i32::from(errno), flags: 0 };
    let arguments = [listener.as_raw_fd() as usize, SEND, (&raw const response) as usize, 0, 0, 0];
    // SAFETY: the kernel reads a response of the size that the request's number holds. It fails when whoever made the
    // call is gone, and then nobody waits.
    let _answered = unsafe { call(libc::SYS_ioctl, arguments) };
}
