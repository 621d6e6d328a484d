//! That the store is still the one that was opened, and has not gone back.
//!
//! Files are compared by device and inode, which stay theirs while this process has them open. Their content may be
//! exchanged in place: whoever commits keeps the state of the files in the mark, and another state makes the next one
//! look whether every row is there.
//!
//! INVARIANT: nothing is acknowledged unless all files were the same before, the database and its log also afterwards, and the mark says
//! so.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use ringfence::audit::Hash;
use rusqlite::Connection;

use super::error::SqliteError;
use super::file::{self, FileId, Stamp};
use super::history::{History, Past};
use super::mark::{Mark, MarkFile, MarkLock};
use super::{schema, total};

/// Watches the files of a store that is open.
#[derive(Debug)]
pub(super) struct StoreGuard {
    path: PathBuf,
    mark: MarkFile,
    database: OpenFile,
    log: OpenFile,
    /// The index of the log, and the mark.
    companions: [OpenFile; 2],
    /// How far this process has seen the store come.
    last: Mutex<(u64, Hash)>,
    /// It was refused once: nobody moves its log into the database after that.
    is_refused: AtomicBool,
}

impl StoreGuard {
    /// Starts to watch. The connection that writes must have read something, so that all files are there; `is_first` says
    /// that nobody else has the store open, so that all of it must be looked at.
    pub(super) fn start(path: &Path, connection: &Connection, is_first: bool) -> Result<Self, SqliteError> {
        let failed = |error| SqliteError::from_sqlite(path, &error);
        // The mark is read first: the store only moves on from there.
        let mark = MarkFile::open(path)?;
        let found = mark.read()?;
        let transaction = connection.unchecked_transaction().map_err(failed)?;
        if is_first {
            schema::check_tables(&transaction, path)?;
        }
        let history = History::read(&transaction).map_err(failed)?;
        history.check_growth(path, &found, &transaction)?;
        let database = OpenFile::find(path.to_owned())?;
        let log = OpenFile::find(beside(path, "-wal"))?;
        let companions = [OpenFile::find(beside(path, "-shm"))?, OpenFile::find(mark.path().to_owned())?];
        let guard = Self {
            path: path.to_owned(),
            mark,
            database,
            log,
            companions,
            last: Mutex::new((history.sequence, history.chain)),
            is_refused: AtomicBool::new(false),
        };
        if is_first {
            total::check(&transaction, path)?;
            let lock = guard.mark.lock()?;
            let (database, log) = guard.check_files()?;
            if found.sequence <= history.sequence {
                let seen =
                    Mark { store: history.store, sequence: history.sequence, chain: history.chain, ..found };
                guard.mark.write(&lock, &Mark { database, log, ..seen })?;
            }
            drop(lock);
        }
        transaction.finish().map_err(failed)?;
        Ok(guard)
    }

    /// Takes the lock of the mark, and refuses a store that is not the one that was opened. The turn at writing must be
    /// held, so that nobody else is on the way.
    pub(super) fn begin(
        &self,
        history: &History,
        connection: &Connection,
    ) -> Result<MarkLock<'_>, SqliteError> {
        let lock = self.mark.lock()?;
        self.refuse(|| {
            let (database, log) = self.check_files()?;
            let mark = self.mark.read_locked(&lock)?;
            history.check_growth(&self.path, &mark, connection)?;
            self.check_last(history, self.last(), connection)?;
            if (database, log) != (mark.database, mark.log) {
                self.check_content()?;
            }
            Ok(())
        })?;
        Ok(lock)
    }

    /// Keeps in mind that the store was refused.
    fn refuse<T>(&self, check: impl FnOnce() -> Result<T, SqliteError>) -> Result<T, SqliteError> {
        let checked = check();
        if let Err(
            SqliteError::Corrupt { .. } | SqliteError::Replaced { .. } | SqliteError::WentBack { .. },
        ) = &checked
        {
            self.is_refused.store(true, Ordering::SeqCst);
        }
        checked
    }

    /// Returns how far this process has seen the store come.
    pub(super) fn last(&self) -> (u64, Hash) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Refuses a store that is not as far as this process has seen it before it read the history.
    fn check_last(
        &self,
        history: &History,
        (sequence, chain): (u64, Hash),
        connection: &Connection,
    ) -> Result<(), SqliteError> {
        let past = history.compare(sequence, chain, connection);
        match past.map_err(|error| SqliteError::from_sqlite(&self.path, &error))? {
            // Others have written much since. The mark, which is never old, was compared too.
            Past::Ours | Past::Forgotten => Ok(()),
            Past::Other => {
                let missing = sequence.saturating_sub(history.sequence);
                Err(SqliteError::WentBack { path: self.path.clone(), missing })
            }
        }
    }

    /// Keeps what was committed in the mark, and returns the size of the log; only then it may be acknowledged.
    ///
    /// What was committed is in the database and its log: if these are the files that were opened, it is where the next one
    /// looks. An index or a mark that was exchanged meanwhile is as if it were exchanged now, which the next look finds.
    pub(super) fn end(&self, lock: &MarkLock<'_>, mark: &Mark) -> Result<u64, SqliteError> {
        let (database, log) = self.check_content_files()?;
        self.mark.write(lock, &Mark { database, log, ..*mark })?;
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = (mark.sequence, mark.chain);
        Ok(log.size)
    }

    /// Moves the log into the database, or does something else to the files that is no transaction.
    pub(super) fn move_log<T>(&self, work: impl FnOnce() -> T) -> Result<T, SqliteError> {
        let lock = self.mark.lock()?;
        if self.is_refused.load(Ordering::SeqCst) {
            return Err(SqliteError::Replaced { path: self.path.clone() });
        }
        let (database, log) = self.check_files()?;
        let mark = self.mark.read_locked(&lock)?;
        let is_known = (database, log) == (mark.database, mark.log);
        if !is_known {
            // Somebody else has written to the files: a log that is not whole must not get into the database.
            self.refuse(|| self.check_content())?;
        }
        let done = work();
        let stamp = |path| file::look(path).map(|found| found.map_or(Stamp::default(), |(_, stamp)| stamp));
        if is_known {
            let (database, log) = (stamp(&self.path)?, stamp(&self.log.path)?);
            self.mark.write(&lock, &Mark { database, log, ..mark })?;
        }
        drop(lock);
        Ok(done)
    }

    /// Refuses what was read from a store that is not the one that was opened, or that has gone back: `last` was asked for
    /// before, and `history` read afterwards.
    pub(super) fn check_reading(
        &self,
        history: &History,
        last: (u64, Hash),
        connection: &Connection,
    ) -> Result<(), SqliteError> {
        self.refuse(|| self.check_last(history, last, connection))?;
        let is_known = |(database, log): (Stamp, Stamp), mark: &Mark| {
            database == mark.database && log.size >= mark.log.size
        };
        if is_known(self.check_files()?, &self.mark.read()?) {
            return Ok(());
        }
        // Somebody may be at work on the files.
        let lock = self.mark.lock()?;
        let (database, log) = self.check_files()?;
        let mark = self.mark.read_locked(&lock)?;
        if !is_known((database, log), &mark) {
            self.refuse(|| self.check_content())?;
            self.mark.write(&lock, &Mark { database, log, ..mark })?;
        }
        drop(lock);
        Ok(())
    }

    /// Brings the mark to the disk.
    pub(super) fn sync(&self) -> Result<(), SqliteError> {
        self.mark.sync()
    }

    /// Refuses files that are not those that were opened, and returns the state of the database and of its log.
    fn check_files(&self) -> Result<(Stamp, Stamp), SqliteError> {
        for file in &self.companions {
            file.check()?;
        }
        self.check_content_files()
    }

    /// The same for the two files that hold what was committed.
    fn check_content_files(&self) -> Result<(Stamp, Stamp), SqliteError> {
        Ok((self.database.check()?, self.log.check()?))
    }

    /// Looks at everything with a connection that has nothing cached: somebody else has written to the files.
    fn check_content(&self) -> Result<(), SqliteError> {
        let checked = schema::reader(&self.path).and_then(|connection| {
            let failed = |error| SqliteError::from_sqlite(&self.path, &error);
            let snapshot = connection.unchecked_transaction().map_err(failed)?;
            schema::check_tables(&snapshot, &self.path)?;
            let history = History::read(&snapshot).map_err(failed)?;
            history.check_growth(&self.path, &self.mark.read()?, &snapshot)?;
            self.check_last(&history, self.last(), &snapshot)?;
            total::check(&snapshot, &self.path)
        });
        match checked {
            Err(error @ SqliteError::Busy { .. }) => Err(error),
            Err(_) => Err(SqliteError::Replaced { path: self.path.clone() }),
            Ok(()) => Ok(()),
        }
    }
}

/// A file that is open, which stays the same file while it is.
#[derive(Debug)]
struct OpenFile {
    path: PathBuf,
    id: FileId,
}

impl OpenFile {
    fn find(path: PathBuf) -> Result<Self, SqliteError> {
        match file::look(&path)? {
            Some((id, _)) => Ok(Self { path, id }),
            None => Err(SqliteError::Replaced { path }),
        }
    }

    /// Refuses another file of this name, and returns the state of this one.
    fn check(&self) -> Result<Stamp, SqliteError> {
        match file::look(&self.path)? {
            Some((id, stamp)) if id == self.id => Ok(stamp),
            _ => Err(SqliteError::Replaced { path: self.path.clone() }),
        }
    }
}

/// Returns the name of a file beside the database.
pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
