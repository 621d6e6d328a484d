//! Verification: everything that is stored of the log is handed over once, in the order of the log.
//!
//! INVARIANT: memory does not grow with the log: entries come one after another, and of nodes and checkpoints there
//! are never more than belong to one page of entries.

use std::borrow::Cow;
use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;

use futures_util::TryStreamExt as _;
use ringfence::audit::{Checkpoint, Columns, Hash, Node, Progress, TrustedLog, Verification, Verified};
use tokio_postgres::Row;

use super::PostgresStore;
use super::audit::get;
use super::difference;
use super::error::PostgresError;
use super::log::{self, signed};
use super::session::{Parameter, Session};

/// How many entries are asked for at a time; they come one after another all the same.
const PAGE: u64 = 10_000;
/// How many levels of inner nodes a tree can have.
const LEVELS: u32 = 62;

/// Sees one state of the database until it ends, however long that takes.
pub(super) const SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
    SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0";

/// The stored nodes that a page of entries completes, by level and place.
type Nodes = HashMap<(u32, u64), Option<Hash>>;

impl PostgresStore {
    /// Verifies the whole log as it is now, in one pass and in flat memory: records, their stored hashes, what they are
    /// filed under, their outputs, the inner nodes, the frontier and the kept checkpoints.
    ///
    /// `tail` is how many entries at the end may be without a signed checkpoint, and `trusted` a checkpoint that was
    /// kept elsewhere. `progress` counts entries.
    ///
    /// # Errors
    ///
    /// The database cannot be read, or its tables are not ours any more. That something is wrong with the log is no error but a finding.
    pub async fn verify(
        &self,
        log: &TrustedLog,
        tail: u64,
        trusted: Option<&Checkpoint>,
        progress: &Progress,
    ) -> Result<Verified, PostgresError> {
        let read = |session: Arc<Session>| async move {
            session.batch(SNAPSHOT).await?;
            difference::check_tables(&session).await?;
            let mut verification = Verification::new(log, tail);
            if let Some(checkpoint) = trusted {
                verification.trust(checkpoint);
            }
            let frontier = log::claimed_frontier(&session).await?;
            verification.frontier(&frontier);
            progress.begin(frontier.size());
            let mut notes = Some(Place::FIRST);
            let mut from = Some(i64::MIN);
            while let Some(position) = from {
                // Each checkpoint comes before the records pass its size.
                let until = verification.seen().saturating_add(PAGE);
                while let Some(place) = notes.filter(|place| place.size <= signed(until)) {
                    notes = checkpoints(&session, &mut verification, place).await?;
                }
                from = records(&session, &mut verification, position, progress).await?;
            }
            while let Some(place) = notes {
                notes = checkpoints(&session, &mut verification, place).await?;
            }
            surplus(&session, &mut verification, frontier.size()).await?;
            verification.expect_size(frontier.size());
            session.batch("COMMIT").await?;
            Ok(verification.finish())
        };
        self.readers().read(read).await
    }
}

/// Where the checkpoints have been read to: the size and the number of the last.
#[derive(Clone, Copy)]
struct Place {
    size: i64,
    ordinal: i64,
}

impl Place {
    /// Before all checkpoints.
    const FIRST: Self = Self { size: i64::MIN, ordinal: i64::MIN };
}

/// Hands some checkpoints over, and says where the next are, if there are more.
async fn checkpoints(
    session: &Session,
    verification: &mut Verification<'_>,
    Place { size, ordinal }: Place,
) -> Result<Option<Place>, PostgresError> {
    let sql = "SELECT size, ordinal, note FROM ringfence.checkpoint WHERE (size, ordinal) > ($1, $2)
        ORDER BY size, ordinal LIMIT 100";
    let mut next = None;
    for row in session.rows(sql, &[&size, &ordinal]).await? {
        // One that is not even text is not believed.
        let note: &[u8] = get(session, &row, 2)?;
        verification.checkpoint(&String::from_utf8_lossy(note));
        next = Some(Place { size: get(session, &row, 0)?, ordinal: get(session, &row, 1)? });
    }
    Ok(next)
}

/// Hands some records over, and says where the next begin, if there are more.
async fn records(
    session: &Session,
    verification: &mut Verification<'_>,
    from: i64,
    progress: &Progress,
) -> Result<Option<i64>, PostgresError> {
    let sql =
        "SELECT position, leaf, record, raw, clean, at_ms, kind, run, tool, code, class, host, principal,
            coalesce(s.first_ms <= at_ms AND at_ms <= s.last_ms, false)
        FROM ringfence.entry LEFT JOIN ringfence.span AS s ON s.block = position >> 10
        WHERE position >= $1 ORDER BY position LIMIT $2";
    let mut nodes = nodes(session, verification.seen()).await?;
    let mut finished = Vec::new();
    let statement = session.statement(sql).await?;
    let most = signed(PAGE);
    let parameters: [Parameter<'_>; 2] = [&from, &most];
    let rows = session.wait(session.client().query_raw(&statement, parameters)).await?;
    let mut rows = pin!(rows);
    let mut next = None;
    while let Some(row) = session.wait(rows.try_next()).await? {
        let position: i64 = get(session, &row, 0)?;
        record(session, verification, &row, &mut finished)?;
        progress.reach(verification.seen());
        for node in finished.drain(..) {
            let stored = nodes.remove(&(node.id.level(), node.id.index()));
            if stored.flatten() != Some(node.hash) {
                verification.other_node(node.id.level(), node.id.index());
            }
        }
        next = position.checked_add(1);
    }
    Ok(next)
}

/// Hands one record over, and collects the nodes that it completes.
fn record(
    session: &Session,
    verification: &mut Verification<'_>,
    row: &Row,
    finished: &mut Vec<Node>,
) -> Result<(), PostgresError> {
    let index = get::<i64>(session, row, 0)?.cast_unsigned();
    // A stored hash of another length is another hash.
    let leaf: &[u8] = get(session, row, 1)?;
    let leaf = leaf.try_into().map_or_else(|_| Hash::of(leaf), Hash::from_bytes);
    let record: &[u8] = get(session, row, 2)?;
    verification.record_with(index, record, Some(leaf), |node| finished.push(node));
    let text = |column| {
        let bytes: Option<&[u8]> = get(session, row, column)?;
        Ok::<_, PostgresError>(bytes.map(String::from_utf8_lossy))
    };
    let columns = Columns {
        at: get::<i64>(session, row, 5)?.cast_unsigned(),
        kind: Cow::Borrowed(get(session, row, 6)?),
        run: text(7)?,
        tool: text(8)?,
        code: get::<Option<&str>>(session, row, 9)?.map(Cow::Borrowed),
        class: get::<Option<&str>>(session, row, 10)?.map(Cow::Borrowed),
        host: text(11)?,
        principal: text(12)?,
    };
    verification.columns(index, record, &columns);
    if !get::<bool>(session, row, 13)? {
        verification.unlisted(index);
    }
    let (raw, clean): (Option<&[u8]>, Option<&[u8]>) = (get(session, row, 3)?, get(session, row, 4)?);
    verification.outputs(index, record, raw, clean);
    Ok(())
}

/// Reads the nodes that the next page of entries completes.
async fn nodes(session: &Session, seen: u64) -> Result<Nodes, PostgresError> {
    let (mut levels, mut first, mut end) = (Vec::new(), Vec::new(), Vec::new());
    for level in 1..=LEVELS {
        let range = (seen >> level)..(seen.saturating_add(PAGE) >> level);
        if !range.is_empty() {
            levels.push(level.cast_signed());
            first.push(signed(range.start));
            end.push(signed(range.end));
        }
    }
    let sql = "SELECT n.level, n.position, n.hash
        FROM unnest($1::integer[], $2::bigint[], $3::bigint[]) AS asked (level, first, past)
        JOIN ringfence.node AS n ON n.level = asked.level AND n.position >= asked.first AND n.position < asked.past";
    let mut found = Nodes::new();
    for row in session.rows(sql, &[&levels, &first, &end]).await? {
        let (level, position): (i32, i64) = (get(session, &row, 0)?, get(session, &row, 1)?);
        let hash: &[u8] = get(session, &row, 2)?;
        let hash = hash.try_into().ok().map(Hash::from_bytes);
        found.insert((level.cast_unsigned(), position.cast_unsigned()), hash);
    }
    Ok(found)
}

/// Looks for nodes that no log of this size has.
async fn surplus(
    session: &Session,
    verification: &mut Verification<'_>,
    size: u64,
) -> Result<(), PostgresError> {
    let sql = "SELECT level, position FROM ringfence.node
        WHERE level NOT BETWEEN 1 AND 62 OR position < 0 OR position >= $1::bigint >> level
        ORDER BY level, position LIMIT 1000";
    let size = signed(verification.seen().max(size));
    for row in session.rows(sql, &[&size]).await? {
        let (level, position): (i32, i64) = (get(session, &row, 0)?, get(session, &row, 1)?);
        verification.other_node(u32::try_from(level).unwrap_or(u32::MAX), position.cast_unsigned());
    }
    Ok(())
}
