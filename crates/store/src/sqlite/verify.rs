//! Verification: everything that is stored of the log is handed over once, in the order of the log.
//!
//! INVARIANT: memory does not grow with the log: entries, checkpoints and each level of nodes are read side by side.

use ringfence::audit::{Checkpoint, Columns, Hash, Node, Progress, TrustedLog, Verification, Verified};
use rusqlite::types::ValueRef;
use rusqlite::{Row, Rows, Transaction};

use super::SqliteStore;
use super::error::SqliteError;
use super::log;

/// How many levels of inner nodes a tree can have.
const LEVELS: u32 = 63;

impl SqliteStore {
    /// Verifies the whole log as it is now, in one pass and in flat memory: records, their stored hashes, what they are
    /// filed under, their outputs, the inner nodes, the frontier and the kept checkpoints.
    ///
    /// `tail` is how many entries at the end may be without a signed checkpoint, and `trusted` a checkpoint that was
    /// kept elsewhere. `progress` counts entries.
    ///
    /// # Errors
    ///
    /// The database cannot be read, or its tables are not ours any more. That something is wrong with the log is no error but a finding.
    pub fn verify(
        &self,
        log: &TrustedLog,
        tail: u64,
        trusted: Option<&Checkpoint>,
        progress: &Progress,
    ) -> Result<Verified, SqliteError> {
        self.0.readers.snapshot(|snapshot| {
            self.check_tables(snapshot)?;
            let mut verification = Verification::new(log, tail);
            if let Some(checkpoint) = trusted {
                verification.trust(checkpoint);
            }
            let frontier = log::claimed_frontier(snapshot, self.path())?;
            verification.frontier(&frontier);
            progress.begin(frontier.size());
            run(&mut verification, snapshot, frontier.size(), progress)
                .map_err(|error| self.failed(&error))?;
            verification.expect_size(frontier.size());
            Ok(verification.finish())
        })
    }
}

/// Hands everything over, each checkpoint before the records pass its size.
fn run(
    verification: &mut Verification<'_>,
    snapshot: &Transaction<'_>,
    size: u64,
    progress: &Progress,
) -> rusqlite::Result<()> {
    let mut notes =
        snapshot.prepare_cached("SELECT CAST(note AS BLOB) FROM checkpoint ORDER BY size, ordinal")?;
    let mut entries = snapshot.prepare_cached(
        "SELECT position, leaf, record, raw, clean, at_ms, kind, run, tool, code, class, host, principal,
             (SELECT first_ms <= at_ms AND at_ms <= last_ms FROM span WHERE block = position >> 10)
         FROM entry ORDER BY position",
    )?;
    let mut levels = (1..=LEVELS)
        .map(|_| snapshot.prepare("SELECT position, hash FROM node WHERE level = ?1 ORDER BY position"))
        .collect::<Result<Vec<_>, _>>()?;
    let mut levels = (1..)
        .zip(&mut levels)
        .map(|(level, select)| Level::new(level, select.query([level])?))
        .collect::<Result<Vec<_>, _>>()?;
    let mut notes = notes.query([])?;
    let mut entries = entries.query([])?;

    let (mut ahead, mut more) = (0, true);
    let mut nodes = Vec::new();
    while let Some(entry) = entries.next()? {
        while more && ahead <= verification.seen() {
            match notes.next()? {
                Some(row) => ahead = checkpoint(verification, row)?.unwrap_or(ahead),
                None => more = false,
            }
        }
        record(verification, entry, &mut nodes)?;
        progress.reach(verification.seen());
        for node in nodes.drain(..) {
            let level = usize::try_from(node.id.level()).ok().and_then(|level| level.checked_sub(1));
            if let Some(level) = level.and_then(|level| levels.get_mut(level)) {
                level.compare(verification, &node)?;
            }
        }
    }
    while more && let Some(row) = notes.next()? {
        checkpoint(verification, row)?;
    }
    for level in levels {
        level.end(verification, size)?;
    }
    Ok(())
}

/// Hands one entry over, and collects the nodes that it completes.
fn record(
    verification: &mut Verification<'_>,
    entry: &Row<'_>,
    nodes: &mut Vec<Node>,
) -> rusqlite::Result<()> {
    let index = entry.get::<_, i64>(0)?.cast_unsigned();
    // A stored hash of another length is another hash.
    let leaf = bytes(entry, 1)?.unwrap_or_default();
    let leaf = leaf.try_into().map_or_else(|_| Hash::of(leaf), Hash::from_bytes);
    let record = bytes(entry, 2)?.unwrap_or_default();
    verification.record_with(index, record, Some(leaf), |node| nodes.push(node));
    let text = |column| bytes(entry, column).map(|text| text.map(String::from_utf8_lossy));
    let columns = Columns {
        at: entry.get::<_, i64>(5)?.cast_unsigned(),
        kind: text(6)?.unwrap_or_default(),
        run: text(7)?,
        tool: text(8)?,
        code: text(9)?,
        class: text(10)?,
        host: text(11)?,
        principal: text(12)?,
    };
    verification.columns(index, record, &columns);
    if entry.get::<_, Option<bool>>(13)? != Some(true) {
        verification.unlisted(index);
    }
    let (raw, clean) = (bytes(entry, 3)?, bytes(entry, 4)?);
    verification.outputs(index, record, raw, clean);
    Ok(())
}

/// The stored nodes of one level, in their order.
struct Level<'a> {
    level: u32,
    rows: Rows<'a>,
    /// The node that comes next: where it stands, and its hash if it can be one.
    next: Option<(i64, Option<Hash>)>,
}

impl<'a> Level<'a> {
    fn new(level: u32, rows: Rows<'a>) -> rusqlite::Result<Self> {
        let mut new = Self { level, rows, next: None };
        new.advance()?;
        Ok(new)
    }

    fn advance(&mut self) -> rusqlite::Result<()> {
        self.next = match self.rows.next()? {
            None => None,
            Some(row) => {
                let hash = bytes(row, 1)?.and_then(|hash| hash.try_into().ok()).map(Hash::from_bytes);
                Some((row.get(0)?, hash))
            }
        };
        Ok(())
    }

    /// Compares a node with the one that is stored in its place.
    fn compare(&mut self, verification: &mut Verification<'_>, node: &Node) -> rusqlite::Result<()> {
        let place = i64::try_from(node.id.index()).unwrap_or(i64::MAX);
        while let Some((position, hash)) = self.next
            && position <= place
        {
            self.advance()?;
            if position == place {
                if hash != Some(node.hash) {
                    verification.other_node(self.level, node.id.index());
                }
                return Ok(());
            }
            verification.other_node(self.level, position.cast_unsigned());
        }
        verification.other_node(self.level, node.id.index());
        Ok(())
    }

    /// Looks for nodes that no log of this size has. Others were not compared if records are missing.
    fn end(mut self, verification: &mut Verification<'_>, size: u64) -> rusqlite::Result<()> {
        let complete = verification.seen().max(size) >> self.level;
        while let Some((position, _)) = self.next {
            if position.cast_unsigned() >= complete {
                verification.other_node(self.level, position.cast_unsigned());
            }
            self.advance()?;
        }
        Ok(())
    }
}

/// Hands one checkpoint over; one that is not even text is not believed.
fn checkpoint(verification: &mut Verification<'_>, row: &Row<'_>) -> rusqlite::Result<Option<u64>> {
    let note = bytes(row, 0)?.unwrap_or_default();
    Ok(verification.checkpoint(&String::from_utf8_lossy(note)))
}

/// Returns the bytes of a column, whether they are text or not.
fn bytes<'a>(row: &'a Row<'_>, column: usize) -> rusqlite::Result<Option<&'a [u8]>> {
    match row.get_ref(column)? {
        ValueRef::Null => Ok(None),
        value => Ok(Some(value.as_bytes()?)),
    }
}
