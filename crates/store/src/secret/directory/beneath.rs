//! The only way a file is opened: below a directory handle, through links that stay below it.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Component, Path};

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, fstat, openat, openat2, readlinkat};
use rustix::io::Errno;

/// How a path below a handle is opened.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Opener {
    /// By `openat2`, in one system call.
    Kernel,
    /// Component by component, for kernels before 5.6 and filters that hide `openat2`.
    Walk,
}

/// What a handle is for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Look {
    /// To see what kind of file it is; the file itself is not touched.
    At,
    /// To read it.
    Into,
}

impl Look {
    fn flags(self) -> OFlags {
        match self {
            Self::At => NAME_ONLY,
            // Never waits for the other end of a FIFO, never makes a terminal ours.
            Self::Into => OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC,
        }
    }
}

const NAME_ONLY: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);
const RESOLVE: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::NO_MAGICLINKS);

/// How often the kernel may say that the tree changed under its feet.
const ATTEMPTS: usize = 64;
/// How many links are followed before giving up, as the kernel does.
const MAX_LINKS: usize = 40;

impl Opener {
    /// Tries `openat2` once.
    pub(super) fn probe(root: BorrowedFd<'_>) -> Self {
        match openat2(root, ".", NAME_ONLY, Mode::empty(), RESOLVE) {
            Ok(_) => Self::Kernel,
            Err(_) => Self::Walk,
        }
    }

    /// Opens `path` (relative, plain names) below `root`. `EXDEV` when it leads out of there.
    pub(super) fn open(self, root: BorrowedFd<'_>, path: &Path, look: Look) -> Result<OwnedFd, Errno> {
        match self {
            Self::Kernel => {
                for _ in 0..ATTEMPTS {
                    match openat2(root, path, look.flags(), Mode::empty(), RESOLVE) {
                        Err(Errno::AGAIN | Errno::INTR) => {}
                        done => return done,
                    }
                }
                Err(Errno::AGAIN)
            }
            Self::Walk => walk(root, path, look),
        }
    }
}

/// Stands on one handle after the other. `..` goes back to the handle it came from, never to what the file system
/// calls the parent by now, so nothing that is moved meanwhile leads out of the root.
fn walk(root: BorrowedFd<'_>, path: &Path, look: Look) -> Result<OwnedFd, Errno> {
    let mut way: Vec<OwnedFd> = Vec::new();
    let mut ahead: VecDeque<OsString> = path.iter().map(OsStr::to_os_string).collect();
    let mut links = 0;
    while let Some(name) = ahead.pop_front() {
        if name == ".." {
            way.pop().ok_or(Errno::XDEV)?;
            continue;
        }
        let at = way.last().map_or(root, |handle| handle.as_fd());
        let next = openat(at, &name, NAME_ONLY | OFlags::NOFOLLOW, Mode::empty())?;
        match FileType::from_raw_mode(fstat(&next)?.st_mode) {
            FileType::Symlink => {
                links += 1;
                if links > MAX_LINKS {
                    return Err(Errno::LOOP);
                }
                let target = OsString::from_vec(readlinkat(&next, "", Vec::new())?.into_bytes());
                splice(Path::new(&target), &mut ahead)?;
            }
            FileType::Directory => way.push(next),
            _ if !ahead.is_empty() => return Err(Errno::NOTDIR),
            _ => {
                return match look {
                    Look::At => Ok(next),
                    Look::Into => openat(at, &name, look.flags() | OFlags::NOFOLLOW, Mode::empty()),
                };
            }
        }
    }
    // It ended on a directory: a handle on it tells the caller so.
    openat(way.last().map_or(root, |handle| handle.as_fd()), ".", NAME_ONLY, Mode::empty())
}

/// Puts the target of a link before what follows it.
fn splice(target: &Path, ahead: &mut VecDeque<OsString>) -> Result<(), Errno> {
    for component in target.components().rev() {
        match component {
            Component::Normal(name) => ahead.push_front(name.to_os_string()),
            Component::ParentDir => ahead.push_front("..".into()),
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return Err(Errno::XDEV),
        }
    }
    Ok(())
}
