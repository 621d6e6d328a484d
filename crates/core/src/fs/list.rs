//! Listing directories.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use ringfence_policy::Direction;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, fstat, statat};
use rustix::io::Errno;

use super::error::FsError;
use super::metadata::FileKind;
use super::open::NAME_ONLY;
use super::read::wrong_kind;
use super::resolve::Tail;
use super::scoped::ScopedFs;

/// One name in a directory.
#[non_exhaustive]
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct DirEntry {
    /// The name, as it is; not every name is text.
    pub name: OsString,
    /// What it is; a link is a link, whatever it points to.
    pub kind: FileKind,
}

impl DirEntry {
    /// Makes an entry, for a [`FileStorage`](super::FileStorage).
    pub fn new(name: impl Into<OsString>, kind: FileKind) -> Self {
        Self { name: name.into(), kind }
    }
}

/// Reads a directory.
pub(super) const SCAN: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NONBLOCK);

impl ScopedFs {
    /// Returns the names in a directory, sorted.
    ///
    /// # Errors
    ///
    /// The path is not granted for reading, is not there, or is not a directory.
    pub fn list(&self, path: impl AsRef<Path>) -> Result<Vec<DirEntry>, FsError> {
        let asked = self.asked(path.as_ref(), Direction::Read)?;
        if let Some(storage) = &self.storage {
            return self.list_stored(storage, &asked);
        }
        let listed = self.resolve("list", &asked, Direction::Read, Tail::Follow, |spot| {
            match spot.open(SCAN, Mode::empty()) {
                Err(Errno::NOTDIR) => {
                    // Also when something above it is no directory; then this fails as well.
                    let stat = fstat(spot.open(NAME_ONLY, Mode::empty())?)?;
                    // A directory after all: it was swapped meanwhile, and is tried again like a link.
                    if FileKind::of_stat(&stat) == FileKind::Directory {
                        Err(Errno::LOOP)
                    } else {
                        Ok(Err(stat))
                    }
                }
                dir => entries(&dir?).map(Ok),
            }
        })?;
        listed.map_err(|stat| wrong_kind(&stat, FileKind::Directory, &asked))
    }
}

/// Returns what a directory holds, sorted by name.
pub(super) fn entries(dir: &OwnedFd) -> Result<Vec<DirEntry>, Errno> {
    let mut entries = Vec::new();
    for entry in Dir::read_from(dir)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        let kind = match entry.file_type() {
            FileType::Unknown => kind_of(dir.as_fd(), name)?,
            kind => Some(FileKind::of(kind)),
        };
        entries.extend(kind.map(|kind| DirEntry { name: name.to_owned(), kind }));
    }
    entries.sort_unstable();
    Ok(entries)
}

/// Returns what a name stands for, where the directory itself does not say; nothing when it is gone.
fn kind_of(dir: BorrowedFd<'_>, name: &OsStr) -> Result<Option<FileKind>, Errno> {
    match statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(FileKind::of_stat(&stat))),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno),
    }
}
