//! What durability costs: keys of calls in a store, beside the same rows in the same tables without it.
//!
//! The floor has the tables, indexes and synchronous setting of a store, and one thread that commits for everybody who waits. It
//! has no mark, no digests, no totals, no history, and looks at no file: what differs is what those cost.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant};

use ringfence::{Claim, IdempotencyStore as _, KeyClaim, KeyName, Settlement};
use ringfence_store::SqliteStore;
use rusqlite::{Connection, Transaction, TransactionBehavior};
use tokio::sync::oneshot;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// How long a subject runs in a round.
const SPAN: Duration = Duration::from_millis(250);
/// How many rounds there are, after one that does not count.
const ROUNDS: usize = 16;
/// How many callers share a transaction of the floor, as in a store.
const GROUP: usize = 512;
/// How long an answer is kept.
const KEEP: Duration = Duration::from_hours(24);

/// What the rounds came to.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// Keys a second in a store, in the median.
    pub durable: f64,
    /// Keys a second as plain rows, in the median.
    pub plain: f64,
    /// The ratio of the two: the quartile below, the median, the quartile above.
    pub ratio: [f64; 3],
}

/// Measures keys that are claimed and settled by so many callers, in stores in this folder.
///
/// # Errors
///
/// A store fails, or a key is not granted.
pub async fn measure(folder: &Path, callers: usize) -> Result<Cost, Failure> {
    let store = SqliteStore::open(&folder.join(format!("durable-{callers}.db")))?;
    let floor = Floor::start(&folder.join(format!("plain-{callers}.db")))?;
    let (mut durable, mut plain, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..=ROUNDS {
        let keys = format!("{callers}-{round}");
        let store = store.clone();
        let first = run(callers, &keys, move |name, arguments| {
            let store = store.clone();
            async move { keep_durable(&store, name, arguments).await }
        });
        let floor = floor.clone();
        let second = run(callers, &keys, move |name, arguments| {
            let floor = floor.clone();
            async move { floor.keep(name, arguments).await }
        });
        let (ours, theirs) = if round % 2 == 0 {
            let ours = first.await?;
            (ours, second.await?)
        } else {
            let theirs = second.await?;
            (first.await?, theirs)
        };
        if round > 0 {
            durable.push(ours);
            plain.push(theirs);
            ratios.push(ours / theirs);
        }
    }
    let [_, durable, _] = quartiles(durable);
    let [_, plain, _] = quartiles(plain);
    Ok(Cost { durable, plain, ratio: quartiles(ratios) })
}

/// Has callers keep keys for a while, and returns how many in a second.
async fn run<F, Fut>(callers: usize, keys: &str, keep: F) -> Result<f64, Failure>
where
    F: Fn(KeyName, String) -> Fut + Clone + Send + 'static,
    Fut: Future<Output = Result<(), Failure>> + Send,
{
    let (next, started) = (Arc::new(AtomicU64::new(0)), Instant::now());
    let tasks: Vec<_> = (0..callers)
        .map(|_| {
            let (next, keys, keep) = (Arc::clone(&next), keys.to_owned(), keep.clone());
            tokio::spawn(async move {
                let mut count = 0_u32;
                while started.elapsed() < SPAN {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let name = KeyName { scope: "bench/pay".into(), key: format!("{keys}-{number}") };
                    keep(name, format!("{{\"invoice\":{number},\"customer\":\"acme\"}}")).await?;
                    count += 1;
                }
                Ok::<_, Failure>(count)
            })
        })
        .collect();
    let mut count = 0;
    for task in tasks {
        count += task.await??;
    }
    Ok(f64::from(count) / started.elapsed().as_secs_f64())
}

async fn keep_durable(store: &SqliteStore, name: KeyName, arguments: String) -> Result<(), Failure> {
    let claim = KeyClaim { name, digest: DIGEST.into(), arguments, run: "bench".into(), owner: OWNER.into() };
    let Claim::Granted(fence) = store.claim(&claim).await? else {
        return Err("a key was not granted".into());
    };
    let settlement = Settlement::Committed { output: OUTPUT.into(), keep: KEEP };
    store.settle(&claim.name, fence, settlement).await?;
    Ok(())
}

/// Texts of the length that real ones have.
const DIGEST: &str = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
const OWNER: &str = "0123456789abcdef0123456789abcdef";
const OUTPUT: &str = "\"receipt\"";

/// What is done in a transaction of the floor.
type Work = Box<dyn FnMut(&Transaction<'_>) -> rusqlite::Result<i64> + Send>;

/// Work for the thread of the floor, and whom to tell what it returned.
struct Job {
    work: Work,
    answer: oneshot::Sender<i64>,
}

/// Plain rows in the tables of a store.
#[derive(Clone)]
struct Floor(Sender<Job>);

impl Floor {
    fn start(path: &Path) -> Result<Self, Failure> {
        drop(SqliteStore::open(path)?);
        let connection = Connection::open(path)?;
        connection.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;
             PRAGMA secure_delete = ON; PRAGMA journal_size_limit = 67108864; PRAGMA wal_autocheckpoint = 8000;",
        )?;
        let (sender, receiver) = mpsc::channel();
        std::thread::Builder::new().name("floor".into()).spawn(move || commit_all(connection, &receiver))?;
        Ok(Self(sender))
    }

    async fn keep(&self, name: KeyName, arguments: String) -> Result<(), Failure> {
        let claimed = name.clone();
        let fence = self.transact(move |transaction| claim(transaction, &claimed, &arguments)).await?;
        let settled = self.transact(move |transaction| settle(transaction, &name, fence)).await?;
        if settled == 1 { Ok(()) } else { Err("a plain key was not settled".into()) }
    }

    async fn transact(
        &self,
        work: impl FnMut(&Transaction<'_>) -> rusqlite::Result<i64> + Send + 'static,
    ) -> Result<i64, Failure> {
        let (answer, answered) = oneshot::channel();
        self.0.send(Job { work: Box::new(work), answer }).map_err(|_| "the floor has ended")?;
        Ok(answered.await?)
    }
}

/// Commits everything that waits in one transaction, until nobody can ask any more or something fails.
fn commit_all(mut connection: Connection, jobs: &Receiver<Job>) -> rusqlite::Result<()> {
    while let Ok(first) = jobs.recv() {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut answers = Vec::new();
        for mut job in std::iter::once(first).chain(jobs.try_iter().take(GROUP - 1)) {
            answers.push(((job.work)(&transaction)?, job.answer));
        }
        transaction.commit()?;
        for (found, answer) in answers {
            // Whoever no longer waits misses the answer and nothing else.
            let _missed = answer.send(found);
        }
    }
    Ok(())
}

fn claim(transaction: &Transaction<'_>, name: &KeyName, arguments: &str) -> rusqlite::Result<i64> {
    let mut select =
        transaction.prepare_cached("SELECT fence, state FROM idempotency WHERE scope = ?1 AND key = ?2")?;
    if select.exists((&name.scope, &name.key))? {
        return Err(rusqlite::Error::QueryReturnedMoreThanOneRow);
    }
    let mut insert = transaction.prepare_cached(
        "INSERT INTO idempotency
             (fence, scope, key, digest, arguments, run, owner, instance, claimed_us, state)
         VALUES ((SELECT ifnull(max(fence), 0) + 1 FROM idempotency), ?1, ?2, ?3, ?4, 'bench', ?5, ?5, 1, 'executing')
         RETURNING fence",
    )?;
    insert.query_row((&name.scope, &name.key, DIGEST, arguments, OWNER), |row| row.get(0))
}

fn settle(transaction: &Transaction<'_>, name: &KeyName, fence: i64) -> rusqlite::Result<i64> {
    let mut update = transaction.prepare_cached(
        "UPDATE idempotency SET state = 'committed', output = ?1, until_us = 86400000000
         WHERE scope = ?2 AND key = ?3 AND fence = ?4 AND state <> 'committed'",
    )?;
    update.execute((OUTPUT, &name.scope, &name.key, fence)).map(|count| i64::from(count == 1))
}

/// Returns the quartile below, the median and the quartile above.
fn quartiles(mut samples: Vec<f64>) -> [f64; 3] {
    samples.sort_by(f64::total_cmp);
    [1, 2, 3].map(|part| samples.get(samples.len() * part / 4).copied().unwrap_or(f64::NAN))
}
