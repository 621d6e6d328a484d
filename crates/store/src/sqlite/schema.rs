//! The tables, their versions, and how a connection is set up.
//!
//! INVARIANT: nothing is written to a file before it is known to be empty or ours, and of a known version.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::error::SqliteError;

/// `RFNC`: how a database of ringfence is told from others.
const APPLICATION: i64 = 0x5246_4e43;
/// One step for each version; a step once released never changes.
const STEPS: [&str; 1] = [include_str!("schema/1.sql")];
/// How long one connection waits for another.
const PATIENCE: Duration = Duration::from_secs(10);

/// Opens the connection that writes, and brings the tables up to date.
pub(super) fn writer(path: &Path) -> Result<Connection, SqliteError> {
    let failed = |error| SqliteError::from_sqlite(path, &error);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection =
        Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NOFOLLOW).map_err(failed)?;
    connection.busy_timeout(PATIENCE).map_err(failed)?;
    let version = version(&connection, path)?;
    prepare(&mut connection, version).map_err(failed)?;
    Ok(connection)
}

/// Opens a connection that reads.
pub(super) fn reader(path: &Path) -> Result<Connection, SqliteError> {
    let failed = |error| SqliteError::from_sqlite(path, &error);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection =
        Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NOFOLLOW).map_err(failed)?;
    connection.busy_timeout(PATIENCE).map_err(failed)?;
    connection.execute_batch("PRAGMA query_only = ON; PRAGMA trusted_schema = OFF;").map_err(failed)?;
    match version(&connection, path)? {
        version if version == newest() => Ok(connection),
        found => Err(SqliteError::Older { path: path.to_owned(), found }),
    }
}

/// Returns the version of the tables, 0 for a file that is still empty.
fn version(connection: &Connection, path: &Path) -> Result<i64, SqliteError> {
    let number = |sql| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
    let failed = |error| SqliteError::from_sqlite(path, &error);
    let application = number("PRAGMA application_id").map_err(failed)?;
    let found = number("PRAGMA user_version").map_err(failed)?;
    let tables = number("SELECT count(*) FROM sqlite_schema").map_err(failed)?;
    match (application, found, tables) {
        (0, 0, 0) => Ok(0),
        (APPLICATION, 1.., _) if found > newest() => {
            Err(SqliteError::Newer { path: path.to_owned(), found, known: newest() })
        }
        (APPLICATION, 1.., 1..) => Ok(found),
        _ => Err(SqliteError::Foreign { path: path.to_owned() }),
    }
}

/// Sets the connection up, and runs the steps that the file has not seen, all or none.
fn prepare(connection: &mut Connection, version: i64) -> rusqlite::Result<()> {
    connection.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;
         PRAGMA secure_delete = ON; PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;
         PRAGMA journal_size_limit = 67108864;",
    )?;
    connection.set_prepared_statement_cache_capacity(32);
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for step in STEPS.iter().skip(usize::try_from(version).unwrap_or(usize::MAX)) {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.pragma_update(None, "user_version", newest())?;
    transaction.commit()
}

fn newest() -> i64 {
    i64::try_from(STEPS.len()).unwrap_or(i64::MAX)
}
