//! A transaction of the connection that writes, whose first and last statement are prepared once.

use std::ops::Deref;

use rusqlite::Connection;

/// A transaction that may write, and is undone unless it is committed.
pub(super) struct WriteTransaction<'a>(&'a Connection);

impl<'a> WriteTransaction<'a> {
    /// Begins, and waits until nobody else writes. The connection must have no other transaction.
    pub(super) fn begin(connection: &'a Connection) -> rusqlite::Result<Self> {
        connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        Ok(Self(connection))
    }

    /// Commits. What cannot be committed is undone.
    pub(super) fn commit(self) -> rusqlite::Result<()> {
        self.0.prepare_cached("COMMIT")?.execute([]).map(drop)
    }
}

impl Deref for WriteTransaction<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.0
    }
}

impl Drop for WriteTransaction<'_> {
    fn drop(&mut self) {
        // Some errors have undone it already.
        if !self.0.is_autocommit() {
            let _undone = self.0.execute_batch("ROLLBACK");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_committed_is_undone() {
        let directory = tempfile::tempdir().unwrap();
        let connection = Connection::open(directory.path().join("x.db")).unwrap();
        connection.execute_batch("CREATE TABLE x (y INTEGER CHECK (y < 9))").unwrap();
        for (value, is_committed) in [(1, true), (2, false), (3, true)] {
            let transaction = WriteTransaction::begin(&connection).unwrap();
            assert!(WriteTransaction::begin(&connection).is_err());
            transaction.execute("INSERT INTO x VALUES (?1)", [value]).unwrap();
            assert!(transaction.execute("INSERT INTO x VALUES (9)", []).is_err());
            if is_committed {
                transaction.commit().unwrap();
            } else {
                drop(transaction);
            }
            assert!(connection.is_autocommit());
        }
        let sum: i64 = connection.query_row("SELECT sum(y) FROM x", [], |row| row.get(0)).unwrap();
        assert_eq!(sum, 4);
    }
}
