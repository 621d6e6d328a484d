//! The tables, their versions, and how a connection is set up.
//!
//! INVARIANT: nothing is written to a file before it is known to be empty or ours, and of a known version.

mod difference;

use std::path::Path;

use ringfence::audit::Columns;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, FileControl, MAIN_DB, OpenFlags, Transaction, TransactionBehavior};

pub(super) use self::difference::{check_tables, find_differences};
use super::error::SqliteError;
use super::history::{self, History, HistoryUpdate};
use super::journal::EmptyJournal;
use super::mark::MarkFile;
use super::{approval, file, idempotency, journal, patience, total, value};

/// `RFNC`: how a database of ringfence is told from others.
const APPLICATION: i64 = 0x5246_4e43;
/// One step for each version; a step once released never changes.
const STEPS: [Step; 5] = [
    Step::Tables(include_str!("schema/1.sql")),
    Step::Tables(include_str!("schema/2.sql")),
    Step::Fill { before: include_str!("schema/3.sql"), after: include_str!("schema/3_filled.sql") },
    Step::Digest { before: include_str!("schema/4.sql"), after: include_str!("schema/4_filled.sql") },
    Step::History(include_str!("schema/5.sql")),
];
/// The first version that has a history and a mark.
const MARKED: i64 = 4;
/// The table of what the chain was in version 4, in a file that has none.
const PAST_CHAIN: &str = include_str!("schema/past_chain.sql");
/// How many entries are filled in at a time, so that memory stays flat.
const FILLED: i64 = 1_000;

/// What brings the tables from one version to the next.
enum Step {
    /// Statements, then each row gets its digest, then more statements.
    Digest { before: &'static str, after: &'static str },
    /// Statements, then the columns of entries are filled in from their records, then more statements.
    Fill { before: &'static str, after: &'static str },
    /// Statements; then a store that has a history keeps it in the new tables, and one that has none gets one.
    History(&'static str),
    /// Statements.
    Tables(&'static str),
}

/// Says whether a file that is there has the tables of this program. The lock must be held.
pub(super) fn is_current(path: &Path) -> Result<bool, SqliteError> {
    version(&open(path)?, path).map(|version| version == newest())
}

/// Makes the file where there is none, and brings its tables up to date. The lock must be held, and held alone.
pub(super) fn make(path: &Path) -> Result<(), SqliteError> {
    if is_marked(path)? {
        // Somebody else may have brought it up to date since it was looked at.
        return if is_current(path)? { Ok(()) } else { upgrade_whole(path) };
    }
    check_beginning(path)?;
    file::create_missing(path)?;
    let mut connection = open(path)?;
    let failed = |error| SqliteError::from_sqlite(path, &error);
    let version = version(&connection, path)?;
    let store: [u8; 16] =
        connection.query_row("SELECT randomblob(16)", [], |row| row.get(0)).map_err(failed)?;
    // Once the database says that it has a mark there must be one.
    MarkFile::create(path, store)?;
    if version == 0 {
        // The first page is written before there is a write-ahead log. A journal that a kill left of that would be taken for somebody else's.
        connection.pragma_update(None, "journal_mode", "MEMORY").map_err(failed)?;
    }
    set_up(&connection).and_then(|()| migrate(&mut connection, version, store)).map_err(failed)?;
    journal::make(path)?;
    close_on_end(&connection).map_err(failed)?;
    connection.close().map_err(|(_, error)| failed(error))
}

/// Says whether a file is there whose version has a history and a mark.
pub(super) fn is_marked(path: &Path) -> Result<bool, SqliteError> {
    Ok(file::exists(path)? && version(&open(path)?, path)? >= MARKED)
}

/// Brings the tables of a store with a history up to date, which a person goes on with. The history stays as it is, so that whoever
/// opens the store compares it with the mark as before. The lock must be held, and held alone.
pub(super) fn upgrade(path: &Path) -> Result<(), SqliteError> {
    let mut connection = open(path)?;
    let failed = |error| SqliteError::from_sqlite(path, &error);
    let version = version(&connection, path)?;
    if version < newest() {
        // It has an id.
        set_up(&connection).and_then(|()| migrate(&mut connection, version, [0; 16])).map_err(failed)?;
    }
    connection.close().map_err(|(_, error)| failed(error))
}

/// Begins a transaction that sees the tables of this version, whichever the store has: for looking, before it is committed or undone.
/// Not one byte gets into the log before. The lock must be held alone.
pub(super) fn preview<'a>(
    connection: &'a mut Connection,
    path: &Path,
) -> Result<Transaction<'a>, SqliteError> {
    let failed = |error| SqliteError::from_sqlite(path, &error);
    let version = version(connection, path)?;
    if version == newest() {
        return connection.transaction().map_err(failed);
    }
    connection.pragma_update(None, "cache_spill", false).map_err(failed)?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
    run_steps(&transaction, version, [0; 16]).map_err(failed)?;
    Ok(transaction)
}

/// Brings the tables of a store with a history up to date, unless it would be refused: then nothing is written over what is left of
/// its log. The lock must be held, and held alone.
fn upgrade_whole(path: &Path) -> Result<(), SqliteError> {
    let failed = |error| SqliteError::from_sqlite(path, &error);
    let mark = MarkFile::open(path)?.read()?;
    let mut connection = writer(path)?;
    let transaction = preview(&mut connection, path)?;
    let history = History::read(&transaction).map_err(failed)?;
    history.check_growth(path, &mark, &transaction)?;
    total::check(&transaction, path)?;
    transaction.commit().map_err(failed)?;
    connection.close().map_err(|(_, error)| failed(error))
}

/// Refuses to begin where a mark says that there was a store.
fn check_beginning(path: &Path) -> Result<(), SqliteError> {
    match MarkFile::open(path).and_then(|mark| mark.read()) {
        Ok(mark) if mark.sequence > 0 => {
            Err(SqliteError::WentBack { path: path.to_owned(), missing: mark.sequence })
        }
        Ok(_) | Err(SqliteError::MarkMissing { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Has the log moved into the database when the last connection closes. Nobody does before the store is known to be whole.
pub(super) fn close_on_end(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false).map(drop)
}

/// Opens the connection that writes. The lock must be held.
pub(super) fn writer(path: &Path) -> Result<Connection, SqliteError> {
    let connection = open(path)?;
    let failed = |error| SqliteError::from_sqlite(path, &error);
    set_up(&connection).map_err(failed)?;
    Ok(connection)
}

/// Opens a file that is there and ours alone.
fn open(path: &Path) -> Result<Connection, SqliteError> {
    file::check(path)?;
    file::check_owner(path)?;
    let failed = |error| SqliteError::from_sqlite(path, &error);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let journal = EmptyJournal::beside(path)?;
    let mut connection =
        Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NOFOLLOW).map_err(failed)?;
    patience::have(&mut connection).map_err(failed)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map_err(failed)?;
    keep_log(&connection).map_err(failed)?;
    read_once(&connection).map_err(failed)?;
    journal.check()?;
    Ok(connection)
}

/// Reads something: the first time, SQLite looks for a journal.
fn read_once(connection: &Connection) -> rusqlite::Result<()> {
    connection.query_row("PRAGMA schema_version", [], |_| Ok(()))
}

/// Has the write-ahead log and its index stay when the last connection closes: a command that was started while nobody had the store
/// open must find them protected, or it could lock them as soon as somebody opens it.
fn keep_log(connection: &Connection) -> rusqlite::Result<()> {
    connection.file_control(Some(MAIN_DB), FileControl::PersistWal(&mut 1))
}

/// Opens a connection that reads.
pub(super) fn reader(path: &Path) -> Result<Connection, SqliteError> {
    let failed = |error| SqliteError::from_sqlite(path, &error);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let journal = EmptyJournal::beside(path)?;
    let mut connection =
        Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NOFOLLOW).map_err(failed)?;
    patience::have(&mut connection).map_err(failed)?;
    connection.execute_batch("PRAGMA query_only = ON; PRAGMA trusted_schema = OFF;").map_err(failed)?;
    let found = version(&connection, path)?;
    journal.check()?;
    match found {
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

/// Sets the connection up.
fn set_up(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;
         PRAGMA secure_delete = ON; PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;
         PRAGMA journal_size_limit = 67108864; PRAGMA wal_autocheckpoint = 8000;",
    )?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(())
}

/// Runs the steps that the file has not seen, all or none.
fn migrate(connection: &mut Connection, version: i64, store: [u8; 16]) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    run_steps(&transaction, version, store)?;
    transaction.commit()
}

fn run_steps(transaction: &Transaction<'_>, version: i64, store: [u8; 16]) -> rusqlite::Result<()> {
    for step in STEPS.iter().skip(usize::try_from(version).unwrap_or(usize::MAX)) {
        match step {
            Step::Tables(sql) => transaction.execute_batch(sql)?,
            Step::Fill { before, after } => {
                transaction.execute_batch(before)?;
                fill(transaction)?;
                transaction.execute_batch(after)?;
            }
            Step::Digest { before, after } => {
                transaction.execute_batch(before)?;
                idempotency::fill_digests(transaction)?;
                approval::fill_digests(transaction)?;
                value::fill_digests(transaction)?;
                total::accept(transaction)?;
                transaction.execute_batch(after)?;
            }
            Step::History(sql) => {
                transaction.execute_batch(sql)?;
                if version >= MARKED {
                    transaction.execute_batch(PAST_CHAIN)?;
                    history::move_version_4(transaction, idempotency::last_sequence(transaction)?)?;
                    transaction.execute_batch("DROP TABLE past_chain")?;
                } else {
                    let fence = Some(idempotency::last_sequence(transaction)?);
                    let update = HistoryUpdate { fence, ..HistoryUpdate::default() };
                    History::new(store).keep(transaction, update)?;
                }
                idempotency::end_sequence(transaction)?;
            }
        }
    }
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.pragma_update(None, "user_version", newest())
}

/// Fills in by what entries are found. What is no record says nothing, which a verification finds.
fn fill(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    let mut select = transaction.prepare(
        "SELECT position, CAST(record AS BLOB) FROM entry WHERE position >= ?1 ORDER BY position LIMIT ?2",
    )?;
    let mut update =
        transaction.prepare("UPDATE entry SET class = ?2, host = ?3, principal = ?4 WHERE position = ?1")?;
    let mut next = Some(i64::MIN);
    while let Some(from) = next {
        let page = select.query_map((from, FILLED), |row| Ok((row.get(0)?, row.get(1)?)))?;
        let page = page.collect::<rusqlite::Result<Vec<(i64, Vec<u8>)>>>()?;
        next = page.last().and_then(|(position, _)| position.checked_add(1));
        for (position, record) in &page {
            let Some(columns) = Columns::read(record) else { continue };
            if columns.class.is_some() || columns.host.is_some() || columns.principal.is_some() {
                update.execute((position, columns.class, columns.host, columns.principal))?;
            }
        }
    }
    Ok(())
}

fn newest() -> i64 {
    i64::try_from(STEPS.len()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_that_somebody_else_has_made_meanwhile_stays_as_it_is() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.db");
        make(&path).unwrap();
        let read = || {
            (History::read(&open(&path).unwrap()).unwrap(), MarkFile::open(&path).unwrap().read().unwrap())
        };
        let before = read();
        make(&path).unwrap();
        assert_eq!(read(), before);
    }

    #[test]
    fn a_store_of_version_4_gets_the_tables_of_a_new_one() {
        let mut connection = Connection::open_in_memory().unwrap();
        for step in STEPS.iter().take(4) {
            let sql = match step {
                Step::Tables(sql) | Step::History(sql) => [sql, ""],
                Step::Fill { before, after } | Step::Digest { before, after } => [*before, *after],
            };
            connection.execute_batch(&sql.concat()).unwrap();
        }
        connection.execute_batch(PAST_CHAIN).unwrap();
        let differences = |connection: &Connection| {
            let found = find_differences(connection).unwrap().into_iter();
            found.map(|difference| difference.sentence).collect::<Vec<_>>()
        };
        assert!(!differences(&connection).is_empty());
        migrate(&mut connection, 4, [0; 16]).unwrap();
        assert_eq!(differences(&connection), [""; 0]);
    }
}
