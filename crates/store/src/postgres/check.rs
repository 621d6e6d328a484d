//! Looks for what does not fit together, and forgets what need not be kept.

use std::sync::Arc;
use std::time::Duration;

use super::PostgresStore;
use super::audit::get;
use super::difference;
use super::error::PostgresError;
use super::log;
use super::session::Session;
use super::verify::SNAPSHOT;

/// Each returns how many rows do not fit, and the sentence says what that means.
const COUNTS: [(&str, &str); 9] = [
    (
        "SELECT count(*) FROM ringfence.key AS k WHERE seal IS DISTINCT FROM ringfence.key_seal(k)",
        "idempotency keys do not have their digests",
    ),
    (
        "SELECT count(*) FROM ringfence.request AS r WHERE seal IS DISTINCT FROM ringfence.request_seal(r)",
        "requests for approval do not have their digests",
    ),
    (
        "SELECT count(*) FROM ringfence.approver AS a WHERE seal IS DISTINCT FROM ringfence.approver_seal(a)",
        "approvers do not have their digests",
    ),
    (
        "SELECT count(*) FROM ringfence.value AS v WHERE seal IS DISTINCT FROM ringfence.value_seal(v)",
        "stored values do not have their digests",
    ),
    (
        "SELECT count(*) FROM (
             SELECT space, count(*) AS keys, sum(bytes) AS bytes FROM ringfence.value GROUP BY space
         ) AS held FULL JOIN ringfence.space AS counted ON counted.digest = held.space
         WHERE held.keys IS DISTINCT FROM counted.keys OR held.bytes IS DISTINCT FROM counted.bytes",
        "namespaces do not hold what is counted for them",
    ),
    (
        "SELECT count(*) FROM ringfence.value WHERE bytes <> length(key) + length(content)",
        "values do not have the length that is counted for them",
    ),
    (
        "SELECT count(*) FROM ringfence.space WHERE digest <> sha256(name)",
        "namespaces do not have the hash that they are filed under",
    ),
    (
        "SELECT coalesce(max(position), -1) + 1 - count(*) FROM ringfence.entry",
        "entries are missing from the log",
    ),
    (
        "SELECT count(*) FROM pg_settings WHERE name IN ('fsync', 'full_page_writes') AND setting = 'off'",
        "settings of the server let a crash lose what was committed",
    ),
];

impl PostgresStore {
    /// Looks for what does not fit together, and returns one sentence for each.
    ///
    /// # Errors
    ///
    /// The database cannot be read.
    pub async fn check(&self) -> Result<Vec<String>, PostgresError> {
        let read = |session: Arc<Session>| async move {
            session.batch(SNAPSHOT).await?;
            let mut found = difference::find_differences(&session).await?;
            for (sql, sentence) in COUNTS {
                let row = session.row(sql, &[]).await?.ok_or_else(|| session.corrupt("it counts nothing"))?;
                match get::<i64>(&session, &row, 0)? {
                    0 => {}
                    count => found.push(format!("{count} {sentence}")),
                }
            }
            match log::frontier(&session).await {
                Ok(_) => {}
                Err(PostgresError::Corrupt { why, .. }) => found.push(why),
                Err(error) => return Err(error),
            }
            session.batch("COMMIT").await?;
            Ok(found)
        };
        self.readers().read(read).await
    }

    /// Drops the raw outputs of entries from before `before`, a time since 1970, and returns how many there were.
    ///
    /// # Errors
    ///
    /// The database cannot be written.
    pub async fn forget_raw(&self, before: Duration) -> Result<u64, PostgresError> {
        let forget = |session: Arc<Session>| async move { forget_some(&session, before).await };
        let mut forgotten = 0;
        loop {
            // Nobody waits long for one piece, and doing one twice does no harm.
            match self.readers().read(forget).await? {
                0 => return Ok(forgotten),
                count => forgotten += count,
            }
        }
    }
}

/// Drops some of the raw outputs from before a time, and returns how many there were.
pub(super) async fn forget_some(session: &Session, before: Duration) -> Result<u64, PostgresError> {
    let before = i64::try_from(before.as_millis()).unwrap_or(i64::MAX);
    let sql = "UPDATE ringfence.entry SET raw = NULL WHERE position IN (
        SELECT position FROM ringfence.entry WHERE raw IS NOT NULL AND at_ms < $1
        ORDER BY position LIMIT 1000 FOR UPDATE)";
    session.execute(sql, &[&before]).await
}
