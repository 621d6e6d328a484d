//! The audit log, keys and values, idempotency keys and approvals of one machine, in one SQLite file.
//!
//! Several processes may have the file open. In each, one thread writes; whoever has something to write sends it there
//! and waits. The thread takes everything that waits, commits it in one transaction and then answers all of them, so
//! that callers share the cost of reaching the disk. Readers have connections of their own and see what is committed.
//!
//! INVARIANT: an answer of success is given only after the commit has returned.

mod accept;
mod approval;
mod audit;
mod check;
mod claims;
mod database;
mod digest;
#[cfg(feature = "postgres")]
mod dump;
mod error;
mod file;
mod guard;
mod history;
mod idempotency;
mod instance;
mod journal;
mod key_row;
mod lock;
mod log;
mod mark;
mod name;
mod open;
mod patience;
mod pool;
mod schema;
mod seal;
mod search;
mod sweep;
mod time;
mod total;
mod transaction;
mod turn;
mod value;
mod verify;
mod writer;

use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use ringfence::Clock;
use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};

pub use self::accept::StoreGap;
#[cfg(feature = "postgres")]
pub(crate) use self::dump::{Column, Kind, Page};
pub use self::error::SqliteError;
use self::instance::Instance;
pub use self::journal::make_companions;
pub use self::open::SqliteBuilder;
use self::pool::Pool;
use self::turn::Turn;
use self::writer::Writer;
use crate::entry::KeepRaw;

/// An audit log, a key-value store, idempotency keys and approvals in one file.
///
/// It is cheap to clone. The file is private to its user, whose processes may all have it open at the same time. The
/// file beside it whose name ends in `.lock` keeps its tables from changing meanwhile; one whose name ends in `.live`
/// tells the others that this store lives. Both are let go when the last clone is dropped.
///
/// The methods block, except those of the traits.
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
/// let second = SqliteStore::open(&path)?; // here or in another process
/// second.delete("notes", "first").await?;
/// assert_eq!(store.get("notes", "first").await?, None);
/// assert_eq!(SqliteStore::open_read_only(&path)?.size()?, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct SqliteStore(Arc<Inner>);

/// What the clones share. The fields are dropped in this order: the writer ends before it counts as dead, and before
/// the lock is released.
struct Inner {
    clock: Arc<dyn Clock>,
    raw: KeepRaw,
    readers: Pool,
    writer: Option<Writer>,
    instance: Option<Instance>,
    _lock: Option<File>,
}

impl SqliteStore {
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

    /// Returns the random id under which this store lives, unless it was opened for reading.
    pub fn instance(&self) -> Option<&str> {
        self.0.instance.as_ref().map(Instance::id)
    }

    /// Says whether the store with this id lives, in whatever process. It is exact, and asks no clock.
    ///
    /// # Errors
    ///
    /// The file that tells of its life cannot be opened.
    pub fn lives(&self, instance: &str) -> Result<bool, SqliteError> {
        instance::lives(self.path(), instance)
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

    /// Has work done in a turn, without blocking.
    async fn transact<T: Send + 'static>(
        &self,
        bytes: usize,
        work: impl FnMut(&mut Turn<'_>) -> Result<T, SqliteError> + Send + 'static,
    ) -> Result<T, SqliteError> {
        self.writer()?.transact(bytes, work).await
    }

    /// Does something on a thread that may block.
    async fn blocking<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&Self) -> Result<T, SqliteError> + Send + 'static,
    ) -> Result<T, SqliteError> {
        let (store, closed) = (self.clone(), SqliteError::Closed { path: self.path().to_owned() });
        tokio::task::spawn_blocking(move || ask(&store)).await.unwrap_or(Err(closed))
    }

    /// Has something read on a thread that may block.
    async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Self, &Connection) -> Result<T, SqliteError> + Send + 'static,
    ) -> Result<T, SqliteError> {
        self.blocking(|store| store.0.readers.with(|connection| read(store, connection))).await
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
