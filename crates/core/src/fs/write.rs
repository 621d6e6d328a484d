//! Writing regular files, in place.

use std::fs::File;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::path::Path;

use ringfence_policy::Direction;
use rustix::fs::{Mode, OFlags, Stat, fstat, ftruncate};
use rustix::io::Errno;

use super::error::{FsError, shown};
use super::open::{NAME_ONLY, hard_links};
use super::read::regular;
use super::resolve::{Spot, Tail};
use super::scoped::ScopedFs;
use super::storage::Placement;

const WRITE: OFlags = OFlags::WRONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY);
const NEW: OFlags = WRITE.union(OFlags::CREATE).union(OFlags::EXCL);

/// How often a file may appear or vanish between looking and opening.
const ATTEMPTS: usize = 16;

/// What a path to be written stands for.
pub(super) enum Target {
    /// A file that is there, with what is known of it.
    Existing(Stat),
    /// A name that is free in a directory that is there.
    New,
}

impl ScopedFs {
    /// Makes `content` the whole content of a file, which is created where it is missing.
    ///
    /// # Errors
    ///
    /// The path is not granted for writing, its directory is not there, it is not a regular file, or it has several
    /// hard links.
    pub fn write(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) -> Result<(), FsError> {
        let asked = self.asked_file(path.as_ref(), Direction::Write, "write")?;
        if let Some(storage) = &self.storage {
            return self.write_stored(storage, &asked, content.as_ref(), Placement::Whole);
        }
        let mut file = self.open_to_write(&asked, OFlags::empty())?;
        ftruncate(&file, 0).map_err(FsError::at("write", &asked))?;
        file.write_all(content.as_ref()).map_err(|error| FsError::io("write", &asked, error))
    }

    /// Adds `content` at the end of a file, which is created where it is missing.
    ///
    /// # Errors
    ///
    /// As for [`ScopedFs::write`].
    pub fn append(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) -> Result<(), FsError> {
        let asked = self.asked_file(path.as_ref(), Direction::Write, "write")?;
        if let Some(storage) = &self.storage {
            return self.write_stored(storage, &asked, content.as_ref(), Placement::End);
        }
        let mut file = self.open_to_write(&asked, OFlags::APPEND)?;
        file.write_all(content.as_ref()).map_err(|error| FsError::io("write", &asked, error))
    }

    /// Opens a regular file of one name for writing, its content untouched, or creates it.
    pub(super) fn open_to_write(&self, asked: &Path, extra: OFlags) -> Result<File, FsError> {
        let (stat, file) = self.resolve("write", asked, Direction::Write, Tail::Follow, |spot| {
            for _ in 0..ATTEMPTS {
                let opened = match target(spot)? {
                    Target::Existing(stat) if !writable(&stat) => return Ok((stat, None)),
                    Target::Existing(_) => spot.open(WRITE | extra, Mode::empty()),
                    Target::New => spot.open(NEW | extra, Mode::from_raw_mode(0o666)),
                };
                match opened {
                    Err(Errno::EXIST | Errno::NOENT) => {}
                    opened => {
                        let file = opened?;
                        return Ok((fstat(&file)?, Some(file)));
                    }
                }
            }
            Err::<(Stat, Option<OwnedFd>), _>(Errno::AGAIN)
        })?;
        check_writable(&stat, asked)?;
        file.map(File::from).ok_or_else(|| FsError::io("write", asked, Errno::AGAIN))
    }
}

/// Looks at what is to be written, by name only.
pub(super) fn target(spot: &Spot) -> Result<Target, Errno> {
    match spot.open(NAME_ONLY, Mode::empty()) {
        Ok(named) => Ok(Target::Existing(fstat(named)?)),
        // The name is free; a missing or unreachable directory is the error to report.
        Err(Errno::NOENT) => spot.open_parent().map(|_| Target::New),
        Err(errno) => Err(errno),
    }
}

fn writable(stat: &Stat) -> bool {
    check_writable(stat, Path::new("")).is_ok()
}

/// Checks that a file may be written in place.
pub(super) fn check_writable(stat: &Stat, asked: &Path) -> Result<(), FsError> {
    regular(stat, asked)?;
    let links = hard_links(stat);
    if links > 1 {
        return Err(FsError::HardLinked { path: shown(asked), links });
    }
    Ok(())
}
