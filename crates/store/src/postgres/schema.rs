//! The tables and their versions.
//!
//! INVARIANT: nothing is changed in a database before its schema is known to be absent or ours, and of a known
//! version; several processes that come at once make the tables once.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use ringfence::ApprovalRequest;
use ringfence::audit::Columns;

use super::audit::get;
use super::error::PostgresError;
use super::option::PostgresOptions;
use super::session::Session;
use super::target::Target;

/// One step for each version; a step once released never changes.
const STEPS: [Step; 4] = [
    Step::Tables(include_str!("schema/1.sql")),
    Step::Tables(include_str!("schema/2.sql")),
    Step::Fill { before: include_str!("schema/3.sql"), after: include_str!("schema/3_filled.sql") },
    Step::Tables(include_str!("schema/4.sql")),
];
/// How many entries are filled in at a time, so that memory stays flat.
const FILLED: i64 = 1_000;
/// How long one statement may take that changes tables which hold a long log.
const PATIENCE: Duration = Duration::from_hours(1);

/// What brings the tables from one version to the next.
enum Step {
    /// Statements, then the columns of entries are filled in from their records, then more statements.
    Fill { before: &'static str, after: &'static str },
    /// Statements.
    Tables(&'static str),
}
/// `ringfenc`: the number of the lock under which tables are made.
const LOCK: i64 = 0x7269_6e67_6665_6e63;

/// The oldest server that knows every statement, as it counts itself.
const OLDEST: i32 = 120_000;

/// Brings the tables up to date, all steps or none.
pub(super) async fn migrate(
    session: &Session,
    target: &Target,
    options: &PostgresOptions,
) -> Result<(), PostgresError> {
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
    let patient = PostgresOptions { statement: options.statement.max(PATIENCE), ..options.clone() };
    let session = &Session::open(target, &patient).await?;
    session
        .batch(&format!("BEGIN; SET LOCAL lock_timeout = 0; SELECT pg_advisory_xact_lock({LOCK})"))
        .await?;
    let found = version(session).await?;
    let from = usize::try_from(found).unwrap_or(usize::MAX);
    for (step, number) in STEPS.iter().zip(1_i32..).skip(from) {
        match step {
            Step::Tables(sql) => session.batch(sql).await?,
            Step::Fill { before, after } => {
                session.batch(before).await?;
                fill(session).await?;
                fill_requests(session).await?;
                session.batch(after).await?;
            }
        }
        session.execute("INSERT INTO ringfence.ringfence_version (version) VALUES ($1)", &[&number]).await?;
    }
    session.batch("COMMIT").await
}

/// Fills in by what entries are found. What is no record says nothing, which a verification finds.
async fn fill(session: &Session) -> Result<(), PostgresError> {
    let select =
        "SELECT position, record FROM ringfence.entry WHERE position >= $1 ORDER BY position LIMIT $2";
    let update = "UPDATE ringfence.entry AS e SET class = t.class, host = t.host, principal = t.principal
        FROM unnest($1::bigint[], $2::text[], $3::bytea[], $4::bytea[]) AS t (position, class, host, principal)
        WHERE e.position = t.position";
    let mut next = Some(i64::MIN);
    while let Some(from) = next {
        next = None;
        let rows = session.rows(select, &[&from, &FILLED]).await?;
        let (mut places, mut classes) = (Vec::new(), Vec::new());
        let (mut hosts, mut principals) = (Vec::new(), Vec::new());
        for row in &rows {
            let position: i64 = get(session, row, 0)?;
            next = position.checked_add(1);
            let Some(columns) = Columns::read(get(session, row, 1)?) else { continue };
            if columns.class.is_some() || columns.host.is_some() || columns.principal.is_some() {
                let bytes = |text: Option<Cow<'_, str>>| text.map(|text| text.into_owned().into_bytes());
                places.push(position);
                // PostgreSQL has no text with a NUL, and no class has one.
                classes.push(columns.class.map(|class| class.replace('\0', "?")));
                hosts.push(bytes(columns.host));
                principals.push(bytes(columns.principal));
            }
        }
        session.execute(update, &[&places, &classes, &hosts, &principals]).await?;
    }
    Ok(())
}

/// Fills in the tools of requests. One that cannot be read is of no tool, and whoever reads it is told.
async fn fill_requests(session: &Session) -> Result<(), PostgresError> {
    let select =
        "SELECT ordinal, document FROM ringfence.request WHERE ordinal >= $1 ORDER BY ordinal LIMIT $2";
    let update = "UPDATE ringfence.request AS r SET tool = t.tool
        FROM unnest($1::bigint[], $2::bytea[]) AS t (ordinal, tool) WHERE r.ordinal = t.ordinal";
    let mut next = Some(i64::MIN);
    while let Some(from) = next {
        next = None;
        let (mut ordinals, mut tools) = (Vec::new(), Vec::new());
        for row in &session.rows(select, &[&from, &FILLED]).await? {
            let ordinal: i64 = get(session, row, 0)?;
            next = ordinal.checked_add(1);
            let request = serde_json::from_slice::<ApprovalRequest>(get(session, row, 1)?);
            ordinals.push(ordinal);
            tools.push(request.map(|request| request.tool.as_str().as_bytes().to_vec()).unwrap_or_default());
        }
        session.execute(update, &[&ordinals, &tools]).await?;
    }
    Ok(())
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
