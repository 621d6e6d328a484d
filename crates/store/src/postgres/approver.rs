//! The people who may decide.
//!
//! INVARIANT: of a token only the hash is stored, and a revoked one proves nothing.

use std::time::Duration;

use ringfence::audit::ApproverChange;
use ringfence::{
    ApprovalError, ApproverEntry, ApproverName, AuditEntry, RequestState, StoreError, TokenHash,
};

use super::audit::get;
use super::error::PostgresError;
use super::request;
use super::session::Session;
use super::turn::{Turn, micros};

/// What a turn of these ends in.
type Ended<T, E> = Result<(Turn, Result<T, E>), PostgresError>;

/// Returns whose token it is.
pub(super) async fn holder(
    session: &Session,
    token: &TokenHash,
) -> Result<Option<ApproverName>, PostgresError> {
    let sql = "SELECT name FROM ringfence.approver WHERE token = $1 AND revoked_us IS NULL
        ORDER BY name COLLATE \"C\" LIMIT 1";
    let row = session.row(sql, &[&token.as_bytes().as_slice()]).await?;
    row.map(|row| name(session, get(session, &row, 0)?)).transpose()
}

/// Adds a person.
pub(super) async fn add(mut turn: Turn, name: &ApproverName, token: TokenHash) -> Ended<(), ApprovalError> {
    let session = turn.session();
    let sql = "INSERT INTO ringfence.approver AS a (name, token, added_us) VALUES ($1, $2, $3)
        ON CONFLICT (name) DO UPDATE SET token = excluded.token, added_us = excluded.added_us, revoked_us = NULL
        WHERE a.revoked_us IS NOT NULL";
    let now = micros(turn.now());
    let added = session.execute(sql, &[&name.as_str(), &token.as_bytes().as_slice(), &now]).await?;
    if added == 0 {
        return Ok((turn, Err(ApprovalError::NameTaken(name.clone()))));
    }
    let change = ApproverChange { at: turn.now(), name: name.clone(), change: "added" };
    turn.append(&AuditEntry::Approver(&change))?;
    Ok((turn, Ok(())))
}

/// Revokes a person's token, and takes back what they agreed to and nobody has taken yet.
pub(super) async fn revoke(mut turn: Turn, name: &ApproverName) -> Ended<bool, StoreError> {
    let session = turn.session();
    let sql = "UPDATE ringfence.approver SET revoked_us = $2 WHERE name = $1 AND revoked_us IS NULL";
    if session.execute(sql, &[&name.as_str(), &micros(turn.now())]).await? == 0 {
        return Ok((turn, Ok(false)));
    }
    let undecided = "r.state IN ('approved', 'open') ORDER BY r.ordinal";
    for mut filed in request::select(&session, undecided, &[]).await? {
        let before = filed.decided.len();
        filed.decided.retain(|decided| decided.by != name.as_str());
        if filed.state != RequestState::Expired && filed.decided.len() != before {
            if filed.decided.len() < filed.request.needed.approvals() {
                filed.state = RequestState::Open;
            }
            request::update(&session, &filed).await?;
        }
    }
    let change = ApproverChange { at: turn.now(), name: name.clone(), change: "revoked" };
    turn.append(&AuditEntry::Approver(&change))?;
    Ok((turn, Ok(true)))
}

/// Lists people by name.
pub(super) async fn list(session: &Session) -> Result<Vec<ApproverEntry>, PostgresError> {
    let sql = "SELECT name, added_us, revoked_us FROM ringfence.approver ORDER BY name COLLATE \"C\"";
    let mut found = Vec::new();
    for row in session.rows(sql, &[]).await? {
        let time = |micros: i64| Duration::from_micros(micros.cast_unsigned());
        found.push(ApproverEntry {
            name: name(session, get(session, &row, 0)?)?,
            added: time(get(session, &row, 1)?),
            revoked: get::<Option<i64>>(session, &row, 2)?.map(time),
        });
    }
    Ok(found)
}

fn name(session: &Session, text: &str) -> Result<ApproverName, PostgresError> {
    text.parse().map_err(|_| session.corrupt("the name of an approver is none"))
}
