//! The people, and what they decide.

use std::time::Duration;

use ringfence::audit::ApproverChange;
use ringfence::{
    ApprovalError, ApproverEntry, ApproverName, AuditEntry, Decided, FiledRequest, PersonDecision, Principal,
    Proof, RequestState, Role, TokenHash, Word,
};
use rusqlite::types::Type;
use rusqlite::{Connection, Error, OptionalExtension as _, Row};

use super::missing;
use super::row::{self, Entry};
use crate::sqlite::digest::{RowDigest, damaged};
use crate::sqlite::error::SqliteError;
use crate::sqlite::time::{from_micros, micros};
use crate::sqlite::total;
use crate::sqlite::turn::Turn;

/// Keeps what a person says about an open request, and the entry of the audit that says so.
pub(super) fn decide(
    turn: &mut Turn<'_>,
    decision: &PersonDecision,
) -> Result<Result<FiledRequest, ApprovalError>, SqliteError> {
    let now = turn.now();
    let (by, entry) = match turn.sql(|transaction| judge(transaction, decision, now))? {
        Ok(judged) => judged,
        Err(refused) => return Ok(Err(refused)),
    };
    let step = entry.filed.step(decision.word, &by, &decision.reason, now);
    turn.record(&AuditEntry::Approval(&step))?;
    turn.sql(|transaction| keep(transaction, decision, &by, entry, now)).map(Ok)
}

/// Says whether a decision can be kept: by whom, and about what.
fn judge(
    connection: &Connection,
    decision: &PersonDecision,
    now: Duration,
) -> rusqlite::Result<Result<(ApproverName, Entry), ApprovalError>> {
    row::mark_expired(connection, now)?;
    let principal = find(connection, &decision.by)?.ok_or_else(|| decision.by.refused());
    let by = match principal.and_then(Principal::deciding) {
        Ok(by) => by,
        Err(refused) => return Ok(Err(refused)),
    };
    let Some(entry) = row::find(connection, now, &decision.id)? else {
        return Ok(Err(missing(&decision.id)));
    };
    let filed = &entry.filed;
    if decision.word == Word::Withdraw {
        // Judged on a copy: what is kept is written by `keep`.
        return Ok(filed.clone().withdraw(&by).map(|()| (by, entry)));
    }
    let changed = |changed| filed.request.is_changed_by(changed);
    let refused = match filed.state {
        RequestState::Expired => Some(ApprovalError::Expired),
        RequestState::Open if filed.request.is_proposed_by(by.as_str()) => {
            Some(ApprovalError::Proposer { by: by.clone() })
        }
        RequestState::Open if filed.decided.iter().any(|decided| decided.by == by.as_str()) => {
            Some(ApprovalError::Already { by: by.clone() })
        }
        RequestState::Open
            if decision.word == Word::Change && !decision.changed.as_ref().is_some_and(changed) =>
        {
            Some(ApprovalError::Changed)
        }
        RequestState::Open => None,
        state => Some(ApprovalError::NotOpen { state }),
    };
    Ok(refused.map_or(Ok((by, entry)), Err))
}

/// Keeps a decision that was judged, and returns the request as it stands then, or the one in its place.
fn keep(
    connection: &Connection,
    decision: &PersonDecision,
    by: &ApproverName,
    mut entry: Entry,
    now: Duration,
) -> rusqlite::Result<FiledRequest> {
    if decision.word == Word::Withdraw {
        // Judged before, in the same transaction.
        let _judged = entry.filed.withdraw(by);
        row::update(connection, &entry)?;
        return Ok(entry.filed);
    }
    let decided = Decided {
        by: by.to_string(),
        word: decision.word,
        reason: decision.reason.clone(),
        at_ms: u64::try_from(now.as_millis()).unwrap_or(u64::MAX),
    };
    let filed = &mut entry.filed;
    filed.decided.push(decided.clone());
    let enough = |request: &ringfence::ApprovalRequest, people: usize| {
        if people >= request.needed.approvals() { RequestState::Approved } else { RequestState::Open }
    };
    filed.state = match decision.word {
        Word::Approve | Word::Withdraw => enough(&filed.request, filed.decided.len()),
        Word::Change => RequestState::Replaced,
        Word::Deny => RequestState::Denied,
    };
    row::update(connection, &entry)?;
    let Some(changed) = decision.changed.clone().filter(|_| decision.word == Word::Change) else {
        return Ok(entry.filed);
    };
    let next = FiledRequest {
        id: row::draw_name(connection)?,
        state: enough(&changed, 1),
        request: changed,
        asked: now,
        expires: entry.filed.expires,
        decided: vec![decided],
        replaces: Some(entry.filed.id),
    };
    row::insert(connection, &next, None)?;
    Ok(next)
}

/// Adds a person, with an entry of the audit.
pub(super) fn add(
    turn: &mut Turn<'_>,
    name: &ApproverName,
    token: TokenHash,
    role: Role,
) -> Result<Result<(), ApprovalError>, SqliteError> {
    if turn.sql(|transaction| is_active(transaction, name))? {
        return Ok(Err(ApprovalError::NameTaken(name.clone())));
    }
    let now = turn.now();
    turn.sql(|transaction| {
        // Not `INSERT OR REPLACE`: what that replaces would still be counted.
        let mut insert = transaction.prepare_cached(
            "INSERT INTO approver (name, token, added_us, revoked_us, role, row_digest) VALUES (?1, ?2, ?3, NULL, ?4, ?5)
             ON CONFLICT DO UPDATE SET token = excluded.token, added_us = excluded.added_us, revoked_us = NULL,
                 role = excluded.role, row_digest = excluded.row_digest",
        )?;
        let row = PersonRow {
            name: name.to_string(),
            token: token.as_bytes().to_vec(),
            added: micros(now),
            revoked: None,
            role: role.as_str().to_owned(),
        };
        insert.execute((&row.name, &row.token, row.added, &row.role, row.row_digest().finish()))
    })?;
    let change = ApproverChange { at: now, name: name.clone(), change: "added", role: Some(role) };
    turn.record(&AuditEntry::Approver(&change))?;
    Ok(Ok(()))
}

/// Revokes a person's token, with an entry of the audit, and takes back what they agreed to and nobody has taken yet.
pub(super) fn revoke(turn: &mut Turn<'_>, name: &ApproverName) -> Result<bool, SqliteError> {
    if !turn.sql(|transaction| is_active(transaction, name))? {
        return Ok(false);
    }
    let now = turn.now();
    turn.sql(|transaction| {
        row::mark_expired(transaction, now)?;
        let mut row = PersonRow::find(transaction, name)?.ok_or_else(|| damaged("an approver is lost"))?;
        row.revoked = Some(micros(now));
        transaction
            .prepare_cached("UPDATE approver SET revoked_us = ?2, row_digest = ?3 WHERE name = ?1")?
            .execute((name.as_str(), row.revoked, row.row_digest().finish()))?;
        let undecided = "state IN ('approved', 'open') ORDER BY ordinal";
        for mut entry in row::select(transaction, now, undecided, Vec::new())? {
            let filed = &mut entry.filed;
            let before = filed.decided.len();
            filed.decided.retain(|decided| decided.by != name.as_str());
            if filed.decided.len() == before {
                continue;
            }
            if filed.decided.len() < filed.request.needed.approvals() {
                filed.state = RequestState::Open;
            }
            row::update(transaction, &entry)?;
        }
        Ok(())
    })?;
    let change = ApproverChange { at: now, name: name.clone(), change: "revoked", role: None };
    turn.record(&AuditEntry::Approver(&change))?;
    Ok(true)
}

/// Lists people by name.
pub(super) fn list(connection: &Connection) -> rusqlite::Result<Vec<ApproverEntry>> {
    let sql = format!("SELECT {} FROM approver ORDER BY name", PersonRow::COLUMNS);
    let mut select = connection.prepare_cached(&sql)?;
    let people = select.query_map([], |row| {
        let row = PersonRow::read(row)?;
        Ok(ApproverEntry {
            name: row.name()?,
            role: row.role()?,
            added: from_micros(row.added),
            revoked: row.revoked.map(from_micros),
        })
    })?;
    people.collect()
}

/// Returns who proves to be known, unless they were revoked.
pub(super) fn find(connection: &Connection, proof: &Proof) -> rusqlite::Result<Option<Principal>> {
    let found = match proof {
        Proof::Named(name) => PersonRow::find(connection, name)?,
        Proof::Token(token) => {
            let sql = format!(
                "SELECT {} FROM approver WHERE token = ?1 AND revoked_us IS NULL ORDER BY name LIMIT 1",
                PersonRow::COLUMNS
            );
            let mut select = connection.prepare_cached(&sql)?;
            let found = select.query_row([token.as_bytes()], PersonRow::read).optional()?;
            // An index that is damaged may lead to somebody else.
            if found.as_ref().is_some_and(|found| found.token != token.as_bytes()) {
                return Err(damaged("an index does not lead to an approver"));
            }
            found
        }
    };
    let Some(row) = found.filter(|row| row.revoked.is_none()) else { return Ok(None) };
    Ok(Some(Principal { name: row.name()?, role: row.role()?, since: from_micros(row.added) }))
}

/// Counts the rows that do not have their digests.
pub(in crate::sqlite) fn count_damaged(connection: &Connection) -> rusqlite::Result<u64> {
    let sql = format!("SELECT {} FROM approver", PersonRow::COLUMNS);
    total::count_damaged(connection, &sql, PersonRow::read)
}

/// Gives every row its digest.
pub(super) fn fill_digests(connection: &Connection) -> rusqlite::Result<()> {
    let mut select = connection.prepare(&format!("SELECT {} FROM approver", PersonRow::COLUMNS))?;
    let rows = select.query_map([], PersonRow::read_unchecked)?.collect::<rusqlite::Result<Vec<_>>>()?;
    let mut update = connection.prepare("UPDATE approver SET row_digest = ?1 WHERE name = ?2")?;
    for row in rows {
        update.execute((row.row_digest().finish(), &row.name))?;
    }
    Ok(())
}

fn is_active(connection: &Connection, name: &ApproverName) -> rusqlite::Result<bool> {
    Ok(PersonRow::find(connection, name)?.is_some_and(|row| row.revoked.is_none()))
}

/// A person as a row.
struct PersonRow {
    name: String,
    token: Vec<u8>,
    added: i64,
    revoked: Option<i64>,
    role: String,
}

impl PersonRow {
    const COLUMNS: &str = "name, token, added_us, revoked_us, role, row_digest";

    fn find(connection: &Connection, name: &ApproverName) -> rusqlite::Result<Option<Self>> {
        let sql = format!("SELECT {} FROM approver WHERE name = ?1", Self::COLUMNS);
        connection.prepare_cached(&sql)?.query_row([name.as_str()], Self::read).optional()
    }

    /// Reads a row, and refuses one that does not have its digest.
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let read = Self::read_unchecked(row)?;
        read.row_digest().check(row.get(5)?, "an approver does not have its digest")?;
        Ok(read)
    }

    fn read_unchecked(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            name: row.get(0)?,
            token: row.get(1)?,
            added: row.get(2)?,
            revoked: row.get(3)?,
            role: row.get(4)?,
        })
    }

    fn row_digest(&self) -> RowDigest {
        RowDigest::new("approver")
            .text(&self.name)
            .bytes(&self.token)
            .number(self.added)
            .optional_number(self.revoked)
            .text(&self.role)
    }

    fn name(&self) -> rusqlite::Result<ApproverName> {
        let parsed = self.name.parse();
        parsed.map_err(|error| Error::FromSqlConversionFailure(0, Type::Text, Box::new(error)))
    }

    fn role(&self) -> rusqlite::Result<Role> {
        let parsed = self.role.parse();
        parsed.map_err(|error| Error::FromSqlConversionFailure(4, Type::Text, Box::new(error)))
    }
}
