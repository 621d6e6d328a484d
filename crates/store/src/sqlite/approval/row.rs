//! Requests as they are stored.
//!
//! INVARIANT: what has expired is never read as anything else, whether it is marked so or not.

use std::time::Duration;

use ringfence::{ApprovalRequest, DamagedRequest, Decided, FiledRequest, ListedRequests, RequestState};
use rusqlite::types::{Type, Value};
use rusqlite::{Connection, Error, OptionalExtension as _, Row, params_from_iter};

use crate::sqlite::time::{from_micros, micros, micros_up};

/// The columns of a row, in its order.
const COLUMNS: &str =
    "ordinal, id, body, state, asked_us, expires_us, decided, replaces, waiter, waiting, digest";

/// A request with its place and who waits for it.
pub(super) struct Entry {
    pub(super) ordinal: i64,
    pub(super) filed: FiledRequest,
    /// The store whose calls wait.
    pub(super) waiter: Option<String>,
    /// How many of them.
    pub(super) waiting: u64,
}

/// Returns the entries that fit a condition, in an order.
pub(super) fn select(
    connection: &Connection,
    now: Duration,
    rest: &str,
    values: Vec<Value>,
) -> rusqlite::Result<Vec<Entry>> {
    let sql = format!("SELECT {COLUMNS} FROM request WHERE {rest}");
    let mut select = connection.prepare_cached(&sql)?;
    select.query_map(params_from_iter(values), |row| read(row, now))?.collect()
}

/// Returns the requests that fit a condition, in an order, and the names of those that cannot be read.
pub(super) fn select_readable(
    connection: &Connection,
    now: Duration,
    rest: &str,
    values: Vec<Value>,
) -> rusqlite::Result<ListedRequests> {
    let sql = format!("SELECT {COLUMNS} FROM request WHERE {rest}");
    let mut select = connection.prepare_cached(&sql)?;
    let mut rows = select.query(params_from_iter(values))?;
    let mut listed = ListedRequests::default();
    while let Some(row) = rows.next()? {
        match read(row, now) {
            Ok(entry) => listed.requests.push(entry.filed),
            Err(error) => {
                let id = match row.get::<_, String>(1) {
                    Ok(id) => id,
                    Err(_) => format!("row {}", row.get::<_, i64>(0)?),
                };
                listed.damaged.push(DamagedRequest { id, why: error.to_string() });
            }
        }
    }
    Ok(listed)
}

/// Returns the entry of this name.
pub(super) fn find(connection: &Connection, now: Duration, id: &str) -> rusqlite::Result<Option<Entry>> {
    let sql = format!("SELECT {COLUMNS} FROM request WHERE id = ?1");
    connection.prepare_cached(&sql)?.query_row([id], |row| read(row, now)).optional()
}

/// Returns the request that stands in the place of another.
pub(super) fn find_replacing(
    connection: &Connection,
    now: Duration,
    id: &str,
) -> rusqlite::Result<Option<Entry>> {
    let sql = format!("SELECT {COLUMNS} FROM request WHERE replaces = ?1 ORDER BY ordinal LIMIT 1");
    connection.prepare_cached(&sql)?.query_row([id], |row| read(row, now)).optional()
}

/// Adds a request.
pub(super) fn insert(
    connection: &Connection,
    filed: &FiledRequest,
    waiter: Option<&str>,
) -> rusqlite::Result<()> {
    let request = &filed.request;
    let personality = request.call.as_ref().and_then(|call| call.personality.as_deref());
    let mut insert = connection.prepare_cached(
        "INSERT INTO request (id, digest, run, personality, body, state, asked_us, expires_us, decided, replaces,
                              waiter, waiting, tool)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
    )?;
    insert
        .execute((
            &filed.id,
            &request.digest,
            &*request.run,
            personality,
            written(serde_json::to_string(request))?,
            filed.state.as_str(),
            micros(filed.asked),
            micros_up(filed.expires),
            written(serde_json::to_string(&filed.decided))?,
            &filed.replaces,
            waiter,
            u64::from(waiter.is_some()),
            request.tool.as_str(),
        ))
        .map(drop)
}

/// Keeps where a request stands and who said what.
pub(super) fn update(connection: &Connection, entry: &Entry) -> rusqlite::Result<()> {
    let mut update =
        connection.prepare_cached("UPDATE request SET state = ?2, decided = ?3 WHERE ordinal = ?1")?;
    let filed = &entry.filed;
    update
        .execute((entry.ordinal, filed.state.as_str(), written(serde_json::to_string(&filed.decided))?))
        .map(drop)
}

/// Keeps who waits for a request.
pub(super) fn update_waiter(
    connection: &Connection,
    ordinal: i64,
    waiter: Option<&str>,
    waiting: u64,
) -> rusqlite::Result<()> {
    let mut update =
        connection.prepare_cached("UPDATE request SET waiter = ?2, waiting = ?3 WHERE ordinal = ?1")?;
    update.execute((ordinal, waiter, waiting)).map(drop)
}

/// Marks what has expired.
pub(super) fn mark_expired(connection: &Connection, now: Duration) -> rusqlite::Result<()> {
    let mut update = connection.prepare_cached(
        "UPDATE request SET state = 'expired' WHERE state NOT IN ('expired', 'taken') AND expires_us <= ?1",
    )?;
    update.execute([micros(now)]).map(drop)
}

/// Makes the name of a request, short enough to be typed.
pub(super) fn draw_name(connection: &Connection) -> rusqlite::Result<String> {
    connection.prepare_cached("SELECT lower(hex(randomblob(6)))")?.query_row([], |row| row.get(0))
}

fn read(row: &Row<'_>, now: Duration) -> rusqlite::Result<Entry> {
    let request: ApprovalRequest = parsed(serde_json::from_str(&row.get::<_, String>(2)?), 2)?;
    let expires: i64 = row.get(5)?;
    let state = match state(row, 3)? {
        RequestState::Taken => RequestState::Taken,
        _ if expires <= micros(now) => RequestState::Expired,
        state => state,
    };
    // What is looked for by the one must be what is approved by the other.
    if row.get::<_, String>(10)? != request.digest {
        return Err(broken(10, "the digest of a request is not that of its body"));
    }
    let filed = FiledRequest {
        id: row.get(1)?,
        request,
        state,
        asked: from_micros(row.get(4)?),
        expires: from_micros(expires),
        decided: parsed::<Vec<Decided>>(serde_json::from_str(&row.get::<_, String>(6)?), 6)?,
        replaces: row.get(7)?,
    };
    Ok(Entry { ordinal: row.get(0)?, filed, waiter: row.get(8)?, waiting: row.get(9)? })
}

fn state(row: &Row<'_>, column: usize) -> rusqlite::Result<RequestState> {
    let found: String = row.get(column)?;
    let known = RequestState::ALL.into_iter().find(|state| state.as_str() == found);
    known.ok_or_else(|| broken(column, "the state of a request is not known"))
}

/// Says where something that is no JSON was read.
fn parsed<T>(parsed: serde_json::Result<T>, column: usize) -> rusqlite::Result<T> {
    parsed.map_err(|error| Error::FromSqlConversionFailure(column, Type::Text, error.into()))
}

fn written(written: serde_json::Result<String>) -> rusqlite::Result<String> {
    written.map_err(|error| Error::ToSqlConversionFailure(error.into()))
}

fn broken(column: usize, why: &'static str) -> Error {
    Error::FromSqlConversionFailure(column, Type::Text, why.into())
}
