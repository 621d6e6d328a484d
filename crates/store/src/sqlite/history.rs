//! How far a store has come, as its own database says.
//!
//! INVARIANT: each transaction that changes something moves the sequence on by one, and the chain with it.

use std::path::Path;
use std::time::Duration;

use ringfence::Fence;
use ringfence::audit::{Frontier, Hash};
use rusqlite::{Connection, OptionalExtension as _, Row};

use super::digest::{RowDigest, damaged};
use super::error::SqliteError;
use super::mark::{MOST, Mark};
use super::time::micros;
use super::total::TotalChange;

/// The row that says which store it is and how far it has come.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct History {
    /// The random id of the store.
    pub(super) store: [u8; 16],
    /// How many transactions it has seen.
    pub(super) sequence: u64,
    /// Tells two histories of the same length apart.
    pub(super) chain: Hash,
    /// The last fence that was handed out.
    pub(super) fence: Fence,
    /// What the chain was in the block that is not whole yet, [`SHORT`] bytes for each transaction.
    recent: Vec<u8>,
    /// The block that this transaction leaves, which is to be kept.
    left: Option<(u64, Vec<u8>)>,
}

/// What a transaction keeps in the row of the history, beside the history itself.
#[derive(Clone, Copy, Default)]
pub(super) struct HistoryUpdate<'a> {
    /// Where the log stands, if that has changed.
    pub(super) log: Option<&'a Frontier>,
    /// The last fence that was handed out, if that has changed.
    pub(super) fence: Option<Fence>,
    /// How the totals of the keys have changed.
    pub(super) keys: TotalChange,
}

impl History {
    /// Starts the history of a store.
    pub(super) fn new(store: [u8; 16]) -> Self {
        let (chain, recent) = (Hash::of(b""), Vec::new());
        let none = Self { store, sequence: 0, chain, fence: Fence(0), recent, left: None };
        Self { left: None, ..none.advance(1, Hash::of(&store)) }
    }

    /// Reads the row.
    pub(super) fn read(connection: &Connection) -> rusqlite::Result<Self> {
        Self::read_with_log(connection).map(|(history, _)| history)
    }

    /// Reads the row, and where the log stands as it is written there.
    pub(super) fn read_with_log(connection: &Connection) -> rusqlite::Result<(Self, Vec<u8>)> {
        let mut select = connection
            .prepare_cached("SELECT store, sequence, chain, digest, fence, recent, bytes FROM frontier")?;
        let (mut history, log) = select.query_row([], |row| {
            let history = Self { fence: Fence(row.get(4)?), recent: row.get(5)?, ..Self::from_row(row)? };
            history.digest().check(row.get(3)?, DAMAGED)?;
            Ok((history, row.get(6)?))
        })?;
        // Who cannot be compared with it is refused.
        history.recent.resize(index(history.sequence) + SHORT, 0);
        Ok((history, log))
    }

    /// Reads the first three columns, which version 4 has too.
    fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        let (store, chain): (Vec<u8>, Vec<u8>) = (row.get(0)?, row.get(2)?);
        let (Ok(store), Ok(chain)) = (store.try_into(), chain.try_into()) else {
            return Err(damaged(DAMAGED));
        };
        let (sequence, chain, recent, left) = (row.get(1)?, Hash::from_bytes(chain), Vec::new(), None);
        Ok(Self { store, sequence, chain, fence: Fence(0), recent, left })
    }

    /// Returns the history after one more transaction of this instance.
    pub(super) fn next(&self, instance: &str) -> Self {
        let sequence = self.sequence.saturating_add(1);
        let mut bytes = self.chain.as_bytes().to_vec();
        bytes.extend_from_slice(&sequence.to_le_bytes());
        bytes.extend_from_slice(instance.as_bytes());
        self.advance(sequence, Hash::of(&bytes))
    }

    /// Returns the history at a later transaction. What the chain was between the two is not known.
    pub(super) fn advance(&self, sequence: u64, chain: Hash) -> Self {
        let is_same = block(self.sequence) == block(sequence);
        let (mut recent, left) = if is_same {
            (self.recent.clone(), None)
        } else {
            (Vec::new(), Some((block(self.sequence), self.recent.clone())))
        };
        recent.resize(index(sequence), 0);
        recent.extend_from_slice(&short(chain));
        Self { store: self.store, sequence, chain, fence: self.fence, recent, left }
    }

    /// Keeps it, with what else stands in its row.
    pub(super) fn keep(
        &mut self,
        connection: &Connection,
        update: HistoryUpdate<'_>,
    ) -> rusqlite::Result<()> {
        self.fence = update.fence.unwrap_or(self.fence);
        if let Some((block, chains)) = &self.left {
            keep_block(connection, *block, chains)?;
        }
        // `(a | b) - (a & b)` is the exclusive or, which SQLite does not have.
        let mut statement = connection.prepare_cached(
            "UPDATE frontier SET store = ?1, sequence = ?2, chain = ?3, digest = ?4, fence = ?5, recent = ?6,
                 bytes = ifnull(?7, bytes), idempotency_rows = idempotency_rows + ?8,
                 idempotency_digests = (idempotency_digests | ?9) - (idempotency_digests & ?9)",
        )?;
        let updated = statement.execute((
            self.store,
            self.sequence,
            self.chain.as_bytes(),
            self.digest().finish(),
            self.fence.0,
            &self.recent,
            update.log.map(Frontier::to_bytes),
            update.keys.rows,
            update.keys.digests,
        ))?;
        if updated == 1 { Ok(()) } else { Err(damaged(DAMAGED)) }
    }

    /// Returns the mark of this state, without the state of the files.
    pub(super) fn mark(&self, records: u64, now: Duration) -> Mark {
        let at = micros(now).cast_unsigned();
        Mark { records, fence: self.fence.0, at, ..Mark::new(self.store, self.sequence, self.chain) }
    }

    /// Says how many transactions are missing that the mark has seen; 0 where the mark is of another history.
    pub(super) fn missing(&self, mark: &Mark, connection: &Connection) -> rusqlite::Result<Option<u64>> {
        // A mark that was just made belongs to a store that has seen nothing yet.
        if self.store == mark.store && mark.sequence == 0 {
            return Ok(None);
        }
        let past = self.compare(mark.sequence, mark.chain, connection)?;
        let holds = self.store == mark.store && past == Past::Ours;
        Ok((!holds).then(|| mark.sequence.saturating_sub(self.sequence)))
    }

    /// Compares with how far somebody has seen it come. A history that is longer may have parted from theirs before.
    pub(super) fn compare(
        &self,
        sequence: u64,
        chain: Hash,
        connection: &Connection,
    ) -> rusqlite::Result<Past> {
        let past = |is_ours| if is_ours { Past::Ours } else { Past::Other };
        if self.sequence <= sequence {
            return Ok(past(self.sequence == sequence && self.chain == chain));
        }
        if self.sequence - sequence >= REMEMBERED {
            return Ok(Past::Forgotten);
        }
        let chains = if block(self.sequence) == block(sequence) {
            Some(self.recent.clone())
        } else {
            let mut select =
                connection.prepare_cached("SELECT chains FROM chain_block WHERE slot = ?1 AND block = ?2")?;
            select
                .query_row((block(sequence) % BLOCKS, block(sequence)), |row| row.get::<_, Vec<u8>>(0))
                .optional()?
        };
        let place = index(sequence)..index(sequence) + SHORT;
        Ok(past(chains.is_some_and(|chains| chains.get(place) == Some(&short(chain)))))
    }

    /// Refuses a store that has gone back since the mark, or another one, or one that says what cannot be true.
    pub(super) fn check_growth(
        &self,
        path: &Path,
        mark: &Mark,
        connection: &Connection,
    ) -> Result<(), SqliteError> {
        self.check_fence(path)?;
        match self.missing(mark, connection).map_err(|error| SqliteError::from_sqlite(path, &error))? {
            None => Ok(()),
            Some(missing) => Err(SqliteError::WentBack { path: path.to_owned(), missing }),
        }
    }

    /// Refuses a last fence that cannot be true.
    pub(super) fn check_fence(&self, path: &Path) -> Result<(), SqliteError> {
        if self.fence.0 < MOST {
            return Ok(());
        }
        let why = "no store has handed out so many idempotency keys".to_owned();
        Err(SqliteError::Corrupt { path: path.to_owned(), why })
    }

    fn digest(&self) -> RowDigest {
        self.digest_version_4().number(i64::try_from(self.fence.0).unwrap_or(i64::MAX))
    }

    fn digest_version_4(&self) -> RowDigest {
        let sequence = i64::try_from(self.sequence).unwrap_or(i64::MAX);
        RowDigest::new("history").bytes(&self.store).number(sequence).bytes(self.chain.as_bytes())
    }
}

/// Whether a history was once where somebody has seen it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Past {
    /// It was.
    Ours,
    /// It was not: it is another, or it is not so far.
    Other,
    /// That is too long ago.
    Forgotten,
}

/// How many transactions make a block of remembered chains.
const BLOCK: u64 = 64;
/// How many blocks are remembered.
const BLOCKS: u64 = 1_024;
/// How many chains are remembered. A mark is at most some seconds older than its store.
const REMEMBERED: u64 = BLOCK * BLOCKS;
/// How many bytes of a chain are remembered.
const SHORT: usize = 8;

/// Returns the block of a transaction.
const fn block(sequence: u64) -> u64 {
    sequence / BLOCK
}

/// Returns where the chain of a transaction begins in its block.
fn index(sequence: u64) -> usize {
    usize::try_from(sequence % BLOCK).unwrap_or(0) * SHORT
}

/// Returns the part of a chain that is remembered.
fn short(chain: Hash) -> [u8; SHORT] {
    let [a, b, c, d, e, f, g, h, ..] = *chain.as_bytes();
    [a, b, c, d, e, f, g, h]
}

/// Keeps the chains of a block in place of those of one long ago.
fn keep_block(connection: &Connection, block: u64, chains: &[u8]) -> rusqlite::Result<()> {
    let mut insert = connection
        .prepare_cached("INSERT OR REPLACE INTO chain_block (slot, block, chains) VALUES (?1, ?2, ?3)")?;
    insert.execute((block % BLOCKS, block, chains)).map(drop)
}

/// Reads how far a store of version 4 has come, whose chains and last fence are elsewhere.
fn read_version_4(connection: &Connection) -> rusqlite::Result<History> {
    connection.query_row("SELECT store, sequence, chain, digest FROM frontier", [], |row| {
        let history = History::from_row(row)?;
        history.digest_version_4().check(row.get(3)?, DAMAGED)?;
        Ok(history)
    })
}

/// Keeps the last fence of version 4 in the row of the history, and its chains in blocks. How far the store has come stays as it is.
pub(super) fn move_version_4(connection: &Connection, fence: Fence) -> rusqlite::Result<()> {
    // A damaged row stays damaged, and whoever goes on with it needs its fence.
    connection.execute("UPDATE frontier SET fence = ?1", [fence.0])?;
    let Ok(history) = read_version_4(connection) else { return Ok(()) };
    let history = History { fence, ..history };
    let recent = collect_blocks(connection, &history)?;
    connection
        .execute("UPDATE frontier SET digest = ?1, recent = ?2", (history.digest().finish(), recent))
        .map(drop)
}

/// Keeps the chains of version 4 in blocks, and returns those of the block that is not whole yet. The last one is known in any case:
/// whoever has seen the store so far must find it.
fn collect_blocks(connection: &Connection, history: &History) -> rusqlite::Result<Vec<u8>> {
    let mut select = connection.prepare(
        "SELECT sequence, chain FROM past_chain WHERE sequence > ?1 AND sequence <= ?2 ORDER BY sequence",
    )?;
    let mut rows = select.query((history.sequence.saturating_sub(REMEMBERED), history.sequence))?;
    let mut chains: Option<(u64, Vec<u8>)> = None;
    while let Some(row) = rows.next()? {
        let (sequence, chain): (u64, i64) = (row.get(0)?, row.get(1)?);
        if let Some((whole, bytes)) = chains.take_if(|(number, _)| *number != block(sequence)) {
            keep_block(connection, whole, &bytes)?;
        }
        let (_, bytes) = chains.get_or_insert_with(|| (block(sequence), Vec::new()));
        bytes.resize(index(sequence), 0);
        bytes.extend_from_slice(&chain.to_le_bytes());
    }
    let mut recent = match chains {
        Some((number, recent)) if number == block(history.sequence) => recent,
        Some((number, bytes)) => {
            keep_block(connection, number, &bytes)?;
            Vec::new()
        }
        None => Vec::new(),
    };
    recent.resize(index(history.sequence), 0);
    recent.extend_from_slice(&short(history.chain));
    Ok(recent)
}

const DAMAGED: &str = "the row that says how far the store has come does not have its digest";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::schema;

    #[test]
    fn every_chain_of_the_past_is_found_until_it_is_forgotten() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.db");
        schema::make(&path).unwrap();
        let connection = schema::writer(&path).unwrap();
        let mut history = History::read(&connection).unwrap();
        let mut past = vec![(history.sequence, history.chain)];
        let transaction = connection.unchecked_transaction().unwrap();
        let mut go_on = |history: &mut History, mut next: History| {
            next.keep(&transaction, HistoryUpdate::default()).unwrap();
            *history = History::read(&transaction).unwrap();
            assert_eq!(*history, History { left: None, ..next });
            past.push((history.sequence, history.chain));
        };
        for _ in 0..200 {
            let next = history.next("me");
            go_on(&mut history, next);
        }
        // A person has gone on with a store that lost something.
        for distance in [1, 7, 64, 300] {
            let next = history.advance(history.sequence + distance, Hash::of(&distance.to_le_bytes()));
            go_on(&mut history, next);
            for _ in 0..70 {
                let next = history.next("me");
                go_on(&mut history, next);
            }
        }
        for (sequence, chain) in &past {
            assert_eq!(history.compare(*sequence, *chain, &transaction).unwrap(), Past::Ours, "{sequence}");
            let other = Hash::of(chain.as_bytes());
            assert_eq!(history.compare(*sequence, other, &transaction).unwrap(), Past::Other, "{sequence}");
        }
        let skipped = (1..history.sequence).filter(|sequence| past.iter().all(|(seen, _)| seen != sequence));
        for sequence in skipped {
            assert_eq!(history.compare(sequence, history.chain, &transaction).unwrap(), Past::Other);
        }
        let last = history.sequence;
        assert_eq!(history.compare(last + 1, history.chain, &transaction).unwrap(), Past::Other);
        let far = history.advance(last + REMEMBERED, Hash::of(b"far"));
        assert_eq!(far.compare(last, history.chain, &transaction).unwrap(), Past::Forgotten);
    }
}
