//! Removing files, links, and trees.
//!
//! INVARIANT: what is removed is a name in a directory held open, never the end of a path, and a directory is entered
//! only through a handle that was opened without following a link. Swapping a directory for a link meanwhile makes the
//! walk fail or remove the link; it never leads outside.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

use ringfence_policy::Direction;
use rustix::fs::{AtFlags, Mode, OFlags, openat, statat, unlinkat};
use rustix::io::Errno;

use super::error::{FsError, shown};
use super::list::{SCAN, entries};
use super::metadata::FileKind;
use super::resolve::Tail;
use super::scoped::ScopedFs;
use super::storage::{self, FileStorage};

/// How deep a tree is walked; each level holds a directory open.
const MAX_DEPTH: usize = 128;

impl ScopedFs {
    /// Removes a file, a link (itself, never its target) or an empty directory.
    ///
    /// # Errors
    ///
    /// The path is not granted for writing, is a granted root or above one, is not there, or is a directory with
    /// something in it.
    pub fn remove(&self, path: impl AsRef<Path>) -> Result<(), FsError> {
        self.remove_entry(path.as_ref(), |_| Ok(()))
    }

    /// Removes an empty directory.
    ///
    /// # Errors
    ///
    /// As for [`ScopedFs::remove`], or the path is something else.
    pub fn remove_dir(&self, path: impl AsRef<Path>) -> Result<(), FsError> {
        self.remove_entry(path.as_ref(), |kind| match kind {
            FileKind::Directory => Ok(()),
            FileKind::File | FileKind::Special | FileKind::Symlink => Err(Errno::NOTDIR),
        })
    }

    /// Removes a file or a link (itself, never its target).
    ///
    /// # Errors
    ///
    /// As for [`ScopedFs::remove`], or the path is a directory.
    pub fn remove_file(&self, path: impl AsRef<Path>) -> Result<(), FsError> {
        self.remove_entry(path.as_ref(), |kind| match kind {
            FileKind::Directory => Err(Errno::ISDIR),
            FileKind::File | FileKind::Special | FileKind::Symlink => Ok(()),
        })
    }

    fn remove_entry(&self, path: &Path, fits: impl Fn(FileKind) -> Result<(), Errno>) -> Result<(), FsError> {
        let asked = self.asked(path, Direction::Write)?;
        if let Some(storage) = &self.storage {
            let found = self.stored(storage, "remove", &asked, Direction::Write)?;
            self.keep_roots(&asked, &asked)?;
            fits(found.kind).map_err(FsError::at("remove", &asked))?;
            return self.in_storage("remove", &asked, Direction::Write, || storage.remove(&asked));
        }
        let mut refused = Ok(());
        self.resolve("remove", &asked, Direction::Write, Tail::Entry, |spot| {
            refused = self.keep_roots(&spot.path, &asked);
            if refused.is_err() {
                return Ok(());
            }
            let (dir, name) = (spot.open_parent()?, spot.name()?);
            let kind = FileKind::of_stat(&statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW)?);
            fits(kind)?;
            unlinkat(&dir, name, unlink_flags(kind))
        })?;
        refused
    }

    /// Removes a directory and everything below it. Links are removed themselves.
    ///
    /// Everything is judged first; when something below may not be written, nothing is removed.
    ///
    /// # Errors
    ///
    /// As for [`ScopedFs::remove`], or the path is not a directory, or something below it is not granted.
    pub fn remove_all(&self, path: impl AsRef<Path>) -> Result<(), FsError> {
        let asked = self.asked(path.as_ref(), Direction::Write)?;
        if let Some(storage) = &self.storage {
            let found = self.stored(storage, "remove", &asked, Direction::Write)?;
            self.keep_roots(&asked, &asked)?;
            storage::expect(&found, FileKind::Directory, &asked)?;
            self.remove_stored(storage, &asked, &asked, 0, Act::Judge)?;
            return self.remove_stored(storage, &asked, &asked, 0, Act::Remove);
        }
        let (dir, name, real) = self.resolve("remove", &asked, Direction::Write, Tail::Entry, |spot| {
            Ok((spot.open_parent()?, spot.name()?.to_owned(), spot.path.clone()))
        })?;
        self.keep_roots(&real, &asked)?;
        let tree = Tree { files: self, asked: &asked };
        let stat = statat(&dir, &name, AtFlags::SYMLINK_NOFOLLOW).map_err(FsError::at("remove", &asked))?;
        let found = FileKind::of_stat(&stat);
        if found != FileKind::Directory {
            return Err(FsError::WrongKind { path: shown(&asked), found, wanted: FileKind::Directory });
        }
        tree.walk(dir.as_fd(), &name, &real, 0, Act::Judge)?;
        tree.walk(dir.as_fd(), &name, &real, 0, Act::Remove)
    }

    /// Visits a stored directory, deepest first.
    fn remove_stored(
        &self,
        storage: &Arc<dyn FileStorage>,
        path: &Path,
        asked: &Path,
        depth: usize,
        act: Act,
    ) -> Result<(), FsError> {
        if depth >= MAX_DEPTH {
            return Err(FsError::Depth { path: shown(asked), limit: MAX_DEPTH });
        }
        let failed = |error| FsError::io("remove", asked, error);
        for entry in storage.list(path).map_err(failed)? {
            let path = path.join(&entry.name);
            self.admit(&path, Direction::Write, asked)?;
            match (entry.kind, act) {
                (FileKind::Directory, _) => self.remove_stored(storage, &path, asked, depth + 1, act)?,
                (_, Act::Judge) => {}
                (_, Act::Remove) => storage.remove(&path).map_err(failed)?,
            }
        }
        match act {
            Act::Judge => Ok(()),
            Act::Remove => storage.remove(path).map_err(failed),
        }
    }

    /// Refuses to take away a granted root, or a directory that holds one.
    pub(super) fn keep_roots(&self, path: &Path, asked: &Path) -> Result<(), FsError> {
        if self.roots.iter().any(|root| root.starts_with(path)) {
            let refusal =
                Direction::Write.refusal(asked).hint("a granted root is never removed or renamed itself");
            return Err(refusal.into());
        }
        Ok(())
    }
}

#[derive(Clone, Copy, Eq, PartialEq)]
enum Act {
    Judge,
    Remove,
}

struct Tree<'a> {
    files: &'a ScopedFs,
    asked: &'a Path,
}

impl Tree<'_> {
    /// Visits the directory `name` in `dir`, whose path is `path`, deepest first.
    fn walk(
        &self,
        dir: BorrowedFd<'_>,
        name: &OsStr,
        path: &Path,
        depth: usize,
        act: Act,
    ) -> Result<(), FsError> {
        if depth >= MAX_DEPTH {
            return Err(FsError::Depth { path: shown(self.asked), limit: MAX_DEPTH });
        }
        let failed = FsError::at("remove", self.asked);
        let Some(here) = enter(dir, name).map_err(&failed)? else {
            // Gone, or swapped for something that is no directory: it is removed as the name it now is.
            return self.leaf(dir, name, FileKind::File, act);
        };
        for entry in entries(&here).map_err(&failed)? {
            let path = path.join(&entry.name);
            self.files.admit(&path, Direction::Write, self.asked)?;
            if entry.kind == FileKind::Directory {
                self.walk(here.as_fd(), &entry.name, &path, depth + 1, act)?;
            } else {
                self.leaf(here.as_fd(), &entry.name, entry.kind, act)?;
            }
        }
        self.leaf(dir, name, FileKind::Directory, act)
    }

    fn leaf(&self, dir: BorrowedFd<'_>, name: &OsStr, kind: FileKind, act: Act) -> Result<(), FsError> {
        if act == Act::Judge {
            return Ok(());
        }
        match unlinkat(dir, name, unlink_flags(kind)) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(FsError::io("remove", self.asked, errno)),
        }
    }
}

/// Opens a directory to read it; nothing when it is gone or is no directory any more.
fn enter(dir: BorrowedFd<'_>, name: &OsStr) -> Result<Option<OwnedFd>, Errno> {
    match openat(dir, name, SCAN | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty()) {
        Ok(here) => Ok(Some(here)),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
        Err(errno) => Err(errno),
    }
}

fn unlink_flags(kind: FileKind) -> AtFlags {
    if kind == FileKind::Directory { AtFlags::REMOVEDIR } else { AtFlags::empty() }
}
