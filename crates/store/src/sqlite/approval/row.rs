//! Requests as they are stored.
//!
//! INVARIANT: what has expired is never read as anything else, whether it is marked so or not.

use std::time::Duration;

use ringfence::{ApprovalRequest, DamagedRequest, Decided, FiledRequest, ListedRequests, RequestState};
use rusqlite::types::{Type, Value};
use rusqlite::{Connection, Error, OptionalExtension as _, Row, params_from_iter};

use crate::sqlite::digest::RowDigest;
use crate::sqlite::time::{from_micros, micros, micros_up};
use crate::sqlite::total;

/// The columns of a row, in its order.
const COLUMNS: &str =
    "ordinal, id, body, state, asked_us, expires_us, decided, replaces, waiter, waiting, digest, run,
    personality, tool, row_digest";

/// What is said of a row that was changed.
const DAMAGED: &str = "a request for approval does not have its digest";

/// What of a row has a digest: everything but its place and who waits for it.
#[derive(Clone)]
pub(super) struct RequestRow {
    id: String,
    digest: String,
    run: String,
    personality: Option<String>,
    tool: String,
    body: String,
    state: String,
    asked: i64,
    expires: i64,
    decided: String,
    replaces: Option<String>,
}

impl RequestRow {
    fn new(filed: &FiledRequest) -> rusqlite::Result<Self> {
        let request = &filed.request;
        Ok(Self {
            id: filed.id.clone(),
            digest: request.digest.clone(),
            run: request.run.to_string(),
            personality: request
                .call
                .as_ref()
                .and_then(|call| call.personality.as_deref())
                .map(str::to_owned),
            tool: request.tool.as_str().to_owned(),
            body: written(serde_json::to_string(request))?,
            state: filed.state.as_str().to_owned(),
            asked: micros(filed.asked),
            expires: micros_up(filed.expires),
            decided: written(serde_json::to_string(&filed.decided))?,
            replaces: filed.replaces.clone(),
        })
    }

    fn read_unchecked(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: row.get(1)?,
            body: row.get(2)?,
            state: row.get(3)?,
            asked: row.get(4)?,
            expires: row.get(5)?,
            decided: row.get(6)?,
            replaces: row.get(7)?,
            digest: row.get(10)?,
            run: row.get(11)?,
            personality: row.get(12)?,
            tool: row.get(13)?,
        })
    }

    fn row_digest(&self) -> RowDigest {
        RowDigest::new("request")
            .text(&self.id)
            .text(&self.digest)
            .text(&self.run)
            .optional_text(self.personality.as_deref())
            .text(&self.tool)
            .text(&self.body)
            .text(&self.state)
            .number(self.asked)
            .number(self.expires)
            .text(&self.decided)
            .optional_text(self.replaces.as_deref())
    }
}

/// A request with its place and who waits for it.
pub(super) struct Entry {
    pub(super) ordinal: i64,
    pub(super) filed: FiledRequest,
    row: RequestRow,
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
    let row = RequestRow::new(filed)?;
    let mut insert = connection.prepare_cached(
        "INSERT INTO request (id, digest, run, personality, body, state, asked_us, expires_us, decided, replaces,
                              waiter, waiting, tool, row_digest)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
    )?;
    insert
        .execute((
            &row.id,
            &row.digest,
            &row.run,
            &row.personality,
            &row.body,
            &row.state,
            row.asked,
            row.expires,
            &row.decided,
            &row.replaces,
            waiter,
            u64::from(waiter.is_some()),
            &row.tool,
            row.row_digest().finish(),
        ))
        .map(drop)
}

/// Keeps where a request stands and who said what.
pub(super) fn update(connection: &Connection, entry: &Entry) -> rusqlite::Result<()> {
    let mut row = entry.row.clone();
    entry.filed.state.as_str().clone_into(&mut row.state);
    row.decided = written(serde_json::to_string(&entry.filed.decided))?;
    let mut update = connection
        .prepare_cached("UPDATE request SET state = ?2, decided = ?3, row_digest = ?4 WHERE ordinal = ?1")?;
    update.execute((entry.ordinal, &row.state, &row.decided, row.row_digest().finish())).map(drop)
}

/// Marks a request as taken, for which nobody waits any more.
pub(super) fn update_taken(connection: &Connection, mut entry: Entry) -> rusqlite::Result<()> {
    entry.filed.state = RequestState::Taken;
    update(connection, &entry)?;
    update_waiter(connection, entry.ordinal, None, 0)
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

/// Marks what has expired. What does not have its digest is left as it is.
pub(super) fn mark_expired(connection: &Connection, now: Duration) -> rusqlite::Result<()> {
    let sql =
        format!("SELECT {COLUMNS} FROM request WHERE state NOT IN ('expired', 'taken') AND expires_us <= ?1");
    let mut select = connection.prepare_cached(&sql)?;
    let mut rows = select.query([micros(now)])?;
    let mut expired = Vec::new();
    while let Some(row) = rows.next()? {
        let read = RequestRow::read_unchecked(row)?;
        if read.expires <= micros(now) && read.row_digest().check(row.get(14)?, DAMAGED).is_ok() {
            expired.push((row.get::<_, i64>(0)?, read));
        }
    }
    let mut update =
        connection.prepare_cached("UPDATE request SET state = ?2, row_digest = ?3 WHERE ordinal = ?1")?;
    for (ordinal, mut row) in expired {
        RequestState::Expired.as_str().clone_into(&mut row.state);
        update.execute((ordinal, &row.state, row.row_digest().finish()))?;
    }
    Ok(())
}

/// Counts the rows that do not have their digests.
pub(in crate::sqlite) fn count_damaged(connection: &Connection) -> rusqlite::Result<u64> {
    let sql = format!("SELECT {COLUMNS} FROM request NOT INDEXED");
    total::count_damaged(connection, &sql, |row| {
        let read = RequestRow::read_unchecked(row)?;
        read.row_digest().check(row.get(14)?, DAMAGED)
    })
}

/// Gives every row its digest.
pub(super) fn fill_digests(connection: &Connection) -> rusqlite::Result<()> {
    let mut select = connection.prepare(&format!("SELECT {COLUMNS} FROM request"))?;
    let mut update = connection.prepare("UPDATE request SET row_digest = ?1 WHERE ordinal = ?2")?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let digest = RequestRow::read_unchecked(row)?.row_digest().finish();
        update.execute((digest, row.get::<_, i64>(0)?))?;
    }
    Ok(())
}

/// Makes the name of a request, short enough to be typed.
pub(super) fn draw_name(connection: &Connection) -> rusqlite::Result<String> {
    connection.prepare_cached("SELECT lower(hex(randomblob(6)))")?.query_row([], |row| row.get(0))
}

fn read(row: &Row<'_>, now: Duration) -> rusqlite::Result<Entry> {
    let read = RequestRow::read_unchecked(row)?;
    read.row_digest().check(row.get(14)?, DAMAGED)?;
    let request: ApprovalRequest = parsed(serde_json::from_str(&read.body), 2)?;
    let state = match state(&read.state)? {
        RequestState::Taken => RequestState::Taken,
        _ if read.expires <= micros(now) => RequestState::Expired,
        state => state,
    };
    // What is looked for by the one must be what is approved by the other.
    if read.digest != request.digest {
        return Err(broken(10, "the digest of a request is not that of its body"));
    }
    let filed = FiledRequest {
        id: read.id.clone(),
        request,
        state,
        asked: from_micros(read.asked),
        expires: from_micros(read.expires),
        decided: parsed::<Vec<Decided>>(serde_json::from_str(&read.decided), 6)?,
        replaces: read.replaces.clone(),
    };
    Ok(Entry { ordinal: row.get(0)?, filed, row: read, waiter: row.get(8)?, waiting: row.get(9)? })
}

fn state(found: &str) -> rusqlite::Result<RequestState> {
    let known = RequestState::ALL.into_iter().find(|state| state.as_str() == found);
    known.ok_or_else(|| broken(3, "the state of a request is not known"))
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
