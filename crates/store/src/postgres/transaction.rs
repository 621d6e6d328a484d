//! One transaction: two messages to the server, and two answers.
//!
//! The first takes the turn of this writer and learns where the log stands; the second holds everything that is
//! written, and the commit. The transaction also keeps the mark of its writer, so that one whose answer was lost can
//! be asked for.
//!
//! INVARIANT: no transaction is called done unless each of its statements was, or its mark is in the database.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::{OptionFuture, join, join3, join4};
use ringfence::StoreError;
use ringfence::audit::{Frontier, Hash};
use tokio_postgres::Row;
use tokio_postgres::error::Severity;

use super::error::PostgresError;
use super::key::{self, Keys};
use super::log::{self, Entries, Nodes};
use super::session::{Parameter, Session};
use super::value::Values;
use super::writer::{Change, Done};
use crate::line::Line;

/// Reads the mark of a writer.
const SELECT_MARK: &str =
    "SELECT kept, verdicts, fences FROM ringfence.writer WHERE id = $1 AND sequence = $2";
/// Changes values and keys, and keeps the mark of the transaction with what came of each change.
const APPLY: &str = "WITH
    v AS MATERIALIZED (SELECT ringfence.value_apply($3, $4, $5, $6, $7, $8, $9) AS kept),
    k AS MATERIALIZED (SELECT * FROM ringfence.key_apply($10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20)),
    marked AS (
        INSERT INTO ringfence.writer (id, sequence, kept, verdicts, fences, at)
        SELECT $1, $2, v.kept, k.verdicts, k.fences, ringfence.moment() FROM v, k
        ON CONFLICT (id) DO UPDATE SET sequence = excluded.sequence, kept = excluded.kept,
            verdicts = excluded.verdicts, fences = excluded.fences, at = excluded.at)
    SELECT v.kept, k.verdicts, k.fences, k.outputs FROM v, k";

/// Where the log and the store were last seen to stand. What is found there later must go on from it.
pub(super) struct Known(Mutex<(Frontier, Option<History>)>);

/// Which store it is, and how far it has come.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct History {
    store: Vec<u8>,
    sequence: i64,
    chain: Vec<u8>,
}

impl History {
    /// Reads the row of [`log::LOCK_FRONTIER`].
    fn read(session: &Session, row: Option<&Row>) -> Result<Self, PostgresError> {
        let row = row.ok_or_else(|| session.corrupt("it has no frontier"))?;
        let failed = |error| session.failed(&error);
        Ok(Self {
            store: row.try_get(1).map_err(failed)?,
            sequence: row.try_get(2).map_err(failed)?,
            chain: row.try_get(3).map_err(failed)?,
        })
    }

    /// Says whether this can be the same store at the same time or later.
    fn follows(&self, last: &Self) -> bool {
        self.store == last.store
            && (self.sequence > last.sequence || (self.sequence == last.sequence && self.chain == last.chain))
    }

    /// Returns it after the transaction that adds `link` to the chain, as [`log::UPDATE_FRONTIER`] does.
    fn next(mut self, link: &[u8]) -> Self {
        self.chain.extend_from_slice(link);
        let chain = Hash::of(&self.chain).as_bytes().to_vec();
        Self { chain, sequence: self.sequence.saturating_add(1), ..self }
    }
}

impl Known {
    /// Starts with what was seen first.
    pub(super) const fn new(frontier: Frontier) -> Self {
        Self(Mutex::new((frontier, None)))
    }

    fn last(&self) -> (Frontier, Option<History>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Remembers what was committed or seen.
    fn learn(&self, frontier: &Frontier, history: &History) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if frontier.size() > known.0.size() {
            known.0.clone_from(frontier);
        }
        if known.1.as_ref().is_none_or(|known| history.sequence > known.sequence) {
            known.1 = Some(history.clone());
        }
    }
}

/// Which transaction of which writer it is.
pub(super) struct Mark {
    /// The writer.
    pub(super) id: [u8; 16],
    /// Its transaction, counted from 1. One that is tried again keeps its number.
    pub(super) sequence: i64,
}

impl Mark {
    /// Returns what the transaction adds to the chain of the store.
    fn link(&self) -> Vec<u8> {
        [self.id.as_slice(), &self.sequence.to_be_bytes()].concat()
    }
}

/// Why a transaction was not seen to succeed.
pub(super) struct Failed {
    /// What happened.
    pub(super) error: PostgresError,
    /// It may have been committed all the same.
    pub(super) doubtful: bool,
}

impl From<PostgresError> for Failed {
    fn from(error: PostgresError) -> Self {
        Self { error, doubtful: false }
    }
}

/// What is written, by statements.
#[derive(Default)]
struct Batch<'a> {
    entries: Entries<'a>,
    nodes: Nodes,
    sizes: Vec<i64>,
    notes: Vec<&'a [u8]>,
    values: Values<'a>,
    keys: Keys<'a>,
}

/// What a change will be answered once the transaction is known to be done.
enum Slot {
    /// Where the log stood.
    Frontier(Frontier),
    /// That it is kept.
    Kept,
    /// What the next of the keys is answered.
    Key,
    /// What the next of the values is answered.
    Value,
}

/// Makes all changes, or none.
///
/// When it is `doubtful` whether this very transaction was committed before, it is first looked for. Whoever may
/// still be committing it holds the turn, so that what is found then is final.
pub(super) async fn run(
    session: &Session,
    changes: &[Change],
    mark: &Mark,
    known: &Known,
    doubtful: bool,
) -> Result<Vec<Done>, Failed> {
    let (mut frontier, history) = begin(session, known).await?;
    if doubtful && let Some(row) = find(session, mark).await? {
        session.batch("ROLLBACK").await?;
        let slots = changes.iter().map(|change| slot(change, &frontier)).collect();
        return Ok(answers(session, slots, &row, None)?);
    }
    let mut batch = Batch::default();
    let mut slots = Vec::with_capacity(changes.len());
    for change in changes {
        batch.push(change, &mut frontier);
        slots.push(slot(change, &frontier));
    }
    ringfence::fail_point::hit("store.commit");
    let row = batch.send(session, mark, &frontier).await?;
    ringfence::fail_point::hit("store.committed");
    known.learn(&frontier, &history.next(&mark.link()));
    let outputs = row.try_get(3).map_err(|error| session.failed(&error))?;
    Ok(answers(session, slots, &row, Some(outputs))?)
}

/// Begins, waits for the turn of this writer and learns where the log stands. A log that does not go on from what
/// this process has seen is not gone on with.
pub(super) async fn begin(session: &Session, known: &Known) -> Result<(Frontier, History), PostgresError> {
    let lock = session.statement(log::LOCK_FRONTIER).await?;
    let client = session.client();
    let both = join(client.batch_execute("BEGIN"), client.query_opt(&lock, &[]));
    let row = session.wait(async { both.await.1 }).await?;
    let frontier = log::frontier_of(session, row.as_ref())?;
    let history = History::read(session, row.as_ref())?;
    let (last, seen) = known.last();
    if frontier != last {
        log::check_growth(session, &last, &frontier).await?;
    }
    if seen.is_some_and(|seen| !history.follows(&seen)) {
        return Err(PostgresError::WentBack { place: Arc::clone(session.place()) });
    }
    known.learn(&frontier, &history);
    Ok((frontier, history))
}

/// Looks for the mark of a transaction.
pub(super) async fn find(session: &Session, mark: &Mark) -> Result<Option<Row>, PostgresError> {
    session.row(SELECT_MARK, &[&mark.id.as_slice(), &mark.sequence]).await
}

/// Writes some lines and the mark, and commits what else the session has done in its turn.
pub(super) async fn finish(
    session: &Session,
    lines: Vec<Line>,
    mark: &Mark,
    known: &Known,
    (mut frontier, history): (Frontier, History),
) -> Result<(), Failed> {
    let lines = Change::Append(lines);
    let mut batch = Batch::default();
    batch.push(&lines, &mut frontier);
    batch.send(session, mark, &frontier).await?;
    known.learn(&frontier, &history.next(&mark.link()));
    Ok(())
}

/// Returns what a change will be answered.
fn slot(change: &Change, frontier: &Frontier) -> Slot {
    match change {
        Change::Append(_) | Change::Checkpoint { .. } => Slot::Kept,
        Change::Claim { .. } | Change::Settle { .. } => Slot::Key,
        Change::Clear { .. } | Change::Delete { .. } | Change::Set(_) | Change::Sweep => Slot::Value,
        Change::Frontier => Slot::Frontier(frontier.clone()),
    }
}

/// Answers the changes of a transaction that is done. What keys replay is only known when it was seen to be done.
fn answers(
    session: &Session,
    slots: Vec<Slot>,
    row: &Row,
    outputs: Option<Vec<Option<Vec<u8>>>>,
) -> Result<Vec<Done>, PostgresError> {
    let failed = |error| session.failed(&error);
    let lost = || session.corrupt("it has lost the answers of a transaction");
    let kept: Vec<bool> = row.try_get(0).map_err(failed)?;
    let (verdicts, fences): (Vec<i16>, Vec<i64>) =
        (row.try_get(1).map_err(failed)?, row.try_get(2).map_err(failed)?);
    let mut kept = kept.into_iter();
    let mut keys = verdicts.into_iter().zip(fences);
    let mut outputs = outputs.map(Vec::into_iter);
    let answer = |slot| match slot {
        Slot::Frontier(frontier) => Ok(Done::Frontier(frontier)),
        Slot::Kept => Ok(Done::Kept),
        Slot::Key => {
            let (verdict, fence) = keys.next().ok_or_else(lost)?;
            let output = outputs.as_mut().map(|outputs| outputs.next().flatten());
            key::answer(verdict, fence, output).ok_or_else(lost)
        }
        Slot::Value => match kept.next() {
            Some(true) => Ok(Done::Kept),
            Some(false) => Ok(Done::Refused(StoreError::Full)),
            None => Err(lost()),
        },
    };
    slots.into_iter().map(answer).collect()
}

impl<'a> Batch<'a> {
    /// Adds a change.
    fn push(&mut self, change: &'a Change, frontier: &mut Frontier) {
        match change {
            Change::Append(lines) => {
                for line in lines {
                    self.entries.push(line, frontier, &mut self.nodes);
                }
            }
            Change::Checkpoint { size, note } => {
                self.sizes.push(log::signed(*size));
                self.notes.push(note.as_bytes());
            }
            Change::Claim { claim, instance } => self.keys.claim(claim, instance),
            Change::Clear { space } => self.values.clear(space),
            Change::Delete { space, key } => self.values.delete(space, key),
            Change::Frontier => {}
            Change::Set(value) => self.values.set(value),
            Change::Settle { name, fence, settlement } => self.keys.settle(name, *fence, settlement),
            Change::Sweep => self.values.sweep(),
        }
    }

    /// Sends everything and the commit at once, and returns the row of the mark.
    async fn send(&self, session: &Session, mark: &Mark, frontier: &Frontier) -> Result<Row, Failed> {
        let entries = session.statement(log::INSERT_ENTRIES).await?;
        let nodes = session.statement(log::INSERT_NODES).await?;
        let checkpoints = session.statement(log::INSERT_CHECKPOINTS).await?;
        let update = session.statement(log::UPDATE_FRONTIER).await?;
        let apply = session.statement(APPLY).await?;

        let client = session.client();
        let (id, bytes, link) = (mark.id.as_slice(), frontier.to_bytes(), mark.link());
        let new_entries = self.entries.parameters();
        let new_nodes = self.nodes.parameters();
        let new_notes: [Parameter<'_>; 2] = [&self.sizes, &self.notes];
        let new_frontier: [Parameter<'_>; 2] = [&bytes, &link];
        let mut applied: Vec<Parameter<'_>> = vec![&id, &mark.sequence];
        applied.extend(self.values.parameters());
        applied.extend(self.keys.parameters());

        // Statements are sent in the order in which they are first looked at, which is the order here.
        let grown = !self.entries.positions.is_empty();
        let completed = !self.nodes.positions.is_empty();
        let signed = !self.sizes.is_empty();
        let written = join4(
            OptionFuture::from(grown.then(|| client.execute(&entries, &new_entries))),
            OptionFuture::from(completed.then(|| client.execute(&nodes, &new_nodes))),
            OptionFuture::from(signed.then(|| client.execute(&checkpoints, &new_notes))),
            OptionFuture::from(Some(client.execute(&update, &new_frontier))),
        );
        let all = join3(written, client.query_one(&apply, &applied), client.batch_execute("COMMIT"));

        let mut refused = false;
        // Boxed: what waits for seven statements at once is large, and every caller would hold it on its stack.
        let answer = session.wait(Box::pin(async {
            let ((entries, nodes, checkpoints, frontier), row, committed) = all.await;
            for done in [entries, nodes, checkpoints, frontier].into_iter().flatten() {
                done.inspect_err(|error| refused = is_refusal(error))?;
            }
            let row = row.inspect_err(|error| refused = is_refusal(error))?;
            committed.map(|()| row)
        }));
        match answer.await {
            Ok(row) => Ok(row),
            // A statement that was refused takes its whole transaction with it, and nothing else is certain.
            Err(error) => Err(Failed { error, doubtful: !refused }),
        }
    }
}

/// Says whether the server answered that it did not do what was asked, and goes on.
fn is_refusal(error: &tokio_postgres::Error) -> bool {
    error.as_db_error().is_some_and(|said| said.parsed_severity() == Some(Severity::Error))
}
