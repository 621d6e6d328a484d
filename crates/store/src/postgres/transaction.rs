//! One transaction: two messages to the server, and two answers.
//!
//! The first takes the turn of this writer and learns where the log stands; the second holds everything that is
//! written, and the commit. The transaction also keeps the mark of its writer, so that one whose answer was lost can
//! be asked for.
//!
//! INVARIANT: no transaction is called done unless each of its statements was, or its mark is in the database.

use futures_util::future::{OptionFuture, join, join3, join4};
use ringfence::StoreError;
use ringfence::audit::Frontier;
use tokio_postgres::Row;
use tokio_postgres::error::Severity;

use super::error::PostgresError;
use super::log::{self, Entries, Nodes};
use super::session::{Parameter, Session};
use super::value::{APPLY_VALUES, Values};
use super::writer::{Change, Done};

/// Reads the mark of a writer.
const SELECT_MARK: &str = "SELECT kept FROM ringfence.writer WHERE id = $1 AND sequence = $2";

/// Which transaction of which writer it is.
pub(super) struct Mark {
    /// The writer.
    pub(super) id: [u8; 16],
    /// Its transaction, counted from 1. One that is tried again keeps its number.
    pub(super) sequence: i64,
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
}

/// What a change will be answered once the transaction is known to be done.
enum Slot {
    /// That it is kept.
    Kept,
    /// Where the log stood.
    Frontier(Frontier),
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
    doubtful: bool,
) -> Result<Vec<Done>, Failed> {
    let mut frontier = begin(session).await?;
    if doubtful {
        let row = session.row(SELECT_MARK, &[&mark.id.as_slice(), &mark.sequence]).await?;
        if let Some(row) = row {
            session.batch("ROLLBACK").await?;
            let slots = changes.iter().map(|change| slot(change, &frontier));
            return Ok(answers(session, slots.collect(), &row)?);
        }
    }
    let mut batch = Batch::default();
    let mut slots = Vec::with_capacity(changes.len());
    for change in changes {
        batch.push(change, &mut frontier);
        slots.push(slot(change, &frontier));
    }
    let row = batch.send(session, mark, &frontier).await?;
    Ok(answers(session, slots, &row)?)
}

/// Begins, waits for the turn of this writer and learns where the log stands.
async fn begin(session: &Session) -> Result<Frontier, PostgresError> {
    let lock = session.statement(log::LOCK_FRONTIER).await?;
    let client = session.client();
    let both = join(client.batch_execute("BEGIN"), client.query_opt(&lock, &[]));
    let row = session.wait(async { both.await.1 }).await?;
    log::frontier_of(session, row.as_ref())
}

/// Returns what a change will be answered.
fn slot(change: &Change, frontier: &Frontier) -> Slot {
    match change {
        Change::Append(_) | Change::Checkpoint { .. } => Slot::Kept,
        Change::Clear { .. } | Change::Delete { .. } | Change::Set(_) | Change::Sweep => Slot::Value,
        Change::Frontier => Slot::Frontier(frontier.clone()),
    }
}

/// Answers the changes of a transaction that is done.
fn answers(session: &Session, slots: Vec<Slot>, row: &Row) -> Result<Vec<Done>, PostgresError> {
    let kept: Vec<bool> = row.try_get(0).map_err(|error| session.failed(&error))?;
    let mut kept = kept.into_iter();
    let answer = |slot| match slot {
        Slot::Kept => Ok(Done::Kept),
        Slot::Frontier(frontier) => Ok(Done::Frontier(frontier)),
        Slot::Value => match kept.next() {
            Some(true) => Ok(Done::Kept),
            Some(false) => Ok(Done::Refused(StoreError::Full)),
            None => Err(session.corrupt("it has lost the answers of a transaction")),
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
            Change::Clear { space } => self.values.clear(space),
            Change::Delete { space, key } => self.values.delete(space, key),
            Change::Frontier => {}
            Change::Set(value) => self.values.set(value),
            Change::Sweep => self.values.sweep(),
        }
    }

    /// Sends everything and the commit at once, and returns the row of the mark.
    async fn send(&self, session: &Session, mark: &Mark, frontier: &Frontier) -> Result<Row, Failed> {
        let entries = session.statement(log::INSERT_ENTRIES).await?;
        let nodes = session.statement(log::INSERT_NODES).await?;
        let checkpoints = session.statement(log::INSERT_CHECKPOINTS).await?;
        let update = session.statement(log::UPDATE_FRONTIER).await?;
        let apply = session.statement(APPLY_VALUES).await?;

        let client = session.client();
        let (id, bytes) = (mark.id.as_slice(), frontier.to_bytes());
        let new_entries = self.entries.parameters();
        let new_nodes = self.nodes.parameters();
        let new_notes: [Parameter<'_>; 2] = [&self.sizes, &self.notes];
        let new_frontier: [Parameter<'_>; 1] = [&bytes];
        let new_values = self.values.parameters(&id, &mark.sequence);

        // Statements are sent in the order in which they are first looked at, which is the order here.
        let grown = !self.entries.positions.is_empty();
        let completed = !self.nodes.positions.is_empty();
        let signed = !self.sizes.is_empty();
        let written = join4(
            OptionFuture::from(grown.then(|| client.execute(&entries, &new_entries))),
            OptionFuture::from(completed.then(|| client.execute(&nodes, &new_nodes))),
            OptionFuture::from(signed.then(|| client.execute(&checkpoints, &new_notes))),
            OptionFuture::from(grown.then(|| client.execute(&update, &new_frontier))),
        );
        let all = join3(written, client.query_one(&apply, &new_values), client.batch_execute("COMMIT"));

        let mut refused = false;
        let answer = session.wait(async {
            let ((entries, nodes, checkpoints, frontier), row, committed) = all.await;
            for done in [entries, nodes, checkpoints, frontier].into_iter().flatten() {
                done.inspect_err(|error| refused = is_refusal(error))?;
            }
            let row = row.inspect_err(|error| refused = is_refusal(error))?;
            committed.map(|()| row)
        });
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
