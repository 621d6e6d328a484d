//! Appending to the log and reading it.

use std::fmt::Write as _;
use std::io;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use ringfence::{AuditEntry, AuditSink};
use rusqlite::types::Value;
use rusqlite::{OptionalExtension as _, Row, params_from_iter};

use super::SqliteStore;
use super::error::SqliteError;
use super::log::{self, Line};
use crate::entry::{Filter, KeepRaw, Stored};

/// The columns of [`Stored`], in its order.
const COLUMNS: &str = "position, at_ms, kind, run, tool, code, record, raw, clean";

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
        self.select(filter, from, most, "ORDER BY position")
    }

    /// Returns the newest entries that fit, up to `most` of them, newest last.
    ///
    /// # Errors
    ///
    /// The database cannot be read.
    pub fn newest(&self, filter: &Filter, most: usize) -> Result<Vec<Stored>, SqliteError> {
        let mut found = self.select(filter, 0, most, "ORDER BY position DESC")?;
        found.reverse();
        Ok(found)
    }

    fn select(
        &self,
        filter: &Filter,
        from: u64,
        most: usize,
        order: &str,
    ) -> Result<Vec<Stored>, SqliteError> {
        let (conditions, mut values) = conditions(filter);
        values.push(signed(from).into());
        values.push(i64::try_from(most).unwrap_or(i64::MAX).into());
        let sql = statement(filter, &conditions, order);
        self.0.readers.with(|connection| {
            let found = connection.prepare_cached(&sql).and_then(|mut select| {
                select.query_map(params_from_iter(&values), read)?.collect::<Result<Vec<_>, _>>()
            });
            found.map_err(|error| self.failed(&error))
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
                lines.push(Line::new(line).map_err(|error| error.to_string())?);
            }
            let bytes = lines.iter().map(Line::bytes).sum();
            let kept = self.transact(bytes, move |turn| turn.append(&lines)).await;
            kept.map_err(|error| error.to_string())
        }
        .boxed()
    }
}

/// Returns the statement that finds entries through the index that leaves the fewest of them, as far as one can know.
///
/// The indexes of run, code, tool and kind are in the order of the log. That of the time is not: there the places are
/// found and ordered within the index, before any entry is read.
fn statement(filter: &Filter, conditions: &str, order: &str) -> String {
    let is_timed = filter.since_ms.is_some() || filter.until_ms.is_some();
    let index = match filter {
        Filter { run: Some(_), .. } => "INDEXED BY entry_run",
        Filter { code: Some(_), .. } => "INDEXED BY entry_code",
        _ if is_timed => {
            return format!(
                "SELECT {COLUMNS} FROM entry WHERE position IN
                     (SELECT position FROM entry INDEXED BY entry_at
                      WHERE {conditions} +position >= ? {order} LIMIT ?) {order}"
            );
        }
        Filter { tool: Some(_), .. } => "INDEXED BY entry_tool",
        Filter { kind: Some(_), .. } => "INDEXED BY entry_kind",
        _ => "",
    };
    format!("SELECT {COLUMNS} FROM entry {index} WHERE {conditions} position >= ? {order} LIMIT ?")
}

/// Returns the conditions, each with its `AND`, and their values. Only conditions that are there let an index help.
fn conditions(filter: &Filter) -> (String, Vec<Value>) {
    let mut sql = String::new();
    let mut values = Vec::new();
    let texts =
        [("kind", &filter.kind), ("run", &filter.run), ("tool", &filter.tool), ("code", &filter.code)];
    for (column, text) in texts {
        if let Some(text) = text {
            // Writing to a string does not fail.
            let _written = write!(sql, "{column} = ? AND ");
            values.push(text.clone().into());
        }
    }
    for (condition, time) in [("at_ms >= ?", filter.since_ms), ("at_ms < ?", filter.until_ms)] {
        if let Some(time) = time {
            let _written = write!(sql, "{condition} AND ");
            values.push(signed(time).into());
        }
    }
    (sql, values)
}

/// Reads the columns in their order.
fn read(row: &Row<'_>) -> rusqlite::Result<Stored> {
    Ok(Stored {
        index: row.get(0)?,
        at: row.get(1)?,
        kind: row.get(2)?,
        run: row.get(3)?,
        tool: row.get(4)?,
        code: row.get(5)?,
        record: row.get(6)?,
        raw: row.get(7)?,
        clean: row.get(8)?,
    })
}

/// Returns a number as SQLite has it; beyond its range there is nothing to find.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::schema;

    /// Returns how SQLite would go about it.
    fn plan(connection: &rusqlite::Connection, filter: &Filter, order: &str) -> String {
        let (conditions, mut values) = conditions(filter);
        values.extend([0.into(), 100.into()]);
        let sql = format!("EXPLAIN QUERY PLAN {}", statement(filter, &conditions, order));
        let mut select = connection.prepare(&sql).unwrap();
        let lines = select.query_map(params_from_iter(&values), |row| row.get::<_, String>(3)).unwrap();
        lines.collect::<Result<Vec<_>, _>>().unwrap().join("; ")
    }

    #[test]
    fn finds_entries_through_an_index() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.db");
        schema::make(&path).unwrap();
        let connection = schema::writer(&path).unwrap();
        let text = |given: bool| given.then(|| "x".to_owned());
        for given in 0_u8..64 {
            let has = |bit: u8| given & (1 << bit) != 0;
            let filter = Filter {
                kind: text(has(0)),
                run: text(has(1)),
                tool: text(has(2)),
                code: text(has(3)),
                since_ms: has(4).then_some(1),
                until_ms: has(5).then_some(2),
            };
            for order in ["ORDER BY position", "ORDER BY position DESC"] {
                let plan = plan(&connection, &filter, order);
                assert!(!plan.contains("SCAN"), "{filter:?}: {plan}");
                let expected = match (has(1), has(3), has(4) || has(5), has(2), has(0)) {
                    (true, ..) => "INDEX entry_run (run=? AND rowid>?)",
                    (_, true, ..) => "INDEX entry_code (code=? AND rowid>?)",
                    (_, _, true, ..) => "COVERING INDEX entry_at (at_ms",
                    (_, _, _, true, _) => "INDEX entry_tool (tool=? AND rowid>?)",
                    (.., true) => "INDEX entry_kind (kind=? AND rowid>?)",
                    _ => "INTEGER PRIMARY KEY (rowid>?)",
                };
                assert!(plan.contains(expected), "{filter:?}: {plan}");
            }
        }
    }
}
