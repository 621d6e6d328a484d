//! The tables and their versions.
//!
//! INVARIANT: nothing is changed in a database before its schema is known to be absent or ours, and of a known
//! version; several processes that come at once make the tables once.

use std::sync::Arc;

use super::audit::get;
use super::error::PostgresError;
use super::session::Session;

/// One step for each version; a step once released never changes.
const STEPS: [&str; 2] = [include_str!("schema/1.sql"), include_str!("schema/2.sql")];
/// `ringfenc`: the number of the lock under which tables are made.
const LOCK: i64 = 0x7269_6e67_6665_6e63;

/// The oldest server that knows every statement, as it counts itself.
const OLDEST: i32 = 120_000;

/// Brings the tables up to date, all steps or none.
pub(super) async fn migrate(session: &Session) -> Result<(), PostgresError> {
    let row = session.row("SELECT current_setting('server_version_num')::integer", &[]).await?;
    let server = row.map(|row| get::<i32>(session, &row, 0)).transpose()?.unwrap_or(0);
    if server < OLDEST {
        let why = format!("PostgreSQL 12 is needed, and the server is {}", server / 10_000);
        return Err(PostgresError::Database { place: Arc::clone(session.place()), why });
    }
    // Whoever may only use the tables need not be able to make them.
    if version(session).await? == newest() {
        return Ok(());
    }
    session
        .batch(&format!("BEGIN; SET LOCAL lock_timeout = 0; SELECT pg_advisory_xact_lock({LOCK})"))
        .await?;
    let found = version(session).await?;
    let from = usize::try_from(found).unwrap_or(usize::MAX);
    for (step, number) in STEPS.iter().zip(1_i32..).skip(from) {
        session.batch(step).await?;
        session.execute("INSERT INTO ringfence.ringfence_version (version) VALUES ($1)", &[&number]).await?;
    }
    session.batch("COMMIT").await
}

/// Returns the version of the tables, 0 where there are none.
pub(super) async fn version(session: &Session) -> Result<i32, PostgresError> {
    let place = || Arc::clone(session.place());
    let there = "SELECT to_regclass('ringfence.ringfence_version') IS NOT NULL,
        EXISTS (SELECT 1 FROM pg_class WHERE relnamespace = to_regnamespace('ringfence'))";
    let row =
        session.row(there, &[]).await?.ok_or_else(|| session.corrupt("it says nothing of its tables"))?;
    let read = |index| row.try_get::<_, bool>(index).map_err(|error| session.failed(&error));
    match (read(0)?, read(1)?) {
        (true, _) => {}
        (false, false) => return Ok(0),
        (false, true) => return Err(PostgresError::Foreign { place: place() }),
    }
    let newest_step = "SELECT coalesce(max(version), 0) FROM ringfence.ringfence_version";
    let row = session.row(newest_step, &[]).await?.ok_or_else(|| session.corrupt("it has no version"))?;
    match row.try_get::<_, i32>(0).map_err(|error| session.failed(&error))? {
        found if found > newest() => Err(PostgresError::Newer { place: place(), found, known: newest() }),
        found if found > 0 => Ok(found),
        _ => Err(PostgresError::Foreign { place: place() }),
    }
}

fn newest() -> i32 {
    i32::try_from(STEPS.len()).unwrap_or(i32::MAX)
}
