//! How far a store has come, as its own database says.
//!
//! INVARIANT: each transaction that changes something moves the sequence on by one, and the chain with it.

use std::time::Duration;

use ringfence::audit::{Frontier, Hash};
use rusqlite::{Connection, OptionalExtension as _};

use super::digest::{RowDigest, damaged};
use super::mark::Mark;
use super::time::micros;

/// The row that says which store it is and how far it has come.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct History {
    /// The random id of the store.
    pub(super) store: [u8; 16],
    /// How many transactions it has seen.
    pub(super) sequence: u64,
    /// Tells two histories of the same length apart.
    pub(super) chain: Hash,
}

impl History {
    /// Starts the history of a store.
    pub(super) fn new(store: [u8; 16]) -> Self {
        Self { store, sequence: 1, chain: Hash::of(&store) }
    }

    /// Reads the row.
    pub(super) fn read(connection: &Connection) -> rusqlite::Result<Self> {
        let mut select = connection.prepare_cached("SELECT store, sequence, chain, digest FROM frontier")?;
        let row = select.query_row([], |row| {
            let (store, chain): (Vec<u8>, Vec<u8>) = (row.get(0)?, row.get(2)?);
            Ok((store.try_into(), row.get::<_, u64>(1)?, chain.try_into(), row.get::<_, i64>(3)?))
        })?;
        let (Ok(store), sequence, Ok(chain), digest) = row else { return Err(damaged(DAMAGED)) };
        let history = Self { store, sequence, chain: Hash::from_bytes(chain) };
        history.digest().check(digest, DAMAGED)?;
        Ok(history)
    }

    /// Returns the history after one more transaction of this instance.
    pub(super) fn next(&self, instance: &str) -> Self {
        let sequence = self.sequence.saturating_add(1);
        let mut bytes = self.chain.as_bytes().to_vec();
        bytes.extend_from_slice(&sequence.to_le_bytes());
        bytes.extend_from_slice(instance.as_bytes());
        Self { store: self.store, sequence, chain: Hash::of(&bytes) }
    }

    /// Keeps it, and where the log stands if that has changed, and returns the last fence that was handed out.
    pub(super) fn keep(&self, connection: &Connection, log: Option<&Frontier>) -> rusqlite::Result<u64> {
        let mut update = connection.prepare_cached(
            "UPDATE frontier SET store = ?1, sequence = ?2, chain = ?3, digest = ?4, bytes = ifnull(?5, bytes)
             RETURNING ifnull((SELECT seq FROM sqlite_sequence WHERE name = 'idempotency'), 0)",
        )?;
        self.remember(connection)?;
        let digest = self.digest().finish();
        let row = (self.store, self.sequence, self.chain.as_bytes(), digest, log.map(Frontier::to_bytes));
        let fence = update.query_row(row, |row| row.get(0)).optional()?;
        fence.ok_or_else(|| damaged(DAMAGED))
    }

    /// Keeps what the chain is now, for those who compare later.
    pub(super) fn remember(&self, connection: &Connection) -> rusqlite::Result<()> {
        let mut insert = connection.prepare_cached(
            "INSERT OR REPLACE INTO past_chain (slot, sequence, chain) VALUES (?1, ?2, ?3)",
        )?;
        insert.execute((self.sequence % REMEMBERED, self.sequence, short(self.chain))).map(drop)
    }

    /// Returns the mark of this state, without the state of the files.
    pub(super) fn mark(&self, records: u64, fence: u64, now: Duration) -> Mark {
        let at = micros(now).cast_unsigned();
        Mark { records, fence, at, ..Mark::new(self.store, self.sequence, self.chain) }
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
        let mut select =
            connection.prepare_cached("SELECT sequence, chain FROM past_chain WHERE slot = ?1")?;
        let found = select.query_row([sequence % REMEMBERED], |row| Ok((row.get::<_, u64>(0)?, row.get(1)?)));
        Ok(past(found.optional()? == Some((sequence, short(chain)))))
    }

    fn digest(&self) -> RowDigest {
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

/// How many chains are remembered. A mark is at most some seconds older than its store.
const REMEMBERED: u64 = 1 << 16;

/// The part of a chain that is remembered.
fn short(chain: Hash) -> i64 {
    let [a, b, c, d, e, f, g, h, ..] = *chain.as_bytes();
    i64::from_le_bytes([a, b, c, d, e, f, g, h])
}

const DAMAGED: &str = "the row that says how far the store has come does not have its digest";
