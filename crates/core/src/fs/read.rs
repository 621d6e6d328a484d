//! Reading regular files.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use ringfence_policy::Direction;
use rustix::fs::{Mode, OFlags, Stat, fstat};
use rustix::io::Errno;

use super::error::{FsError, shown};
use super::metadata::FileKind;
use super::open::NAME_ONLY;
use super::resolve::Tail;
use super::scoped::ScopedFs;

/// Never waits for the other end of a FIFO, never makes a terminal ours.
const READ: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

impl ScopedFs {
    /// Returns the content of a file as text.
    ///
    /// # Errors
    ///
    /// The path is not granted for reading, is not there, is not a regular file, is over the limit, or is not UTF-8.
    pub fn read(&self, path: impl AsRef<Path>) -> Result<String, FsError> {
        let asked = self.asked_file(path.as_ref(), Direction::Read, "read")?;
        String::from_utf8(self.content(&asked)?).map_err(|_| FsError::NotText { path: shown(&asked) })
    }

    /// Returns the content of a file.
    ///
    /// # Errors
    ///
    /// The path is not granted for reading, is not there, is not a regular file, or is over the limit.
    pub fn read_bytes(&self, path: impl AsRef<Path>) -> Result<Vec<u8>, FsError> {
        self.content(&self.asked_file(path.as_ref(), Direction::Read, "read")?)
    }

    fn content(&self, asked: &Path) -> Result<Vec<u8>, FsError> {
        if let Some(storage) = &self.storage {
            return self.read_stored(storage, asked);
        }
        let (file, stat) = self.open_to_read(asked)?;
        self.fits(&stat, asked)?;
        let mut bytes = Vec::with_capacity(usize::try_from(stat.st_size).unwrap_or_default());
        // The size may be a lie (a file of /proc) or change meanwhile: the limit holds for what is read.
        let read = file.take(self.read_limit.saturating_add(1)).read_to_end(&mut bytes);
        read.map_err(|error| FsError::io("read", asked, error))?;
        if bytes.len() as u64 > self.read_limit {
            return Err(FsError::TooLarge { path: shown(asked), limit: self.read_limit });
        }
        Ok(bytes)
    }

    /// Opens a regular file for reading. Anything else is looked at by name only: opening a device may act on it.
    pub(super) fn open_to_read(&self, asked: &Path) -> Result<(File, Stat), FsError> {
        let (named, opened) = self.resolve("read", asked, Direction::Read, Tail::Follow, |spot| {
            let named = fstat(spot.open(NAME_ONLY, Mode::empty())?)?;
            if FileKind::of_stat(&named) != FileKind::File {
                return Ok((named, None));
            }
            let file = spot.open(READ, Mode::empty())?;
            let stat = fstat(&file)?;
            Ok::<_, Errno>((stat, Some(file)))
        })?;
        regular(&named, asked)?;
        match opened {
            Some(file) => Ok((file.into(), named)),
            None => Err(FsError::io("read", asked, Errno::AGAIN)),
        }
    }

    /// Checks the size of a file against the read limit.
    pub(super) fn fits(&self, stat: &Stat, asked: &Path) -> Result<(), FsError> {
        self.fits_limit(u64::try_from(stat.st_size).unwrap_or_default(), asked)
    }
}

/// Checks that something is a regular file.
pub(super) fn regular(stat: &Stat, asked: &Path) -> Result<(), FsError> {
    expect(stat, FileKind::File, asked)
}

/// Checks that something is of the wanted kind.
pub(super) fn expect(stat: &Stat, wanted: FileKind, asked: &Path) -> Result<(), FsError> {
    if FileKind::of_stat(stat) == wanted { Ok(()) } else { Err(wrong_kind(stat, wanted, asked)) }
}

/// Returns the error for something that is not of the wanted kind.
pub(super) fn wrong_kind(stat: &Stat, wanted: FileKind, asked: &Path) -> FsError {
    FsError::WrongKind { path: shown(asked), found: FileKind::of_stat(stat), wanted }
}
