//! Handles on files, for callers that read and write in steps of their own.
//!
//! INVARIANT: a handle is for what was judged and nothing else: one that reads is a path granted for reading, one that
//! writes is a path granted for writing, and one that does both is granted for both.

use std::ffi::OsString;
use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;

use ringfence_policy::Direction;
use rustix::fs::{Mode, OFlags, Stat, fstat, ftruncate};
use rustix::io::Errno;

use super::error::FsError;
use super::list::SCAN;
use super::metadata::FileKind;
use super::open::{NAME_ONLY, link_target, step};
use super::read::wrong_kind;
use super::resolve::{Spot, Tail};
use super::scoped::ScopedFs;
use super::write::{Target, check_writable, target};

/// How a regular file is opened. It starts from nothing: what is not asked for is not done.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Opening {
    /// What is done with the file.
    pub mode: OpenMode,
    /// Whether the file is there, or is made.
    pub create: Create,
    /// Whether what it holds is thrown away; only where it is opened for writing.
    pub truncate: bool,
}

/// What an opened file is for.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum OpenMode {
    /// It is read.
    #[default]
    Read,
    /// It is read and written.
    ReadWrite,
    /// It is written.
    Write,
}

/// What happens where a file is missing.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Create {
    /// That is an error.
    #[default]
    Never,
    /// It is created.
    Missing,
    /// It is created, and one that is there is an error.
    New,
}

/// Whether a link at the end of a path is meant itself or what it leads to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LastLink {
    /// What it leads to, within the grant.
    Follow,
    /// The link.
    Itself,
}

impl ScopedFs {
    /// Opens a regular file.
    ///
    /// # Errors
    ///
    /// The path is not granted for what is asked, is not there, is not a regular file, or is to be written and has
    /// several hard links. [`Create`] and [`Opening::truncate`] are refused for a file that is only read.
    pub fn open(&self, path: impl AsRef<Path>, opening: Opening) -> Result<File, FsError> {
        let (direction, verb) = match opening.mode {
            OpenMode::Read => (Direction::Read, "read"),
            OpenMode::ReadWrite | OpenMode::Write => (Direction::Write, "write"),
        };
        let asked = self.asked_file(path.as_ref(), direction, verb)?;
        if opening.mode == OpenMode::Read {
            if opening.truncate || opening.create != Create::Never {
                return Err(FsError::io(verb, &asked, Errno::INVAL));
            }
            return self.open_to_read(&asked).map(|(file, _)| file);
        }
        let mut readable = Ok(());
        let (stat, file) = self.resolve(verb, &asked, Direction::Write, Tail::Follow, |spot| {
            if opening.mode == OpenMode::ReadWrite {
                readable = self.admit(&spot.path, Direction::Read, &asked);
                if readable.is_err() {
                    return Ok((None, None));
                }
            }
            let (stat, file) = open_spot(spot, opening)?;
            Ok((Some(stat), file))
        })?;
        if opening.mode == OpenMode::ReadWrite {
            self.touched(&asked, Direction::Read, &readable);
            readable?;
        }
        let again = || FsError::io(verb, &asked, Errno::AGAIN);
        check_writable(&stat.ok_or_else(again)?, &asked)?;
        let file = file.ok_or_else(again)?;
        if opening.truncate {
            ftruncate(&file, 0).map_err(FsError::at(verb, &asked))?;
        }
        Ok(file)
    }

    /// Opens a directory, to list it.
    ///
    /// # Errors
    ///
    /// The path is not granted for reading, is not there, or is not a directory.
    pub fn open_dir(&self, path: impl AsRef<Path>) -> Result<File, FsError> {
        let asked = self.asked(path.as_ref(), Direction::Read)?;
        let opened = self.resolve("list", &asked, Direction::Read, Tail::Follow, |spot| {
            let named = fstat(spot.open(NAME_ONLY, Mode::empty())?)?;
            if FileKind::of_stat(&named) != FileKind::Directory {
                return Ok(Err(named));
            }
            spot.open(SCAN, Mode::empty()).map(Ok)
        })?;
        match opened {
            Ok(handle) => Ok(handle.into()),
            Err(stat) => Err(wrong_kind(&stat, FileKind::Directory, &asked)),
        }
    }

    /// Opens whatever is there to be looked at: the handle tells what it is, and neither reads nor writes it.
    ///
    /// # Errors
    ///
    /// The path is not granted for reading, or is not there.
    pub fn open_name(&self, path: impl AsRef<Path>, last: LastLink) -> Result<File, FsError> {
        let asked = self.asked(path.as_ref(), Direction::Read)?;
        let handle = match last {
            LastLink::Follow => self.resolve("inspect", &asked, Direction::Read, Tail::Follow, |spot| {
                spot.open(NAME_ONLY, Mode::empty())
            }),
            LastLink::Itself => self.resolve("inspect", &asked, Direction::Read, Tail::Entry, |spot| {
                match spot.name() {
                    Ok(name) => step(rustix::fd::AsFd::as_fd(&spot.open_parent()?), name.as_ref()),
                    // The path is the root below which everything is opened; it is no link.
                    Err(_) => spot.open(NAME_ONLY, Mode::empty()),
                }
            }),
        };
        handle.map(File::from)
    }

    /// Returns where a symbolic link leads, as it is written in the link. Nothing is followed.
    ///
    /// # Errors
    ///
    /// The path is not granted for reading, is not there, or is not a link.
    pub fn read_link(&self, path: impl AsRef<Path>) -> Result<OsString, FsError> {
        let asked = self.asked(path.as_ref(), Direction::Read)?;
        self.resolve("read", &asked, Direction::Read, Tail::Entry, |spot| {
            let (dir, name) = (spot.open_parent()?, Path::new(spot.name()?));
            let link = step(dir.as_fd(), name)?;
            if FileKind::of_stat(&fstat(&link)?) != FileKind::Symlink {
                return Err(Errno::INVAL);
            }
            link_target(dir.as_fd(), name, &link)
        })
    }
}

/// How often a file may appear or vanish between looking and opening.
const ATTEMPTS: usize = 16;

/// Opens a judged path for writing, without throwing anything away; no handle where it may not be written in place.
fn open_spot(spot: &Spot, opening: Opening) -> Result<(Stat, Option<File>), Errno> {
    let access = match opening.mode {
        OpenMode::Read => OFlags::RDONLY,
        OpenMode::ReadWrite => OFlags::RDWR,
        OpenMode::Write => OFlags::WRONLY,
    };
    let flags = access | OFlags::NONBLOCK | OFlags::NOCTTY;
    for _ in 0..ATTEMPTS {
        let opened = match (target(spot)?, opening.create) {
            (Target::Existing(_), Create::New) => return Err(Errno::EXIST),
            (Target::Existing(stat), _) if check_writable(&stat, Path::new("")).is_err() => {
                return Ok((stat, None));
            }
            (Target::Existing(_), _) => spot.open(flags, Mode::empty()),
            (Target::New, Create::Never) => return Err(Errno::NOENT),
            (Target::New, _) => spot.open(flags | OFlags::CREATE | OFlags::EXCL, Mode::from_raw_mode(0o666)),
        };
        match opened {
            Err(Errno::EXIST | Errno::NOENT) => {}
            opened => {
                let file = File::from(opened?);
                return Ok((fstat(&file)?, Some(file)));
            }
        }
    }
    Err(Errno::AGAIN)
}
