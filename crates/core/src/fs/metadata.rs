//! What a file is.

use std::fmt;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ringfence_policy::Direction;
use rustix::fs::{FileType, Mode, Stat, fstat};

use super::error::FsError;
use super::open::NAME_ONLY;
use super::resolve::Tail;
use super::scoped::ScopedFs;

/// What kind of thing a name stands for.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum FileKind {
    /// A directory.
    Directory,
    /// A regular file.
    File,
    /// A FIFO, a socket or a device.
    Special,
    /// A symbolic link.
    Symlink,
}

impl FileKind {
    pub(super) fn of(kind: FileType) -> Self {
        match kind {
            FileType::Directory => Self::Directory,
            FileType::RegularFile => Self::File,
            FileType::Symlink => Self::Symlink,
            _ => Self::Special,
        }
    }

    pub(super) fn of_stat(stat: &Stat) -> Self {
        Self::of(FileType::from_raw_mode(stat.st_mode))
    }
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Directory => "directory",
            Self::File => "regular file",
            Self::Special => "special file",
            Self::Symlink => "symbolic link",
        })
    }
}

/// What is known of a file without opening it.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Metadata {
    /// What it is, links followed.
    pub kind: FileKind,
    /// Its size in bytes.
    pub len: u64,
    /// When it was changed last; absent for times before 1970.
    pub modified: Option<SystemTime>,
    /// Whether its mode has no write permission for anybody.
    pub readonly: bool,
}

impl Metadata {
    /// Says what is kept of a file in a [`FileStorage`](super::FileStorage).
    pub const fn new(kind: FileKind, len: u64) -> Self {
        Self { kind, len, modified: None, readonly: false }
    }
}

impl ScopedFs {
    /// Returns what the file is; links are followed within the grant.
    ///
    /// # Errors
    ///
    /// The path is not granted for reading, or is not there.
    pub fn metadata(&self, path: impl AsRef<Path>) -> Result<Metadata, FsError> {
        let asked = self.asked(path.as_ref(), Direction::Read)?;
        if let Some(storage) = &self.storage {
            return self.stored(storage, "inspect", &asked, Direction::Read);
        }
        let stat = self.resolve("inspect", &asked, Direction::Read, Tail::Follow, |spot| {
            fstat(spot.open(NAME_ONLY, Mode::empty())?)
        })?;
        let seconds = u64::try_from(stat.st_mtime).ok().map(Duration::from_secs);
        Ok(Metadata {
            kind: FileKind::of_stat(&stat),
            len: u64::try_from(stat.st_size).unwrap_or_default(),
            modified: seconds.and_then(|since| {
                let nanos = u32::try_from(stat.st_mtime_nsec).unwrap_or_default();
                UNIX_EPOCH.checked_add(since)?.checked_add(Duration::new(0, nanos))
            }),
            readonly: stat.st_mode & 0o222 == 0,
        })
    }

    /// Tells whether something is there; links are followed within the grant.
    ///
    /// # Errors
    ///
    /// The path is not granted for reading, or a link on the way leads out of the grant.
    pub fn exists(&self, path: impl AsRef<Path>) -> Result<bool, FsError> {
        let asked = self.asked(path.as_ref(), Direction::Read)?;
        let open = match &self.storage {
            Some(storage) => self.stored(storage, "look for", &asked, Direction::Read).map(drop),
            None => self.resolve("look for", &asked, Direction::Read, Tail::Follow, |spot| {
                spot.open(NAME_ONLY, Mode::empty()).map(drop)
            }),
        };
        match open {
            Ok(()) => Ok(true),
            Err(error) if error.is_not_found() => Ok(false),
            Err(error) => Err(error),
        }
    }
}
