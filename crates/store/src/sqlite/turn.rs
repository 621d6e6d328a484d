//! One turn at writing: what shares a transaction.

use std::path::Path;
use std::time::Duration;

use ringfence::audit::Frontier;
use ringfence::{AuditEntry, Fence};
use rusqlite::Connection;

use super::claims::ClaimCache;
use super::error::SqliteError;
use super::history::HistoryUpdate;
use super::instance;
use super::log::{self, Spans};
use super::total::TotalChange;
use crate::line::Line;

/// A transaction under way.
///
/// Work that returns an error undoes the whole transaction. What the rules of the store forbid must therefore be found
/// out before anything is written, and is no error here but an answer.
pub(super) struct Turn<'a> {
    transaction: &'a Connection,
    path: &'a Path,
    /// Where the log stood when this process last knew it.
    last: &'a Frontier,
    /// Where it stands as the transaction found it, in bytes: other processes write to the log too.
    log: &'a [u8],
    /// Where it stands, once somebody needed to know.
    frontier: Option<Frontier>,
    appended: bool,
    /// The times of what was appended.
    spans: Spans,
    /// Something was dropped that must not stay in the write-ahead log either.
    forgot: bool,
    now: Duration,
    /// The last fence that was handed out.
    fence: Fence,
    /// How the totals of the keys change.
    keys: TotalChange,
    /// The keys that this process has claimed.
    claims: &'a mut ClaimCache,
}

/// What a turn starts from, as its transaction found it.
pub(super) struct Start<'a> {
    /// Where the log stood when this process last knew it.
    pub(super) last: &'a Frontier,
    /// Where the log stands, in bytes.
    pub(super) log: &'a [u8],
    /// The last fence that was handed out.
    pub(super) fence: Fence,
    /// The keys that this process has claimed.
    pub(super) claims: &'a mut ClaimCache,
    /// The time since 1970.
    pub(super) now: Duration,
}

/// What a turn leaves behind.
pub(super) struct End {
    /// Where the log stands, if anybody needed to know.
    pub(super) frontier: Option<Frontier>,
    /// Something was dropped that must not stay in the write-ahead log either.
    pub(super) forgot: bool,
    /// The last fence that was handed out.
    pub(super) fence: Fence,
    /// How the totals of the keys change.
    pub(super) keys: TotalChange,
}

impl End {
    /// Returns what is to be kept with the history.
    pub(super) const fn update(&self) -> HistoryUpdate<'_> {
        HistoryUpdate { log: self.frontier.as_ref(), fence: Some(self.fence), keys: self.keys }
    }
}

impl<'a> Turn<'a> {
    /// Starts without changes.
    pub(super) fn new(transaction: &'a Connection, path: &'a Path, start: Start<'a>) -> Self {
        let Start { last, log, fence, claims, now } = start;
        Self {
            transaction,
            path,
            last,
            log,
            frontier: None,
            appended: false,
            spans: Spans::default(),
            forgot: false,
            now,
            fence,
            keys: TotalChange::default(),
            claims,
        }
    }

    /// Returns the time since 1970.
    pub(super) const fn now(&self) -> Duration {
        self.now
    }

    /// Reads and writes.
    pub(super) fn sql<T>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, SqliteError> {
        work(self.transaction).map_err(|error| SqliteError::from_sqlite(self.path, &error))
    }

    /// Returns a fence that was never handed out.
    pub(super) const fn next_fence(&mut self) -> Fence {
        self.fence = Fence(self.fence.0.saturating_add(1));
        self.fence
    }

    /// Returns how the totals of the keys change: whoever adds, changes or removes a key counts it here.
    pub(super) const fn keys(&mut self) -> &mut TotalChange {
        &mut self.keys
    }

    /// Returns the keys that this process has claimed.
    pub(super) const fn claims(&mut self) -> &mut ClaimCache {
        self.claims
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
        Ok(End { frontier: self.frontier, forgot: self.forgot, fence: self.fence, keys: self.keys })
    }

    fn known_frontier(&mut self) -> Result<&mut Frontier, SqliteError> {
        let frontier = match self.frontier.take() {
            Some(frontier) => frontier,
            None => log::grown_frontier(self.transaction, self.path, self.log, self.last)?,
        };
        Ok(self.frontier.insert(frontier))
    }
}
