//! One turn at writing: what shares a transaction.

use std::path::Path;
use std::time::Duration;

use ringfence::audit::Frontier;
use ringfence::{AuditEntry, Fence};
use rusqlite::Transaction;

use super::error::SqliteError;
use super::instance;
use super::log::{self, Spans};
use crate::line::Line;

/// A transaction under way.
///
/// Work that returns an error undoes the whole transaction. What the rules of the store forbid must therefore be found
/// out before anything is written, and is no error here but an answer.
pub(super) struct Turn<'a> {
    transaction: &'a Transaction<'a>,
    path: &'a Path,
    /// Where the log stood when this process last knew it.
    last: &'a Frontier,
    /// Where it stands. It is read when it is first needed, since other processes write to the log too.
    frontier: Option<Frontier>,
    appended: bool,
    /// The times of what was appended.
    spans: Spans,
    /// Something was dropped that must not stay in the write-ahead log either.
    forgot: bool,
    now: Duration,
    /// The last fence that was handed out, once somebody has asked.
    fence: Option<Fence>,
}

/// What a turn leaves behind.
pub(super) struct End {
    /// Where the log stands, if anybody needed to know.
    pub(super) frontier: Option<Frontier>,
    /// Something was dropped that must not stay in the write-ahead log either.
    pub(super) forgot: bool,
}

impl<'a> Turn<'a> {
    /// Starts without changes.
    pub(super) fn new(
        transaction: &'a Transaction<'a>,
        path: &'a Path,
        last: &'a Frontier,
        now: Duration,
    ) -> Self {
        Self {
            transaction,
            path,
            last,
            frontier: None,
            appended: false,
            spans: Spans::default(),
            forgot: false,
            now,
            fence: None,
        }
    }

    /// Returns the time since 1970.
    pub(super) const fn now(&self) -> Duration {
        self.now
    }

    /// Reads and writes.
    pub(super) fn sql<T>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, SqliteError> {
        work(self.transaction).map_err(|error| SqliteError::from_sqlite(self.path, &error))
    }

    /// Returns a fence that was never handed out. `read` asks the database, once in a turn.
    pub(super) fn next_fence(
        &mut self,
        read: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<Fence>,
    ) -> Result<Fence, SqliteError> {
        let fence = match self.fence {
            Some(Fence(last)) => Fence(last.saturating_add(1)),
            None => self.sql(read)?,
        };
        self.fence = Some(fence);
        Ok(fence)
    }

    /// Says whether the store with this id lives.
    pub(super) fn lives(&self, instance: &str) -> Result<bool, SqliteError> {
        instance::lives(self.path, instance)
    }

    /// Appends lines to the log.
    pub(super) fn append(&mut self, lines: &[Line]) -> Result<(), SqliteError> {
        let (transaction, path) = (self.transaction, self.path);
        self.appended = true;
        let mut spans = std::mem::take(&mut self.spans);
        let frontier = self.known_frontier()?;
        for line in lines {
            log::append(transaction, frontier, &mut spans, line)
                .map_err(|error| SqliteError::from_sqlite(path, &error))?;
        }
        self.spans = spans;
        Ok(())
    }

    /// Appends the entry that tells of what is written in the same transaction.
    pub(super) fn record(&mut self, entry: &AuditEntry<'_>) -> Result<(), SqliteError> {
        let line = entry.line().map_err(|error| SqliteError::Entry { why: error.to_string() })?;
        self.append(&[Line::new(line).map_err(|why| SqliteError::Entry { why })?])
    }

    /// Returns where the log stands.
    pub(super) fn frontier(&mut self) -> Result<Frontier, SqliteError> {
        self.known_frontier().map(|frontier| frontier.clone())
    }

    /// Drops some of the raw outputs from before a time, and returns how many.
    pub(super) fn forget_raw(&mut self, before: Duration) -> Result<u64, SqliteError> {
        let forgotten = self.sql(|transaction| log::forget_raw(transaction, before))?;
        self.forgot |= forgotten > 0;
        Ok(forgotten)
    }

    /// Ends it. Where the log stands now is kept with the history, in one statement.
    pub(super) fn end(self) -> Result<End, SqliteError> {
        if self.appended {
            self.spans.keep(self.transaction).map_err(|error| SqliteError::from_sqlite(self.path, &error))?;
        }
        Ok(End { frontier: self.frontier, forgot: self.forgot })
    }

    fn known_frontier(&mut self) -> Result<&mut Frontier, SqliteError> {
        let frontier = match self.frontier.take() {
            Some(frontier) => frontier,
            None => log::grown_frontier(self.transaction, self.path, self.last)?,
        };
        Ok(self.frontier.insert(frontier))
    }
}
