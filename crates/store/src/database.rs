//! What commands and the console ask of a database, whichever it is.
//!
//! INVARIANT: no description and no error holds a password.

use std::time::Duration;

use futures_util::future::BoxFuture;
use ringfence::audit::{
    Checkpoint, Filter, Note, Progress, ProofFile, SignerKey, Stored, TrustedLog, Verified,
};
use ringfence::{ApprovalStore, AuditSink, Code, IdempotencyStore, Store};

#[cfg(feature = "postgres")]
use crate::postgres::PostgresError;
use crate::sqlite::SqliteError;

/// What a database answers, in its own time.
pub type Answer<'a, T> = BoxFuture<'a, Result<T, DatabaseError>>;

/// A database of ringfence: the audit log, keys and values, calls by idempotency key, and requests for approval.
pub trait Database: ApprovalStore + AuditSink + IdempotencyStore + Store {
    /// Says which database it is: the file, or host and name.
    fn describe(&self) -> String;

    /// Returns the number of entries of the log.
    fn size(&self) -> Answer<'_, u64>;

    /// Returns up to `most` entries from the index `from` on, newest last.
    fn entries<'a>(&'a self, filter: &'a Filter, from: u64, most: usize) -> Answer<'a, Vec<Stored>>;

    /// Returns the newest entries that fit, up to `most` of them, newest last.
    fn newest<'a>(&'a self, filter: &'a Filter, most: usize) -> Answer<'a, Vec<Stored>>;

    /// Returns one entry.
    fn entry(&self, index: u64) -> Answer<'_, Option<Stored>>;

    /// Signs what is in the log now, and keeps the checkpoint beside it. The log must still begin with what was signed of it last, and
    /// with `trusted`, a checkpoint that was kept elsewhere.
    fn sign<'a>(
        &'a self,
        key: &'a SignerKey,
        origin: &'a str,
        trusted: Option<&'a Checkpoint>,
    ) -> Answer<'a, Note>;

    /// Returns the kept checkpoints with the sizes they are filed under, smallest first. Nobody has verified them.
    fn checkpoints(&self) -> Answer<'_, Vec<(u64, String)>>;

    /// Verifies the whole log as it is now.
    ///
    /// `tail` is how many entries at the end may be without a signed checkpoint, and `trusted` a checkpoint that was
    /// kept elsewhere. That something is wrong with the log is no error but a finding. `progress` counts entries.
    fn verify<'a>(
        &'a self,
        log: &'a TrustedLog,
        tail: u64,
        trusted: Option<&'a Checkpoint>,
        progress: &'a Progress,
    ) -> Answer<'a, Verified>;

    /// Proves that the entry is in the log that `note` is a checkpoint of.
    fn prove<'a>(&'a self, index: u64, note: &'a Note, log: &'a TrustedLog) -> Answer<'a, ProofFile>;

    /// Drops the raw outputs of entries from before `before`, a time since 1970, and returns how many there were.
    ///
    /// The entries stay and verify as before: a record holds the digest of its raw output, never the output.
    fn forget_raw(&self, before: Duration) -> Answer<'_, u64>;

    /// Looks for what does not fit together, and returns one sentence for each: none when the database is sound.
    ///
    /// The log is not verified here, only where it stands; [`Database::verify`] does the rest.
    fn check(&self) -> Answer<'_, Vec<String>>;
}

/// Why a database did not do what was asked.
#[non_exhaustive]
#[derive(Clone, Debug, thiserror::Error)]
pub enum DatabaseError {
    /// It is a PostgreSQL database.
    #[cfg(feature = "postgres")]
    #[error(transparent)]
    Postgres(#[from] PostgresError),
    /// It is a SQLite file.
    #[error(transparent)]
    Sqlite(#[from] SqliteError),
}

impl DatabaseError {
    /// Returns the stable code.
    pub const fn code(&self) -> Code {
        match self {
            #[cfg(feature = "postgres")]
            Self::Postgres(error) => error.code(),
            Self::Sqlite(error) => error.code(),
        }
    }
}

/// How many rows of each kind were copied.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Copied {
    /// Entries of the audit log.
    pub entries: u64,
    /// Signed checkpoints.
    pub checkpoints: u64,
    /// Keys and values, expired ones too.
    pub values: u64,
    /// Idempotency keys.
    pub keys: u64,
    /// People who may decide.
    pub approvers: u64,
    /// Requests for approval.
    pub requests: u64,
}
