//! Files that are kept elsewhere than on this machine: what keeps them, and what [`ScopedFs`] does with it.
//!
//! INVARIANT: a storage is asked only for paths that the grant admits. What needs a handle of the operating system is an error, so
//! that nothing falls through to the files of this machine.

use std::io;
use std::path::Path;
use std::sync::Arc;

use ringfence_policy::Direction;

use super::error::{FsError, shown};
use super::list::DirEntry;
use super::metadata::{FileKind, Metadata};
use super::rename::Existing;
use super::scoped::ScopedFs;

/// Keeps files for [`ScopedFs`], which judges every path before it asks.
///
/// Paths are absolute and normalised: no `.`, no `..`. A storage has no links: a path names one file, or none. See
/// [`MemoryFiles`](super::MemoryFiles) for one that a test can fill.
pub trait FileStorage: std::fmt::Debug + Send + Sync {
    /// Returns what a path names.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::NotFound`] where there is nothing, or what the storage says.
    fn metadata(&self, path: &Path) -> io::Result<Metadata>;

    /// Returns the content of a file.
    ///
    /// # Errors
    ///
    /// It is not there or no file, or what the storage says.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;

    /// Makes `content` the whole content of a file, which is created in a directory that is there.
    ///
    /// # Errors
    ///
    /// The directory is not there, the path is no file, or what the storage says.
    fn write(&self, path: &Path, content: &[u8]) -> io::Result<()>;

    /// Returns what a directory holds, in any order.
    ///
    /// # Errors
    ///
    /// It is not there or no directory, or what the storage says.
    fn list(&self, path: &Path) -> io::Result<Vec<DirEntry>>;

    /// Makes a directory in one that is there.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::AlreadyExists`], [`io::ErrorKind::NotFound`] for the directory around it, or what the storage says.
    fn create_dir(&self, path: &Path) -> io::Result<()>;

    /// Removes a file or an empty directory.
    ///
    /// # Errors
    ///
    /// It is not there, a directory that is not empty, or what the storage says.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Gives a file or a directory another name.
    ///
    /// # Errors
    ///
    /// It is not there, the name is taken and `existing` keeps what has it, or what the storage says.
    fn rename(&self, from: &Path, to: &Path, existing: Existing) -> io::Result<()>;
}

/// Whether written content replaces what is there or follows it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Placement {
    End,
    Whole,
}

impl ScopedFs {
    /// Judges a path, and does something with it in the storage.
    pub(super) fn in_storage<T>(
        &self,
        verb: &'static str,
        asked: &Path,
        direction: Direction,
        act: impl FnOnce() -> io::Result<T>,
    ) -> Result<T, FsError> {
        let done = self
            .admit(asked, direction, asked)
            .and_then(|()| act().map_err(|error| FsError::io(verb, asked, error)));
        self.touched(asked, direction, &done);
        done
    }

    /// Returns what a path names in the storage.
    pub(super) fn stored(
        &self,
        storage: &Arc<dyn FileStorage>,
        verb: &'static str,
        asked: &Path,
        direction: Direction,
    ) -> Result<Metadata, FsError> {
        self.in_storage(verb, asked, direction, || storage.metadata(asked))
    }

    /// Returns the content of a stored file.
    pub(super) fn read_stored(
        &self,
        storage: &Arc<dyn FileStorage>,
        asked: &Path,
    ) -> Result<Vec<u8>, FsError> {
        let found = self.stored(storage, "read", asked, Direction::Read)?;
        expect(&found, FileKind::File, asked)?;
        self.fits_limit(found.len, asked)?;
        let content = self.in_storage("read", asked, Direction::Read, || storage.read(asked))?;
        self.fits_limit(content.len() as u64, asked)?;
        Ok(content)
    }

    /// Writes a stored file.
    pub(super) fn write_stored(
        &self,
        storage: &Arc<dyn FileStorage>,
        asked: &Path,
        content: &[u8],
        placement: Placement,
    ) -> Result<(), FsError> {
        let before = match self.stored(storage, "write", asked, Direction::Write) {
            Ok(found) => {
                expect(&found, FileKind::File, asked)?;
                placement == Placement::End
            }
            Err(error) if error.is_not_found() => false,
            Err(error) => return Err(error),
        };
        self.in_storage("write", asked, Direction::Write, || {
            let mut whole = if before { storage.read(asked)? } else { Vec::new() };
            whole.extend_from_slice(content);
            storage.write(asked, &whole)
        })
    }

    /// Returns what a stored directory holds, sorted.
    pub(super) fn list_stored(
        &self,
        storage: &Arc<dyn FileStorage>,
        asked: &Path,
    ) -> Result<Vec<DirEntry>, FsError> {
        let found = self.stored(storage, "list", asked, Direction::Read)?;
        expect(&found, FileKind::Directory, asked)?;
        let mut entries = self.in_storage("list", asked, Direction::Read, || storage.list(asked))?;
        entries.sort_unstable();
        Ok(entries)
    }

    /// Checks a size against the read limit.
    pub(super) fn fits_limit(&self, len: u64, asked: &Path) -> Result<(), FsError> {
        if len > self.read_limit {
            return Err(FsError::TooLarge { path: shown(asked), limit: self.read_limit });
        }
        Ok(())
    }
}

/// Checks that something stored is of the wanted kind.
pub(super) fn expect(found: &Metadata, wanted: FileKind, asked: &Path) -> Result<(), FsError> {
    if found.kind == wanted {
        return Ok(());
    }
    Err(FsError::WrongKind { path: shown(asked), found: found.kind, wanted })
}
