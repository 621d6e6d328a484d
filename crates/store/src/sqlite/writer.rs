//! The one thread that writes, and the group commit.
//!
//! INVARIANT: each change is answered once: after the commit that holds it, or with the error of its transaction.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ringfence::audit::Frontier;
use ringfence::{Clock, StoreError};
use rusqlite::{Connection, Transaction, TransactionBehavior};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use super::error::SqliteError;
use super::log::{self, Line};
use super::schema;
use super::value::{self, Value};

/// How many changes share one transaction.
const GROUP: usize = 512;
/// How much may wait, in units of 1 KiB.
const ROOM: usize = 64 << 10;
/// How often expired values are swept.
const SWEEP: Duration = Duration::from_secs(60);

/// Something to write.
pub(super) enum Change {
    /// Appends lines to the log.
    Append(Vec<Line>),
    /// Keeps a signed checkpoint.
    Checkpoint { size: u64, note: String },
    /// Drops a namespace.
    Clear { space: String },
    /// Removes a key.
    Delete { space: String, key: String },
    /// Drops some of the raw outputs from before a time.
    ForgetRaw { before: Duration },
    /// Asks where the log stands, in turn with what is written.
    Frontier,
    /// Stores a value.
    Set(Value),
}

/// What came of a change.
pub(super) enum Done {
    /// This many rows were changed.
    Count(u64),
    /// It is kept.
    Kept,
    /// Where the log stands.
    Frontier(Frontier),
    /// The rules of the store forbid it; what shared its transaction is kept all the same.
    Refused(StoreError),
}

type Answer = Box<dyn FnOnce(Result<Done, SqliteError>) + Send>;

/// A change on its way, and whom to tell.
struct Job {
    change: Change,
    answer: Answer,
    /// Held until the answer is given.
    room: Option<OwnedSemaphorePermit>,
}

/// The thread, and the way to it.
pub(super) struct Writer {
    path: PathBuf,
    jobs: Option<Sender<Job>>,
    room: Arc<Semaphore>,
    thread: Option<JoinHandle<()>>,
    transactions: Arc<AtomicU64>,
}

impl Writer {
    /// Opens the database and starts the thread.
    pub(super) fn start(path: &Path, clock: Arc<dyn Clock>) -> Result<Self, SqliteError> {
        let mut connection = schema::writer(path)?;
        let failed = |error| SqliteError::from_sqlite(path, &error);
        let transaction = connection.transaction().map_err(failed)?;
        let frontier = log::frontier(&transaction, path)?;
        transaction.finish().map_err(failed)?;

        let (sender, receiver) = mpsc::channel();
        let transactions = Arc::new(AtomicU64::new(0));
        let desk = Desk {
            path: path.to_owned(),
            clock,
            connection,
            frontier: Some(frontier),
            transactions: Arc::clone(&transactions),
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
        })
    }

    /// Waits for room, sends the change and waits for the answer.
    pub(super) async fn change(&self, change: Change) -> Result<Done, SqliteError> {
        let units = (change.bytes() / 1_024).clamp(1, ROOM);
        let units = u32::try_from(units).unwrap_or(u32::MAX);
        let room = Arc::clone(&self.room).acquire_many_owned(units).await.map_err(|_| self.closed())?;
        let (sender, receiver) = oneshot::channel();
        // Whoever no longer waits misses the answer and nothing else.
        let answer = Box::new(move |done| drop(sender.send(done)));
        self.send(Job { change, answer, room: Some(room) })?;
        receiver.await.unwrap_or_else(|_| Err(self.closed()))
    }

    /// Sends the change and blocks until the answer is there. It is for rare and small changes, and takes no room.
    pub(super) fn change_now(&self, change: Change) -> Result<Done, SqliteError> {
        let (sender, receiver) = mpsc::sync_channel(1);
        let answer = Box::new(move |done| drop(sender.send(done)));
        self.send(Job { change, answer, room: None })?;
        receiver.recv().unwrap_or_else(|_| Err(self.closed()))
    }

    /// Returns the counter of committed transactions.
    pub(super) fn transactions(&self) -> &AtomicU64 {
        &self.transactions
    }

    fn send(&self, job: Job) -> Result<(), SqliteError> {
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

impl Change {
    /// Returns about how much memory it takes.
    fn bytes(&self) -> usize {
        match self {
            Self::Append(lines) => lines.iter().map(Line::bytes).sum(),
            Self::Checkpoint { note, .. } => note.len(),
            Self::Clear { space } => space.len(),
            Self::Delete { space, key } => space.len() + key.len(),
            Self::ForgetRaw { .. } | Self::Frontier => 0,
            Self::Set(value) => value.bytes(),
        }
    }
}

/// What the thread owns.
struct Desk {
    path: PathBuf,
    clock: Arc<dyn Clock>,
    connection: Connection,
    /// Where the log stands; unknown after a transaction failed, and then read again.
    frontier: Option<Frontier>,
    transactions: Arc<AtomicU64>,
}

impl Desk {
    /// Works until nobody can send any more.
    fn run(mut self, jobs: &Receiver<Job>) {
        let mut swept = Instant::now();
        loop {
            match jobs.recv_timeout(SWEEP) {
                Ok(first) => {
                    let mut group = vec![first];
                    group.extend(jobs.try_iter().take(GROUP - 1));
                    self.settle(group);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if swept.elapsed() >= SWEEP {
                swept = Instant::now();
                // What has expired is never shown, so that a sweep that failed can wait for the next.
                let _swept = value::sweep(&mut self.connection, self.clock.now());
            }
        }
    }

    /// Commits a group, then answers each of its changes.
    fn settle(&mut self, group: Vec<Job>) {
        let (changes, answers): (Vec<_>, Vec<_>) =
            group.into_iter().map(|job| (job.change, (job.answer, job.room))).unzip();
        match self.commit(changes) {
            Ok(done) => answers.into_iter().zip(done).for_each(|((answer, _room), done)| answer(Ok(done))),
            Err(error) => answers.into_iter().for_each(|(answer, _room)| answer(Err(error.clone()))),
        }
    }

    /// Makes all changes in one transaction.
    fn commit(&mut self, changes: Vec<Change>) -> Result<Vec<Done>, SqliteError> {
        // Until the commit has returned it is not known where the log stands.
        let known = self.frontier.take();
        let failed = |error| SqliteError::from_sqlite(&self.path, &error);
        let behavior = TransactionBehavior::Immediate;
        let transaction = self.connection.transaction_with_behavior(behavior).map_err(failed)?;
        let mut frontier = match known {
            Some(frontier) => frontier,
            None => log::frontier(&transaction, &self.path)?,
        };
        let before = frontier.size();
        let now = self.clock.now();
        let mut done = Vec::with_capacity(changes.len());
        for change in changes {
            done.push(apply(&transaction, change, &mut frontier, now).map_err(failed)?);
        }
        if frontier.size() != before {
            log::keep_frontier(&transaction, &frontier).map_err(failed)?;
        }
        transaction.commit().map_err(failed)?;
        self.transactions.fetch_add(1, Ordering::SeqCst);
        self.frontier = Some(frontier);
        Ok(done)
    }
}

/// Makes one change. An error undoes the whole transaction.
fn apply(
    transaction: &Transaction<'_>,
    change: Change,
    frontier: &mut Frontier,
    now: Duration,
) -> rusqlite::Result<Done> {
    match change {
        Change::Append(lines) => {
            for line in &lines {
                log::append(transaction, frontier, line)?;
            }
        }
        Change::Checkpoint { size, note } => log::keep_checkpoint(transaction, size, &note)?,
        Change::Clear { space } => value::clear(transaction, &space)?,
        Change::Delete { space, key } => value::delete(transaction, &space, &key)?,
        Change::ForgetRaw { before } => return log::forget_raw(transaction, before).map(Done::Count),
        Change::Frontier => return Ok(Done::Frontier(frontier.clone())),
        Change::Set(value) => {
            if let Err(refused) = value::set(transaction, &value, now)? {
                return Ok(Done::Refused(refused));
            }
        }
    }
    Ok(Done::Kept)
}
