//! The log as the writer sees it: entries, complete nodes and the frontier, always in one transaction.
//!
//! INVARIANT: the frontier in its row has as many leaves as there are positions, and its hashes are the stored ones.

use std::collections::HashMap;

use ringfence::audit::{ConsistencyProof, Frontier, Hash, NodeId};
use tokio_postgres::Row;

use super::error::PostgresError;
use super::session::{Parameter, Session};
use crate::line::Line;

/// Appends entries and the times of their blocks, all in one statement.
pub(super) const INSERT_ENTRIES: &str = "WITH widened AS (
        INSERT INTO ringfence.span AS s (block, first_ms, last_ms)
        SELECT position >> 10, min(at_ms), max(at_ms)
        FROM unnest($1::bigint[], $2::bigint[]) AS t (position, at_ms) GROUP BY 1
        ON CONFLICT (block) DO UPDATE SET
            first_ms = least(s.first_ms, excluded.first_ms), last_ms = greatest(s.last_ms, excluded.last_ms)
            WHERE excluded.first_ms < s.first_ms OR excluded.last_ms > s.last_ms
    )
    INSERT INTO ringfence.entry
    (position, at_ms, kind, run, tool, code, leaf, record, raw, clean, class, host, principal, filing)
    SELECT t.*, 3 FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bytea[], $5::bytea[], $6::text[],
        $7::bytea[], $8::bytea[], $9::bytea[], $10::bytea[], $11::text[], $12::bytea[], $13::bytea[]) AS t";
/// Keeps the nodes that entries completed.
pub(super) const INSERT_NODES: &str = "INSERT INTO ringfence.node (level, position, hash)
    SELECT * FROM unnest($1::integer[], $2::bigint[], $3::bytea[])";
/// Keeps checkpoints; the same one is kept once.
pub(super) const INSERT_CHECKPOINTS: &str = "INSERT INTO ringfence.checkpoint (size, note)
    SELECT * FROM unnest($1::bigint[], $2::bytea[]) ON CONFLICT DO NOTHING";
/// Waits for one's turn, and reads where the log stands.
pub(super) const LOCK_FRONTIER: &str =
    "SELECT bytes, store, sequence, chain FROM ringfence.frontier WHERE one = 1 FOR UPDATE";
/// Keeps where the log stands, and that the store has come one transaction further.
pub(super) const UPDATE_FRONTIER: &str = "UPDATE ringfence.frontier SET bytes = $1, sequence = sequence + 1, chain = sha256(chain || $2) WHERE one = 1";

/// Entries by columns, as one statement takes them.
#[derive(Default)]
pub(super) struct Entries<'a> {
    pub(super) positions: Vec<i64>,
    pub(super) times: Vec<i64>,
    pub(super) kinds: Vec<&'a str>,
    pub(super) runs: Vec<Option<&'a [u8]>>,
    pub(super) tools: Vec<Option<&'a [u8]>>,
    pub(super) codes: Vec<Option<&'a str>>,
    pub(super) leaves: Vec<&'a [u8]>,
    pub(super) records: Vec<&'a [u8]>,
    pub(super) raws: Vec<Option<&'a [u8]>>,
    pub(super) cleans: Vec<Option<&'a [u8]>>,
    pub(super) classes: Vec<Option<&'a str>>,
    pub(super) hosts: Vec<Option<&'a [u8]>>,
    pub(super) principals: Vec<Option<&'a [u8]>>,
}

/// Nodes by columns.
#[derive(Default)]
pub(super) struct Nodes {
    pub(super) levels: Vec<i32>,
    pub(super) positions: Vec<i64>,
    pub(super) hashes: Vec<Vec<u8>>,
}

impl<'a> Entries<'a> {
    /// Returns the columns in the order of [`INSERT_ENTRIES`].
    #[rustfmt::skip]
    pub(super) fn parameters(&self) -> [Parameter<'_>; 13] {
        [
            &self.positions, &self.times, &self.kinds, &self.runs, &self.tools,
            &self.codes, &self.leaves, &self.records, &self.raws, &self.cleans,
            &self.classes, &self.hosts, &self.principals,
        ]
    }

    /// Adds a line at the end of the log, and the nodes that it completes.
    pub(super) fn push(&mut self, Line { line, leaf }: &'a Line, frontier: &mut Frontier, nodes: &mut Nodes) {
        self.positions.push(signed(frontier.size()));
        self.times.push(signed(line.at));
        self.kinds.push(line.kind);
        self.runs.push(line.run.as_deref().map(str::as_bytes));
        self.tools.push(line.tool.as_deref().map(str::as_bytes));
        self.codes.push(line.code.map(ringfence::Code::as_str));
        self.leaves.push(leaf.as_bytes());
        self.records.push(line.record.as_bytes());
        self.raws.push(line.raw.as_deref().map(str::as_bytes));
        self.cleans.push(line.clean.as_deref().map(str::as_bytes));
        self.classes.push(line.class.map(ringfence::policy::SafetyClass::as_str));
        self.hosts.push(line.host.as_deref().map(str::as_bytes));
        self.principals.push(line.principal.as_deref().map(str::as_bytes));
        frontier.append_with(*leaf, |node| {
            nodes.levels.push(i32::try_from(node.id.level()).unwrap_or(i32::MAX));
            nodes.positions.push(signed(node.id.index()));
            nodes.hashes.push(node.hash.as_bytes().to_vec());
        });
    }
}

impl Nodes {
    /// Returns the columns in the order of [`INSERT_NODES`].
    pub(super) fn parameters(&self) -> [Parameter<'_>; 3] {
        [&self.levels, &self.positions, &self.hashes]
    }
}

/// Reads where the log stands, and refuses a frontier that does not fit the entries and the nodes.
///
/// The session is in a transaction that sees one state.
pub(super) async fn frontier(session: &Session) -> Result<Frontier, PostgresError> {
    let frontier = claimed_frontier(session).await?;
    let size = size(session).await?;
    if frontier.size() != size {
        let why = format!("its tree is over {} entries and it has {size}", frontier.size());
        return Err(session.corrupt(why));
    }
    let needed = Frontier::needed(size).map_err(|error| session.corrupt(error.to_string()))?;
    let stored = nodes(session, &needed).await?;
    for (id, hash) in needed.iter().zip(frontier.nodes()) {
        if stored.get(id) != Some(hash) {
            let why = format!("node {} of level {} is not in its tree", id.index(), id.level());
            return Err(session.corrupt(why));
        }
    }
    Ok(frontier)
}

/// Refuses a log that does not go on from where it stood.
pub(super) async fn check_growth(
    session: &Session,
    last: &Frontier,
    frontier: &Frontier,
) -> Result<(), PostgresError> {
    let other =
        || session.corrupt(format!("its log does not go on from the {} entries that it had", last.size()));
    let (old, new) = (last.size(), frontier.size());
    let needed = ConsistencyProof::needed(old, new).map_err(|_| other())?;
    let stored = nodes(session, &needed).await?;
    let grown = ConsistencyProof::assemble(old, new, |id| stored.get(&id).copied());
    grown.and_then(|proof| proof.verify(last.root(), frontier.root())).map_err(|_| other())
}

/// Reads the frontier as it is written.
pub(super) async fn claimed_frontier(session: &Session) -> Result<Frontier, PostgresError> {
    let row = session.row("SELECT bytes FROM ringfence.frontier WHERE one = 1", &[]).await?;
    frontier_of(session, row.as_ref())
}

/// Reads the frontier from its row.
pub(super) fn frontier_of(session: &Session, row: Option<&Row>) -> Result<Frontier, PostgresError> {
    let row = row.ok_or_else(|| session.corrupt("it has no frontier"))?;
    let bytes: &[u8] = row.try_get(0).map_err(|error| session.failed(&error))?;
    Frontier::from_bytes(bytes).map_err(|error| session.corrupt(error.to_string()))
}

/// Returns the number of positions: one more than the last.
pub(super) async fn size(session: &Session) -> Result<u64, PostgresError> {
    let row = session.row("SELECT coalesce(max(position), -1) + 1 FROM ringfence.entry", &[]).await?;
    let row = row.ok_or_else(|| session.corrupt("it counts no entries"))?;
    let size: i64 = row.try_get(0).map_err(|error| session.failed(&error))?;
    u64::try_from(size).map_err(|_| session.corrupt("a position is negative"))
}

/// Returns the hashes that are stored for some nodes. A hash of another length is not stored.
pub(super) async fn nodes(session: &Session, ids: &[NodeId]) -> Result<HashMap<NodeId, Hash>, PostgresError> {
    let levels: Vec<i32> = ids.iter().map(|id| i32::try_from(id.level()).unwrap_or(i32::MAX)).collect();
    let positions: Vec<i64> = ids.iter().map(|id| signed(id.index())).collect();
    let sql = "SELECT asked.ordinal, coalesce(e.leaf, n.hash)
        FROM unnest($1::integer[], $2::bigint[]) WITH ORDINALITY AS asked (level, position, ordinal)
        LEFT JOIN ringfence.entry AS e ON asked.level = 0 AND e.position = asked.position
        LEFT JOIN ringfence.node AS n ON n.level = asked.level AND n.position = asked.position";
    let mut found = HashMap::with_capacity(ids.len());
    for row in session.rows(sql, &[&levels, &positions]).await? {
        let failed = |error| session.failed(&error);
        let ordinal: i64 = row.try_get(0).map_err(failed)?;
        let hash: Option<&[u8]> = row.try_get(1).map_err(failed)?;
        let id = usize::try_from(ordinal - 1).ok().and_then(|index| ids.get(index));
        if let (Some(id), Some(Ok(hash))) = (id, hash.map(<[u8; 32]>::try_from)) {
            found.insert(*id, Hash::from_bytes(hash));
        }
    }
    Ok(found)
}

/// Returns a number as the database has it; beyond its range there is nothing to find.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
