//! Looks for what does not fit together in the file.

use std::path::Path;

use rusqlite::Connection;

use super::SqliteStore;
use super::error::SqliteError;
use super::{approval, idempotency, log, schema, total, value};

/// How many rows of one kind are named.
const NAMED: usize = 100;

impl SqliteStore {
    /// Refuses tables that somebody else has changed: what is read there proves nothing.
    pub(super) fn check_tables(&self, connection: &Connection) -> Result<(), SqliteError> {
        schema::check_tables(connection, self.path())
    }

    /// Looks for what does not fit together, and returns one sentence for each.
    ///
    /// # Errors
    ///
    /// The database cannot be read.
    pub fn check(&self) -> Result<Vec<String>, SqliteError> {
        self.0.readers.snapshot(|snapshot| {
            let mut found = pages(snapshot).map_err(|error| self.failed(&error))?;
            let differences = schema::find_differences(snapshot).map_err(|error| self.failed(&error))?;
            found.extend(differences.into_iter().map(|difference| difference.sentence));
            found.extend(relations(snapshot).map_err(|error| self.failed(&error))?);
            found.extend(spaces(snapshot).map_err(|error| self.failed(&error))?);
            found.extend(requests(snapshot).map_err(|error| self.failed(&error))?);
            found.extend(digests(snapshot, self.path())?);
            match log::frontier(snapshot, self.path()) {
                Ok(_) => {}
                Err(SqliteError::Corrupt { why, .. }) => found.push(why),
                Err(error) => return Err(error),
            }
            Ok(found)
        })
    }
}

/// Has SQLite look through its pages and indexes.
fn pages(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut select = connection.prepare(&format!("PRAGMA integrity_check({NAMED})"))?;
    let lines = select.query_map([], |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>, _>>()?;
    Ok(lines.into_iter().filter(|line| line != "ok").map(|line| line.replace('\n', " ")).collect())
}

/// Looks for rows whose counterpart is not there.
fn relations(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut select = connection.prepare("PRAGMA foreign_key_check")?;
    let rows = select.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(2)?)))?;
    rows.take(NAMED)
        .map(|row| row.map(|(table, parent)| format!("a row of `{table}` has none in `{parent}`")))
        .collect()
}

/// Counts what each namespace holds, and compares. Namespaces are not named, since they may tell of a session.
fn spaces(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let differing: u64 = connection.query_row(
        "SELECT count(*) FROM (
             SELECT space AS name, count(*) AS keys, sum(bytes) AS bytes FROM value GROUP BY space
         ) AS held FULL JOIN space USING (name)
         WHERE held.keys IS NOT space.keys OR held.bytes IS NOT space.bytes",
        [],
        |row| row.get(0),
    )?;
    let lengths: u64 = connection.query_row(
        "SELECT count(*) FROM value
         WHERE bytes <> length(CAST(key AS BLOB)) + length(CAST(value AS BLOB))",
        [],
        |row| row.get(0),
    )?;
    let mut found = Vec::new();
    if differing > 0 {
        found.push(format!("{differing} namespaces do not hold what is counted for them"));
    }
    if lengths > 0 {
        found.push(format!("{lengths} values do not have the length that is counted for them"));
    }
    Ok(found)
}

/// Looks for rows that are missing, and for rows that do not have their digests.
pub(super) fn digests(connection: &Connection, path: &Path) -> Result<Vec<String>, SqliteError> {
    let failed = |error| SqliteError::from_sqlite(path, &error);
    let mut found = Vec::new();
    for table in total::TABLES {
        match total::check_table(connection, path, table) {
            Err(SqliteError::Corrupt { why, .. }) => found.push(why),
            checked => checked?,
        }
    }
    for (damaged, what) in [
        (idempotency::count_damaged(connection), "idempotency keys"),
        (approval::count_damaged_requests(connection), "requests for approval"),
        (approval::count_damaged_people(connection), "approvers"),
        (value::count_damaged(connection), "stored values"),
    ] {
        let damaged = damaged.map_err(failed)?;
        if damaged > 0 {
            found.push(format!("{damaged} {what} do not have their digests"));
        }
    }
    Ok(found)
}

/// Looks for requests that could not be decided or taken any more.
fn requests(connection: &Connection) -> rusqlite::Result<Option<String>> {
    let unreadable: u64 = connection.query_row(
        "SELECT count(*) FROM request
         WHERE iif(json_valid(body), json_extract(body, '$.digest') IS NOT digest, 1) OR NOT json_valid(decided)",
        [],
        |row| row.get(0),
    )?;
    Ok((unreadable > 0).then(|| format!("{unreadable} requests for approval cannot be read")))
}
