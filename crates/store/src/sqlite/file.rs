//! The files of a database, and who may reach them.
//!
//! INVARIANT: an existing database file is looked at and never opened here. Closing any handle on it would release
//! the locks that SQLite holds on it in this process.

use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::error::SqliteError;

/// The state of a file: whoever writes to it changes this.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Stamp {
    /// Its length in bytes.
    pub(super) size: u64,
    /// When it was last changed, in seconds since 1970.
    pub(super) seconds: i64,
    /// The nanoseconds of that.
    pub(super) nanoseconds: u64,
}

/// Which file it is, as long as somebody has it open.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct FileId {
    device: u64,
    inode: u64,
}

/// Looks which file has this name and in what state it is; nothing where there is none. One that has other names too is refused: it
/// could be written by any of them.
pub(super) fn look(path: &Path) -> Result<Option<(FileId, Stamp)>, SqliteError> {
    let stat = match rustix::fs::lstat(path) {
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
        stat => stat.map_err(|errno| SqliteError::from_io(path, &errno.into()))?,
    };
    #[expect(clippy::useless_conversion, reason = "the types differ between architectures")]
    let (size, seconds) = (u64::try_from(stat.st_size).unwrap_or(0), i64::from(stat.st_ctime));
    let stamp = Stamp { size, seconds, nanoseconds: stat.st_ctime_nsec };
    if stat.st_nlink > 1 {
        return Err(SqliteError::Linked { path: path.to_owned() });
    }
    Ok(Some((FileId { device: stat.st_dev, inode: stat.st_ino }, stamp)))
}

/// Returns the path with its directory resolved, so that only the last name could still be a link.
pub(super) fn resolve(path: &Path) -> Result<PathBuf, SqliteError> {
    let missing = || SqliteError::File { path: path.to_owned(), why: ErrorKind::InvalidInput };
    let name = path.file_name().ok_or_else(missing)?;
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let parent = parent.canonicalize().map_err(|error| SqliteError::from_io(path, &error))?;
    Ok(parent.join(name))
}

/// Makes a file that only its owner can reach, and makes its name durable.
pub(super) fn create(path: &Path) -> Result<File, SqliteError> {
    let file = open_new(path)?;
    sync_name(path)?;
    Ok(file)
}

/// Gives a file another name in the same folder, in place of whatever has it, and makes that durable.
pub(super) fn rename(from: &Path, to: &Path) -> Result<(), SqliteError> {
    rustix::fs::rename(from, to).map_err(|errno| SqliteError::from_io(to, &errno.into()))?;
    sync_name(to)
}

/// Removes a file, where there is one.
pub(super) fn remove(path: &Path) -> Result<(), SqliteError> {
    match rustix::fs::unlink(path) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(errno) => Err(SqliteError::from_io(path, &errno.into())),
    }
}

fn sync_name(path: &Path) -> Result<(), SqliteError> {
    let parent = path.parent().unwrap_or(Path::new("/"));
    let directory = File::open(parent).and_then(|directory| directory.sync_all());
    directory.map_err(|error| SqliteError::from_io(path, &error))
}

/// Makes the file where there is none.
pub(super) fn create_missing(path: &Path) -> Result<(), SqliteError> {
    match create(path) {
        Err(SqliteError::Exists { .. }) => Ok(()),
        created => created.map(drop),
    }
}

/// Refuses a file that others can read or write, and whatever is not a regular file.
pub(super) fn check(path: &Path) -> Result<(), SqliteError> {
    let stat = rustix::fs::lstat(path).map_err(|errno| SqliteError::from_io(path, &errno.into()))?;
    let mode = Mode::from_raw_mode(stat.st_mode);
    let regular = rustix::fs::FileType::from_raw_mode(stat.st_mode).is_file();
    if regular && !mode.intersects(Mode::RWXG | Mode::RWXO) {
        Ok(())
    } else {
        Err(SqliteError::Permissions { path: path.to_owned() })
    }
}

/// Refuses a folder in which others can make files: one of them beside the database would be taken for a part of it.
pub(super) fn check_folder(path: &Path) -> Result<(), SqliteError> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    let stat = rustix::fs::stat(folder).map_err(|errno| SqliteError::from_io(folder, &errno.into()))?;
    let mode = Mode::from_raw_mode(stat.st_mode);
    let is_ours = stat.st_uid == rustix::process::geteuid().as_raw() || stat.st_uid == 0;
    if is_ours && !mode.intersects(Mode::WGRP | Mode::WOTH) {
        Ok(())
    } else {
        Err(SqliteError::Folder { path: folder.to_owned() })
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

/// Says whether there is something by that name.
pub(super) fn exists(path: &Path) -> Result<bool, SqliteError> {
    match rustix::fs::lstat(path) {
        Ok(_) => Ok(true),
        Err(Errno::NOENT) => Ok(false),
        Err(errno) => Err(SqliteError::from_io(path, &errno.into())),
    }
}

/// Makes a file that only its owner can reach.
pub(super) fn open_new(path: &Path) -> Result<File, SqliteError> {
    open(path, OFlags::CREATE | OFlags::EXCL)
}

/// Opens a file that is no database, and makes it where there is none.
pub(super) fn open_or_create(path: &Path) -> Result<File, SqliteError> {
    open(path, OFlags::CREATE)
}

/// Opens a file that is no database.
pub(super) fn open_existing(path: &Path) -> Result<File, SqliteError> {
    open(path, OFlags::empty())
}

fn open(path: &Path, flags: OFlags) -> Result<File, SqliteError> {
    let flags = flags | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR);
    opened.map(File::from).map_err(|errno| SqliteError::from_io(path, &errno.into()))
}
