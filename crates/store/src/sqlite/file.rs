//! The files of a database: who may reach them, and the lock that keeps a second writer out.
//!
//! INVARIANT: an existing database file is looked at and never opened here. Closing any handle on it would release
//! the locks that SQLite holds on it in this process.

use std::ffi::OsString;
use std::fs::{File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use super::error::SqliteError;

/// Returns the path with its directory resolved, so that only the last name could still be a link.
pub(super) fn resolve(path: &Path) -> Result<PathBuf, SqliteError> {
    let missing = || SqliteError::File { path: path.to_owned(), why: ErrorKind::InvalidInput };
    let name = path.file_name().ok_or_else(missing)?;
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let parent = parent.canonicalize().map_err(|error| SqliteError::from_io(path, &error))?;
    Ok(parent.join(name))
}

/// Makes a file that only its owner can reach, and makes its name durable.
pub(super) fn create(path: &Path) -> Result<(), SqliteError> {
    open(path, OFlags::CREATE | OFlags::EXCL)?;
    let parent = path.parent().unwrap_or(Path::new("/"));
    let directory = File::open(parent).and_then(|directory| directory.sync_all());
    directory.map_err(|error| SqliteError::from_io(path, &error))
}

/// Makes the file where there is none.
pub(super) fn create_missing(path: &Path) -> Result<(), SqliteError> {
    match create(path) {
        Err(SqliteError::Exists { .. }) => Ok(()),
        other => other,
    }
}

/// Refuses a file that others can write or everybody can read, and whatever is not a regular file.
pub(super) fn check(path: &Path) -> Result<(), SqliteError> {
    let stat = rustix::fs::lstat(path).map_err(|errno| SqliteError::from_io(path, &errno.into()))?;
    let mode = Mode::from_raw_mode(stat.st_mode);
    let regular = rustix::fs::FileType::from_raw_mode(stat.st_mode).is_file();
    if regular && !mode.intersects(Mode::WGRP | Mode::WOTH | Mode::ROTH) {
        Ok(())
    } else {
        Err(SqliteError::Permissions { path: path.to_owned() })
    }
}

/// Refuses a file that belongs to another user, who could write to it whatever its mode.
pub(super) fn check_owner(path: &Path) -> Result<(), SqliteError> {
    let stat = rustix::fs::lstat(path).map_err(|errno| SqliteError::from_io(path, &errno.into()))?;
    if stat.st_uid == rustix::process::geteuid().as_raw() {
        Ok(())
    } else {
        Err(SqliteError::Permissions { path: path.to_owned() })
    }
}

/// Takes the lock beside a database; it is released when the handle is closed.
///
/// The file stays: removing it would let two processes lock two files of one name.
pub(super) fn lock(path: &Path) -> Result<File, SqliteError> {
    let mut name = OsString::from(path);
    name.push(".lock");
    let path = PathBuf::from(name);
    let file = open(&path, OFlags::CREATE)?;
    check(&path)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(SqliteError::Locked { path }),
        Err(TryLockError::Error(error)) => Err(SqliteError::from_io(&path, &error)),
    }
}

fn open(path: &Path, flags: OFlags) -> Result<File, SqliteError> {
    let flags = flags | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR);
    opened.map(File::from).map_err(|errno| SqliteError::from_io(path, &errno.into()))
}
