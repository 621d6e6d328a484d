//! Filing, taking, adopting and listing requests, and who is told of them.

use std::collections::HashMap;
use std::time::Duration;

use ringfence::{
    Approval, ApprovalRequest, FiledRequest, ListedRequests, Notice, RequestFilter, RequestState, Standing,
    StoreError, Word, notice_pause,
};
use rusqlite::Connection;
use rusqlite::types::Value;

use super::row::{self, Entry};
use crate::sqlite::error::SqliteError;
use crate::sqlite::time::micros;
use crate::sqlite::turn::Turn;

/// How long a request that has ended is still listed.
const LISTED: Duration = Duration::from_hours(30 * 24);
/// How many rows one sweep removes, so that nobody waits long for it.
const SWEPT: u64 = 1_000;

/// Files a request, or finds the one of the same digest.
pub(super) fn file(
    turn: &mut Turn<'_>,
    request: &ApprovalRequest,
    expires: Duration,
    instance: &str,
) -> Result<String, SqliteError> {
    let now = turn.now();
    turn.sql(|transaction| {
        row::mark_expired(transaction, now)?;
        let alive = "digest = ?1 AND state NOT IN ('expired', 'taken') ORDER BY ordinal DESC LIMIT 1";
        let found = row::select(transaction, now, alive, vec![request.digest.clone().into()])?;
        if let Some(Entry { ordinal, filed, waiter, waiting, .. }) = found.into_iter().next() {
            if filed.request.call.is_some() {
                let others = if waiter.as_deref() == Some(instance) { waiting } else { 0 };
                row::update_waiter(transaction, ordinal, Some(instance), others.saturating_add(1))?;
            }
            return Ok(filed.id);
        }
        let filed = FiledRequest {
            id: row::draw_name(transaction)?,
            request: request.clone(),
            state: RequestState::Open,
            asked: now,
            expires: now.saturating_add(expires),
            decided: Vec::new(),
            replaces: None,
        };
        row::insert(transaction, &filed, request.call.is_some().then_some(instance))?;
        Ok(filed.id)
    })
}

/// Says where a request stands, without taking it.
pub(super) fn look(
    connection: &Connection,
    now: Duration,
    id: &str,
) -> rusqlite::Result<Option<(RequestState, Standing)>> {
    let Some(Entry { filed, .. }) = row::find(connection, now, id)? else { return Ok(None) };
    let last = filed.decided.last();
    let said =
        |word: Word| last.filter(|last| last.word == word).map(|last| (last.by.clone(), last.reason.clone()));
    let standing = match filed.state {
        RequestState::Approved => {
            let digest = &filed.request.digest;
            let people = filed.decided.iter();
            let people = people.map(|one| Approval { by: one.by.clone(), digest: digest.clone() });
            Standing::Approved(people.collect())
        }
        RequestState::Denied => {
            let (by, reason) = said(Word::Deny).unwrap_or_default();
            Standing::Denied { by, reason }
        }
        RequestState::Expired => Standing::Expired,
        RequestState::Open => Standing::Open,
        RequestState::Replaced => match (row::find_replacing(connection, now, id)?, said(Word::Change)) {
            (Some(other), Some((by, reason))) => {
                Standing::Changed { arguments: (*other.filed.request.arguments).clone(), by, reason }
            }
            _ => Standing::Expired,
        },
        RequestState::Taken => Standing::Taken,
    };
    Ok(Some((filed.state, standing)))
}

/// Takes a request that is approved, and the one that it replaced; marks what has expired.
pub(super) fn take(turn: &mut Turn<'_>, id: &str) -> Result<Option<Standing>, SqliteError> {
    let now = turn.now();
    turn.sql(|transaction| {
        row::mark_expired(transaction, now)?;
        let Some((state, standing)) = look(transaction, now, id)? else { return Ok(None) };
        if state == RequestState::Approved {
            let Some(entry) = row::find(transaction, now, id)? else { return Ok(None) };
            if let Some(replaced) = &entry.filed.replaces
                && let Some(replaced) = row::find(transaction, now, replaced)?
            {
                row::update_taken(transaction, replaced)?;
            }
            row::update_taken(transaction, entry)?;
        }
        Ok(Some(standing))
    })
}

/// One call of this store no longer waits for a request.
pub(super) fn leave(turn: &mut Turn<'_>, id: &str, instance: &str) -> Result<(), SqliteError> {
    turn.sql(|transaction| {
        let mut update = transaction.prepare_cached(
            "UPDATE request SET waiting = max(waiting - 1, 0), waiter = iif(waiting > 1, waiter, NULL)
             WHERE id = ?1 AND waiter = ?2",
        )?;
        update.execute([id, instance]).map(drop)
    })
}

/// Hands over requests whose waiting process has died.
pub(super) fn adopt(
    turn: &mut Turn<'_>,
    personality: Option<&str>,
    most: usize,
    instance: &str,
) -> Result<Result<Vec<FiledRequest>, StoreError>, SqliteError> {
    let now = turn.now();
    let waiting = turn.sql(|transaction| {
        row::mark_expired(transaction, now)?;
        let waiting =
            "state NOT IN ('expired', 'taken') AND personality IS ?1 AND waiter <> ?2 ORDER BY ordinal";
        row::select(
            transaction,
            now,
            waiting,
            vec![personality.map(str::to_owned).into(), instance.to_owned().into()],
        )
    })?;
    let mut living = HashMap::new();
    let mut adopted = Vec::new();
    for Entry { ordinal, filed, waiter, .. } in waiting {
        let Some(waiter) = waiter.filter(|_| adopted.len() < most && filed.request.call.is_some()) else {
            continue;
        };
        let lives = match living.get(&waiter).copied().map_or_else(|| turn.lives(&waiter), Ok) {
            Ok(lives) => lives,
            // Whether another lives may be impossible to say, and is then the trouble of nobody else.
            Err(error) => return Ok(Err(error.into())),
        };
        living.insert(waiter, lives);
        if !lives {
            adopted.push((ordinal, filed));
        }
    }
    turn.sql(|transaction| {
        // The call that goes on files its request again, and is counted then.
        adopted
            .iter()
            .try_for_each(|(ordinal, _)| row::update_waiter(transaction, *ordinal, Some(instance), 0))
    })?;
    Ok(Ok(adopted.into_iter().map(|(_, filed)| filed).collect()))
}

/// Lists requests, newest first.
pub(super) fn list(
    connection: &Connection,
    now: Duration,
    filter: &RequestFilter,
) -> rusqlite::Result<Vec<FiledRequest>> {
    let (rest, values) = conditions(now, filter);
    Ok(row::select(connection, now, &rest, values)?.into_iter().map(|entry| entry.filed).collect())
}

/// Lists requests that can be read, newest first, and names those that cannot.
pub(super) fn list_readable(
    connection: &Connection,
    now: Duration,
    filter: &RequestFilter,
) -> rusqlite::Result<ListedRequests> {
    let (rest, values) = conditions(now, filter);
    row::select_readable(connection, now, &rest, values)
}

fn conditions(now: Duration, filter: &RequestFilter) -> (String, Vec<Value>) {
    let mut values: Vec<Value> = Vec::new();
    let mut rest = String::new();
    let state = filter.state.map_or("", |state| match state {
        RequestState::Taken => "state = 'taken' AND ",
        RequestState::Expired => "state <> 'taken' AND expires_us <= ? AND ",
        RequestState::Approved => "state = 'approved' AND expires_us > ? AND ",
        RequestState::Denied => "state = 'denied' AND expires_us > ? AND ",
        RequestState::Open => "state = 'open' AND expires_us > ? AND ",
        RequestState::Replaced => "state = 'replaced' AND expires_us > ? AND ",
    });
    rest.push_str(state);
    if state.contains('?') {
        values.push(micros(now).into());
    }
    if let Some(run) = &filter.run {
        rest.push_str("run = ? AND ");
        values.push(run.clone().into());
    }
    if let Some(tool) = &filter.tool {
        rest.push_str("tool = ? AND ");
        values.push(tool.clone().into());
    }
    rest.push_str("ordinal > 0 ORDER BY ordinal DESC LIMIT ?");
    let most = i64::try_from(filter.most).ok().filter(|most| *most > 0);
    values.push(most.unwrap_or(i64::MAX).into());
    (rest, values)
}

/// Returns the request of this name, or else the newest whose digest begins with it.
pub(super) fn find(
    connection: &Connection,
    now: Duration,
    id: &str,
) -> rusqlite::Result<Option<FiledRequest>> {
    if let Some(entry) = row::find(connection, now, id)? {
        return Ok(Some(entry.filed));
    }
    let same = "digest = ?1 ORDER BY ordinal DESC LIMIT 1";
    Ok(row::select(connection, now, same, vec![id.to_owned().into()])?.pop().map(|entry| entry.filed))
}

/// Returns open requests that a channel is to be told of now, oldest first, with how often it was tried.
pub(super) fn due(
    connection: &Connection,
    now: Duration,
    channel: &str,
    most: usize,
) -> rusqlite::Result<Vec<(Entry, u32)>> {
    let due = "state = 'open' AND expires_us > ?1 AND NOT EXISTS
            (SELECT 1 FROM notice WHERE request = ordinal AND channel = ?2 AND (told OR next_us > ?1))
        ORDER BY ordinal LIMIT ?3";
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let found =
        row::select(connection, now, due, vec![micros(now).into(), channel.to_owned().into(), most.into()])?;
    let mut attempts = connection
        .prepare_cached("SELECT ifnull(max(attempts), 0) FROM notice WHERE request = ?1 AND channel = ?2")?;
    let counted = found.into_iter().map(|entry| {
        let attempts = attempts.query_row((entry.ordinal, channel), |row| row.get(0))?;
        Ok((entry, attempts))
    });
    counted.collect()
}

/// Hands out the requests that a channel is to be told of now, and not again for a while.
pub(super) fn notices(
    turn: &mut Turn<'_>,
    channel: &str,
    pause: Duration,
    most: usize,
) -> Result<Vec<Notice>, SqliteError> {
    let now = turn.now();
    turn.sql(|transaction| {
        let mut keep = transaction.prepare_cached(
            "INSERT INTO notice (request, channel, attempts, next_us) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT DO UPDATE SET attempts = excluded.attempts, next_us = excluded.next_us",
        )?;
        let handed = due(transaction, now, channel, most)?.into_iter().map(|(entry, attempts)| {
            let next = now.saturating_add(notice_pause(pause, attempts));
            keep.execute((entry.ordinal, channel, attempts.saturating_add(1), micros(next)))?;
            Ok(Notice { filed: entry.filed, attempts })
        });
        handed.collect()
    })
}

/// Keeps that a channel was told of a request.
pub(super) fn told(transaction: &Connection, channel: &str, id: &str) -> rusqlite::Result<()> {
    let mut keep = transaction.prepare_cached(
        "INSERT INTO notice (request, channel, attempts, next_us, told)
             SELECT ordinal, ?1, 0, 0, 1 FROM request WHERE id = ?2
         ON CONFLICT DO UPDATE SET told = 1",
    )?;
    keep.execute([channel, id]).map(drop)
}

/// Marks what has expired, removes some of what ended long ago, and returns how much.
pub(in crate::sqlite) fn sweep(connection: &Connection, now: Duration) -> rusqlite::Result<u64> {
    row::mark_expired(connection, now)?;
    let swept = connection
        .prepare_cached(
            "DELETE FROM request WHERE ordinal IN
                 (SELECT ordinal FROM request WHERE state IN ('expired', 'taken') AND expires_us <= ?1 LIMIT ?2)",
        )?
        .execute((micros(now.saturating_sub(LISTED)), SWEPT))?;
    Ok(u64::try_from(swept).unwrap_or(u64::MAX))
}
