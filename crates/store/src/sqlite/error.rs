//! Why the database did not do what was asked.
//!
//! INVARIANT: no sentence holds a key, a value or a record; each names the file.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use ringfence::audit::{NoteError, ProofError};
use ringfence::{Code, StoreError};
use rusqlite::ErrorCode;

/// Why the database did not do what was asked.
#[non_exhaustive]
#[derive(Clone, Debug, thiserror::Error)]
pub enum SqliteError {
    /// Another connection was in the way for too long.
    #[error("the database `{}` is busy", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// The thread that writes has ended.
    #[error("the database `{}` is closed", path.display())]
    Closed {
        /// The file.
        path: PathBuf,
    },
    /// What is in the file does not fit together.
    #[error("the database `{}` is damaged: {why}", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What does not fit.
        why: String,
    },
    /// Anything else that SQLite says.
    #[error("the database `{}` failed: {why}", path.display())]
    Database {
        /// The file.
        path: PathBuf,
        /// What it says.
        why: String,
    },
    /// The log is not the one that was signed.
    #[error("the log in `{}` no longer matches its newest checkpoint ({signed} records): refusing to sign", path.display())]
    Diverged {
        /// The file.
        path: PathBuf,
        /// How many records were signed.
        signed: u64,
    },
    /// The name led to another file before.
    #[error("the store `{}` was `{}` before and is `{}` now: restore the link, or run `ringfence store accept`", path.display(), before.display(), real.display())]
    Elsewhere {
        /// The name.
        path: PathBuf,
        /// Where it led.
        before: PathBuf,
        /// Where it leads.
        real: PathBuf,
    },
    /// An entry cannot be kept.
    #[error("the entry cannot be kept: {why}")]
    Entry {
        /// Why not.
        why: String,
    },
    /// A file that must be new is there already.
    #[error("the file `{}` exists already", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The operating system refused.
    #[error("the file `{}` {}", path.display(), refused(*why))]
    File {
        /// The file.
        path: PathBuf,
        /// Why not.
        why: ErrorKind,
    },
    /// Other users can make files beside the database.
    #[error("other users may write to the folder `{}`, and a file of theirs beside a database would be taken for a part of it", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
    },
    /// The file is a database of another program, or none.
    #[error("the file `{}` is not a database of ringfence", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// There is no room.
    #[error("there is no room on the disk for the database `{}`", path.display())]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// Somebody put a journal beside the database, which SQLite would roll back into it.
    #[error("`{}` is not from ringfence and would change the store: move it away, then run `ringfence store check`", path.display())]
    Journal {
        /// The journal.
        path: PathBuf,
    },
    /// The file has other names, by which others can write to it.
    #[error("the file `{}` has several names (hard links): remove the others, or copy the store and its mark", path.display())]
    Linked {
        /// The file.
        path: PathBuf,
    },
    /// Another process has it open for writing.
    #[error("another process holds the lock `{}`", path.display())]
    Locked {
        /// The lock file.
        path: PathBuf,
    },
    /// The mark beside the database cannot be read.
    #[error("the mark `{}` is damaged: check the store, then run `ringfence store accept`", path.display())]
    MarkDamaged {
        /// The mark.
        path: PathBuf,
    },
    /// The database has a mark, and it is not there.
    #[error("the mark `{}` is missing: restore it, or run `ringfence store accept`", path.display())]
    MarkMissing {
        /// The mark.
        path: PathBuf,
    },
    /// A newer version of ringfence has written it.
    #[error("the database `{}` has version {found}, and this program knows versions up to {known}", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: i64,
        /// The newest version that is known.
        known: i64,
    },
    /// A checkpoint cannot be made or is not believed.
    #[error(transparent)]
    Note(#[from] NoteError),
    /// An older version has written it, and nothing may be written now.
    #[error("the database `{}` has the old version {found} and must be opened for writing once", path.display())]
    Older {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: i64,
    },
    /// Whoever is handed the entries does not want more.
    #[error("the entries cannot be written out: {0}")]
    Output(ErrorKind),
    /// Other users may read or write the file, or it is not a file.
    #[error("the file `{}` is not a regular file of this user alone; it must have mode 600", path.display())]
    Permissions {
        /// The file.
        path: PathBuf,
    },
    /// A proof cannot be made.
    #[error(transparent)]
    Proof(#[from] ProofError),
    /// Another file is in the place of the database or of one beside it, or its content was exchanged.
    #[error("the store was replaced while it was open (`{}`): stop, restore it or run `ringfence store accept`", path.display())]
    Replaced {
        /// The file.
        path: PathBuf,
    },
    /// The database was opened for reading.
    #[error("the database `{}` was opened for reading only", path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// What was acknowledged is not there any more.
    #[error("the database `{}` lost {missing} acknowledged transactions: restore it, or run `ringfence store accept`", path.display())]
    WentBack {
        /// The file.
        path: PathBuf,
        /// How many transactions are missing; 0 where it is another history.
        missing: u64,
    },
}

impl SqliteError {
    /// Returns the stable code.
    pub const fn code(&self) -> Code {
        match self {
            Self::Busy { .. }
            | Self::Closed { .. }
            | Self::Corrupt { .. }
            | Self::Diverged { .. }
            | Self::Database { .. }
            | Self::Elsewhere { .. }
            | Self::File { .. }
            | Self::Journal { .. }
            | Self::Linked { .. }
            | Self::Locked { .. }
            | Self::MarkDamaged { .. }
            | Self::MarkMissing { .. }
            | Self::Replaced { .. }
            | Self::WentBack { .. }
            | Self::ReadOnly { .. } => Code::NotAvailable,
            Self::Entry { .. } | Self::Output(_) => Code::AuditFailed,
            Self::Exists { .. }
            | Self::Folder { .. }
            | Self::Foreign { .. }
            | Self::Newer { .. }
            | Self::Older { .. }
            | Self::Permissions { .. } => Code::InputInvalid,
            Self::Full { .. } => Code::LimitExceeded,
            Self::Note(error) => error.code(),
            Self::Proof(error) => error.code(),
        }
    }

    /// Says what SQLite's error means for the file.
    pub(super) fn from_sqlite(path: &Path, error: &rusqlite::Error) -> Self {
        let path = path.to_owned();
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy { path },
            Some(ErrorCode::DatabaseCorrupt) => Self::Corrupt { path, why: "its pages are malformed".into() },
            Some(ErrorCode::DiskFull) => Self::Full { path },
            Some(ErrorCode::NotADatabase) => Self::Foreign { path },
            Some(_) => Self::Database { path, why: error.to_string() },
            // A value has another type than its column, or a row is not there.
            None => Self::Corrupt { path, why: error.to_string() },
        }
    }

    /// Says what an error of the operating system means for the file.
    pub(super) fn from_io(path: &Path, error: &std::io::Error) -> Self {
        match error.kind() {
            ErrorKind::AlreadyExists => Self::Exists { path: path.to_owned() },
            ErrorKind::StorageFull => Self::Full { path: path.to_owned() },
            why => Self::File { path: path.to_owned(), why },
        }
    }
}

/// Says what the operating system did, in words for the file.
fn refused(why: ErrorKind) -> String {
    match why {
        ErrorKind::NotFound => "is not there".to_owned(),
        why => format!("cannot be used: {why}"),
    }
}

impl From<SqliteError> for StoreError {
    fn from(error: SqliteError) -> Self {
        Self::Unreachable(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_sqlite_means() {
        #[rustfmt::skip]
        let cases = [
            // result code of SQLite   sentence                                               code
            (5,                        "the database `/x.db` is busy",                        Code::NotAvailable),
            (11,                       "the database `/x.db` is damaged: its pages are malformed", Code::NotAvailable),
            (13,                       "there is no room on the disk for the database `/x.db`", Code::LimitExceeded),
            (26,                       "the file `/x.db` is not a database of ringfence",     Code::InputInvalid),
            (10,                       "the database `/x.db` failed: Error code 10: disk I/O error",         Code::NotAvailable),
        ];
        for (number, sentence, code) in cases {
            let error = rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(number), None);
            let error = SqliteError::from_sqlite(Path::new("/x.db"), &error);
            assert_eq!((error.to_string().as_str(), error.code()), (sentence, code));
        }
        let full = SqliteError::from_io(Path::new("/x.db"), &ErrorKind::StorageFull.into());
        assert_eq!(full.code(), Code::LimitExceeded);
    }
}
