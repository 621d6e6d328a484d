//! Appending to the log and reading it.

use std::io;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use ringfence::audit::{Filter, Stored};
use ringfence::{AuditEntry, AuditSink};
use rusqlite::{OptionalExtension as _, Row};

use super::SqliteStore;
use super::error::SqliteError;
use super::log;
use super::search::{Order, search};
use crate::entry::KeepRaw;
use crate::line::Line;

/// The columns of [`Stored`], in its order.
pub(super) const COLUMNS: &str =
    "position, at_ms, kind, run, tool, code, class, host, principal, record, raw, clean";

impl SqliteStore {
    /// Returns the number of entries.
    ///
    /// # Errors
    ///
    /// The database cannot be read.
    pub fn size(&self) -> Result<u64, SqliteError> {
        self.0.readers.with(|connection| log::size(connection).map_err(|error| self.failed(&error)))
    }

    /// Returns up to `most` entries from the index `from` on, newest last.
    ///
    /// # Errors
    ///
    /// The database cannot be read.
    pub fn entries(&self, filter: &Filter, from: u64, most: usize) -> Result<Vec<Stored>, SqliteError> {
        self.search(filter, from, most, Order::Oldest)
    }

    /// Returns the newest entries that fit, up to `most` of them, newest last.
    ///
    /// # Errors
    ///
    /// The database cannot be read.
    pub fn newest(&self, filter: &Filter, most: usize) -> Result<Vec<Stored>, SqliteError> {
        let mut found = self.search(filter, 0, most, Order::Newest)?;
        found.reverse();
        Ok(found)
    }

    fn search(
        &self,
        filter: &Filter,
        from: u64,
        most: usize,
        order: Order,
    ) -> Result<Vec<Stored>, SqliteError> {
        self.0.readers.with(|connection| {
            search(connection, filter, from, most, order).map_err(|error| self.failed(&error))
        })
    }

    /// Returns one entry.
    ///
    /// # Errors
    ///
    /// The database cannot be read.
    pub fn entry(&self, index: u64) -> Result<Option<Stored>, SqliteError> {
        let sql = format!("SELECT {COLUMNS} FROM entry WHERE position = ?");
        self.0.readers.with(|connection| {
            let found = connection
                .prepare_cached(&sql)
                .and_then(|mut select| select.query_row([signed(index)], read).optional());
            found.map_err(|error| self.failed(&error))
        })
    }

    /// Hands every entry that there is now to `each`, and returns how many there were. Memory stays flat.
    ///
    /// # Errors
    ///
    /// The database cannot be read, or `each` fails.
    pub fn export(&self, each: &mut dyn FnMut(&Stored) -> io::Result<()>) -> Result<u64, SqliteError> {
        let sql = format!("SELECT {COLUMNS} FROM entry ORDER BY position");
        self.0.readers.snapshot(|snapshot| {
            let failed = |error| self.failed(&error);
            let mut select = snapshot.prepare_cached(&sql).map_err(failed)?;
            let mut count = 0;
            for stored in select.query_map([], read).map_err(failed)? {
                each(&stored.map_err(failed)?).map_err(|error| SqliteError::Output(error.kind()))?;
                count += 1;
            }
            Ok(count)
        })
    }

    /// Says what SQLite's error means.
    pub(super) fn failed(&self, error: &rusqlite::Error) -> SqliteError {
        SqliteError::from_sqlite(self.path(), error)
    }
}

impl AuditSink for SqliteStore {
    fn append<'a>(&'a self, entries: &'a [AuditEntry<'a>]) -> BoxFuture<'a, Result<(), String>> {
        async move {
            let mut lines = Vec::with_capacity(entries.len());
            for entry in entries {
                let mut line = entry.line().map_err(|error| error.to_string())?;
                if self.0.raw == KeepRaw::Never {
                    line.raw = None;
                }
                lines.push(Line::new(line).map_err(|why| SqliteError::Entry { why }.to_string())?);
            }
            let bytes = lines.iter().map(Line::bytes).sum();
            let kept = self.transact(bytes, move |turn| turn.append(&lines)).await;
            kept.map_err(|error| error.to_string())
        }
        .boxed()
    }
}

/// Reads the columns in their order.
pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Stored> {
    Ok(Stored {
        index: row.get(0)?,
        at: row.get(1)?,
        kind: row.get(2)?,
        run: row.get(3)?,
        tool: row.get(4)?,
        code: row.get(5)?,
        class: row.get(6)?,
        host: row.get(7)?,
        principal: row.get(8)?,
        record: row.get(9)?,
        raw: row.get(10)?,
        clean: row.get(11)?,
    })
}

/// Returns a number as SQLite has it; beyond its range there is nothing to find.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
