//! What somebody else changed about the tables.
//!
//! A view in the place of a table shows other rows to whoever verifies, and a trigger or a rule changes rows as they are written:
//! neither is found by looking at rows.

use super::audit::get;
use super::error::PostgresError;
use super::session::Session;

/// What is not a plain table, trigger or column of ours.
const DIFFERENCES: &str = "WITH ours AS (SELECT oid, relname::text AS name, relkind, relrowsecurity
        FROM pg_class WHERE relnamespace = 'ringfence'::regnamespace AND relkind IN ('f', 'm', 'p', 'r', 'v')),
    known (name, columns) AS (VALUES ('approver', 6), ('checkpoint', 3), ('entry', 14), ('frontier', 5), ('instance', 2),
        ('key', 14), ('node', 3), ('notice', 5), ('request', 14), ('ringfence_version', 2), ('space', 4), ('span', 3),
        ('value', 6), ('writer', 6)),
    triggers (name) AS (VALUES ('approver_sealed'), ('key_sealed'), ('request_sealed'), ('value_added'),
        ('value_removed'), ('value_sealed'))
    SELECT CASE relkind WHEN 'v' THEN 'view' ELSE 'table' END || ' `' || ours.name || '` was not made by ringfence'
        FROM ours LEFT JOIN known USING (name) WHERE relkind <> 'r' OR known.name IS NULL
    UNION ALL SELECT 'table `' || ours.name || '` was changed' FROM ours JOIN known USING (name)
        WHERE relkind = 'r' AND (relrowsecurity OR columns <> (SELECT count(*) FROM pg_attribute
            WHERE attrelid = ours.oid AND attnum > 0 AND NOT attisdropped))
    UNION ALL SELECT 'table `' || name || '` is missing' FROM known WHERE name NOT IN (SELECT name FROM ours)
    UNION ALL SELECT 'trigger `' || tgname || '` was not made by ringfence' FROM pg_trigger JOIN ours ON ours.oid = tgrelid
        WHERE NOT tgisinternal AND tgname NOT IN (SELECT name FROM triggers)
    UNION ALL SELECT 'trigger `' || name || '` is missing' FROM triggers WHERE name NOT IN (
        SELECT tgname FROM pg_trigger JOIN ours ON ours.oid = tgrelid WHERE NOT tgisinternal AND tgenabled = 'O')
    UNION ALL SELECT 'rule `' || rulename || '` was not made by ringfence' FROM pg_rewrite JOIN ours ON ours.oid = ev_class
        WHERE relkind <> 'v' ORDER BY 1";

/// Returns one sentence for each difference. Functions are not compared.
pub(super) async fn find_differences(session: &Session) -> Result<Vec<String>, PostgresError> {
    session.rows(DIFFERENCES, &[]).await?.iter().map(|row| get(session, row, 0)).collect()
}

/// Refuses tables that somebody else has changed.
pub(super) async fn check_tables(session: &Session) -> Result<(), PostgresError> {
    find_differences(session).await?.into_iter().next().map_or(Ok(()), |found| Err(session.corrupt(found)))
}
