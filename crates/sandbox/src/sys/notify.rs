//! System calls as the kernel tells of them: read, looked into, and answered.

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
const STILL_WAITS: usize = 0x4008_2102;
const SET_FLAGS: usize = 0x4008_2104;

/// A system call that waits for an answer.
pub(crate) struct Waiting {
    id: u64,
    /// The thread that makes it, as it is numbered here.
    pub(crate) thread: u32,
    /// Its number.
    pub(crate) number: u32,
    /// Its arguments.
    pub(crate) arguments: [u64; 6],
}

/// Takes one call from a listener. `None` when whoever made it is gone meanwhile.
///
/// # Errors
///
/// Nobody is left who could make one.
pub(crate) fn receive(listener: BorrowedFd<'_>) -> Result<Option<Waiting>, Errno> {
    let mut told = Notification::default();
    let arguments = [listener.as_raw_fd() as usize, RECEIVE, (&raw mut told) as usize, 0, 0, 0];
    // SAFETY: the kernel demands a zeroed notification and writes one of the size that the request's number holds.
    let result = unsafe { call(libc::SYS_ioctl, arguments) };
    match i32::try_from(-result).unwrap_or(libc::EINVAL) {
        0 => Ok(Some(Waiting {
            id: told.id,
            thread: told.process,
            number: told.number.cast_unsigned(),
            arguments: told.arguments,
        })),
        libc::EINTR | libc::ENOENT => Ok(None),
        errno => Err(Errno::from_raw_os_error(errno)),
    }
}

/// Answers a call with an error number.
pub(crate) fn answer(listener: BorrowedFd<'_>, waiting: &Waiting, errno: u16) {
    respond(listener, &Response { id: waiting.id, value: 0, error: -i32::from(errno), flags: 0 });
}

/// Lets a call go on, as if nobody had been told. Every other filter has judged it already, and the kernel's own checks follow.
pub(crate) fn go_on(listener: BorrowedFd<'_>, waiting: &Waiting) {
    const CONTINUE: u32 = 1;
    respond(listener, &Response { id: waiting.id, value: 0, error: 0, flags: CONTINUE });
}

fn respond(listener: BorrowedFd<'_>, response: &Response) {
    let response: *const Response = response;
    let arguments = [listener.as_raw_fd() as usize, SEND, response as usize, 0, 0, 0];
    // SAFETY: the kernel reads a response of the size that the request's number holds. It fails when whoever made the
    // call is gone, and then nobody waits.
    let _answered = unsafe { call(libc::SYS_ioctl, arguments) };
}

/// Says whether the call still waits. What was read of its thread before was then read of that thread and no later one.
pub(crate) fn still_waits(listener: BorrowedFd<'_>, waiting: &Waiting) -> bool {
    let id: *const u64 = &raw const waiting.id;
    let arguments = [listener.as_raw_fd() as usize, STILL_WAITS, id as usize, 0, 0, 0];
    // SAFETY: the kernel reads one number of this size.
    unsafe { call(libc::SYS_ioctl, arguments) == 0 }
}

/// Has whoever waits and whoever answers take turns on one processor, which is faster. Kernels before 6.6 do not know it.
pub(crate) fn take_turns(listener: BorrowedFd<'_>) {
    const SYNC_WAKE_UP: usize = 1;
    // SAFETY: takes a number.
    let _set =
        unsafe { call(libc::SYS_ioctl, [listener.as_raw_fd() as usize, SET_FLAGS, SYNC_WAKE_UP, 0, 0, 0]) };
}

/// Reads the memory of another process, as much as is there, and returns how much that was.
///
/// # Errors
///
/// Nothing is there, or we may not look.
pub(crate) fn read_memory(thread: u32, address: u64, buffer: &mut [u8]) -> Result<usize, Errno> {
    const PAGE: usize = 4096;
    let address = usize::try_from(address).map_err(|_| Errno::FAULT)?;
    let own = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    // A range that is not all there is read up to the first part that is not, and each page is a part.
    let mut theirs = [libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; 8];
    let (mut at, mut left) = (address, buffer.len());
    for part in &mut theirs {
        let length = left.min(PAGE - at % PAGE);
        *part = libc::iovec { iov_base: std::ptr::without_provenance_mut(at), iov_len: length };
        at = at.saturating_add(length);
        left -= length;
    }
    let arguments =
        [thread as usize, (&raw const own) as usize, 1, (&raw const theirs) as usize, theirs.len(), 0];
    // SAFETY: the kernel writes to `own`, which is one borrowed buffer with its true length, and no more than `theirs` holds. The
    // addresses of `theirs` are of another process: it checks them itself.
    let read = unsafe { call(libc::SYS_process_vm_readv, arguments) };
    usize::try_from(read).map_err(|_| Errno::from_raw_os_error(i32::try_from(-read).unwrap_or(libc::EINVAL)))
}
