//! What Linux opens files with: `openat2`, and handles that only name a file.

use std::ffi::OsString;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use rustix::fs::{Mode, OFlags, ResolveFlags, Stat, openat2, readlinkat};
use rustix::io::Errno;

/// A handle that names a file and does nothing else.
pub(in crate::fs) const NAME_ONLY: OFlags = OFlags::PATH;
/// A handle on a directory to stand on.
pub(in crate::fs) const STAND: OFlags = OFlags::PATH.union(OFlags::DIRECTORY);
/// A handle that names a file or a link itself.
pub(super) const STEP: OFlags = NAME_ONLY.union(OFlags::NOFOLLOW);

const RESOLVE: ResolveFlags =
    ResolveFlags::BENEATH.union(ResolveFlags::NO_SYMLINKS).union(ResolveFlags::NO_MAGICLINKS);

/// How often the kernel may say that the tree changed under its feet.
const ATTEMPTS: usize = 64;

/// Opens a path below a directory in one system call, following no link.
pub(super) fn open_beneath(
    dir: BorrowedFd<'_>,
    path: &Path,
    flags: OFlags,
    mode: Mode,
) -> Result<OwnedFd, Errno> {
    for _ in 0..ATTEMPTS {
        match openat2(dir, path, flags, mode, RESOLVE) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            done => return done,
        }
    }
    Err(Errno::AGAIN)
}

/// Returns where a link leads; `link` is the handle of the link `name` in `dir`.
pub(in crate::fs) fn link_target(
    _dir: BorrowedFd<'_>,
    _name: &Path,
    link: &OwnedFd,
) -> Result<OsString, Errno> {
    Ok(OsString::from_vec(readlinkat(link, "", Vec::new())?.into_bytes()))
}

/// Returns how many names a file has.
pub(in crate::fs) fn hard_links(stat: &Stat) -> u64 {
    stat.st_nlink
}
