//! Raw system calls, and the few C library calls that `std` does not have.

use std::ffi::CString;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Makes a system call by number; the arguments are integers or raw pointers.
macro_rules! sys {
    ($number:expr $(, $argument:expr)* $(,)?) => {{
        // SAFETY: `syscall` demands that what the kernel reads or writes through the arguments is valid for the
        // call. Every pointer a probe passes comes from a value that lives to the end of this statement, with the
        // length the call expects; a probe that got this wrong would hurt nobody but itself and be reported.
        let returned = unsafe { libc::syscall($number as libc::c_long $(, $argument as libc::c_long)*) };
        $crate::sys::checked(returned)
    }};
}

/// Calls a function of the C library that answers -1 and sets `errno`.
macro_rules! call {
    ($function:ident $(, $argument:expr)* $(,)?) => {{
        // SAFETY: as for `sys!`.
        let returned = unsafe { libc::$function($($argument),*) };
        $crate::sys::checked(returned as i64)
    }};
}

/// The error of a call that answered -1.
pub(crate) fn checked(returned: i64) -> io::Result<i64> {
    if returned == -1 { Err(io::Error::last_os_error()) } else { Ok(returned) }
}

/// A path as the kernel takes it.
pub(crate) fn c(path: impl AsRef<Path>) -> CString {
    CString::new(path.as_ref().as_os_str().as_bytes()).unwrap_or_default()
}

/// Takes a descriptor that a call returned.
pub(crate) fn owned(descriptor: i64) -> OwnedFd {
    // SAFETY: `from_raw_fd` demands an open descriptor that nobody else owns; it was just returned by the kernel.
    unsafe { OwnedFd::from_raw_fd(RawFd::try_from(descriptor).unwrap_or(-1)) }
}

/// Forks; the child does `child` and ends with what it returned.
pub(crate) fn forked(child: impl FnOnce() -> i32) -> io::Result<libc::pid_t> {
    // SAFETY: `fork` demands that the child of a multi-threaded process calls only what is safe there. A probe has
    // one thread when it forks.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            let code = child();
            // SAFETY: `_exit` has no demands.
            unsafe { libc::_exit(code) }
        }
        pid => Ok(pid),
    }
}

/// Waits for a child and returns its exit code, or 128 and the signal.
pub(crate) fn waited(pid: libc::pid_t) -> io::Result<i32> {
    let mut status = 0;
    call!(waitpid, pid, &raw mut status, 0)?;
    Ok(if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { 128 + libc::WTERMSIG(status) })
}

/// Does something in a child of its own, and succeeds when the child did.
pub(crate) fn in_child(act: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    let child = forked(|| match act() {
        Ok(()) => 0,
        Err(error) => error.raw_os_error().unwrap_or(255),
    })?;
    match waited(child)? {
        0 => Ok(()),
        code @ 129.. => Err(io::Error::other(format!("killed by signal {}", code - 128))),
        code => Err(io::Error::from_raw_os_error(code)),
    }
}
