//! The one thread that writes, and the group commit.
//!
//! INVARIANT: each job is answered once: after the commit that holds it, or with the error of its transaction.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ringfence::Clock;
use ringfence::audit::Frontier;
use rusqlite::Connection;
use rusqlite::config::DbConfig;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use super::claims::ClaimCache;
use super::error::SqliteError;
use super::guard::StoreGuard;
use super::history::History;
use super::transaction::WriteTransaction;
use super::turn::{Start, Turn};
use super::{instance, log, patience, schema, sweep};
use crate::entry::KeepRaw;

/// How many jobs share one transaction.
const GROUP: usize = 512;
/// How much may wait, in units of 1 KiB.
const ROOM: usize = 64 << 10;
/// How often it is looked for what has had its time.
const SWEEP: Duration = Duration::from_secs(60);
/// When nobody has come for so long, there is time to tidy up.
const IDLE: Duration = Duration::from_millis(100);
/// How old a mark may be that is not on the disk yet.
const SYNC: Duration = Duration::from_secs(1);
/// How far the log grows before it is looked again whether it is in the way, in bytes.
const LOOK: u64 = 256 << 10;
/// When that is looked for in any case, since others fill the disk too.
const LOOK_AGAIN: Duration = Duration::from_millis(50);
/// When to go on if there was some, and there may be more.
const SWEEP_ON: Duration = Duration::from_millis(100);

/// Something to do in a turn, and whom to tell. It may be done again when its transaction was undone.
trait Job: Send {
    fn work(&mut self, turn: &mut Turn<'_>) -> Result<(), SqliteError>;
    fn answer(self: Box<Self>, end: Result<(), SqliteError>);
}

/// A job whose work returns a `T`.
struct Task<T, W> {
    work: W,
    found: Option<T>,
    answer: Box<dyn FnOnce(Result<T, SqliteError>) + Send>,
    /// Held until the answer is given.
    _room: Option<OwnedSemaphorePermit>,
}

impl<T: Send, W: FnMut(&mut Turn<'_>) -> Result<T, SqliteError> + Send> Job for Task<T, W> {
    fn work(&mut self, turn: &mut Turn<'_>) -> Result<(), SqliteError> {
        self.found = Some((self.work)(turn)?);
        Ok(())
    }

    fn answer(self: Box<Self>, end: Result<(), SqliteError>) {
        match (end, self.found) {
            (Ok(()), Some(found)) => (self.answer)(Ok(found)),
            (Err(error), _) => (self.answer)(Err(error)),
            // Nobody answers for work that was not done, and whoever waits sees the store closed.
            (Ok(()), None) => {}
        }
    }
}

/// The thread, and the way to it.
pub(super) struct Writer {
    path: PathBuf,
    jobs: Option<Sender<Box<dyn Job>>>,
    room: Arc<Semaphore>,
    thread: Option<JoinHandle<()>>,
    transactions: Arc<AtomicU64>,
    guard: Arc<StoreGuard>,
}

impl Writer {
    /// Opens the database and starts the thread.
    pub(super) fn start(
        path: &Path,
        clock: Arc<dyn Clock>,
        raw: KeepRaw,
        instance: String,
        is_first: bool,
    ) -> Result<Self, SqliteError> {
        let mut connection = schema::writer(path)?;
        let failed = |error| SqliteError::from_sqlite(path, &error);
        let transaction = connection.transaction().map_err(failed)?;
        let frontier = log::frontier(&transaction, path)?;
        transaction.finish().map_err(failed)?;
        let guard = Arc::new(StoreGuard::start(path, &connection, is_first)?);
        schema::close_on_end(&connection).map_err(failed)?;

        let (sender, receiver) = mpsc::channel();
        let transactions = Arc::new(AtomicU64::new(0));
        let desk = Desk {
            path: path.to_owned(),
            clock,
            raw,
            connection,
            last: frontier,
            guard: Arc::clone(&guard),
            instance,
            claims: ClaimCache::default(),
            log_size: 0,
            looked: None,
            unsynced: None,
            transactions: Arc::clone(&transactions),
            short: false,
            untidy: false,
        };
        let thread = std::thread::Builder::new().name("ringfence-store".into());
        let thread =
            thread.spawn(move || desk.run(&receiver)).map_err(|error| SqliteError::from_io(path, &error))?;
        Ok(Self {
            path: path.to_owned(),
            jobs: Some(sender),
            room: Arc::new(Semaphore::new(ROOM)),
            thread: Some(thread),
            transactions,
            guard,
        })
    }

    /// Returns what watches the files.
    pub(super) const fn guard(&self) -> &Arc<StoreGuard> {
        &self.guard
    }

    /// Waits for room, has the work done in a turn, and waits for the answer. `bytes` is about how much memory it takes.
    pub(super) async fn transact<T: Send + 'static>(
        &self,
        bytes: usize,
        work: impl FnMut(&mut Turn<'_>) -> Result<T, SqliteError> + Send + 'static,
    ) -> Result<T, SqliteError> {
        let units = u32::try_from((bytes / 1_024).clamp(1, ROOM)).unwrap_or(u32::MAX);
        let room = Arc::clone(&self.room).acquire_many_owned(units).await.map_err(|_| self.closed())?;
        let (sender, receiver) = oneshot::channel();
        // Whoever no longer waits misses the answer and nothing else.
        let answer = Box::new(move |found| drop(sender.send(found)));
        self.send(Box::new(Task { work, found: None, answer, _room: Some(room) }))?;
        receiver.await.unwrap_or_else(|_| Err(self.closed()))
    }

    /// Has the work done in a turn, and blocks until the answer is there. It is for rare and small work, and takes no
    /// room.
    pub(super) fn transact_now<T: Send + 'static>(
        &self,
        work: impl FnMut(&mut Turn<'_>) -> Result<T, SqliteError> + Send + 'static,
    ) -> Result<T, SqliteError> {
        let (sender, receiver) = mpsc::sync_channel(1);
        let answer = Box::new(move |found| drop(sender.send(found)));
        self.send(Box::new(Task { work, found: None, answer, _room: None }))?;
        receiver.recv().unwrap_or_else(|_| Err(self.closed()))
    }

    /// Returns the counter of committed transactions.
    pub(super) fn transactions(&self) -> &AtomicU64 {
        &self.transactions
    }

    fn send(&self, job: Box<dyn Job>) -> Result<(), SqliteError> {
        let jobs = self.jobs.as_ref().ok_or_else(|| self.closed())?;
        jobs.send(job).map_err(|_| self.closed())
    }

    fn closed(&self) -> SqliteError {
        SqliteError::Closed { path: self.path.clone() }
    }
}

impl Drop for Writer {
    /// Lets the thread finish what waits.
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ended = thread.join();
        }
    }
}

/// What the thread owns.
struct Desk {
    path: PathBuf,
    clock: Arc<dyn Clock>,
    raw: KeepRaw,
    connection: Connection,
    /// Where the log stood when this thread last knew it. Others may have gone on from there.
    last: Frontier,
    guard: Arc<StoreGuard>,
    /// The id of this store, which is a part of every chain.
    instance: String,
    claims: ClaimCache,
    /// How long the log was after the last commit, in bytes.
    log_size: u64,
    /// When it was last looked whether the log is in the way, and how long it was then.
    looked: Option<(Instant, u64)>,
    /// Since when the mark has not been brought to the disk.
    unsynced: Option<Instant>,
    transactions: Arc<AtomicU64>,
    /// The disk was full.
    short: bool,
    /// What was dropped may still be in the write-ahead log, or the log is in the way.
    untidy: bool,
}

impl Desk {
    /// Works until nobody can send any more.
    fn run(mut self, jobs: &Receiver<Box<dyn Job>>) {
        let mut due = Instant::now() + SWEEP;
        loop {
            let mut pause = due.saturating_duration_since(Instant::now());
            if let Some(since) = self.unsynced {
                pause = pause.min(SYNC.saturating_sub(since.elapsed()));
            }
            match jobs.recv_timeout(if self.untidy { pause.min(IDLE) } else { pause }) {
                Ok(first) => {
                    let mut group = vec![first];
                    group.extend(jobs.try_iter().take(GROUP - 1));
                    self.settle(group);
                }
                Err(RecvTimeoutError::Timeout) => self.tidy(),
                Err(RecvTimeoutError::Disconnected) => {
                    self.tidy();
                    self.close();
                    return;
                }
            }
            if self.unsynced.is_some_and(|since| since.elapsed() >= SYNC) && self.guard.sync().is_ok() {
                self.unsynced = None;
            }
            if Instant::now() >= due {
                due = Instant::now() + self.sweep();
                self.tidy();
            }
        }
    }

    /// Closes the connection, which moves the log into the database where it is the last one. The files of the log stay.
    fn close(self) {
        let Self { connection, guard, .. } = self;
        let mut open = Some(connection);
        let closed = guard.move_log(|| open.take().is_some_and(|connection| connection.close().is_ok()));
        if let Some(connection) = open {
            // Another store may be in its place by now: its log is not ours to remove.
            let _kept = connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
        }
        let _synced = closed.and_then(|_| guard.sync());
    }

    /// Removes a part of what has had its time, and returns when to do so again.
    ///
    /// What has expired is never shown, so that a sweep that failed can wait for the next.
    fn sweep(&mut self) -> Duration {
        let raw = self.raw;
        let swept = self.commit(|turn| sweep::sweep(turn, raw)).unwrap_or_default();
        let _swept = instance::sweep(&self.path);
        if swept > 0 { SWEEP_ON } else { SWEEP }
    }

    /// Commits a group, then answers each of its jobs.
    fn settle(&mut self, mut group: Vec<Box<dyn Job>>) {
        let mut end = self.commit(|turn| group.iter_mut().try_for_each(|job| job.work(turn)));
        if matches!(end, Err(SqliteError::Full { .. })) {
            self.short = true;
            if self.make_room() {
                end = self.commit(|turn| group.iter_mut().try_for_each(|job| job.work(turn)));
            }
        }
        if self.short && end.is_ok() {
            // There is room again, and it must not all go to the write-ahead log.
            self.short = !self.make_room();
        }
        if end.is_ok() && self.is_log_in_the_way() {
            self.untidy = true;
            self.tidy();
        }
        if group.len() > 1 && end.as_ref().is_err_and(is_of_one) {
            for mut job in group {
                let end = self.commit(|turn| job.work(turn));
                job.answer(end);
            }
            return;
        }
        group.into_iter().for_each(|job| job.answer(end.clone()));
    }

    /// Moves what is committed from the write-ahead log to its place, so that the log starts again at its beginning.
    ///
    /// On a full disk this is where there is still room: the log holds many versions of the same pages.
    fn make_room(&self) -> bool {
        let moved = self.guard.move_log(|| {
            self.connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| {
                Ok((row.get::<_, i64>(1)?, row.get::<_, i64>(2)?))
            })
        });
        matches!(moved, Ok(Ok((all, moved))) if all == moved)
    }

    /// Empties the write-ahead log of what was dropped and gives its room back, unless somebody reads or writes: nobody is kept waiting for it.
    fn tidy(&mut self) {
        if !self.untidy {
            return;
        }
        let emptied = self.guard.move_log(|| {
            patience::lose(&self.connection).and_then(|()| {
                self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0))
            })
        });
        self.untidy = !matches!(emptied, Ok(Ok(0)));
        // Without patience writing would fail more often, and would say so.
        let _patient = patience::have(&mut self.connection);
    }

    /// Says whether the write-ahead log takes the room that the database needs when the log is moved into it: as much as the log holds, at
    /// most. Once the disk is full of the log, neither can go on. It is looked at as the log grows, and again after a while.
    fn is_log_in_the_way(&mut self) -> bool {
        let is_recent =
            |(at, size): (Instant, u64)| self.log_size.abs_diff(size) < LOOK && at.elapsed() < LOOK_AGAIN;
        if self.looked.is_some_and(is_recent) {
            return false;
        }
        self.looked = Some((Instant::now(), self.log_size));
        let disk = rustix::fs::statvfs(&self.path);
        disk.is_ok_and(|disk| disk.f_bavail.saturating_mul(disk.f_frsize) < self.log_size)
    }

    /// Does work in one transaction.
    fn commit<T>(
        &mut self,
        work: impl FnOnce(&mut Turn<'_>) -> Result<T, SqliteError>,
    ) -> Result<T, SqliteError> {
        let failed = |error| SqliteError::from_sqlite(&self.path, &error);
        let transaction = WriteTransaction::begin(&self.connection).map_err(failed)?;
        let (history, log) = History::read_with_log(&transaction).map_err(failed)?;
        let lock = self.guard.begin(&history, &transaction)?;
        let (before, now) = (transaction.total_changes(), self.clock.now());
        let fence = history.fence;
        let start = Start { last: &self.last, log: &log, fence, claims: &mut self.claims, now };
        let mut turn = Turn::new(&transaction, &self.path, start);
        let found = work(&mut turn)?;
        let end = turn.end()?;
        let mut mark = None;
        if transaction.total_changes() != before {
            let mut history = history.next(&self.instance);
            history.keep(&transaction, end.update()).map_err(failed)?;
            let records = end.frontier.as_ref().unwrap_or(&self.last).size();
            mark = Some(history.mark(records, now));
        }
        ringfence::fail_point::hit("store.commit");
        transaction.commit().map_err(failed)?;
        if let Some(mark) = mark {
            self.log_size = self.guard.end(&lock, &mark)?;
            self.unsynced.get_or_insert_with(Instant::now);
        }
        drop(lock);
        ringfence::fail_point::hit("store.committed");
        self.transactions.fetch_add(1, Ordering::SeqCst);
        self.untidy |= end.forgot;
        if let Some(frontier) = end.frontier {
            self.last = frontier;
        }
        Ok(found)
    }
}

/// Says whether one job may be to blame for an error; the others need not suffer for it.
const fn is_of_one(error: &SqliteError) -> bool {
    matches!(error, SqliteError::Corrupt { .. } | SqliteError::Database { .. } | SqliteError::Entry { .. })
}
