//! The one task that writes, and the group commit.
//!
//! INVARIANT: each change is answered once: after the commit that holds it is known to have succeeded, or with the
//! error of its transaction. A commit whose answer was lost is asked for, never assumed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ringfence::audit::Frontier;
use ringfence::{Claim, Clock as _, Fence, KeyClaim, KeyName, Settled, Settlement, StoreError, SystemClock};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

use super::check;
use super::error::PostgresError;
use super::option::PostgresOptions;
use super::random;
use super::session::Session;
use super::target::Target;
use super::transaction::{self, Failed, Known, Mark};
use super::value::Value;
use crate::entry::KeepRaw;
use crate::line::Line;

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
    /// Claims an idempotency key for a process.
    Claim { claim: KeyClaim, instance: [u8; 16] },
    /// Removes a key.
    Delete { space: String, key: String },
    /// Asks where the log stands, in turn with what is written.
    Frontier,
    /// Stores a value.
    Set(Value),
    /// Keeps what became of a call with an idempotency key.
    Settle { name: KeyName, fence: Fence, settlement: Settlement },
    /// Removes some of what has expired.
    Sweep,
}

/// What came of a change.
pub(super) enum Done {
    /// It was done, but the answer is lost: asking again is safe.
    Again,
    /// What a claim found; none where the process that claims is not alive.
    Claimed(Option<Claim>),
    /// Where the log stands.
    Frontier(Frontier),
    /// It is kept.
    Kept,
    /// The rules of the store forbid it; what shared its transaction is kept all the same.
    Refused(StoreError),
    /// Whether a settlement was kept.
    Settled(Settled),
}

/// A change on its way, and whom to tell.
struct Job {
    change: Change,
    answer: oneshot::Sender<Result<Done, PostgresError>>,
    /// Held until the answer is given.
    room: OwnedSemaphorePermit,
}

/// The way to the task. It ends when this is dropped and everything that waits is done.
pub(super) struct Writer {
    place: Arc<str>,
    jobs: mpsc::UnboundedSender<Job>,
    room: Arc<Semaphore>,
    transactions: Arc<AtomicU64>,
}

impl Writer {
    /// Starts the task with a first connection.
    pub(super) fn start(
        target: Arc<Target>,
        options: PostgresOptions,
        session: Session,
        known: Arc<Known>,
    ) -> Result<Self, PostgresError> {
        let place = Arc::clone(&target.place);
        let no_randomness = || PostgresError::Closed { place: Arc::clone(&place) };
        let mark = Mark { id: random::id().ok_or_else(no_randomness)?, sequence: 0 };
        let transactions = Arc::new(AtomicU64::new(0));
        let desk = Desk {
            target,
            options,
            session: Some(session),
            known,
            mark,
            transactions: Arc::clone(&transactions),
        };
        let (jobs, receiver) = mpsc::unbounded_channel();
        tokio::spawn(desk.run(receiver));
        Ok(Self { place, jobs, room: Arc::new(Semaphore::new(ROOM)), transactions })
    }

    /// Waits for room, sends the change and waits for the answer.
    pub(super) async fn change(&self, change: Change) -> Result<Done, PostgresError> {
        let closed = || PostgresError::Closed { place: Arc::clone(&self.place) };
        let units = (change.bytes() / 1_024).clamp(1, ROOM);
        let units = u32::try_from(units).unwrap_or(u32::MAX);
        let room = Arc::clone(&self.room).acquire_many_owned(units).await.map_err(|_| closed())?;
        let (answer, receiver) = oneshot::channel();
        self.jobs.send(Job { change, answer, room }).map_err(|_| closed())?;
        receiver.await.unwrap_or_else(|_| Err(closed()))
    }

    /// Returns the counter of committed transactions.
    pub(super) fn transactions(&self) -> &AtomicU64 {
        &self.transactions
    }
}

impl Change {
    /// Returns about how much memory it takes.
    fn bytes(&self) -> usize {
        match self {
            Self::Append(lines) => lines.iter().map(Line::bytes).sum(),
            Self::Checkpoint { note, .. } => note.len(),
            Self::Claim { claim, .. } => claim.arguments.len() + claim.name.key.len(),
            Self::Clear { space } => space.len(),
            Self::Delete { space, key } => space.len() + key.len(),
            Self::Set(value) => value.bytes(),
            Self::Settle { settlement: Settlement::Committed { output, .. }, .. } => output.len(),
            Self::Frontier | Self::Settle { .. } | Self::Sweep => 0,
        }
    }
}

/// What the task owns.
struct Desk {
    target: Arc<Target>,
    options: PostgresOptions,
    session: Option<Session>,
    known: Arc<Known>,
    mark: Mark,
    transactions: Arc<AtomicU64>,
}

impl Desk {
    /// Works until nobody can send any more.
    async fn run(mut self, mut jobs: mpsc::UnboundedReceiver<Job>) {
        let mut swept = Instant::now();
        let mut group = Vec::new();
        loop {
            match tokio::time::timeout(SWEEP, jobs.recv_many(&mut group, GROUP)).await {
                Ok(0) => return,
                Ok(_) => self.settle(&mut group).await,
                Err(_) => {}
            }
            if swept.elapsed() >= SWEEP {
                swept = Instant::now();
                // What has expired is never shown, so that a sweep that failed can wait for the next.
                let _swept = self.commit(&[Change::Sweep]).await;
                let _forgotten = self.forget_raw().await;
            }
        }
    }

    /// Drops raw outputs whose time is up, by the clock of this machine: it made the times of the entries too.
    async fn forget_raw(&self) -> Result<(), PostgresError> {
        let (KeepRaw::For(time), Some(session)) = (self.options.raw, &self.session) else { return Ok(()) };
        let before = SystemClock.now().saturating_sub(time);
        while check::forget_some(session, before).await? > 0 {}
        Ok(())
    }

    /// Commits a group, then answers each of its changes. Whoever no longer waits misses the answer and nothing else.
    async fn settle(&mut self, group: &mut Vec<Job>) {
        let (changes, answers): (Vec<_>, Vec<_>) =
            group.drain(..).map(|job| (job.change, (job.answer, job.room))).unzip();
        match self.commit(&changes).await {
            Ok(done) => {
                for ((answer, _room), done) in answers.into_iter().zip(done) {
                    drop(answer.send(Ok(done)));
                }
            }
            Err(error) => {
                for (answer, _room) in answers {
                    drop(answer.send(Err(error.clone())));
                }
            }
        }
    }

    /// Makes all changes in one transaction, and tries again where that may help.
    async fn commit(&mut self, changes: &[Change]) -> Result<Vec<Done>, PostgresError> {
        self.mark.sequence += 1;
        let started = Instant::now();
        let (mut doubtful, mut tries) = (false, 0);
        loop {
            let failed = match self.attempt(changes, doubtful).await {
                Ok(done) => {
                    self.transactions.fetch_add(1, Ordering::SeqCst);
                    return Ok(done);
                }
                Err(failed) => failed,
            };
            // Nothing is known of what is still on its way there.
            self.session = None;
            doubtful |= failed.doubtful;
            let again = failed.error.passes() || failed.doubtful;
            if !again || started.elapsed() >= self.options.patience {
                return Err(if doubtful { unsettled(&self.target, &failed.error) } else { failed.error });
            }
            random::pause(tries).await;
            tries += 1;
        }
    }

    /// Tries once, on the connection that there is or on a new one.
    async fn attempt(&mut self, changes: &[Change], doubtful: bool) -> Result<Vec<Done>, Failed> {
        let session = match self.session.take().filter(|session| !session.is_closed()) {
            Some(session) => session,
            None => Session::open(&self.target, &self.options).await?,
        };
        let done = transaction::run(&session, changes, &self.mark, &self.known, doubtful).await?;
        self.session = Some(session);
        Ok(done)
    }
}

/// Says that it is not known what became of a commit.
pub(super) fn unsettled(target: &Target, error: &PostgresError) -> PostgresError {
    PostgresError::Unsettled { place: Arc::clone(&target.place), why: error.to_string() }
}
