//! What the console asks of the audit log, whichever database keeps it.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use ringfence::audit::{Filter, Note, Progress, ProofFile, Stored, TrustedLog, Verified};
use ringfence::{ApprovalStore, AuditSink, IdempotencyStore, StoreError};

/// What a log answers, in its own time.
pub type Reading<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// The audit log, for reading and proving.
pub trait AuditLog: Send + Sync {
    /// Says which database it is: the file, or host and name.
    fn describe(&self) -> String;

    /// Returns the number of entries.
    fn size(&self) -> Reading<'_, u64>;

    /// Returns up to `most` entries from the index `from` on, newest last.
    fn entries<'a>(&'a self, filter: &'a Filter, from: u64, most: usize) -> Reading<'a, Vec<Stored>>;

    /// Returns the newest entries that fit, up to `most` of them, newest last.
    fn newest<'a>(&'a self, filter: &'a Filter, most: usize) -> Reading<'a, Vec<Stored>>;

    /// Returns one entry.
    fn entry(&self, index: u64) -> Reading<'_, Option<Stored>>;

    /// Returns the kept checkpoints with the sizes they are filed under, smallest first. Nobody has verified them.
    fn checkpoints(&self) -> Reading<'_, Vec<(u64, String)>>;

    /// Verifies the whole log as it is now. `tail` is how many entries at the end may be without a signed checkpoint.
    fn verify<'a>(&'a self, log: &'a TrustedLog, tail: u64, progress: &'a Progress) -> Reading<'a, Verified>;

    /// Proves that the entry is in the log that `note` is a checkpoint of.
    fn prove<'a>(&'a self, index: u64, note: &'a Note, log: &'a TrustedLog) -> Reading<'a, ProofFile>;

    /// Looks for what does not fit together in the database, and returns one sentence for each.
    fn check(&self) -> Reading<'_, Vec<String>>;
}

/// Everything that the console keeps and reads, usually one database.
#[derive(Clone)]
pub struct ConsoleStore {
    /// Requests, and the people who decide them.
    pub approvals: Arc<dyn ApprovalStore>,
    /// Calls by idempotency key.
    pub keys: Arc<dyn IdempotencyStore>,
    /// Where entries of the audit go.
    pub sink: Arc<dyn AuditSink>,
    /// Where they are read.
    pub log: Arc<dyn AuditLog>,
}
