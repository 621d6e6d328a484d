//! Looks whether every row is there that was written: whoever opens a store first does so, before anything is trusted.
//!
//! A row that is read proves itself by its digest. A row that is not found proves nothing: its index may be damaged.
//! Therefore the trees of the trusted tables are walked through, and their rows and digests are counted.

use std::path::Path;

use rusqlite::{Connection, Row};

use super::error::SqliteError;

/// The tables whose rows are trusted.
pub(super) const TABLES: [&str; 4] = ["idempotency", "request", "approver", "value"];
/// Files up to this size are walked through as a whole, the audit log included.
const WHOLE: u64 = 8 << 20;

/// How a transaction changes what is counted of a table.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct TotalChange {
    /// By how many rows.
    pub(super) rows: i64,
    /// The digests of all rows that were added, changed and removed, combined.
    pub(super) digests: i64,
}

impl TotalChange {
    /// Counts a row that was added.
    pub(super) const fn add(&mut self, digest: i64) {
        self.rows = self.rows.saturating_add(1);
        self.digests ^= digest;
    }

    /// Counts a row that was removed.
    pub(super) const fn remove(&mut self, digest: i64) {
        self.rows = self.rows.saturating_sub(1);
        self.digests ^= digest;
    }

    /// Counts a row that has another digest now.
    pub(super) const fn change(&mut self, before: i64, after: i64) {
        self.digests ^= before ^ after;
    }
}

/// Refuses a database in which a row is missing, or whose pages do not fit together.
pub(super) fn check(connection: &Connection, path: &Path) -> Result<(), SqliteError> {
    let corrupt = |why| SqliteError::Corrupt { path: path.to_owned(), why };
    let failed = |error| SqliteError::from_sqlite(path, &error);
    let small = std::fs::metadata(path).is_ok_and(|file| file.len() <= WHOLE);
    let tables: &[&str] =
        if small { &["1"] } else { &["idempotency", "request", "approver", "value", "frontier"] };
    for table in tables {
        let sql = format!("PRAGMA integrity_check({table})");
        let first: String = connection.query_row(&sql, [], |row| row.get(0)).map_err(failed)?;
        if first != "ok" {
            return Err(corrupt(first.replace('\n', " ")));
        }
    }
    for table in TABLES {
        check_table(connection, path, table)?;
    }
    Ok(())
}

/// Refuses a table in which a row is missing.
pub(super) fn check_table(connection: &Connection, path: &Path, table: &str) -> Result<(), SqliteError> {
    let failed = |error| SqliteError::from_sqlite(path, &error);
    let sql = format!("SELECT {table}_rows, {table}_digests FROM frontier");
    let expected: (i64, i64) =
        connection.query_row(&sql, [], |row| Ok((row.get(0)?, row.get(1)?))).map_err(failed)?;
    let found = count(connection, table).map_err(failed)?;
    if found == expected {
        return Ok(());
    }
    let why = format!("`{table}` has {} rows and {} were written", found.0, expected.0);
    Err(SqliteError::Corrupt { path: path.to_owned(), why })
}

/// Takes the rows that are there for all that were written. A person has looked at what is missing.
pub(super) fn accept(connection: &Connection) -> rusqlite::Result<()> {
    for table in TABLES {
        let (rows, digests) = count(connection, table)?;
        let sql = format!("UPDATE frontier SET {table}_rows = ?1, {table}_digests = ?2");
        connection.execute(&sql, (rows, digests))?;
    }
    Ok(())
}

/// Counts the rows of a table and combines their digests, by the table and not by an index.
fn count(connection: &Connection, table: &str) -> rusqlite::Result<(i64, i64)> {
    let mut select = connection.prepare(&format!("SELECT row_digest FROM {table} NOT INDEXED"))?;
    let mut rows = select.query([])?;
    let (mut count, mut digests) = (0, 0);
    while let Some(row) = rows.next()? {
        count += 1;
        digests ^= row.get::<_, i64>(0)?;
    }
    Ok((count, digests))
}

/// Counts the rows that a statement returns and that cannot be read.
pub(super) fn count_damaged<T>(
    connection: &Connection,
    sql: &str,
    read: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<u64> {
    let mut select = connection.prepare(sql)?;
    let mut rows = select.query([])?;
    let mut damaged = 0;
    while let Some(row) = rows.next()? {
        damaged += u64::from(read(row).is_err());
    }
    Ok(damaged)
}
