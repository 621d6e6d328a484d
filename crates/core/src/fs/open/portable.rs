//! What macOS opens files with. There is no `openat2`: every path is walked component by component.
//!
//! A directory is stood on by a handle that may read it, so one that may only be searched is out of reach.

use std::ffi::OsString;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use rustix::fs::{Mode, OFlags, Stat, readlinkat};
use rustix::io::Errno;

/// `O_EVTONLY` of Darwin: a handle that names a file and reads nothing of it.
const EVENTS_ONLY: OFlags = OFlags::from_bits_retain(0x8000);
/// `O_SYMLINK` of Darwin: a link is opened itself.
const LINK_ITSELF: OFlags = OFlags::from_bits_retain(0x20_0000);

/// A handle that names a file and does nothing else; it never waits for the other end of a FIFO.
pub(in crate::fs) const NAME_ONLY: OFlags = EVENTS_ONLY.union(OFlags::NONBLOCK);
/// A handle on a directory to stand on.
pub(in crate::fs) const STAND: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY);
/// A handle that names a file or a link itself.
pub(super) const STEP: OFlags = NAME_ONLY.union(LINK_ITSELF);

/// There is no such system call here.
pub(super) fn open_beneath(
    _dir: BorrowedFd<'_>,
    _path: &Path,
    _flags: OFlags,
    _mode: Mode,
) -> Result<OwnedFd, Errno> {
    Err(Errno::NOSYS)
}

/// Returns where a link leads. By its name: what it leads to is judged, whatever has become of the link.
pub(in crate::fs) fn link_target(
    dir: BorrowedFd<'_>,
    name: &Path,
    _link: &OwnedFd,
) -> Result<OsString, Errno> {
    Ok(OsString::from_vec(readlinkat(dir, name, Vec::new())?.into_bytes()))
}

/// Returns how many names a file has.
pub(in crate::fs) fn hard_links(stat: &Stat) -> u64 {
    u64::from(stat.st_nlink)
}
