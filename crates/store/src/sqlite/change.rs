//! What can be written, and one turn at writing: the changes that share a transaction.

use std::path::Path;
use std::time::Duration;

use ringfence::StoreError;
use ringfence::audit::Frontier;
use rusqlite::Transaction;

use super::error::SqliteError;
use super::log::{self, Line};
use super::value::{self, Value};

/// Something to write.
pub(super) enum Change {
    /// Appends lines to the log.
    Append(Vec<Line>),
    /// Keeps a signed checkpoint.
    Checkpoint { size: u64, note: String },
    /// Drops a namespace.
    Clear { space: String },
    /// Removes a key.
    Delete { space: String, key: String },
    /// Drops some of the raw outputs from before a time.
    ForgetRaw { before: Duration },
    /// Asks where the log stands, in turn with what is written.
    Frontier,
    /// Stores a value.
    Set(Value),
}

/// What came of a change.
pub(super) enum Done {
    /// This many rows were changed.
    Count(u64),
    /// It is kept.
    Kept,
    /// Where the log stands.
    Frontier(Frontier),
    /// The rules of the store forbid it; what shared its transaction is kept all the same.
    Refused(StoreError),
}

impl Change {
    /// Returns about how much memory it takes.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Append(lines) => lines.iter().map(Line::bytes).sum(),
            Self::Checkpoint { note, .. } => note.len(),
            Self::Clear { space } => space.len(),
            Self::Delete { space, key } => space.len() + key.len(),
            Self::ForgetRaw { .. } | Self::Frontier => 0,
            Self::Set(value) => value.bytes(),
        }
    }
}

/// The changes of one transaction.
pub(super) struct Turn<'a> {
    transaction: &'a Transaction<'a>,
    path: &'a Path,
    /// Where the log stood when this process last knew it.
    last: &'a Frontier,
    /// Where it stands. It is read when it is first needed, since other processes write to the log too.
    frontier: Option<Frontier>,
    appended: bool,
    now: Duration,
}

impl<'a> Turn<'a> {
    /// Starts without changes.
    pub(super) const fn new(
        transaction: &'a Transaction<'a>,
        path: &'a Path,
        last: &'a Frontier,
        now: Duration,
    ) -> Self {
        Self { transaction, path, last, frontier: None, appended: false, now }
    }

    /// Makes one change. An error undoes the whole transaction.
    pub(super) fn apply(&mut self, change: &Change) -> Result<Done, SqliteError> {
        let (transaction, path) = (self.transaction, self.path);
        let failed = |error| SqliteError::from_sqlite(path, &error);
        match change {
            Change::Append(lines) => self.append(lines)?,
            Change::Checkpoint { size, note } => {
                log::keep_checkpoint(transaction, *size, note).map_err(failed)?;
            }
            Change::Clear { space } => value::clear(transaction, space).map_err(failed)?,
            Change::Delete { space, key } => value::delete(transaction, space, key).map_err(failed)?,
            Change::ForgetRaw { before } => {
                return log::forget_raw(transaction, *before).map(Done::Count).map_err(failed);
            }
            Change::Frontier => return self.frontier().map(|frontier| Done::Frontier(frontier.clone())),
            Change::Set(value) => {
                if let Err(refused) = value::set(transaction, value, self.now).map_err(failed)? {
                    return Ok(Done::Refused(refused));
                }
            }
        }
        Ok(Done::Kept)
    }

    /// Keeps where the log stands now, and returns it if anybody needed to know.
    pub(super) fn end(self) -> Result<Option<Frontier>, SqliteError> {
        if self.appended
            && let Some(frontier) = &self.frontier
        {
            log::keep_frontier(self.transaction, frontier)
                .map_err(|error| SqliteError::from_sqlite(self.path, &error))?;
        }
        Ok(self.frontier)
    }

    fn append(&mut self, lines: &[Line]) -> Result<(), SqliteError> {
        let (transaction, path) = (self.transaction, self.path);
        self.appended = true;
        let frontier = self.frontier()?;
        for line in lines {
            log::append(transaction, frontier, line)
                .map_err(|error| SqliteError::from_sqlite(path, &error))?;
        }
        Ok(())
    }

    fn frontier(&mut self) -> Result<&mut Frontier, SqliteError> {
        let frontier = match self.frontier.take() {
            Some(frontier) => frontier,
            None => log::grown_frontier(self.transaction, self.path, self.last)?,
        };
        Ok(self.frontier.insert(frontier))
    }
}
