//! Requests for approval as rows.
//!
//! INVARIANT: a request whose time is up is read as expired, whatever its row says, unless a call has taken it.

use std::time::Duration;

use ringfence::{ApprovalRequest, DamagedRequest, FiledRequest, ListedRequests, RequestState, StoreError};
use tokio_postgres::Row;

use super::audit::get;
use super::error::PostgresError;
use super::log::signed;
use super::random;
use super::session::{Parameter, Session};
use super::turn::micros;

/// The columns of a request, and whether its time is up.
const COLUMNS: &str = "r.id, r.document, r.state, r.asked_us, r.expires_us, r.decided, r.replaces,
    r.expires_us <= ringfence.moment_us(), r.seal IS NOT DISTINCT FROM ringfence.request_seal(r)";

/// Reads requests. `conditions` is everything after `WHERE`.
pub(super) async fn select(
    session: &Session,
    conditions: &str,
    parameters: &[Parameter<'_>],
) -> Result<Vec<FiledRequest>, PostgresError> {
    let sql = format!("SELECT {COLUMNS} FROM ringfence.request AS r WHERE {conditions}");
    session.rows(sql, parameters).await?.iter().map(|row| read(session, row)).collect()
}

/// Reads requests that can be read, and names those that cannot.
pub(super) async fn select_readable(
    session: &Session,
    conditions: &str,
    parameters: &[Parameter<'_>],
) -> Result<ListedRequests, PostgresError> {
    let sql = format!("SELECT {COLUMNS} FROM ringfence.request AS r WHERE {conditions}");
    let mut listed = ListedRequests::default();
    for row in session.rows(sql, parameters).await? {
        match read(session, &row) {
            Ok(filed) => listed.requests.push(filed),
            Err(error) => {
                let id = get(session, &row, 0)?;
                listed.damaged.push(DamagedRequest { id, why: error.to_string() });
            }
        }
    }
    Ok(listed)
}

/// Reads the request of this name.
pub(super) async fn find(session: &Session, id: &str) -> Result<Option<FiledRequest>, PostgresError> {
    // PostgreSQL has no text with a NUL, and no request has one in its name.
    if id.contains('\0') {
        return Ok(None);
    }
    Ok(select(session, "r.id = $1", &[&id]).await?.pop())
}

/// Files a request.
pub(super) async fn insert(
    session: &Session,
    filed: &FiledRequest,
    waiter: Option<&[u8]>,
) -> Result<(), PostgresError> {
    let sql = "INSERT INTO ringfence.request
        (id, digest, run, state, document, decided, replaces, asked_us, expires_us, waiter, waiting, tool)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, CASE WHEN $10::bytea IS NULL THEN 0 ELSE 1 END, $11)";
    let document = json(&filed.request)?;
    let decided = json(&filed.decided)?;
    let parameters: [Parameter<'_>; 11] = [
        &filed.id,
        &filed.request.digest.as_bytes(),
        &filed.request.run.as_bytes(),
        &filed.state.as_str(),
        &document,
        &decided,
        &filed.replaces,
        &micros(filed.asked),
        &micros(filed.expires),
        &waiter,
        &filed.request.tool.as_str().as_bytes(),
    ];
    session.execute(sql, &parameters).await.map(drop)
}

/// Keeps what became of a request.
pub(super) async fn update(session: &Session, filed: &FiledRequest) -> Result<(), PostgresError> {
    let decided = json(&filed.decided)?;
    let sql = "UPDATE ringfence.request SET state = $2, decided = $3 WHERE id = $1";
    session.execute(sql, &[&filed.id, &filed.state.as_str(), &decided]).await.map(drop)
}

/// Makes the name of a request, short enough to be typed.
pub(super) fn short_name() -> Result<String, StoreError> {
    let id = random::id().ok_or_else(|| StoreError::Unreachable("there is no randomness".into()))?;
    Ok(id.iter().take(6).map(|byte| format!("{byte:02x}")).collect())
}

/// Returns a number of rows; 0 is no limit.
pub(super) fn limit(most: usize) -> Option<i64> {
    (most > 0).then(|| signed(u64::try_from(most).unwrap_or(u64::MAX)))
}

fn read(session: &Session, row: &Row) -> Result<FiledRequest, PostgresError> {
    if !get::<bool>(session, row, 8)? {
        return Err(session.corrupt("a request for approval does not have its digest"));
    }
    let damaged = |_| session.corrupt("a request for approval cannot be read");
    let document: &[u8] = get(session, row, 1)?;
    let request: ApprovalRequest = serde_json::from_slice(document).map_err(damaged)?;
    let decided: &[u8] = get(session, row, 5)?;
    let time = |column| {
        Ok::<_, PostgresError>(Duration::from_micros(get::<i64>(session, row, column)?.cast_unsigned()))
    };
    let state: &str = get(session, row, 2)?;
    let state = RequestState::ALL.into_iter().find(|known| known.as_str() == state);
    let state = state.ok_or_else(|| session.corrupt("a request for approval is in no state"))?;
    let is_over: bool = get(session, row, 7)?;
    Ok(FiledRequest {
        id: get(session, row, 0)?,
        request,
        state: if is_over && state != RequestState::Taken { RequestState::Expired } else { state },
        asked: time(3)?,
        expires: time(4)?,
        decided: serde_json::from_slice(decided).map_err(damaged)?,
        replaces: get(session, row, 6)?,
    })
}

fn json(value: &impl serde::Serialize) -> Result<Vec<u8>, PostgresError> {
    serde_json::to_vec(value).map_err(|error| PostgresError::Entry { why: error.to_string() })
}
