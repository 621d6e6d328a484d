//! What the tests need of the system beyond `std`.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Leaves a descriptor open at a high number for every child, as a careless caller would.
pub(crate) fn leaked(file: &impl AsRawFd) -> i32 {
    // SAFETY: `fcntl` with `F_DUPFD` demands an open descriptor, which `file` holds.
    let number = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_DUPFD, 200) };
    assert!(number >= 200, "{}", io::Error::last_os_error());
    number
}

/// Closes what [`leaked`] left open.
pub(crate) fn close(number: i32) {
    // SAFETY: `close` demands a descriptor that nobody uses again; only the session that leaked it knows its number.
    unsafe { libc::close(number) };
}

/// Sets an attribute of a file.
pub(crate) fn set_xattr(path: &Path, name: &str, value: &str) {
    let (path, name) = (CString::new(path.as_os_str().as_bytes()).unwrap(), CString::new(name).unwrap());
    // SAFETY: `setxattr` demands terminated names and a value of the given length.
    let set = unsafe { libc::setxattr(path.as_ptr(), name.as_ptr(), value.as_ptr().cast(), value.len(), 0) };
    assert_eq!(set, 0, "{}", io::Error::last_os_error());
}

/// A new terminal: the side of whoever looks at it, the side of the program, and the path of the latter.
pub(crate) fn terminal() -> (File, OwnedFd, PathBuf) {
    let (mut outer, mut inner) = (-1, -1);
    let none = std::ptr::null_mut();
    // SAFETY: `openpty` demands places for two descriptors, and takes null for what is not wanted.
    let opened = unsafe {
        libc::openpty(&raw mut outer, &raw mut inner, none, std::ptr::null_mut(), std::ptr::null_mut())
    };
    assert_eq!(opened, 0, "{}", io::Error::last_os_error());
    for descriptor in [outer, inner] {
        // SAFETY: `fcntl` with `F_SETFD` demands an open descriptor.
        unsafe { libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
    // SAFETY: `from_raw_fd` demands descriptors that nobody else owns; they were just made.
    let (outer, inner) = unsafe { (File::from_raw_fd(outer), OwnedFd::from_raw_fd(inner)) };
    let path = std::fs::read_link(format!("/proc/self/fd/{}", inner.as_raw_fd())).unwrap();
    (outer, inner, path)
}

/// Kills a process at once.
pub(crate) fn kill(pid: u32) {
    signal(pid, libc::SIGKILL);
}

/// Sends a signal to a process.
pub(crate) fn signal(pid: u32, number: i32) {
    // SAFETY: `kill` has no demands; the caller's child is not reaped yet, so the number is still its own.
    unsafe { libc::kill(libc::pid_t::try_from(pid).unwrap(), number) };
}

/// Who runs the tests.
pub(crate) fn uid() -> u32 {
    // SAFETY: `getuid` has no demands.
    unsafe { libc::getuid() }
}
