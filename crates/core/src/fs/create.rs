//! Making directories.

use std::path::Path;

use ringfence_policy::Direction;
use rustix::fs::{Mode, fstat, mkdirat};

use super::error::FsError;
use super::metadata::FileKind;
use super::open::NAME_ONLY;
use super::read::expect;
use super::resolve::Tail;
use super::scoped::ScopedFs;
use super::storage;

impl ScopedFs {
    /// Makes a directory in one that is there.
    ///
    /// # Errors
    ///
    /// The path is not granted for writing, its parent is not there, or the name is taken.
    pub fn create_dir(&self, path: impl AsRef<Path>) -> Result<(), FsError> {
        let asked = self.asked(path.as_ref(), Direction::Write)?;
        self.make_dir(&asked)
    }

    /// Makes a directory and the missing ones above it. Each must be granted for writing.
    ///
    /// # Errors
    ///
    /// A directory to be made is not granted, or a name is taken by something else.
    pub fn create_dir_all(&self, path: impl AsRef<Path>) -> Result<(), FsError> {
        let asked = self.asked(path.as_ref(), Direction::Write)?;
        let mut missing = Vec::new();
        let mut at = asked.as_path();
        loop {
            match self.make_dir(at) {
                Ok(()) => break,
                Err(error) if error.is_already_exists() => {
                    self.is_dir(at)?;
                    break;
                }
                Err(error) if error.is_not_found() => {
                    missing.push(at);
                    at = at.parent().ok_or(error)?;
                }
                Err(error) => return Err(error),
            }
        }
        for path in missing.into_iter().rev() {
            match self.make_dir(path) {
                Err(error) if error.is_already_exists() => self.is_dir(path)?,
                made => made?,
            }
        }
        Ok(())
    }

    fn make_dir(&self, asked: &Path) -> Result<(), FsError> {
        if let Some(storage) = &self.storage {
            return self.in_storage("create", asked, Direction::Write, || storage.create_dir(asked));
        }
        self.resolve("create", asked, Direction::Write, Tail::Entry, |spot| {
            mkdirat(spot.open_parent()?, spot.name()?, Mode::from_raw_mode(0o777))
        })
    }

    fn is_dir(&self, asked: &Path) -> Result<(), FsError> {
        if let Some(storage) = &self.storage {
            let found = self.stored(storage, "create", asked, Direction::Write)?;
            return storage::expect(&found, FileKind::Directory, asked);
        }
        let stat = self.resolve("create", asked, Direction::Write, Tail::Follow, |spot| {
            fstat(spot.open(NAME_ONLY, Mode::empty())?)
        })?;
        expect(&stat, FileKind::Directory, asked)
    }
}
