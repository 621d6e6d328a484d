//! The rollback journal of SQLite, which a store never has: it keeps a write-ahead log.
//!
//! SQLite rolls a file of that name back into the database that it opens, whoever wrote it. So an empty one, which SQLite takes for none,
//! lies beside each store, where sandboxes hide it; one that holds something is refused.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::error::SqliteError;
use super::file::{self, FileId};
use super::{instance, mark};

/// What is appended to the name of a store.
const SUFFIX: &str = "-journal";

/// An empty journal, as it was before the database was opened.
#[derive(Debug)]
pub(super) struct EmptyJournal {
    path: PathBuf,
    found: Option<FileId>,
}

impl EmptyJournal {
    /// Looks before the database is opened, and makes the journal where there is none.
    ///
    /// # Errors
    ///
    /// It holds something.
    pub(super) fn beside(store: &Path) -> Result<Self, SqliteError> {
        let path = name(store);
        // A name that was mistyped gets no file.
        if !file::exists(store)? {
            return Ok(Self { found: look(&path)?, path });
        }
        match file::open_new(&path) {
            // Whoever may only read makes none, and nobody else can there.
            Ok(_)
            | Err(
                SqliteError::Exists { .. }
                | SqliteError::File {
                    why: ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem, ..
                },
            ) => {}
            Err(error) => return Err(error),
        }
        let found = look(&path)?;
        Ok(Self { path, found })
    }

    /// Looks again when the database was read, which is when SQLite would have rolled back and removed it.
    ///
    /// # Errors
    ///
    /// It is another one, or holds something.
    pub(super) fn check(&self) -> Result<(), SqliteError> {
        if look(&self.path)? == self.found { Ok(()) } else { Err(planted(&self.path)) }
    }
}

/// Makes the journal of a new store, whose first write has removed it.
pub(super) fn make(store: &Path) -> Result<(), SqliteError> {
    EmptyJournal::beside(store).map(drop)
}

/// Makes the files of a store that are not there and that SQLite would take for a part of it, whoever wrote them: what is not there
/// cannot be hidden from commands. Says whether one was made.
///
/// # Errors
///
/// A file is no plain one, or cannot be made.
pub fn make_companions(store: &Path) -> Result<bool, SqliteError> {
    let store = file::resolve(store)?;
    // Only a store has its lock or its mark beside it. One of somebody else is theirs to look after.
    let is_store = file::exists(&beside(&store, ".lock"))? || file::exists(&mark::path(&store))?;
    if !is_store || matches!(file::check_owner(&store), Err(SqliteError::Permissions { .. })) {
        return Ok(false);
    }
    file::check(&store)?;
    let mut has_made = !file::exists(&name(&store))?;
    for suffix in ["-wal", "-shm"] {
        match file::open_new(&beside(&store, suffix)) {
            Err(SqliteError::Exists { .. }) => {}
            made => has_made |= made.map(|_| true)?,
        }
    }
    instance::make_folder(&store)?;
    make(&store)?;
    Ok(has_made)
}

fn look(path: &Path) -> Result<Option<FileId>, SqliteError> {
    match file::look(path)? {
        Some((found, stamp)) if stamp.size == 0 => Ok(Some(found)),
        Some(_) => Err(planted(path)),
        None => Ok(None),
    }
}

fn planted(path: &Path) -> SqliteError {
    SqliteError::Journal { path: path.to_owned() }
}

fn name(store: &Path) -> PathBuf {
    beside(store, SUFFIX)
}

fn beside(store: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(store);
    name.push(suffix);
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_empty_journal_is_one() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("x.db");
        EmptyJournal::beside(&store).unwrap();
        assert!(!name(&store).exists(), "there is no store");
        std::fs::write(&store, "").unwrap();
        let journal = EmptyJournal::beside(&store).unwrap();
        assert_eq!(name(&store).metadata().unwrap().len(), 0);
        journal.check().unwrap();

        // SQLite removes what it has rolled back.
        std::fs::remove_file(name(&store)).unwrap();
        assert!(matches!(journal.check(), Err(SqliteError::Journal { .. })));
        std::fs::write(name(&store), "x").unwrap();
        assert!(matches!(journal.check(), Err(SqliteError::Journal { .. })));
        assert!(matches!(EmptyJournal::beside(&store), Err(SqliteError::Journal { .. })));
    }
}
