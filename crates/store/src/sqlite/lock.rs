//! The lock beside a database: whoever writes shares it, and whoever makes or changes tables has it alone.
//!
//! The tables are therefore never changed under somebody who knows only the old ones, and two processes that make one
//! database at the same time make it once.
//!
//! INVARIANT: the tables are those of this program while the lock is held, and nobody else changes them.

use std::ffi::OsString;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::error::SqliteError;
use super::{file, schema};

/// How long others may have the file open while its tables must be changed.
const SHARED: Duration = Duration::from_secs(3);
/// How long another may take to change the tables.
const ALONE: Duration = Duration::from_secs(20);
/// How long to sleep before the lock is tried again, at least.
const PAUSE: Duration = Duration::from_millis(5);

/// Returns the lock, shared, with the tables brought up to date, and whether nobody else had it just before; it is released
/// when the handle is closed.
///
/// The lock file stays: removing it would let two processes lock two files of one name.
pub(super) fn share(path: &Path) -> Result<(File, bool), SqliteError> {
    let (file, name) = open(path)?;
    let start = Instant::now();
    let mut shared_since = None;
    let is_first = taken(file.try_lock(), &name)?;
    if is_first {
        release(&file, &name)?;
    }
    for round in 1.. {
        // A lock cannot be turned from shared to exclusive without a gap, so that each look is a new one.
        if taken(file.try_lock_shared(), &name)? {
            if file::exists(path)? && schema::is_current(path)? {
                return Ok((file, is_first));
            }
            release(&file, &name)?;
            if shared_since.get_or_insert_with(Instant::now).elapsed() > SHARED {
                break;
            }
        } else {
            shared_since = None;
        }
        if taken(file.try_lock(), &name)? {
            schema::make(path)?;
            release(&file, &name)?;
        } else if start.elapsed() > ALONE {
            break;
        } else {
            // Two that wait for each other must not do so in step.
            std::thread::sleep(PAUSE * (1 + (std::process::id() ^ round) % 5));
        }
    }
    Err(SqliteError::Locked { path: name })
}

/// Returns the lock for one who has the store alone.
pub(super) fn own(path: &Path) -> Result<File, SqliteError> {
    let (file, name) = open(path)?;
    if taken(file.try_lock(), &name)? { Ok(file) } else { Err(SqliteError::Locked { path: name }) }
}

/// Opens the lock file.
fn open(path: &Path) -> Result<(File, PathBuf), SqliteError> {
    let mut name = OsString::from(path);
    name.push(".lock");
    let name = PathBuf::from(name);
    let file = file::open_or_create(&name)?;
    file::check(&name)?;
    Ok((file, name))
}

/// Says whether a lock was to be had.
pub(super) fn taken(tried: Result<(), TryLockError>, name: &Path) -> Result<bool, SqliteError> {
    match tried {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(SqliteError::from_io(name, &error)),
    }
}

fn release(file: &File, name: &Path) -> Result<(), SqliteError> {
    file.unlock().map_err(|error| SqliteError::from_io(name, &error))
}
