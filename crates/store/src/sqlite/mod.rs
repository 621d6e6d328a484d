//! The audit log and the keys and values of one machine, in one SQLite file.
//!
//! One thread writes; whoever has something to write sends it there and waits. The thread takes everything that
//! waits, commits it in one transaction and then answers all of them, so that callers share the cost of reaching the
//! disk. Readers have connections of their own and see what is committed.
//!
//! INVARIANT: an answer of success is given only after the commit has returned.

mod audit;
mod check;
mod database;
mod error;
mod file;
mod log;
mod pool;
mod schema;
mod seal;
mod value;
mod writer;

use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use ringfence::{Clock, SystemClock};
use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};

pub use self::error::SqliteError;
use self::pool::Pool;
use self::writer::{Change, Done, Writer};

/// An audit log and a key-value store in one file.
///
/// It is cheap to clone. The file is private to its user, and only one process at a time writes to it: the lock is
/// the file beside it whose name ends in `.lock`, and is released when the last clone is dropped.
///
/// The methods block, except those of [`AuditSink`](ringfence::AuditSink) and [`Store`](ringfence::Store).
///
/// # Examples
///
/// ```
/// use ringfence::Store as _;
/// use ringfence_store::SqliteStore;
///
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("ringfence.db");
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let store = SqliteStore::open(&path)?;
/// store.set("notes", "first", "hello", None).await?;
/// assert_eq!(store.get("notes", "first").await?.as_deref(), Some("hello"));
/// assert!(SqliteStore::open(&path).is_err()); // one writer at a time
/// assert_eq!(SqliteStore::open_read_only(&path)?.size()?, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct SqliteStore(Arc<Inner>);

/// What the clones share. The fields are dropped in this order: the writer ends before the lock is released.
struct Inner {
    clock: Arc<dyn Clock>,
    readers: Pool,
    writer: Option<Writer>,
    _lock: Option<File>,
}

impl SqliteStore {
    /// Opens the database for writing, and makes it where there is none.
    ///
    /// # Errors
    ///
    /// Another process writes to it, other users may, it is not ours or of a newer version, or its tree does not fit
    /// its entries.
    pub fn open(path: &Path) -> Result<Self, SqliteError> {
        Self::open_with(path, Arc::new(SystemClock))
    }

    /// Does what [`SqliteStore::open`] does, and expires values by `clock`.
    ///
    /// # Errors
    ///
    /// The same.
    pub fn open_with(path: &Path, clock: Arc<dyn Clock>) -> Result<Self, SqliteError> {
        let path = file::resolve(path)?;
        let lock = file::lock(&path)?;
        file::create_missing(&path)?;
        file::check(&path)?;
        file::check_owner(&path)?;
        let writer = Writer::start(&path, Arc::clone(&clock))?;
        Ok(Self(Arc::new(Inner { clock, readers: Pool::new(path), writer: Some(writer), _lock: Some(lock) })))
    }

    /// Opens the database for reading, beside a process that writes to it.
    ///
    /// A tree that does not fit its entries is no reason to refuse here, so that it can be looked into.
    ///
    /// # Errors
    ///
    /// There is none, other users may write to it, or it is not ours or of another version.
    pub fn open_read_only(path: &Path) -> Result<Self, SqliteError> {
        let path = file::resolve(path)?;
        file::check(&path)?;
        let readers = Pool::new(path);
        readers.with(|_| Ok(()))?;
        Ok(Self(Arc::new(Inner { clock: Arc::new(SystemClock), readers, writer: None, _lock: None })))
    }

    /// Copies the database as it is now to a new file, while others go on writing.
    ///
    /// # Errors
    ///
    /// The file exists already, or cannot be written; what was written of it is then removed.
    pub fn backup(&self, to: &Path) -> Result<(), SqliteError> {
        let to = file::resolve(to)?;
        file::create(&to)?;
        let copied = self.0.readers.with(|from| copy(from, &to));
        if copied.is_err() {
            // The first error is the one to report.
            let _removed = std::fs::remove_file(&to);
        }
        copied
    }

    /// Returns how many transactions were committed, so that tests can see callers share one.
    #[doc(hidden)]
    pub fn transactions(&self) -> u64 {
        self.0.writer.as_ref().map_or(0, |writer| writer.transactions().load(Ordering::SeqCst))
    }

    /// Returns the path with its directory resolved.
    fn path(&self) -> &Path {
        self.0.readers.path()
    }

    /// Returns the writer, if this is not a store for reading.
    fn writer(&self) -> Result<&Writer, SqliteError> {
        self.0.writer.as_ref().ok_or_else(|| SqliteError::ReadOnly { path: self.path().to_owned() })
    }

    /// Has a change committed, without blocking.
    async fn change(&self, change: Change) -> Result<Done, SqliteError> {
        self.writer()?.change(change).await
    }
}

/// Copies all pages in one step, since a step sees one state of the database and the next might see another.
fn copy(from: &Connection, to: &Path) -> Result<(), SqliteError> {
    let failed = |error| SqliteError::from_sqlite(to, &error);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let mut target = Connection::open_with_flags(to, flags).map_err(failed)?;
    let done = Backup::new(from, &mut target).and_then(|backup| backup.step(-1)).map_err(failed)?;
    target.close().map_err(|(_, error)| failed(error))?;
    match done {
        StepResult::Done => Ok(()),
        _ => Err(SqliteError::Busy { path: PathBuf::from(to) }),
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore").field("path", &self.path()).finish_non_exhaustive()
    }
}
