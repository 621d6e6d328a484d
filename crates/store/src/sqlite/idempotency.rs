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
use rusqlite::{Connection, OptionalExtension as _, Row, params_from_iter, types::Value};

use super::SqliteStore;
use super::error::SqliteError;
use super::time::{from_micros, micros, micros_up};
use super::turn::Turn;

/// How long a key whose call had no effect is still listed.
const LISTED: Duration = Duration::from_hours(24);
/// How many rows one sweep removes, so that nobody waits long for it.
const SWEPT: u64 = 1_000;

/// What a claim looks at.
struct Held {
    fence: Fence,
    digest: String,
    run: String,
    owner: String,
    instance: String,
    state: KeyState,
    output: Option<String>,
    until: Option<i64>,
}

impl Held {
    const COLUMNS: &str = "fence, digest, run, owner, instance, state, output, until_us";

    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            fence: Fence(row.get(0)?),
            digest: row.get(1)?,
            run: row.get(2)?,
            owner: row.get(3)?,
            instance: row.get(4)?,
            state: state(row, 5)?,
            output: row.get(6)?,
            until: row.get(7)?,
        })
    }

    fn find(connection: &Connection, name: &KeyName) -> rusqlite::Result<Option<Self>> {
        let sql = format!("SELECT {} FROM idempotency WHERE scope = ?1 AND key = ?2", Self::COLUMNS);
        connection.prepare_cached(&sql)?.query_row((&name.scope, &name.key), Self::read).optional()
    }

    /// Says what a claim finds; nothing where the key is free.
    fn found(
        &self,
        digest: &str,
        now: Duration,
        lives: impl FnOnce(&str) -> Result<bool, SqliteError>,
    ) -> Result<Option<Claim>, SqliteError> {
        Ok(match self.state {
            KeyState::Failed => None,
            KeyState::Committed if self.until.is_none_or(|until| until <= micros(now)) => None,
            _ if self.digest != digest => Some(Claim::Conflict),
            KeyState::Committed => Some(Claim::Replay(self.output.clone().unwrap_or_default())),
            KeyState::Executing if lives(&self.instance)? => Some(Claim::InFlight),
            KeyState::Executing | KeyState::Unknown => Some(Claim::Unknown(self.fence)),
        })
    }
}

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
            let held = Held::find(connection, &name).map_err(|error| store.failed(&error))?;
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
        let settled = self.transact(bytes, move |turn| {
            let now = turn.now();
            turn.sql(|transaction| settle(transaction, &name, fence, &settlement, now))
        });
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

    fn list_keys(&self, connection: &Connection, filter: &KeyFilter) -> Result<Vec<KeyEntry>, SqliteError> {
        let failed = |error| self.failed(&error);
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
    let held = turn.sql(|transaction| Held::find(transaction, &claim.name))?;
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
    turn.sql(|transaction| {
        if let Some(held) = held {
            transaction
                .prepare_cached("DELETE FROM idempotency WHERE fence = ?1")?
                .execute([held.fence.0])?;
        }
        let mut insert = transaction.prepare_cached(
            "INSERT INTO idempotency
                 (scope, key, digest, arguments, run, owner, instance, claimed_us, state)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 'executing') RETURNING fence",
        )?;
        let KeyClaim { name, digest, arguments, run, owner } = claim;
        let row = (&name.scope, &name.key, digest, arguments, run, owner, instance, micros(now));
        insert.query_row(row, |row| row.get(0)).map(|fence| Ok(Claim::Granted(Fence(fence))))
    })
}

/// Keeps what became of a call, unless the key is committed or has another fence.
fn settle(
    connection: &Connection,
    name: &KeyName,
    fence: Fence,
    settlement: &Settlement,
    now: Duration,
) -> rusqlite::Result<Settled> {
    let (state, output, until) = match settlement {
        Settlement::Committed { output, keep } => {
            (KeyState::Committed, Some(output), Some(micros_up(now.saturating_add(*keep))))
        }
        Settlement::Failed => (KeyState::Failed, None, Some(micros(now.saturating_add(LISTED)))),
        Settlement::Unknown => (KeyState::Unknown, None, None),
    };
    let mut update = connection.prepare_cached(
        "UPDATE idempotency SET state = ?1, output = ?2, until_us = ?3
         WHERE scope = ?4 AND key = ?5 AND fence = ?6 AND state <> 'committed'",
    )?;
    let settled = update.execute((state.as_str(), output, until, &name.scope, &name.key, fence.0))?;
    Ok(if settled == 1 { Settled::Kept } else { Settled::Stale })
}

/// Keeps what a person found out about a key in doubt, and the entry that says so.
fn find_out(turn: &mut Turn<'_>, finding: &KeyFinding) -> Result<Result<Settled, StoreError>, SqliteError> {
    let now = turn.now();
    let held = turn.sql(|transaction| Held::find(transaction, &finding.name))?;
    let Some(held) = held.filter(|held| held.fence == finding.fence) else {
        return Ok(Ok(Settled::Stale));
    };
    let in_doubt = match held.state {
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
    turn.sql(|transaction| settle(transaction, &finding.name, finding.fence, &finding.settlement, now))
        .map(Ok)
}

/// Removes some of the keys whose time is up, and returns how many.
pub(super) fn sweep(connection: &Connection, now: Duration) -> rusqlite::Result<u64> {
    let swept = connection
        .prepare_cached(
            "DELETE FROM idempotency WHERE fence IN
                 (SELECT fence FROM idempotency WHERE until_us <= ?1 LIMIT ?2)",
        )?
        .execute((micros(now), SWEPT))?;
    Ok(u64::try_from(swept).unwrap_or(u64::MAX))
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
        "SELECT scope, key, state, fence, digest, arguments, run, claimed_us, instance FROM idempotency
         WHERE {state} {key} (state <> 'committed' OR until_us > ?1) ORDER BY fence DESC"
    );
    (sql, values)
}

/// Reads a row of [`listing`]: the key, and the store that it was claimed by.
fn listed_key(row: &Row<'_>) -> rusqlite::Result<(KeyEntry, String)> {
    let entry = KeyEntry {
        name: KeyName { scope: row.get(0)?, key: row.get(1)? },
        state: state(row, 2)?,
        fence: Fence(row.get(3)?),
        digest: row.get(4)?,
        arguments: row.get(5)?,
        run: row.get(6)?,
        claimed: from_micros(row.get(7)?),
    };
    Ok((entry, row.get(8)?))
}

/// Reads a state. One that is not known is nobody's to run again.
fn state(row: &Row<'_>, column: usize) -> rusqlite::Result<KeyState> {
    let found: String = row.get(column)?;
    let known = KeyState::ALL.into_iter().find(|state| state.as_str() == found);
    Ok(known.unwrap_or(KeyState::Unknown))
}
