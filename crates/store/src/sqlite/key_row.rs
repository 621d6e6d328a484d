//! The row of an idempotency key.

use std::time::Duration;

use ringfence::{Claim, Fence, KeyName, KeyState};
use rusqlite::{Connection, OptionalExtension as _, Row};

use super::digest::{RowDigest, damaged};
use super::error::SqliteError;
use super::time::micros;

/// What is said of a key that is not where it must be.
pub(super) const LOST: &str = "an index does not lead to an idempotency key";

/// A key as it is stored.
#[derive(Clone, Debug)]
pub(super) struct KeyRow {
    pub(super) fence: Fence,
    pub(super) name: KeyName,
    pub(super) digest: String,
    pub(super) arguments: String,
    pub(super) run: String,
    pub(super) owner: String,
    pub(super) instance: String,
    pub(super) claimed: i64,
    pub(super) state: String,
    pub(super) output: Option<String>,
    pub(super) until: Option<i64>,
}

impl KeyRow {
    pub(super) const COLUMNS: &str =
        "fence, scope, key, digest, arguments, run, owner, instance, claimed_us, state, output,
        until_us, row_digest";

    /// Reads a row, and refuses one that does not have its digest.
    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let read = Self::read_unchecked(row)?;
        read.row_digest().check(row.get(12)?, "an idempotency key does not have its digest")?;
        Ok(read)
    }

    pub(super) fn read_unchecked(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            fence: Fence(row.get(0)?),
            name: KeyName { scope: row.get(1)?, key: row.get(2)? },
            digest: row.get(3)?,
            arguments: row.get(4)?,
            run: row.get(5)?,
            owner: row.get(6)?,
            instance: row.get(7)?,
            claimed: row.get(8)?,
            state: row.get(9)?,
            output: row.get(10)?,
            until: row.get(11)?,
        })
    }

    pub(super) fn row_digest(&self) -> RowDigest {
        RowDigest::new("idempotency")
            .number(self.fence.0.cast_signed())
            .text(&self.name.scope)
            .text(&self.name.key)
            .text(&self.digest)
            .text(&self.arguments)
            .text(&self.run)
            .text(&self.owner)
            .text(&self.instance)
            .number(self.claimed)
            .text(&self.state)
            .optional_text(self.output.as_deref())
            .optional_number(self.until)
    }

    /// Looks for a key by two indexes: where one is damaged the other still has it.
    pub(super) fn find(connection: &Connection, name: &KeyName) -> rusqlite::Result<Option<Self>> {
        let sql = format!("SELECT {} FROM idempotency WHERE scope = ?1 AND key = ?2", Self::COLUMNS);
        let found =
            connection.prepare_cached(&sql)?.query_row((&name.scope, &name.key), Self::read).optional()?;
        if let Some(found) = &found {
            // An index that is damaged may lead to another key.
            return if found.name == *name { Ok(Some(found.clone())) } else { Err(damaged(LOST)) };
        }
        let sql = "SELECT count(*) FROM idempotency INDEXED BY idempotency_key WHERE key = ?2 AND scope = ?1";
        let others: u64 =
            connection.prepare_cached(sql)?.query_row((&name.scope, &name.key), |row| row.get(0))?;
        if others == 0 { Ok(None) } else { Err(damaged(LOST)) }
    }

    /// Looks for a key by the index that does not keep keys unique. Whoever adds it where there is none asks the other
    /// index too: SQLite refuses a second row.
    pub(super) fn find_to_claim(connection: &Connection, name: &KeyName) -> rusqlite::Result<Option<Self>> {
        let sql = format!(
            "SELECT {} FROM idempotency INDEXED BY idempotency_key WHERE key = ?2 AND scope = ?1",
            Self::COLUMNS
        );
        let found =
            connection.prepare_cached(&sql)?.query_row((&name.scope, &name.key), Self::read).optional()?;
        match found {
            Some(found) if found.name != *name => Err(damaged(LOST)),
            found => Ok(found),
        }
    }

    /// Says whether nobody is answered with it any more.
    pub(super) fn is_over(&self, now: Duration) -> bool {
        matches!(self.state(), KeyState::Committed | KeyState::Failed)
            && self.until.is_some_and(|until| until <= micros(now))
    }

    /// Returns the state. One that is not known is nobody's to run again.
    pub(super) fn state(&self) -> KeyState {
        KeyState::ALL.into_iter().find(|state| state.as_str() == self.state).unwrap_or(KeyState::Unknown)
    }

    /// Says what a claim finds; nothing where the key is free.
    pub(super) fn found(
        &self,
        digest: &str,
        now: Duration,
        lives: impl FnOnce(&str) -> Result<bool, SqliteError>,
    ) -> Result<Option<Claim>, SqliteError> {
        Ok(match self.state() {
            KeyState::Failed => None,
            KeyState::Committed if self.until.is_none_or(|until| until <= micros(now)) => None,
            _ if self.digest != digest => Some(Claim::Conflict),
            KeyState::Committed => Some(Claim::Replay(self.output.clone().unwrap_or_default())),
            KeyState::Executing if lives(&self.instance)? => Some(Claim::InFlight),
            KeyState::Executing | KeyState::Unknown => Some(Claim::Unknown(self.fence)),
        })
    }
}
