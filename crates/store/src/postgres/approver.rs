//! The people who may decide.
//!
//! INVARIANT: of a token only the hash is stored, and a revoked one proves nothing.

use std::time::Duration;

use ringfence::audit::ApproverChange;
use ringfence::{
    ApprovalError, ApproverEntry, ApproverName, AuditEntry, Principal, Proof, RequestState, Role, StoreError,
    TokenHash,
};
use tokio_postgres::Row;

use super::audit::get;
use super::error::PostgresError;
use super::request;
use super::session::{Parameter, Session};
use super::turn::{Turn, micros};

/// What a turn of these ends in.
type Ended<T, E> = Result<(Turn, Result<T, E>), PostgresError>;

/// Returns who proves to be known, unless they were revoked.
pub(super) async fn find(session: &Session, proof: &Proof) -> Result<Option<Principal>, PostgresError> {
    let row = match proof {
        Proof::Named(name) => {
            let sql = "SELECT name, role, added_us, seal IS NOT DISTINCT FROM ringfence.approver_seal(a)
                FROM ringfence.approver AS a WHERE name = $1 AND revoked_us IS NULL";
            session.row(sql, &[&name.as_str()]).await?
        }
        Proof::Token(token) => {
            let sql = "SELECT name, role, added_us, seal IS NOT DISTINCT FROM ringfence.approver_seal(a)
                FROM ringfence.approver AS a WHERE token = $1 AND revoked_us IS NULL
                ORDER BY name COLLATE \"C\" LIMIT 1";
            session.row(sql, &[&token.as_bytes().as_slice()]).await?
        }
    };
    let Some(row) = row else { return Ok(None) };
    check(session, &row, 3)?;
    let (name, role) = (name(session, get(session, &row, 0)?)?, role(session, get(session, &row, 1)?)?);
    let since = Duration::from_micros(get::<i64>(session, &row, 2)?.cast_unsigned());
    Ok(Some(Principal { name, role, since }))
}

/// Adds a person.
pub(super) async fn add(
    mut turn: Turn,
    name: &ApproverName,
    token: TokenHash,
    role: Role,
) -> Ended<(), ApprovalError> {
    let session = turn.session();
    let sql = "INSERT INTO ringfence.approver AS a (name, token, added_us, role) VALUES ($1, $2, $3, $4)
        ON CONFLICT (name) DO UPDATE SET token = excluded.token, added_us = excluded.added_us, role = excluded.role,
            revoked_us = NULL
        WHERE a.revoked_us IS NOT NULL";
    let now = micros(turn.now());
    let values: [Parameter<'_>; 4] = [&name.as_str(), &token.as_bytes().as_slice(), &now, &role.as_str()];
    let added = session.execute(sql, &values).await?;
    if added == 0 {
        return Ok((turn, Err(ApprovalError::NameTaken(name.clone()))));
    }
    let change = ApproverChange { at: turn.now(), name: name.clone(), change: "added", role: Some(role) };
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
    let change = ApproverChange { at: turn.now(), name: name.clone(), change: "revoked", role: None };
    turn.append(&AuditEntry::Approver(&change))?;
    Ok((turn, Ok(true)))
}

/// Lists people by name.
pub(super) async fn list(session: &Session) -> Result<Vec<ApproverEntry>, PostgresError> {
    let sql = "SELECT name, role, added_us, revoked_us, seal IS NOT DISTINCT FROM ringfence.approver_seal(a)
        FROM ringfence.approver AS a ORDER BY name COLLATE \"C\"";
    let mut found = Vec::new();
    for row in session.rows(sql, &[]).await? {
        check(session, &row, 4)?;
        let time = |micros: i64| Duration::from_micros(micros.cast_unsigned());
        found.push(ApproverEntry {
            name: name(session, get(session, &row, 0)?)?,
            role: role(session, get(session, &row, 1)?)?,
            added: time(get(session, &row, 2)?),
            revoked: get::<Option<i64>>(session, &row, 3)?.map(time),
        });
    }
    Ok(found)
}

/// Refuses a row that does not have its digest.
fn check(session: &Session, row: &Row, column: usize) -> Result<(), PostgresError> {
    if get(session, row, column)? {
        Ok(())
    } else {
        Err(session.corrupt("an approver does not have its digest"))
    }
}

fn name(session: &Session, text: &str) -> Result<ApproverName, PostgresError> {
    text.parse().map_err(|_| session.corrupt("the name of an approver is none"))
}

fn role(session: &Session, text: &str) -> Result<Role, PostgresError> {
    text.parse().map_err(|_| session.corrupt("the role of an approver is none"))
}
