//! From an asked path to a handle: judge, open without links, and on a link splice its target in and judge again.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

use ringfence_policy::{Direction, normalise};
use rustix::fs::{FileType, Mode, OFlags, fstat};
use rustix::io::Errno;

use super::error::{FsError, shown};
use super::open::{Opener, STAND, link_target, step};
use super::scoped::ScopedFs;

/// How many links are followed before giving up, as the kernel does.
const MAX_LINKS: usize = 40;

/// A directory held open, below which paths are opened.
pub(super) struct Anchor {
    path: PathBuf,
    handle: OwnedFd,
}

/// Which part of a path may be a link.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Tail {
    /// The last component is meant itself, link or not: what removing and renaming need.
    Entry,
    /// A link at the end is followed too.
    Follow,
}

/// A judged path, ready to be opened below an anchor.
pub(super) struct Spot {
    anchor: Arc<Anchor>,
    opener: Opener,
    /// The path below the anchor.
    rest: PathBuf,
    /// The whole path, as judged.
    pub(super) path: PathBuf,
}

impl Spot {
    /// Opens the path itself.
    pub(super) fn open(&self, flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
        self.opener.open(self.anchor.handle.as_fd(), &self.rest, flags, mode)
    }

    /// Opens the directory the path is in.
    pub(super) fn open_parent(&self) -> Result<OwnedFd, Errno> {
        let parent = self.rest.parent().ok_or(Errno::ISDIR)?;
        self.opener.open(self.anchor.handle.as_fd(), parent, STAND, Mode::empty())
    }

    /// Returns the last component.
    pub(super) fn name(&self) -> Result<&OsStr, Errno> {
        self.rest.file_name().ok_or(Errno::ISDIR)
    }

    /// Returns the path of the first link on the way, its target, and what follows it; nothing when there is none.
    fn first_link(&self, tail: Tail) -> Result<Option<(PathBuf, PathBuf, PathBuf)>, Errno> {
        let mut at: Option<OwnedFd> = None;
        let mut path = self.anchor.path.clone();
        let mut names = self.rest.iter();
        while let Some(name) = names.next() {
            let rest = names.as_path();
            if tail == Tail::Entry && rest.as_os_str().is_empty() {
                break;
            }
            let dir: BorrowedFd<'_> = at.as_ref().map_or(self.anchor.handle.as_fd(), AsFd::as_fd);
            let next = step(dir, name.as_ref())?;
            path.push(name);
            if FileType::from_raw_mode(fstat(&next)?.st_mode) == FileType::Symlink {
                let target = link_target(dir, name.as_ref(), &next)?;
                return Ok(Some((path, target.into(), rest.to_path_buf())));
            }
            at = Some(next);
        }
        Ok(None)
    }
}

impl ScopedFs {
    /// Runs `attempt` on the judged path; when it meets a link (`ELOOP`), again on the path the link leads to.
    pub(super) fn resolve<T>(
        &self,
        verb: &'static str,
        asked: &Path,
        direction: Direction,
        tail: Tail,
        attempt: impl FnMut(&Spot) -> Result<T, Errno>,
    ) -> Result<T, FsError> {
        let done = self.resolved(verb, asked, direction, tail, attempt);
        self.touched(asked, direction, &done);
        done
    }

    fn resolved<T>(
        &self,
        verb: &'static str,
        asked: &Path,
        direction: Direction,
        tail: Tail,
        mut attempt: impl FnMut(&Spot) -> Result<T, Errno>,
    ) -> Result<T, FsError> {
        let failed = FsError::at(verb, asked);
        if self.storage.is_some() {
            // Judged first, so that the answer tells nothing of what is outside.
            self.admit(asked, direction, asked)?;
            return Err(FsError::io(verb, asked, std::io::ErrorKind::Unsupported));
        }
        let mut path = asked.to_path_buf();
        for _ in 0..=MAX_LINKS {
            path = self.placed(path);
            self.admit(&path, direction, asked)?;
            let spot = self.spot(path, tail).map_err(&failed)?;
            match attempt(&spot) {
                Err(Errno::LOOP) => path = self.through_link(&spot, direction, tail, asked, &failed)?,
                done => return done.map_err(failed),
            }
        }
        Err(FsError::Links { path: shown(asked) })
    }

    /// Returns the path with its first link replaced by the target.
    fn through_link(
        &self,
        spot: &Spot,
        direction: Direction,
        tail: Tail,
        asked: &Path,
        failed: &impl Fn(Errno) -> FsError,
    ) -> Result<PathBuf, FsError> {
        // None: the link was swapped away meanwhile, and the same path is tried again.
        let Some((link, target, rest)) = spot.first_link(tail).map_err(failed)? else {
            return Ok(spot.path.clone());
        };
        self.admit(&link, direction, asked)?;
        let target = link.parent().unwrap_or(Path::new("/")).join(target).join(rest);
        normalise(&target).map_err(|_| failed(Errno::NOENT))
    }

    fn spot(&self, path: PathBuf, tail: Tail) -> Result<Spot, Errno> {
        let above = match tail {
            Tail::Entry => path.parent().ok_or(Errno::ISDIR)?,
            Tail::Follow => &path,
        };
        let anchor = self.anchor(above)?;
        let rest = path.strip_prefix(&anchor.path).map_err(|_| Errno::INVAL)?.to_path_buf();
        Ok(Spot { anchor, opener: self.opener, rest, path })
    }

    /// Returns the handle of the nearest root at or above `path`, or of `/` where no root is an openable directory.
    fn anchor(&self, path: &Path) -> Result<Arc<Anchor>, Errno> {
        let mut anchors = self.anchors.lock().unwrap_or_else(PoisonError::into_inner);
        for root in self.roots.iter().filter(|root| path.starts_with(root)) {
            if let Some(anchor) = anchors.iter().find(|anchor| anchor.path == *root) {
                return Ok(Arc::clone(anchor));
            }
            let below = root.strip_prefix("/").map_err(|_| Errno::INVAL)?;
            if let Ok(handle) = self.opener.open(Opener::slash()?.as_fd(), below, STAND, Mode::empty()) {
                let anchor = Arc::new(Anchor { path: root.clone(), handle });
                anchors.push(Arc::clone(&anchor));
                return Ok(anchor);
            }
        }
        Ok(Arc::new(Anchor { path: PathBuf::from("/"), handle: Opener::slash()? }))
    }
}
