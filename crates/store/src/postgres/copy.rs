//! Moving from one machine to many: a SQLite file is copied into an empty database.
//!
//! INVARIANT: everything or nothing is copied, and nothing is committed unless the records, as they are in the
//! database then, have the root that the file says.

use std::pin::pin;
use std::sync::Arc;

use futures_util::TryStreamExt as _;
use ringfence::audit::{Frontier, Hash};
use tokio::sync::mpsc;

use super::PostgresStore;
use super::audit::get;
use super::error::PostgresError;
use super::log;
use super::random;
use super::session::{Parameter, Session};
use super::transaction::{self, Failed, Mark};
use crate::database::{Copied, DatabaseError};
use crate::sqlite::{Column, Kind, Page, SqliteStore};

use Kind::{Bytes, Number};

/// A table: how it is read from SQLite, the kinds of its columns, how it is written to PostgreSQL.
type Table = (&'static str, &'static [Kind], &'static str);

/// The tables, each after those that it needs. What was executing in the file's processes is in doubt elsewhere.
#[rustfmt::skip]
const TABLES: [Table; 12] = [
    (
        "SELECT position, at_ms, kind, run, tool, code, leaf, record, raw, clean, class, host, principal
         FROM entry ORDER BY position",
        &[Number, Number, Bytes, Bytes, Bytes, Bytes, Bytes, Bytes, Bytes, Bytes, Bytes, Bytes, Bytes],
        "INSERT INTO ringfence.entry
             (position, at_ms, kind, run, tool, code, leaf, record, raw, clean, class, host, principal, filing)
         SELECT a, b, convert_from(c, 'UTF8'), d, e, convert_from(f, 'UTF8'), g, h, i, j, convert_from(k, 'UTF8'), l, m, 3
         FROM unnest($1::bigint[], $2::bigint[], $3::bytea[], $4::bytea[], $5::bytea[], $6::bytea[], $7::bytea[],
             $8::bytea[], $9::bytea[], $10::bytea[], $11::bytea[], $12::bytea[], $13::bytea[])
             AS t (a, b, c, d, e, f, g, h, i, j, k, l, m)",
    ),
    (
        "SELECT block, first_ms, last_ms FROM span",
        &[Number, Number, Number],
        "INSERT INTO ringfence.span (block, first_ms, last_ms)
         SELECT a, b, c FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS t (a, b, c)",
    ),
    (
        "SELECT level, position, hash FROM node",
        &[Number, Number, Bytes],
        "INSERT INTO ringfence.node (level, position, hash)
         SELECT a::integer, b, c FROM unnest($1::bigint[], $2::bigint[], $3::bytea[]) AS t (a, b, c)",
    ),
    (
        "SELECT bytes FROM frontier",
        &[Bytes],
        "UPDATE ringfence.frontier SET bytes = a FROM unnest($1::bytea[]) AS t (a)",
    ),
    (
        "SELECT size, note FROM checkpoint ORDER BY ordinal",
        &[Number, Bytes],
        "INSERT INTO ringfence.checkpoint (size, note)
         SELECT a, b FROM unnest($1::bigint[], $2::bytea[]) WITH ORDINALITY AS t (a, b, o) ORDER BY o",
    ),
    (
        "SELECT name FROM space",
        &[Bytes],
        "INSERT INTO ringfence.space (digest, name) SELECT sha256(a), a FROM unnest($1::bytea[]) AS t (a)",
    ),
    (
        // Later than this is never, and more than the database could count.
        "SELECT space, key, value, bytes, CASE WHEN until_us < 30000000000000000 THEN until_us END FROM value",
        &[Bytes, Bytes, Bytes, Number, Number],
        "INSERT INTO ringfence.value (space, key, content, bytes, until)
         SELECT sha256(a), b, c, d, timestamptz 'epoch' + e * interval '1 microsecond'
         FROM unnest($1::bytea[], $2::bytea[], $3::bytea[], $4::bigint[], $5::bigint[]) AS t (a, b, c, d, e)",
    ),
    (
        "SELECT scope, key, digest, arguments, run, owner, fence,
             CASE state WHEN 'committed' THEN 2 WHEN 'failed' THEN 3 ELSE 4 END, output, claimed_us,
             CASE state WHEN 'committed' THEN until_us END
         FROM idempotency ORDER BY fence",
        &[Bytes, Bytes, Bytes, Bytes, Bytes, Bytes, Number, Number, Bytes, Number, Number],
        "INSERT INTO ringfence.key
             (name, scope, key, digest, arguments, run, owner, instance, fence, state, output, claimed_us, until_us)
         SELECT ringfence.key_name(a, b), a, b, c, d, e, f, '', g, h::smallint, i, j, k
         FROM unnest($1::bytea[], $2::bytea[], $3::bytea[], $4::bytea[], $5::bytea[], $6::bytea[], $7::bigint[],
             $8::bigint[], $9::bytea[], $10::bigint[], $11::bigint[]) AS t (a, b, c, d, e, f, g, h, i, j, k)",
    ),
    (
        // A fence is never used again, also that of a key which is gone.
        "SELECT fence FROM frontier WHERE fence > 0",
        &[Number],
        "SELECT setval('ringfence.fence', greatest(a, (SELECT last_value FROM ringfence.fence))) FROM unnest($1::bigint[]) AS t (a)",
    ),
    (
        "SELECT name, token, added_us, revoked_us, role FROM approver",
        &[Bytes, Bytes, Number, Number, Bytes],
        "INSERT INTO ringfence.approver (name, token, added_us, revoked_us, role)
         SELECT convert_from(a, 'UTF8'), b, c, d, convert_from(e, 'UTF8')
         FROM unnest($1::bytea[], $2::bytea[], $3::bigint[], $4::bigint[], $5::bytea[]) AS t (a, b, c, d, e)",
    ),
    (
        "SELECT id, digest, run, state, body, decided, replaces, asked_us, expires_us, waiter, waiting, tool
         FROM request ORDER BY ordinal",
        &[Bytes, Bytes, Bytes, Bytes, Bytes, Bytes, Bytes, Number, Number, Bytes, Number, Bytes],
        "INSERT INTO ringfence.request
             (id, digest, run, state, document, decided, replaces, asked_us, expires_us, waiter, waiting, tool)
         SELECT convert_from(a, 'UTF8'), b, c, convert_from(d, 'UTF8'), e, f, convert_from(g, 'UTF8'), h, i, j, k::integer, l
         FROM unnest($1::bytea[], $2::bytea[], $3::bytea[], $4::bytea[], $5::bytea[], $6::bytea[], $7::bytea[],
             $8::bigint[], $9::bigint[], $10::bytea[], $11::bigint[], $12::bytea[])
             WITH ORDINALITY AS t (a, b, c, d, e, f, g, h, i, j, k, l, o) ORDER BY o",
    ),
    (
        "SELECT request.id, channel, next_us, attempts, told FROM notice JOIN request ON request.ordinal = notice.request",
        &[Bytes, Bytes, Number, Number, Number],
        "INSERT INTO ringfence.notice (request, channel, next_us, attempts, is_told)
         SELECT convert_from(a, 'UTF8'), sha256(b), c, d::integer, e <> 0
         FROM unnest($1::bytea[], $2::bytea[], $3::bigint[], $4::bigint[], $5::bigint[]) AS t (a, b, c, d, e)",
    ),
];

/// Copies everything that a SQLite file holds now into an empty PostgreSQL database, in one transaction.
///
/// A key that is executing is copied as one in doubt: its process does not write to the new database.
///
/// # Errors
///
/// The database is not empty, one of both fails, or the copy does not have the root of the file; nothing is copied
/// then.
pub async fn copy(from: &SqliteStore, to: &PostgresStore) -> Result<Copied, DatabaseError> {
    let (sender, mut pages) = mpsc::channel(2);
    let from = from.clone();
    let reading = tokio::task::spawn_blocking(move || {
        let statements: Vec<_> = TABLES.iter().map(|(select, kinds, _)| (*select, *kinds)).collect();
        from.dump(&statements, &sender)
    });
    let session = Session::open(to.readers().target(), to.options()).await?;
    let closed = || PostgresError::Closed { place: Arc::clone(to.place()) };
    let (_, history) = transaction::begin(&session, &to.0.known).await?;
    session
        .batch("SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0")
        .await?;
    refuse_occupied(&session).await?;

    let mut rows = [0; TABLES.len()];
    while let Some(page) = pages.recv().await {
        if let Some(count) = rows.get_mut(page.table) {
            *count += page.rows;
        }
        insert(&session, page).await?;
    }
    reading.await.map_err(|_| closed())??;
    let frontier = check_root(&session).await?;

    let mark = Mark { id: random::id().ok_or_else(closed)?, sequence: 1 };
    let done = transaction::finish(&session, Vec::new(), &mark, &to.0.known, (frontier, history)).await;
    done.map_err(|Failed { error, doubtful }| match doubtful {
        true => PostgresError::Unsettled { place: Arc::clone(to.place()), why: error.to_string() },
        false => error,
    })?;
    let [entries, _, _, _, checkpoints, _, values, keys, _, approvers, requests, _] = rows;
    Ok(Copied { entries, checkpoints, values, keys, approvers, requests })
}

/// Refuses a database that holds anything already.
async fn refuse_occupied(session: &Session) -> Result<(), PostgresError> {
    let sql = "SELECT EXISTS (SELECT 1 FROM ringfence.entry) OR EXISTS (SELECT 1 FROM ringfence.node)
        OR EXISTS (SELECT 1 FROM ringfence.checkpoint) OR EXISTS (SELECT 1 FROM ringfence.space)
        OR EXISTS (SELECT 1 FROM ringfence.value) OR EXISTS (SELECT 1 FROM ringfence.key)
        OR EXISTS (SELECT 1 FROM ringfence.approver) OR EXISTS (SELECT 1 FROM ringfence.request)";
    let row = session.row(sql, &[]).await?.ok_or_else(|| session.corrupt("it counts nothing"))?;
    match get::<bool>(session, &row, 0)? {
        true => Err(PostgresError::Occupied { place: Arc::clone(session.place()) }),
        false => Ok(()),
    }
}

/// Writes some rows.
async fn insert(session: &Session, page: Page) -> Result<(), PostgresError> {
    let Some((_, _, sql)) = TABLES.get(page.table) else { return Ok(()) };
    let parameters: Vec<Parameter<'_>> = page
        .columns
        .iter()
        .map(|column| match column {
            Column::Bytes(column) => column as Parameter<'_>,
            Column::Numbers(column) => column as Parameter<'_>,
        })
        .collect();
    session.execute(sql, &parameters).await.map(drop)
}

/// Hashes the records as they are in the database now, and compares with what the file said of them.
async fn check_root(session: &Session) -> Result<Frontier, PostgresError> {
    let statement = session.statement("SELECT record FROM ringfence.entry ORDER BY position").await?;
    let none: [Parameter<'_>; 0] = [];
    let rows = session.wait(session.client().query_raw(&statement, none)).await?;
    let mut rows = pin!(rows);
    let mut copied = Frontier::new();
    while let Some(row) = session.wait(rows.try_next()).await? {
        copied.append_with(Hash::leaf(get::<&[u8]>(session, &row, 0)?), |_| ());
    }
    let frontier = log::frontier(session).await?;
    if frontier == copied {
        Ok(frontier)
    } else {
        Err(session.corrupt("the copied records do not have the root of the file"))
    }
}
