//! Keys and values by namespace.
//!
//! INVARIANT: the rules are those of [`MemoryStore`](ringfence::MemoryStore); one suite of tests runs on both.

use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use ringfence::{Store, StoreError};
use rusqlite::{Connection, OptionalExtension as _, Row};

use super::SqliteStore;
use super::digest::{RowDigest, damaged};
use super::error::SqliteError;
use super::time::{micros, micros_up};
use super::total;
use super::turn::Turn;

/// How many keys one namespace may hold.
const MAX_KEYS: u64 = StoreError::MAX_KEYS as u64;
/// How many bytes of keys and values one namespace may hold.
const MAX_BYTES: u64 = StoreError::MAX_BYTES as u64;
/// How many expired values one sweep removes, so that nobody waits long for it.
const SWEPT: u64 = 1_000;

/// A value to be stored.
struct Value {
    space: String,
    key: String,
    value: String,
    ttl: Option<Duration>,
}

impl Value {
    /// Returns what it counts for in its namespace.
    const fn bytes(&self) -> usize {
        self.key.len() + self.value.len()
    }
}

impl Store for SqliteStore {
    fn get<'a>(
        &'a self,
        namespace: &'a str,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Option<String>, StoreError>> {
        let (space, key) = (namespace.to_owned(), key.to_owned());
        self.reading(move |connection, now| {
            let mut select = connection.prepare_cached(
                "SELECT space, key, value, bytes, until_us, row_digest FROM value WHERE space = ?1 AND key = ?2",
            )?;
            let found = select.query_row((&space, &key), ValueRow::read).optional()?;
            // An index that is damaged may lead to another key.
            if found.as_ref().is_some_and(|found| found.space != space || found.key != key) {
                return Err(damaged("an index does not lead to a value"));
            }
            Ok(found.filter(|found| found.until.is_none_or(|until| until > now)).map(|found| found.value))
        })
    }

    fn set<'a>(
        &'a self,
        namespace: &'a str,
        key: &'a str,
        value: &'a str,
        ttl: Option<Duration>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        async move {
            StoreError::check(key, value)?;
            let (space, key, value) = (namespace.to_owned(), key.to_owned(), value.to_owned());
            let value = Value { space, key, value, ttl };
            let kept = self.transact(value.bytes(), move |turn| {
                let now = turn.now();
                turn.sql(|transaction| self::set(transaction, &value, now))
            });
            kept.await?
        }
        .boxed()
    }

    fn delete<'a>(&'a self, namespace: &'a str, key: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        let (space, key) = (namespace.to_owned(), key.to_owned());
        self.changing(move |turn| turn.sql(|transaction| self::delete(transaction, &space, &key)))
    }

    fn list<'a>(
        &'a self,
        namespace: &'a str,
        prefix: &'a str,
    ) -> BoxFuture<'a, Result<Vec<String>, StoreError>> {
        let (space, prefix) = (namespace.to_owned(), prefix.to_owned());
        self.reading(move |connection, now| {
            let mut select = connection.prepare_cached(
                "SELECT space, key, value, bytes, until_us, row_digest FROM value
                 WHERE space = ?1 AND key >= ?2 ORDER BY key",
            )?;
            let mut rows = select.query((&space, &prefix))?;
            let mut keys = Vec::new();
            while let Some(row) = rows.next()? {
                let found = ValueRow::read(row)?;
                if !found.key.starts_with(&prefix) || found.space != space {
                    break;
                }
                if found.until.is_none_or(|until| until > now) {
                    keys.push(found.key);
                }
            }
            Ok(keys)
        })
    }

    fn clear<'a>(&'a self, namespace: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        let space = namespace.to_owned();
        self.changing(move |turn| turn.sql(|transaction| self::clear(transaction, &space)))
    }
}

impl SqliteStore {
    /// Has something small committed.
    fn changing(
        &self,
        work: impl FnMut(&mut Turn<'_>) -> Result<(), SqliteError> + Send + 'static,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        async move { Ok(self.transact(0, work).await?) }.boxed()
    }

    /// Reads on a thread that may block; `read` is told the time in microseconds.
    fn reading<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection, i64) -> rusqlite::Result<T> + Send + 'static,
    ) -> BoxFuture<'_, Result<T, StoreError>> {
        let read = self.read(|store, connection| {
            read(connection, micros(store.0.clock.now())).map_err(|error| store.failed(&error))
        });
        async move { Ok(read.await?) }.boxed()
    }
}

/// Stores a value, or says that the namespace is full.
fn set(transaction: &Connection, value: &Value, now: Duration) -> rusqlite::Result<Result<(), StoreError>> {
    if !fits(transaction, value)? {
        // What has expired goes when the namespace is full, and nothing else does.
        transaction
            .prepare_cached("DELETE FROM value WHERE space = ?1 AND until_us <= ?2")?
            .execute((&value.space, micros(now)))?;
        if !fits(transaction, value)? {
            return Ok(Err(StoreError::Full));
        }
    }
    delete(transaction, &value.space, &value.key)?;
    let row = ValueRow {
        space: value.space.clone(),
        key: value.key.clone(),
        value: value.value.clone(),
        bytes: i64::try_from(value.bytes()).unwrap_or(i64::MAX),
        until: value.ttl.map(|ttl| micros_up(now.saturating_add(ttl))),
    };
    transaction
        .prepare_cached(
            "INSERT INTO value (space, key, value, bytes, until_us, row_digest) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute((&row.space, &row.key, &row.value, row.bytes, row.until, row.row_digest().finish()))?;
    Ok(Ok(()))
}

/// A value as it is stored.
struct ValueRow {
    space: String,
    key: String,
    value: String,
    bytes: i64,
    until: Option<i64>,
}

impl ValueRow {
    /// Reads a row, and refuses one that does not have its digest.
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let read = Self::read_unchecked(row)?;
        read.row_digest().check(row.get(5)?, "a stored value does not have its digest")?;
        Ok(read)
    }

    fn read_unchecked(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            space: row.get(0)?,
            key: row.get(1)?,
            value: row.get(2)?,
            bytes: row.get(3)?,
            until: row.get(4)?,
        })
    }

    fn row_digest(&self) -> RowDigest {
        RowDigest::new("value")
            .text(&self.space)
            .text(&self.key)
            .text(&self.value)
            .number(self.bytes)
            .optional_number(self.until)
    }
}

/// Counts the rows that do not have their digests.
pub(super) fn count_damaged(connection: &Connection) -> rusqlite::Result<u64> {
    let sql = "SELECT space, key, value, bytes, until_us, row_digest FROM value NOT INDEXED";
    total::count_damaged(connection, sql, ValueRow::read)
}

/// Gives every row its digest.
pub(super) fn fill_digests(connection: &Connection) -> rusqlite::Result<()> {
    let mut select = connection.prepare("SELECT space, key, value, bytes, until_us, id FROM value")?;
    let mut update = connection.prepare("UPDATE value SET row_digest = ?1 WHERE id = ?2")?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let digest = ValueRow::read_unchecked(row)?.row_digest().finish();
        update.execute((digest, row.get::<_, i64>(5)?))?;
    }
    Ok(())
}

/// Removes a key.
fn delete(transaction: &Connection, space: &str, key: &str) -> rusqlite::Result<()> {
    let mut delete = transaction.prepare_cached("DELETE FROM value WHERE space = ?1 AND key = ?2")?;
    delete.execute((space, key)).map(drop)
}

/// Drops a namespace.
fn clear(transaction: &Connection, space: &str) -> rusqlite::Result<()> {
    transaction.prepare_cached("DELETE FROM value WHERE space = ?1")?.execute([space]).map(drop)
}

/// Removes some of what has expired, and returns how much.
pub(super) fn sweep(connection: &Connection, now: Duration) -> rusqlite::Result<u64> {
    let expired: bool = connection
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM value WHERE until_us <= ?1)")?
        .query_row([micros(now)], |row| row.get(0))?;
    if !expired {
        return Ok(0);
    }
    let swept = connection
        .prepare_cached("DELETE FROM value WHERE id IN (SELECT id FROM value WHERE until_us <= ?1 LIMIT ?2)")?
        .execute((micros(now), SWEPT))?;
    Ok(u64::try_from(swept).unwrap_or(u64::MAX))
}

/// Says whether there is room for a value in place of the one that is there.
fn fits(transaction: &Connection, value: &Value) -> rusqlite::Result<bool> {
    let (keys, bytes): (u64, u64) = transaction
        .prepare_cached("SELECT keys, bytes FROM space WHERE name = ?1")?
        .query_row([&value.space], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?
        .unwrap_or_default();
    let old: Option<u64> = transaction
        .prepare_cached("SELECT bytes FROM value WHERE space = ?1 AND key = ?2")?
        .query_row((&value.space, &value.key), |row| row.get(0))
        .optional()?;
    let new = u64::try_from(value.bytes()).unwrap_or(u64::MAX);
    let keys = keys.saturating_add(u64::from(old.is_none()));
    let bytes = bytes.saturating_sub(old.unwrap_or_default()).saturating_add(new);
    Ok(keys <= MAX_KEYS && bytes <= MAX_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::schema;

    fn value(space: &str, key: u64, ttl: Option<Duration>) -> Value {
        Value { space: space.into(), key: key.to_string(), value: String::new(), ttl }
    }

    fn count(connection: &Connection, sql: &str) -> u64 {
        connection.query_row(sql, [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn sweeps_a_bounded_part_and_keeps_count() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.db");
        schema::make(&path).unwrap();
        let mut connection = schema::writer(&path).unwrap();
        let transaction = connection.transaction().unwrap();
        for key in 0..SWEPT + 10 {
            set(&transaction, &value("a", key, Some(Duration::from_secs(1))), Duration::ZERO)
                .unwrap()
                .unwrap();
        }
        set(&transaction, &value("b", 0, None), Duration::ZERO).unwrap().unwrap();
        transaction.commit().unwrap();
        for (seconds, left) in [(0, SWEPT + 11), (1, 11), (1, 1), (9, 1)] {
            sweep(&connection, Duration::from_secs(seconds)).unwrap();
            assert_eq!(count(&connection, "SELECT count(*) FROM value"), left);
            assert_eq!(count(&connection, "SELECT sum(keys) FROM space"), left);
        }
        assert_eq!(count(&connection, "SELECT count(*) FROM space"), 1);
    }

    #[test]
    fn counts_keys() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.db");
        schema::make(&path).unwrap();
        let mut connection = schema::writer(&path).unwrap();
        let transaction = connection.transaction().unwrap();
        let put = |key, ttl| set(&transaction, &value("a", key, ttl), Duration::ZERO).unwrap();
        put(0, None).unwrap();
        put(1, Some(Duration::ZERO)).unwrap();
        transaction.execute("UPDATE space SET keys = ?1", [MAX_KEYS]).unwrap();
        put(0, None).unwrap();
        // The one that has expired makes room for one.
        put(2, None).unwrap();
        assert_eq!(put(3, None), Err(StoreError::Full));
    }
}
