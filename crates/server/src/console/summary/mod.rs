//! What the log holds, counted in memory: runs, sessions, names and hours.
//!
//! No column of the database files a session, a latency or a distinct name, so that each would need a walk through the log. The log
//! is walked once instead, and what is new is added before a page is answered.
//!
//! INVARIANT: memory is bounded whatever the log holds, and every answer says from which entry on it counts. Nothing is decided by
//! what is counted here.

mod count;
mod hour;
mod name;
mod run;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ringfence::StoreError;
use ringfence::audit::Filter;

pub(crate) use self::count::Count;
pub(crate) use self::hour::{HOUR_MS, Hour};
pub(crate) use self::name::Column;
pub(crate) use self::run::{RunSummary, SessionSummary};
use super::port::AuditLog;

/// How many of the newest entries are counted.
const ENTRIES: u64 = 500_000;
/// How many entries are read at once.
const BATCH: usize = 1_000;
/// How long a page waits for what is not counted yet.
const PATIENCE: Duration = Duration::from_millis(250);

/// What the log holds, as far as it was counted.
pub(crate) struct Summary {
    log: Arc<dyn AuditLog>,
    count: Mutex<Count>,
    /// Held by whoever reads on.
    reading: tokio::sync::Mutex<()>,
}

/// How much of the log is counted.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Coverage {
    /// The first entry that is counted.
    pub(crate) first: u64,
    /// The first entry that is not counted yet.
    pub(crate) next: u64,
    /// How many entries the log has.
    pub(crate) size: u64,
}

impl Coverage {
    /// Says whether every entry from `first` on is counted.
    pub(crate) const fn is_complete(self) -> bool {
        self.next >= self.size
    }
}

impl Summary {
    pub(crate) fn new(log: Arc<dyn AuditLog>) -> Self {
        Self { log, count: Mutex::default(), reading: tokio::sync::Mutex::default() }
    }

    /// Counts what is in the log at the start, so that the first page does not wait for it.
    pub(crate) async fn run(&self) {
        while let Ok(coverage) = self.catch_up().await {
            if coverage.is_complete() {
                return;
            }
        }
    }

    /// Counts what is new, for a moment at most.
    pub(crate) async fn catch_up(&self) -> Result<Coverage, StoreError> {
        let begun = Instant::now();
        let Ok(_reading) = tokio::time::timeout(PATIENCE, self.reading.lock()).await else {
            let size = self.log.size().await?;
            return Ok(self.coverage(size));
        };
        let size = self.log.size().await?;
        let mut next = self.count().begin(size, size.saturating_sub(ENTRIES));
        let filter = Filter { light: true, below: Some(size), ..Filter::default() };
        while next < size && begun.elapsed() < PATIENCE {
            let batch = self.log.entries(&filter, next, BATCH).await?;
            next = if batch.len() < BATCH { size } else { batch.last().map_or(size, |last| last.index + 1) };
            let mut count = self.count();
            batch.iter().for_each(|stored| count.add(stored));
            count.advance(next);
        }
        Ok(self.coverage(size))
    }

    /// Returns what is counted.
    pub(crate) fn count(&self) -> MutexGuard<'_, Count> {
        self.count.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn coverage(&self, size: u64) -> Coverage {
        let count = self.count();
        Coverage { first: count.first(), next: count.next(), size }
    }
}
