//! The connections that read.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::{Connection, Transaction};

use super::error::SqliteError;
use super::guard::StoreGuard;
use super::history::History;
use super::schema;

/// How many idle connections are kept.
const IDLE: usize = 4;

/// Opens connections as they are needed, and keeps a few.
pub(super) struct Pool {
    path: PathBuf,
    idle: Mutex<Vec<Connection>>,
    guard: Option<Arc<StoreGuard>>,
}

impl Pool {
    /// Starts without connections.
    pub(super) const fn new(path: PathBuf) -> Self {
        Self { path, idle: Mutex::new(Vec::new()), guard: None }
    }

    /// Refuses from now on what was read from another store than the one that is guarded.
    pub(super) fn watch(&mut self, guard: Arc<StoreGuard>) {
        self.guard = Some(guard);
    }

    /// Returns the path of the database.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads with a connection of one's own. One that failed is not used again.
    pub(super) fn with<T>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, SqliteError>,
    ) -> Result<T, SqliteError> {
        let idle = self.lock().pop();
        let connection = idle.map_or_else(|| schema::reader(&self.path), Ok)?;
        let last = self.guard.as_ref().map(|guard| guard.last());
        let found = read(&connection)?;
        if let Some((guard, last)) = self.guard.as_ref().zip(last) {
            let history =
                History::read(&connection).map_err(|error| SqliteError::from_sqlite(&self.path, &error))?;
            guard.check_reading(&history, last, &connection)?;
        }
        let mut idle = self.lock();
        if idle.len() < IDLE {
            idle.push(connection);
        }
        Ok(found)
    }

    /// Reads one state of the database, whatever is written meanwhile.
    pub(super) fn snapshot<T>(
        &self,
        read: impl FnOnce(&Transaction<'_>) -> Result<T, SqliteError>,
    ) -> Result<T, SqliteError> {
        self.with(|connection| {
            let failed = |error| SqliteError::from_sqlite(&self.path, &error);
            let transaction = connection.unchecked_transaction().map_err(failed)?;
            let found = read(&transaction)?;
            transaction.finish().map_err(failed)?;
            Ok(found)
        })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
