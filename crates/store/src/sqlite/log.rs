//! The log as the writer sees it: entries, complete nodes and the frontier, always in one transaction.
//!
//! INVARIANT: the frontier in its row has as many leaves as there are positions, and its hashes are the stored ones.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use ringfence::audit::{ConsistencyProof, Frontier, Hash, NodeId, Note};
use rusqlite::{Connection, OptionalExtension as _};

use super::error::SqliteError;
use super::turn::Turn;
use crate::line::Line;

/// How many raw outputs one transaction drops, so that nobody waits long for it.
const FORGOTTEN: u64 = 1_000;

/// The times of the entries that are appended in a turn, by the blocks that they are in.
#[derive(Default)]
pub(super) struct Spans(BTreeMap<u64, (i64, i64)>);

impl Spans {
    fn add(&mut self, position: u64, at: i64) {
        let (first, last) = self.0.entry(position >> 10).or_insert((at, at));
        *first = at.min(*first);
        *last = at.max(*last);
    }

    /// Keeps them.
    pub(super) fn keep(&self, transaction: &Connection) -> rusqlite::Result<()> {
        let mut widen = transaction.prepare_cached(
            "INSERT INTO span (block, first_ms, last_ms) VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE
             SET first_ms = min(first_ms, excluded.first_ms), last_ms = max(last_ms, excluded.last_ms)
             WHERE excluded.first_ms < first_ms OR excluded.last_ms > last_ms",
        )?;
        for (block, (first, last)) in &self.0 {
            widen.execute((block, first, last))?;
        }
        Ok(())
    }
}

/// Appends one line, and the nodes that it completes. Its time is to be kept in the same transaction.
pub(super) fn append(
    transaction: &Connection,
    frontier: &mut Frontier,
    spans: &mut Spans,
    Line { line, leaf }: &Line,
) -> rusqlite::Result<()> {
    let mut insert = transaction.prepare_cached(
        "INSERT INTO entry
             (position, at_ms, kind, run, tool, code, leaf, record, raw, clean, class, host, principal)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
    )?;
    let (position, at) = (frontier.size(), i64::try_from(line.at).unwrap_or(i64::MAX));
    insert.execute((
        position,
        at,
        line.kind,
        line.run.as_deref(),
        line.tool.as_deref(),
        line.code.map(ringfence::Code::as_str),
        leaf.as_bytes(),
        &line.record,
        &line.raw,
        &line.clean,
        line.class.map(ringfence::policy::SafetyClass::as_str),
        line.host.as_deref(),
        line.principal.as_deref(),
    ))?;
    spans.add(position, at);
    let mut insert =
        transaction.prepare_cached("INSERT INTO node (level, position, hash) VALUES (?1, ?2, ?3)")?;
    for node in frontier.append(*leaf) {
        insert.execute((node.id.level(), node.id.index(), node.hash.as_bytes()))?;
    }
    Ok(())
}

/// Returns the work that keeps a checkpoint; the same one is kept once.
pub(super) fn keeping_checkpoint(
    size: u64,
    note: &Note,
) -> impl FnMut(&mut Turn<'_>) -> Result<(), SqliteError> + use<> {
    let note = note.to_string();
    move |turn| {
        turn.sql(|transaction| {
            let mut insert = transaction.prepare_cached(
                "INSERT INTO checkpoint (size, note) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
            )?;
            insert.execute((size, &note)).map(drop)
        })
    }
}

/// Drops some of the raw outputs from before a time, and returns how many.
pub(super) fn forget_raw(transaction: &Connection, before: Duration) -> rusqlite::Result<u64> {
    let mut update = transaction.prepare_cached(
        "UPDATE entry SET raw = NULL WHERE position IN
             (SELECT position FROM entry WHERE raw IS NOT NULL AND at_ms < ?1 LIMIT ?2)",
    )?;
    let before = i64::try_from(before.as_millis()).unwrap_or(i64::MAX);
    update.execute((before, FORGOTTEN)).map(|count| u64::try_from(count).unwrap_or(u64::MAX))
}

/// Reads where the log stands, and refuses a frontier that does not fit the entries and the nodes.
pub(super) fn frontier(connection: &Connection, path: &Path) -> Result<Frontier, SqliteError> {
    let failed = |error| SqliteError::from_sqlite(path, &error);
    let corrupt = |why: String| SqliteError::Corrupt { path: path.to_owned(), why };
    let frontier = claimed_frontier(connection, path)?;
    let size = size(connection).map_err(failed)?;
    if frontier.size() != size {
        return Err(corrupt(format!("its tree is over {} entries and it has {size}", frontier.size())));
    }
    let needed = Frontier::needed(size).map_err(|error| corrupt(error.to_string()))?;
    for (id, &hash) in needed.into_iter().zip(frontier.nodes()) {
        if node(connection, id).map_err(failed)? != Some(hash) {
            return Err(corrupt(format!("node {} of level {} is not in its tree", id.index(), id.level())));
        }
    }
    Ok(frontier)
}

/// Returns where the log stands, from the bytes in its row, and refuses one that does not go on from `last`.
pub(super) fn grown_frontier(
    connection: &Connection,
    path: &Path,
    bytes: &[u8],
    last: &Frontier,
) -> Result<Frontier, SqliteError> {
    let frontier = parse_frontier(bytes, path)?;
    if frontier == *last {
        return Ok(frontier);
    }
    let mut broken = None;
    let grown = ConsistencyProof::assemble(last.size(), frontier.size(), |id| {
        node(connection, id).unwrap_or_else(|error| {
            broken = Some(SqliteError::from_sqlite(path, &error));
            None
        })
    });
    if let Some(error) = broken {
        return Err(error);
    }
    grown.and_then(|proof| proof.verify(last.root(), frontier.root())).map(|()| frontier).map_err(|_| {
        let why = format!("its log does not go on from the {} entries that it had", last.size());
        SqliteError::Corrupt { path: path.to_owned(), why }
    })
}

/// Reads the frontier as it is written.
pub(super) fn claimed_frontier(connection: &Connection, path: &Path) -> Result<Frontier, SqliteError> {
    let bytes: Vec<u8> = connection
        .prepare_cached("SELECT bytes FROM frontier")
        .and_then(|mut select| select.query_row([], |row| row.get(0)))
        .map_err(|error| SqliteError::from_sqlite(path, &error))?;
    parse_frontier(&bytes, path)
}

fn parse_frontier(bytes: &[u8], path: &Path) -> Result<Frontier, SqliteError> {
    Frontier::from_bytes(bytes)
        .map_err(|error| SqliteError::Corrupt { path: path.to_owned(), why: error.to_string() })
}

/// Returns the number of positions: one more than the last.
pub(super) fn size(connection: &Connection) -> rusqlite::Result<u64> {
    connection.query_row("SELECT ifnull(max(position), -1) + 1 FROM entry", [], |row| row.get(0))
}

/// Returns the hash that is stored for a node.
pub(super) fn node(connection: &Connection, id: NodeId) -> rusqlite::Result<Option<Hash>> {
    let found: Option<[u8; 32]> = if id.level() == 0 {
        let mut select = connection.prepare_cached("SELECT leaf FROM entry WHERE position = ?1")?;
        select.query_row([id.index()], |row| row.get(0)).optional()?
    } else {
        let mut select =
            connection.prepare_cached("SELECT hash FROM node WHERE level = ?1 AND position = ?2")?;
        select.query_row((id.level(), id.index()), |row| row.get(0)).optional()?
    };
    Ok(found.map(Hash::from_bytes))
}
