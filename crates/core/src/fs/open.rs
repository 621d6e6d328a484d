//! The only way a file is opened: below a directory handle, following no symbolic link.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, openat, openat2};
use rustix::io::Errno;

/// How a path below a handle is opened.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Opener {
    /// By `openat2`, in one system call.
    Kernel,
    /// Component by component, for kernels before 5.6 and filters that hide `openat2`.
    Walk,
}

/// A handle that names a file and does nothing else.
pub(super) const NAME_ONLY: OFlags = OFlags::PATH;
/// A handle on a directory to stand on.
pub(super) const STAND: OFlags = OFlags::PATH.union(OFlags::DIRECTORY);

const RESOLVE: ResolveFlags =
    ResolveFlags::BENEATH.union(ResolveFlags::NO_SYMLINKS).union(ResolveFlags::NO_MAGICLINKS);

/// How often the kernel may say that the tree changed under its feet.
const ATTEMPTS: usize = 64;

impl Opener {
    /// Tries `openat2` once.
    pub(super) fn probe() -> Self {
        match openat2(CWD, ".", STAND | OFlags::CLOEXEC, Mode::empty(), RESOLVE) {
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
            Self::Kernel => {
                for _ in 0..ATTEMPTS {
                    match openat2(dir, rest, flags, mode, RESOLVE) {
                        Err(Errno::AGAIN | Errno::INTR) => {}
                        done => return done,
                    }
                }
                Err(Errno::AGAIN)
            }
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
    if !flags.contains(OFlags::PATH) {
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
    openat(dir, name, NAME_ONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
}

/// `O_DIRECTORY` hides a link behind `ENOTDIR`; the caller wants to know.
fn link_or(dir: BorrowedFd<'_>, name: &Path, errno: Errno) -> Errno {
    let is_link = || {
        let stat = fstat(step(dir, name)?)?;
        Ok::<_, Errno>(FileType::from_raw_mode(stat.st_mode) == FileType::Symlink)
    };
    if errno == Errno::NOTDIR && is_link() == Ok(true) { Errno::LOOP } else { errno }
}
