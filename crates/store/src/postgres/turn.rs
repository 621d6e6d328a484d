//! A transaction that has the turn of a writer to itself: for what people do, which is rare and has many rules.
//!
//! INVARIANT: what was answered is what was committed. When the answer to a commit is lost, the transaction is looked
//! for, and made again only if it is not there.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ringfence::{AuditEntry, StoreError};

use super::PostgresStore;
use super::audit::get;
use super::error::PostgresError;
use super::random;
use super::session::Session;
use super::transaction::{self, Failed, Mark};
use super::writer::unsettled;
use crate::line::Line;

/// A turn under way.
pub(super) struct Turn {
    session: Arc<Session>,
    now: Duration,
    lines: Vec<Line>,
}

impl Turn {
    /// Returns the connection.
    pub(super) fn session(&self) -> Arc<Session> {
        Arc::clone(&self.session)
    }

    /// Returns the time of the database, since 1970.
    pub(super) const fn now(&self) -> Duration {
        self.now
    }

    /// Has an entry of the audit kept with what else is done.
    pub(super) fn append(&mut self, entry: &AuditEntry<'_>) -> Result<(), PostgresError> {
        let line = entry.line().map_err(|error| PostgresError::Entry { why: error.to_string() })?;
        self.lines.push(Line::new(line).map_err(|why| PostgresError::Entry { why })?);
        Ok(())
    }
}

impl PostgresStore {
    /// Does some work in one transaction that nobody else writes beside. Work that ends in a refusal leaves nothing
    /// behind. It may be done several times before it is kept.
    pub(super) async fn exclusively<T, E, F, R>(&self, work: F) -> Result<T, E>
    where
        E: From<StoreError>,
        F: Fn(Turn) -> R,
        R: Future<Output = Result<(Turn, Result<T, E>), PostgresError>>,
    {
        let stored = |error: PostgresError| E::from(StoreError::from(error));
        let no_randomness = || PostgresError::Closed { place: Arc::clone(self.place()) };
        let mark = Mark { id: random::id().ok_or_else(|| stored(no_randomness()))?, sequence: 1 };
        let answer = Mutex::new(None);
        let (started, mut doubtful, mut tries) = (Instant::now(), false, 0);
        loop {
            let attempt = |session| self.attempt(session, &work, &mark, &answer, doubtful);
            let failed: Failed = match self.readers().once(&attempt).await {
                Ok(Some(refused)) => return Err(refused),
                Ok(None) => {
                    let answer = answer.into_inner().unwrap_or_else(PoisonError::into_inner);
                    return answer.ok_or_else(|| stored(no_randomness()));
                }
                Err(failed) => failed,
            };
            doubtful |= failed.doubtful;
            let again = failed.error.passes() || failed.doubtful;
            if !again || started.elapsed() >= self.options().patience {
                let target = self.readers().target();
                return Err(stored(if doubtful { unsettled(target, &failed.error) } else { failed.error }));
            }
            random::pause(tries).await;
            tries += 1;
        }
    }

    /// Tries once. The answer is known before the commit is sent, and kept for the case that it was lost.
    async fn attempt<T, E, F, R>(
        &self,
        session: Arc<Session>,
        work: &F,
        mark: &Mark,
        answer: &Mutex<Option<T>>,
        doubtful: bool,
    ) -> Result<Option<E>, Failed>
    where
        F: Fn(Turn) -> R,
        R: Future<Output = Result<(Turn, Result<T, E>), PostgresError>>,
    {
        let known = &self.0.known;
        let seen = transaction::begin(&session, known).await?;
        if doubtful && transaction::find(&session, mark).await?.is_some() {
            session.batch("ROLLBACK").await?;
            return Ok(None);
        }
        let row = session.row("SELECT ringfence.moment_us()", &[]).await?;
        let row = row.ok_or_else(|| session.corrupt("it has no clock"))?;
        let now = Duration::from_micros(get::<i64>(&session, &row, 0)?.cast_unsigned());
        let (turn, done) = work(Turn { session: Arc::clone(&session), now, lines: Vec::new() }).await?;
        match done {
            Err(refused) => {
                session.batch("ROLLBACK").await?;
                Ok(Some(refused))
            }
            Ok(done) => {
                *answer.lock().unwrap_or_else(PoisonError::into_inner) = Some(done);
                transaction::finish(&session, turn.lines, mark, known, seen).await?;
                Ok(None)
            }
        }
    }
}

/// Returns a time in whole microseconds, one begun counted, so that nothing expires early.
pub(super) fn micros(time: Duration) -> i64 {
    i64::try_from(time.as_nanos().div_ceil(1_000)).unwrap_or(i64::MAX)
}
