//! The only way a file is opened: below a directory handle, following no symbolic link.

#[cfg(target_os = "linux")]
#[path = "open/linux.rs"]
mod os;
#[cfg(not(target_os = "linux"))]
#[path = "open/portable.rs"]
mod os;

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat};
use rustix::io::Errno;

pub(super) use os::{NAME_ONLY, STAND, hard_links, link_target};

/// How a path below a handle is opened.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Opener {
    /// By `openat2`, in one system call. On Linux only.
    Kernel,
    /// Component by component, for kernels before 5.6, filters that hide `openat2`, and other systems.
    Walk,
}

impl Opener {
    /// Tries `openat2` once.
    pub(super) fn probe() -> Self {
        match os::open_beneath(CWD, Path::new("."), STAND | OFlags::CLOEXEC, Mode::empty()) {
            Ok(_) => Self::Kernel,
            Err(_) => Self::Walk,
        }
    }

    /// Opens the root directory, where every other handle starts.
    pub(super) fn slash() -> Result<OwnedFd, Errno> {
        openat(CWD, "/", STAND | OFlags::CLOEXEC, Mode::empty())
    }

    /// Opens `rest` (relative, normalised, maybe empty) below `dir`. `ELOOP` when a link is in the way or at the end.
    pub(super) fn open(
        self,
        dir: BorrowedFd<'_>,
        rest: &Path,
        flags: OFlags,
        mode: Mode,
    ) -> Result<OwnedFd, Errno> {
        let flags = flags | OFlags::CLOEXEC;
        if rest.as_os_str().is_empty() {
            return openat(dir, ".", flags, mode);
        }
        match self {
            Self::Kernel => os::open_beneath(dir, rest, flags, mode),
            Self::Walk => walk(dir, rest, flags, mode),
        }
    }
}

fn walk(dir: BorrowedFd<'_>, rest: &Path, flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
    let name = rest.file_name().ok_or(Errno::INVAL)?;
    let mut at: Option<OwnedFd> = None;
    for component in rest.parent().into_iter().flat_map(Path::iter) {
        let next = step(at.as_ref().map_or(dir, AsFd::as_fd), Path::new(component))?;
        match FileType::from_raw_mode(fstat(&next)?.st_mode) {
            FileType::Directory => at = Some(next),
            FileType::Symlink => return Err(Errno::LOOP),
            _ => return Err(Errno::NOTDIR),
        }
    }
    let at = at.as_ref().map_or(dir, AsFd::as_fd);
    if !flags.contains(NAME_ONLY) {
        return openat(at, name, flags | OFlags::NOFOLLOW, mode)
            .map_err(|errno| link_or(at, name.as_ref(), errno));
    }
    let last = step(at, name.as_ref())?;
    match FileType::from_raw_mode(fstat(&last)?.st_mode) {
        FileType::Symlink => Err(Errno::LOOP),
        FileType::Directory => Ok(last),
        _ if flags.contains(OFlags::DIRECTORY) => Err(Errno::NOTDIR),
        _ => Ok(last),
    }
}

/// Opens one component by name only; a symbolic link is returned as itself.
pub(super) fn step(dir: BorrowedFd<'_>, name: &Path) -> Result<OwnedFd, Errno> {
    openat(dir, name, os::STEP | OFlags::CLOEXEC, Mode::empty())
}

/// `O_DIRECTORY` hides a link behind `ENOTDIR`; the caller wants to know.
fn link_or(dir: BorrowedFd<'_>, name: &Path, errno: Errno) -> Errno {
    let is_link = || {
        let stat = fstat(step(dir, name)?)?;
        Ok::<_, Errno>(FileType::from_raw_mode(stat.st_mode) == FileType::Symlink)
    };
    if errno == Errno::NOTDIR && is_link() == Ok(true) { Errno::LOOP } else { errno }
}
