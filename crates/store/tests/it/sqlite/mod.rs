//! The database from outside.

mod append;
mod check;
mod child;
mod companion;
mod crash;
mod flip;
mod full;
mod history;
mod migrate;
mod open;
mod process;
mod proof;
mod rate;
mod swap;
mod tamper;
mod version_4;

use std::path::PathBuf;

use ringfence::audit::ApprovalStep;
use ringfence::{AuditEntry, AuditSink as _};
use ringfence_store::SqliteStore;
use tempfile::TempDir;

use crate::it::sample::{ORIGIN, append, call, key, log, step};

/// A directory of its own, and the database in it.
struct Bench {
    directory: TempDir,
}

impl Bench {
    fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("ringfence.db")
    }

    fn open(&self) -> SqliteStore {
        SqliteStore::open(&self.path()).unwrap()
    }

    fn read(&self) -> SqliteStore {
        SqliteStore::open_read_only(&self.path()).unwrap()
    }

    /// Changes the file behind the store's back.
    fn sql(&self, sql: &str) {
        rusqlite::Connection::open(self.path()).unwrap().execute_batch(sql).unwrap();
    }
}
