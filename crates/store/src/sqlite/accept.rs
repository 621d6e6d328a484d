//! A store that is refused because something is missing, and a person who goes on with it all the same.
//!
//! INVARIANT: what a person accepts is in the audit, in the transaction that accepts it; a row that does not have its
//! digest is not made right by it.

use std::path::Path;
use std::time::Duration;

use ringfence::audit::{ConsoleStep, Hash};
use ringfence::{AuditEntry, Clock as _, Fence, SystemClock};
use rusqlite::types::Value;
use rusqlite::{Connection, TransactionBehavior};
use serde_json::json;

use super::claims::ClaimCache;
use super::error::SqliteError;
use super::history::History;
use super::mark::{self, MOST, Mark, MarkFile};
use super::time::from_micros;
use super::turn::{Start, Turn};
use super::{SqliteBuilder, SqliteStore};
use super::{file, idempotency, lock, log, schema, total};

/// Why a store is refused, and what is missing as far as its mark tells.
#[non_exhaustive]
#[derive(Clone, Debug)]
pub struct StoreGap {
    /// Why it is refused.
    pub why: SqliteError,
    /// Whether it is known how much is missing. Without a mark nobody knows, and the numbers are 0.
    pub is_counted: bool,
    /// How many transactions are missing that were acknowledged.
    pub transactions: u64,
    /// How many entries of the audit log are missing.
    pub records: u64,
    /// How many idempotency keys were claimed and are not known any more, at most.
    pub keys: u64,
    /// When something was last acknowledged, since 1970.
    pub acknowledged: Option<Duration>,
}

impl SqliteStore {
    /// Looks why a store is refused; nothing where it is not. Nobody else may have it open.
    ///
    /// # Errors
    ///
    /// Somebody has it open, or it is refused for a reason that nobody can accept, such as malformed pages of its log.
    pub fn find_gap(path: &Path) -> Result<Option<StoreGap>, SqliteError> {
        Self::builder(path).find_gap()
    }

    /// Goes on with a store that is refused, and returns what is missing; nothing where it was not refused.
    ///
    /// Calls whose keys are missing can take effect a second time: whoever accepts has looked. `by` and `reason` go into
    /// the audit.
    ///
    /// # Errors
    ///
    /// Those of [`SqliteStore::find_gap`], or the store cannot be written.
    pub fn accept_gap(path: &Path, by: &str, reason: &str) -> Result<Option<StoreGap>, SqliteError> {
        Self::builder(path).accept_gap(by, reason)
    }
}

impl SqliteBuilder {
    /// Looks why a store is refused; nothing where it is not. Nobody else may have it open.
    ///
    /// # Errors
    ///
    /// Those of [`SqliteStore::find_gap`].
    pub fn find_gap(&self) -> Result<Option<StoreGap>, SqliteError> {
        let path = file::resolve(&self.path)?;
        file::check_folder(&path)?;
        let _lock = lock::own(&path)?;
        self.gap(&path)
    }

    /// Goes on with a store that is refused, and returns what is missing; nothing where it was not refused.
    ///
    /// # Errors
    ///
    /// Those of [`SqliteStore::accept_gap`].
    pub fn accept_gap(&self, by: &str, reason: &str) -> Result<Option<StoreGap>, SqliteError> {
        let path = file::resolve(&self.path)?;
        file::check_folder(&path)?;
        let _lock = lock::own(&path)?;
        let Some(gap) = self.gap(&path)? else { return Ok(None) };
        accept(&path, &gap, by, reason)?;
        self.name()?.accept(&path)?;
        Ok(Some(gap))
    }

    /// Looks why a store is refused. The lock must be held alone.
    fn gap(&self, path: &Path) -> Result<Option<StoreGap>, SqliteError> {
        if let Some(gap) = gap(path)? {
            return Ok(Some(gap));
        }
        match self.name()?.check(path) {
            // What the other store has, and this one has not, nobody knows.
            Err(why @ SqliteError::Elsewhere { .. }) => Ok(Some(StoreGap::new(why, None, 0, 0))),
            checked => checked.map(|()| None),
        }
    }
}

/// Looks why a store is refused. The lock must be held alone.
fn gap(path: &Path) -> Result<Option<StoreGap>, SqliteError> {
    // What has a second name can be written by it, also after somebody has accepted it.
    for own in [path.to_owned(), mark::path(path)] {
        file::look(&own)?;
    }
    let mark = match MarkFile::open(path).and_then(|mark| mark.read()) {
        Ok(mark) => Ok(mark),
        Err(why @ (SqliteError::MarkDamaged { .. } | SqliteError::MarkMissing { .. })) => Err(why),
        Err(error) => return Err(error),
    };
    if !schema::is_marked(path)? {
        return Ok(match mark {
            Ok(mark) if mark.sequence > 0 => {
                let why = SqliteError::WentBack { path: path.to_owned(), missing: mark.sequence };
                Some(StoreGap::new(why, Some(&mark), 0, 0))
            }
            Err(why @ SqliteError::MarkDamaged { .. }) => Some(StoreGap::new(why, None, 0, 0)),
            // There is none yet, or one of an older version, which has no mark.
            Ok(_) | Err(_) => None,
        });
    }
    let failed = |error| SqliteError::from_sqlite(path, &error);
    let mut connection = schema::writer(path)?;
    // Nothing is written to a store that nobody has accepted, not even its new tables.
    let connection = schema::preview(&mut connection, path)?;
    // Tables that somebody else has changed, and a log whose tree does not fit, are for nobody to accept.
    schema::check_tables(&connection, path)?;
    let records = log::frontier(&connection, path)?.size();
    let history = History::read(&connection).map_err(failed);
    let fence = last_fence(&connection).map_err(failed)?;
    let why = match (&mark, &history) {
        (Err(why), _) | (_, Err(why)) => Some(why.clone()),
        (Ok(mark), Ok(history)) => {
            let missing = history.missing(mark, &connection).map_err(failed)?;
            missing.map(|missing| SqliteError::WentBack { path: path.to_owned(), missing })
        }
    };
    let impossible = || history.as_ref().ok().and_then(|history| history.check_fence(path).err());
    let why = why.or_else(|| total::check(&connection, path).err()).or_else(impossible);
    let mut gap = why.map(|why| StoreGap::new(why, mark.as_ref().ok(), records, fence));
    if let (Some(gap), Ok(history)) = (&mut gap, &history) {
        gap.transactions = gap.transactions.saturating_sub(history.sequence);
    }
    Ok(gap)
}

impl StoreGap {
    /// Returns a number of what is missing, where it is known.
    pub fn counted(&self, number: u64) -> Option<u64> {
        self.is_counted.then_some(number)
    }

    fn new(why: SqliteError, mark: Option<&Mark>, records: u64, fence: u64) -> Self {
        Self {
            why,
            is_counted: mark.is_some(),
            transactions: mark.map_or(0, |mark| mark.sequence),
            records: mark.map_or(0, |mark| mark.records.saturating_sub(records)),
            keys: mark.map_or(0, |mark| mark.fence.saturating_sub(fence)),
            acknowledged: mark.filter(|mark| mark.at > 0).map(|mark| from_micros(mark.at.cast_signed())),
        }
    }
}

/// Goes on with what is there.
fn accept(path: &Path, gap: &StoreGap, by: &str, reason: &str) -> Result<(), SqliteError> {
    let failed = |error| SqliteError::from_sqlite(path, &error);
    let old = MarkFile::open(path).and_then(|mark| mark.read()).ok();
    if !schema::is_marked(path)? {
        // It begins again, and what the mark knows is written below.
        file::remove(&mark::path(path))?;
        schema::make(path)?;
    }
    // It is refused until it is accepted below, whatever its version.
    schema::upgrade(path)?;
    let mut connection = schema::writer(path)?;
    let last = log::frontier(&connection, path)?;
    let now = SystemClock.now();
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
    for table in total::TABLES {
        transaction.execute_batch(&format!("REINDEX {table}")).map_err(failed)?;
    }
    total::accept(&transaction).map_err(failed)?;
    let mut history = go_on(&transaction, old.as_ref(), path)?;
    idempotency::end_sequence(&transaction).map_err(failed)?;
    let (log, mut claims) = (last.to_bytes(), ClaimCache::default());
    let start = Start { last: &last, log: &log, fence: history.fence, claims: &mut claims, now };
    let mut turn = Turn::new(&transaction, path, start);
    let step = ConsoleStep {
        at: now,
        principal: by.to_owned(),
        action: "accepted_store",
        about: json!({
            "why": gap.why.to_string(), "reason": reason, "transactions": gap.counted(gap.transactions),
            "records": gap.counted(gap.records), "keys": gap.counted(gap.keys),
        }),
    };
    turn.record(&AuditEntry::Console(&step))?;
    let end = turn.end()?;
    history.keep(&transaction, end.update()).map_err(failed)?;
    total::check(&transaction, path)?;
    transaction.commit().map_err(failed)?;
    schema::close_on_end(&connection).map_err(failed)?;
    connection.close().map_err(|(_, error)| failed(error))?;
    let records = end.frontier.map_or(last.size(), |frontier| frontier.size());
    let mark = match MarkFile::open(path) {
        Ok(mark) if mark.read().is_ok() => mark,
        _ => MarkFile::create(path, history.store)?,
    };
    mark.write(&mark.lock()?, &history.mark(records, now))?;
    mark.sync()
}

/// Returns a history that is beyond both what is there and what is missing.
fn go_on(connection: &Connection, old: Option<&Mark>, path: &Path) -> Result<History, SqliteError> {
    let failed = |error| SqliteError::from_sqlite(path, &error);
    let history = match History::read(connection) {
        Ok(history) => history,
        Err(_) => {
            let store = connection.query_row("SELECT randomblob(16)", [], |row| row.get(0));
            History::new(store.map_err(failed)?)
        }
    };
    let mut bytes = history.chain.as_bytes().to_vec();
    bytes.extend(old.iter().flat_map(|old| *old.chain.as_bytes()));
    let sequence = history.sequence.max(old.map_or(0, |old| old.sequence)).saturating_add(1);
    let fence = last_fence(connection).map_err(failed)?;
    let mut next = history.advance(sequence, Hash::of(&bytes));
    next.fence = Fence(fence.max(old.map_or(0, |old| old.fence)));
    Ok(next)
}

/// Returns the last fence that was handed out, also where its row does not have its digest. What cannot be true is settled by the keys
/// that are there.
fn last_fence(connection: &Connection) -> rusqlite::Result<u64> {
    let said: Value = connection.query_row("SELECT fence FROM frontier", [], |row| row.get(0))?;
    let said = match said {
        Value::Integer(fence) => u64::try_from(fence).ok().filter(|fence| *fence < MOST),
        _ => None,
    };
    Ok(idempotency::last_key(connection)?.0.max(said.unwrap_or(0)))
}
