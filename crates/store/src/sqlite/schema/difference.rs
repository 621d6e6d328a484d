//! What somebody else changed about the tables.
//!
//! A view in the place of a table shows other rows to whoever verifies, and a trigger changes rows as they are written: neither is
//! found by looking at rows.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use rusqlite::Connection;

use super::super::error::SqliteError;
use super::migrate;

/// The kind and the statement of each table, index, trigger and view, by name.
type Objects = BTreeMap<String, (String, String)>;

/// What this version makes.
static EXPECTED: LazyLock<Option<Objects>> = LazyLock::new(|| {
    let mut empty = Connection::open_in_memory().ok()?;
    migrate(&mut empty, 0, [0; 16]).ok()?;
    read(&empty).ok()
});

/// The same as a text, for whoever opens a store: to make it takes longer than to compare.
const WRITTEN: &str = include_str!("whole.txt");

/// Something about the tables that ringfence did not make.
pub(in super::super) struct SchemaDifference {
    /// What it is, in a sentence.
    pub(in super::super) sentence: String,
    /// Whether it only makes reading slower.
    pub(in super::super) is_index: bool,
}

/// Compares the tables with those that this version makes.
pub(in super::super) fn find_differences(connection: &Connection) -> rusqlite::Result<Vec<SchemaDifference>> {
    let found = read(connection)?;
    let Some(expected) = &*EXPECTED else {
        let sentence = "the tables cannot be compared with those of ringfence".to_owned();
        return Ok(vec![SchemaDifference { sentence, is_index: false }]);
    };
    let mut differences = Vec::new();
    let mut add = |kind: &str, name: &str, what: &str| {
        let (sentence, is_index) = (format!("{kind} `{name}` {what}"), kind == "index");
        differences.push(SchemaDifference { sentence, is_index });
    };
    for (name, own) in &found {
        match expected.get(name) {
            Some(other) if own == other => {}
            Some((kind, _)) if *kind == own.0 => add(kind, name, "was changed"),
            Some(_) | None => add(&own.0, name, "was not made by ringfence"),
        }
    }
    for (name, (kind, _)) in expected {
        if !found.contains_key(name) {
            add(kind, name, "is missing");
        }
    }
    Ok(differences)
}

/// Refuses a store whose tables somebody else has changed, before anything that stands in them is believed. An index that is missing or
/// another one only makes reading slower.
///
/// # Errors
///
/// They were changed, or cannot be read.
pub(in super::super) fn check_tables(connection: &Connection, path: &Path) -> Result<(), SqliteError> {
    let failed = |error| SqliteError::from_sqlite(path, &error);
    if text(&read(connection).map_err(failed)?) == WRITTEN {
        return Ok(());
    }
    let differences = find_differences(connection).map_err(failed)?;
    match differences.into_iter().find(|difference| !difference.is_index) {
        Some(found) => Err(SqliteError::Corrupt { path: path.to_owned(), why: found.sentence }),
        None => Ok(()),
    }
}

fn text(objects: &Objects) -> String {
    objects.iter().map(|(name, (kind, sql))| format!("{kind} {name}\n{sql}\n")).collect()
}

fn read(connection: &Connection) -> rusqlite::Result<Objects> {
    // What SQLite makes itself. Nothing else is left out, whatever it is called.
    let mut select = connection.prepare(
        "SELECT name, type, ifnull(sql, '') FROM sqlite_schema WHERE NOT (
             type = 'table' AND (name = 'sqlite_sequence' OR name LIKE 'sqlite\\_stat_' ESCAPE '\\')
             OR type = 'index' AND sql IS NULL)",
    )?;
    let rows = select.query_map([], |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?))))?;
    rows.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_what_this_version_makes() {
        let made = text(EXPECTED.as_ref().unwrap());
        assert_eq!(WRITTEN, made, "write this to `schema/whole.txt`, and look at the difference");
    }

    #[test]
    fn no_name_hides_what_somebody_else_made() {
        let changes = [
            "CREATE TRIGGER sqlit_t AFTER UPDATE ON idempotency BEGIN DELETE FROM idempotency; END",
            "CREATE VIEW other AS SELECT 1",
            "CREATE TABLE another (x)",
            "DROP TABLE value",
            "ALTER TABLE idempotency RENAME COLUMN scope TO other",
        ];
        for change in changes {
            let mut store = Connection::open_in_memory().unwrap();
            migrate(&mut store, 0, [0; 16]).unwrap();
            check_tables(&store, Path::new("x")).unwrap();
            store.execute_batch(change).unwrap();
            assert!(
                matches!(check_tables(&store, Path::new("x")), Err(SqliteError::Corrupt { .. })),
                "{change}"
            );
        }
        // A name that SQLite keeps to itself, written past it.
        let mut store = Connection::open_in_memory().unwrap();
        migrate(&mut store, 0, [0; 16]).unwrap();
        store.execute_batch(changes[0]).unwrap();
        store.set_db_config(rusqlite::config::DbConfig::SQLITE_DBCONFIG_DEFENSIVE, false).unwrap();
        store.pragma_update(None, "writable_schema", true).unwrap();
        let renamed = "UPDATE sqlite_schema SET name = 'sqlite_t', sql = replace(sql, 'sqlit_t', 'sqlite_t') WHERE name = 'sqlit_t'";
        assert_eq!(store.execute(renamed, []).unwrap(), 1);
        assert!(matches!(check_tables(&store, Path::new("x")), Err(SqliteError::Corrupt { .. })));
        // An index more only takes room.
        let mut store = Connection::open_in_memory().unwrap();
        migrate(&mut store, 0, [0; 16]).unwrap();
        store.execute_batch("CREATE INDEX more ON idempotency (run)").unwrap();
        check_tables(&store, Path::new("x")).unwrap();
    }
}
