//! Calls by idempotency key.
//!
//! INVARIANT: a key is granted only where no row holds it, or the row says that the last call had no effect or that its
//! time is up. A row that is executing or in doubt is never removed, and leaves these states only by a settlement.

use std::collections::HashMap;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use ringfence::audit::KeySettlement;
use ringfence::{
    AuditEntry, Claim, Fence, IdempotencyStore, KeyClaim, KeyEntry, KeyFilter, KeyFinding, KeyName, KeyState,
    Settled, Settlement, StoreError,
};
use rusqlite::{Connection, ErrorCode, OptionalExtension as _, Row, params_from_iter, types::Value};

use super::SqliteStore;
use super::digest::damaged;
use super::error::SqliteError;
use super::key_row::{KeyRow, LOST};
use super::mark::MOST;
use super::time::{from_micros, micros, micros_up};
use super::total;
use super::turn::Turn;

/// How long a key whose call had no effect is still listed.
const LISTED: Duration = Duration::from_hours(24);
/// How many rows one sweep removes, so that nobody waits long for it.
const SWEPT: u64 = 1_000;

impl IdempotencyStore for SqliteStore {
    fn claim<'a>(&'a self, claim: &'a KeyClaim) -> BoxFuture<'a, Result<Claim, StoreError>> {
        async move {
            let (claim, instance) = (claim.clone(), self.own_instance()?);
            self.transact(claim.arguments.len(), move |turn| grant(turn, &claim, &instance)).await?
        }
        .boxed()
    }

    fn find<'a>(
        &'a self,
        name: &'a KeyName,
        digest: &'a str,
    ) -> BoxFuture<'a, Result<Option<Claim>, StoreError>> {
        let (name, digest) = (name.clone(), digest.to_owned());
        let found = self.read(move |store, connection| {
            let held = KeyRow::find(connection, &name).map_err(|error| store.failed(&error))?;
            let Some(held) = held else { return Ok(None) };
            held.found(&digest, store.0.clock.now(), |instance| store.lives(instance))
        });
        async move { Ok(found.await?) }.boxed()
    }

    fn settle<'a>(
        &'a self,
        name: &'a KeyName,
        fence: Fence,
        settlement: Settlement,
    ) -> BoxFuture<'a, Result<Settled, StoreError>> {
        let name = name.clone();
        let bytes = match &settlement {
            Settlement::Committed { output, .. } => output.len(),
            Settlement::Failed | Settlement::Unknown => 0,
        };
        let settled = self.transact(bytes, move |turn| settle(turn, &name, fence, &settlement));
        async move { Ok(settled.await?) }.boxed()
    }

    fn find_out<'a>(&'a self, finding: &'a KeyFinding) -> BoxFuture<'a, Result<Settled, StoreError>> {
        let finding = finding.clone();
        let settled = self.transact(0, move |turn| find_out(turn, &finding));
        async move { settled.await? }.boxed()
    }

    fn keys<'a>(&'a self, filter: &'a KeyFilter) -> BoxFuture<'a, Result<Vec<KeyEntry>, StoreError>> {
        let filter = filter.clone();
        let listed = self.read(move |store, connection| store.list_keys(connection, &filter));
        async move { Ok(listed.await?) }.boxed()
    }
}

impl SqliteStore {
    /// Returns the id of this store, if it writes.
    pub(super) fn own_instance(&self) -> Result<String, SqliteError> {
        let id = self.instance().map(str::to_owned);
        id.ok_or_else(|| SqliteError::ReadOnly { path: self.path().to_owned() })
    }

    /// Looks whether a list would be complete. A store that writes has done so when it was opened.
    pub(super) fn check_listed(&self, connection: &Connection, table: &str) -> Result<(), SqliteError> {
        if self.0.writer.is_some() { Ok(()) } else { total::check_table(connection, self.path(), table) }
    }

    fn list_keys(&self, connection: &Connection, filter: &KeyFilter) -> Result<Vec<KeyEntry>, SqliteError> {
        let failed = |error| self.failed(&error);
        self.check_listed(connection, "idempotency")?;
        let (sql, values) = listing(filter, self.0.clock.now());
        let mut select = connection.prepare_cached(&sql).map_err(failed)?;
        let mut rows = select.query(params_from_iter(values)).map_err(failed)?;
        let most = if filter.most == 0 { usize::MAX } else { filter.most };
        let mut living = HashMap::new();
        let mut listed = Vec::new();
        while listed.len() < most
            && let Some(row) = rows.next().map_err(failed)?
        {
            let (mut entry, instance) = listed_key(row).map_err(failed)?;
            if entry.state == KeyState::Executing {
                let lives = match living.get(&instance) {
                    Some(&lives) => lives,
                    None => self.lives(&instance)?,
                };
                living.insert(instance, lives);
                entry.state = if lives { KeyState::Executing } else { KeyState::Unknown };
            }
            if filter.state.is_none_or(|state| state == entry.state) {
                listed.push(entry);
            }
        }
        Ok(listed)
    }
}

/// Grants a key that is free, or says what was found. Whether another lives may be impossible to say, and is then the
/// trouble of this claim and of no other.
fn grant(
    turn: &mut Turn<'_>,
    claim: &KeyClaim,
    instance: &str,
) -> Result<Result<Claim, StoreError>, SqliteError> {
    let now = turn.now();
    let held = turn.sql(|transaction| KeyRow::find_to_claim(transaction, &claim.name))?;
    if let Some(held) = &held {
        match held.found(&claim.digest, now, |instance| turn.lives(instance)) {
            Err(error) => return Ok(Err(error.into())),
            // A claim whose answer was lost comes again.
            Ok(Some(Claim::InFlight)) if held.owner == claim.owner => {
                return Ok(Ok(Claim::Granted(held.fence)));
            }
            Ok(Some(found)) => return Ok(Ok(found)),
            Ok(None) => {}
        }
    }
    let fence = turn.next_fence();
    if let Some(held) = held
        && !remove(turn, &held)?
    {
        return turn.sql(|_| Err(damaged(LOST)));
    }
    let KeyClaim { name, digest, arguments, run, owner } = claim;
    let row = KeyRow {
        fence,
        name: name.clone(),
        digest: digest.clone(),
        arguments: arguments.clone(),
        run: run.to_string(),
        owner: owner.clone(),
        instance: instance.to_owned(),
        claimed: micros(now),
        state: KeyState::Executing.as_str().to_owned(),
        output: None,
        until: None,
    };
    let row_digest = row.row_digest().finish();
    turn.sql(|transaction| {
        let mut insert = transaction.prepare_cached(
            "INSERT INTO idempotency
                 (fence, scope, key, digest, arguments, run, owner, instance, claimed_us, state, row_digest)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        )?;
        let inserted = insert.execute((
            row.fence.0,
            &name.scope,
            &name.key,
            digest,
            arguments,
            run,
            owner,
            instance,
            row.claimed,
            &row.state,
            row_digest,
        ));
        match inserted.map_err(|error| (error.sqlite_error_code(), error)) {
            Ok(_) => Ok(()),
            Err((Some(ErrorCode::ConstraintViolation), _)) => Err(damaged(LOST)),
            Err((_, error)) => Err(error),
        }
    })?;
    turn.keys().add(row_digest);
    turn.claims().insert(row, row_digest);
    Ok(Ok(Claim::Granted(fence)))
}

/// Removes a key whose row has its digest, and says whether it was there.
fn remove(turn: &mut Turn<'_>, row: &KeyRow) -> Result<bool, SqliteError> {
    let removed = turn.sql(|transaction| {
        transaction.prepare_cached("DELETE FROM idempotency WHERE fence = ?1")?.execute([row.fence.0])
    })?;
    if removed == 1 {
        turn.keys().remove(row.row_digest().finish());
    }
    Ok(removed == 1)
}

/// Returns the last fence that a version before 5 handed out. One that cannot be true stays so, and a person settles it.
pub(super) fn last_sequence(connection: &Connection) -> rusqlite::Result<Fence> {
    let sql = "SELECT seq FROM sqlite_sequence WHERE name = 'idempotency'";
    let said: Option<Value> = connection.query_row(sql, [], |row| row.get(0)).optional()?;
    let said = match said {
        None => 0,
        Some(Value::Integer(fence)) => u64::try_from(fence).unwrap_or(MOST),
        Some(_) => MOST,
    };
    Ok(last_key(connection)?.max(Fence(said)))
}

/// Returns the last fence of the keys that are there. One that cannot be true does not count.
pub(super) fn last_key(connection: &Connection) -> rusqlite::Result<Fence> {
    let sql = "SELECT ifnull(max(fence), 0) FROM idempotency WHERE fence <= ?1";
    connection.query_row(sql, [MOST], |row| row.get(0)).map(Fence)
}

/// Has SQLite count no fences: the row of the history says which was the last one.
pub(super) fn end_sequence(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute("DELETE FROM sqlite_sequence WHERE name = 'idempotency'", [])?;
    let sql = "INSERT INTO sqlite_sequence (name, seq) VALUES ('idempotency', ?1)";
    connection.execute(sql, [MOST]).map(drop)
}

/// Keeps what became of a call, unless the key is committed or has another fence.
fn settle(
    turn: &mut Turn<'_>,
    name: &KeyName,
    fence: Fence,
    settlement: &Settlement,
) -> Result<Settled, SqliteError> {
    // What this process has claimed it need not read: if the row has the same digest, it is the same row.
    if let Some((row, before)) = turn.claims().take(fence, name)
        && write_settlement(turn, row, before, settlement)?
    {
        return Ok(Settled::Kept);
    }
    let Some(row) = turn.sql(|transaction| KeyRow::find(transaction, name))? else {
        return Ok(Settled::Stale);
    };
    if row.fence != fence || row.state() == KeyState::Committed {
        return Ok(Settled::Stale);
    }
    let before = row.row_digest().finish();
    if write_settlement(turn, row, before, settlement)? {
        Ok(Settled::Kept)
    } else {
        turn.sql(|_| Err(damaged(LOST)))
    }
}

/// Settles the row of a key if it still has this digest, and says whether it has.
fn write_settlement(
    turn: &mut Turn<'_>,
    mut row: KeyRow,
    before: i64,
    settlement: &Settlement,
) -> Result<bool, SqliteError> {
    let now = turn.now();
    let (state, output, until) = match settlement {
        Settlement::Committed { output, keep } => {
            (KeyState::Committed, Some(output), Some(micros_up(now.saturating_add(*keep))))
        }
        Settlement::Failed => (KeyState::Failed, None, Some(micros(now.saturating_add(LISTED)))),
        Settlement::Unknown => (KeyState::Unknown, None, None),
    };
    state.as_str().clone_into(&mut row.state);
    row.output = output.cloned();
    row.until = until;
    let after = row.row_digest().finish();
    let updated = turn.sql(|transaction| {
        let mut update = transaction.prepare_cached(
            "UPDATE idempotency SET state = ?1, output = ?2, until_us = ?3, row_digest = ?4
             WHERE fence = ?5 AND row_digest = ?6",
        )?;
        update.execute((&row.state, output, until, after, row.fence.0, before))
    })?;
    if updated == 1 {
        turn.keys().change(before, after);
    }
    Ok(updated == 1)
}

/// Keeps what a person found out about a key in doubt, and the entry that says so.
fn find_out(turn: &mut Turn<'_>, finding: &KeyFinding) -> Result<Result<Settled, StoreError>, SqliteError> {
    let now = turn.now();
    let held = turn.sql(|transaction| KeyRow::find(transaction, &finding.name))?;
    let Some(held) = held.filter(|held| held.fence == finding.fence) else {
        return Ok(Ok(Settled::Stale));
    };
    let in_doubt = match held.state() {
        KeyState::Unknown => Ok(true),
        KeyState::Executing => turn.lives(&held.instance).map(|lives| !lives),
        KeyState::Committed | KeyState::Failed => Ok(false),
    };
    match in_doubt {
        Err(error) => return Ok(Err(error.into())),
        Ok(false) => return Ok(Ok(Settled::Stale)),
        Ok(true) => {}
    }
    let settlement = KeySettlement::new(finding, &held.run, now);
    turn.record(&AuditEntry::Settlement(&settlement))?;
    settle(turn, &finding.name, finding.fence, &finding.settlement).map(Ok)
}

/// Removes some of the keys whose time is up, and returns how many. One that does not have its digest stays: its time may
/// not be up.
pub(super) fn sweep(turn: &mut Turn<'_>) -> Result<u64, SqliteError> {
    let now = turn.now();
    let over = turn.sql(|transaction| {
        let sql = format!("SELECT {} FROM idempotency WHERE until_us <= ?1 LIMIT ?2", KeyRow::COLUMNS);
        let mut select = transaction.prepare_cached(&sql)?;
        let mut rows = select.query((micros(now), SWEPT))?;
        let mut over = Vec::new();
        while let Some(row) = rows.next()? {
            over.extend(KeyRow::read(row).ok().filter(|row| row.is_over(now)));
        }
        Ok(over)
    })?;
    let mut swept = 0;
    for row in &over {
        swept += u64::from(remove(turn, row)?);
    }
    Ok(swept)
}

/// Counts the rows that do not have their digests.
pub(super) fn count_damaged(connection: &Connection) -> rusqlite::Result<u64> {
    let sql = format!("SELECT {} FROM idempotency NOT INDEXED", KeyRow::COLUMNS);
    total::count_damaged(connection, &sql, KeyRow::read)
}

/// Gives every row its digest.
pub(super) fn fill_digests(connection: &Connection) -> rusqlite::Result<()> {
    let sql = format!("SELECT {} FROM idempotency", KeyRow::COLUMNS);
    let mut select = connection.prepare(&sql)?;
    let mut update = connection.prepare("UPDATE idempotency SET row_digest = ?1 WHERE fence = ?2")?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let row = KeyRow::read_unchecked(row)?;
        update.execute((row.row_digest().finish(), row.fence.0))?;
    }
    Ok(())
}

/// Returns the statement that lists keys, newest first, and its values. One that executes may turn out to be in doubt.
fn listing(filter: &KeyFilter, now: Duration) -> (String, Vec<Value>) {
    let mut values: Vec<Value> = vec![micros(now).into()];
    let state = match filter.state {
        None => "",
        Some(KeyState::Committed) => "state = 'committed' AND",
        Some(KeyState::Failed) => "state = 'failed' AND",
        Some(KeyState::Executing | KeyState::Unknown) => "state IN ('executing', 'unknown') AND",
    };
    let mut key = "";
    if let Some(wanted) = &filter.key {
        key = "key = ?2 AND";
        values.push(wanted.clone().into());
    }
    let sql = format!(
        "SELECT {} FROM idempotency
         WHERE {state} {key} (state <> 'committed' OR until_us > ?1) ORDER BY fence DESC",
        KeyRow::COLUMNS
    );
    (sql, values)
}

/// Reads a row of [`listing`]: the key, and the store that it was claimed by.
fn listed_key(row: &Row<'_>) -> rusqlite::Result<(KeyEntry, String)> {
    let row = KeyRow::read(row)?;
    let entry = KeyEntry {
        state: row.state(),
        name: row.name,
        fence: row.fence,
        digest: row.digest,
        arguments: row.arguments,
        run: row.run,
        claimed: from_micros(row.claimed),
    };
    Ok((entry, row.instance))
}
