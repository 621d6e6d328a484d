//! Judging without doing: what would happen, on the real file system.

use std::path::Path;
use std::sync::Arc;

use ringfence_policy::Direction;
use rustix::fs::{Mode, fstat};

use super::error::FsError;
use super::metadata::FileKind;
use super::open::NAME_ONLY;
use super::read::{expect, regular};
use super::resolve::Tail;
use super::scoped::ScopedFs;
use super::storage::{self, FileStorage};
use super::write::{Target, check_writable, target};

/// What somebody would like to do with a path.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Access {
    /// Ask whether it is there.
    Exists,
    /// List a directory.
    List,
    /// Read a file.
    Read,
    /// Write a file, or create it.
    Write,
}

impl ScopedFs {
    /// Answers as the operation would, but changes nothing and opens nothing for real.
    ///
    /// Permission bits of the operating system are not consulted: they speak when the operation runs.
    ///
    /// # Errors
    ///
    /// Those of the operation itself.
    pub fn check(&self, access: Access, path: impl AsRef<Path>) -> Result<(), FsError> {
        let path = path.as_ref();
        if let Some(storage) = &self.storage {
            return self.check_stored(storage, access, path);
        }
        match access {
            Access::Exists => self.exists(path).map(drop),
            Access::List => {
                let asked = self.asked(path, Direction::Read)?;
                expect(&self.named(&asked, "list")?, FileKind::Directory, &asked)
            }
            Access::Read => {
                let asked = self.asked_file(path, Direction::Read, "read")?;
                let stat = self.named(&asked, "read")?;
                regular(&stat, &asked)?;
                self.fits(&stat, &asked)
            }
            Access::Write => {
                let asked = self.asked_file(path, Direction::Write, "write")?;
                match self.resolve("write", &asked, Direction::Write, Tail::Follow, target)? {
                    Target::Existing(stat) => check_writable(&stat, &asked),
                    Target::New => Ok(()),
                }
            }
        }
    }

    fn check_stored(
        &self,
        storage: &Arc<dyn FileStorage>,
        access: Access,
        path: &Path,
    ) -> Result<(), FsError> {
        match access {
            Access::Exists => self.exists(path).map(drop),
            Access::List => {
                let asked = self.asked(path, Direction::Read)?;
                let found = self.stored(storage, "list", &asked, Direction::Read)?;
                storage::expect(&found, FileKind::Directory, &asked)
            }
            Access::Read => {
                let asked = self.asked_file(path, Direction::Read, "read")?;
                let found = self.stored(storage, "read", &asked, Direction::Read)?;
                storage::expect(&found, FileKind::File, &asked)?;
                self.fits_limit(found.len, &asked)
            }
            Access::Write => {
                let asked = self.asked_file(path, Direction::Write, "write")?;
                match self.stored(storage, "write", &asked, Direction::Write) {
                    Ok(found) => storage::expect(&found, FileKind::File, &asked),
                    Err(error) if error.is_not_found() => {
                        let parent = asked.parent().unwrap_or(&asked);
                        let found = storage.metadata(parent);
                        let found = found.map_err(|error| FsError::io("write", &asked, error))?;
                        storage::expect(&found, FileKind::Directory, &asked)
                    }
                    Err(error) => Err(error),
                }
            }
        }
    }

    fn named(&self, asked: &Path, verb: &'static str) -> Result<rustix::fs::Stat, FsError> {
        self.resolve(verb, asked, Direction::Read, Tail::Follow, |spot| {
            fstat(spot.open(NAME_ONLY, Mode::empty())?)
        })
    }
}
