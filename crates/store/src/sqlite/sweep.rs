//! What has had its time goes, a part in each turn, so that nobody waits long.

use crate::entry::KeepRaw;

use super::error::SqliteError;
use super::turn::Turn;
use super::{approval, idempotency, value};

/// Removes a part of what has had its time, and returns how much; none is left when that is nothing.
pub(super) fn sweep(turn: &mut Turn<'_>, raw: KeepRaw) -> Result<u64, SqliteError> {
    let now = turn.now();
    let mut swept = turn.sql(|transaction| value::sweep(transaction, now))?;
    swept += idempotency::sweep(turn)?;
    swept += turn.sql(|transaction| approval::sweep(transaction, now))?;
    if let KeepRaw::For(time) = raw {
        swept += turn.forget_raw(now.saturating_sub(time))?;
    }
    Ok(swept)
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use ringfence::Fence;
    use ringfence::audit::AuditLine;
    use rusqlite::Connection;

    use super::*;
    use crate::line::Line;
    use crate::sqlite::claims::ClaimCache;
    use crate::sqlite::history::History;
    use crate::sqlite::turn::Start;
    use crate::sqlite::{log, schema};

    const SECOND: Duration = Duration::from_secs(1);

    fn at<T>(connection: &mut Connection, now: Duration, work: impl FnOnce(&mut Turn<'_>) -> T) -> T {
        let transaction = connection.transaction().unwrap();
        let last = log::claimed_frontier(&transaction, Path::new("x")).unwrap();
        let (log, mut claims) = (last.to_bytes(), ClaimCache::default());
        let start = Start { last: &last, log: &log, fence: Fence(0), claims: &mut claims, now };
        let mut turn = Turn::new(&transaction, Path::new("x"), start);
        let done = work(&mut turn);
        let end = turn.end().unwrap();
        History::read(&transaction).unwrap().keep(&transaction, end.update()).unwrap();
        transaction.commit().unwrap();
        done
    }

    fn kept(connection: &Connection) -> Vec<u64> {
        let mut select = connection.prepare("SELECT position FROM entry WHERE raw IS NOT NULL").unwrap();
        select.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
    }

    #[test]
    fn raw_outputs_go_when_their_time_is_up() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.db");
        schema::make(&path).unwrap();
        let mut connection = schema::writer(&path).unwrap();
        for second in 0..4 {
            let (record, raw) = (format!("{{\"at\":{second}}}"), Some("secret".to_owned()));
            let line = AuditLine {
                kind: "call",
                at: second * 1_000,
                run: None,
                tool: None,
                code: None,
                class: None,
                host: None,
                principal: None,
                record,
                raw,
                clean: None,
            };
            at(&mut connection, SECOND, |turn| turn.append(&[Line::new(line).unwrap()])).unwrap();
        }
        for (keep, now, swept, left) in [
            (KeepRaw::Always, SECOND * 1_000, 0, vec![0, 1, 2, 3]),
            (KeepRaw::Never, SECOND * 1_000, 0, vec![0, 1, 2, 3]),
            (KeepRaw::For(SECOND * 10), SECOND * 10, 0, vec![0, 1, 2, 3]),
            (KeepRaw::For(SECOND * 10), SECOND * 12, 2, vec![2, 3]),
            (KeepRaw::For(SECOND * 10), SECOND * 12, 0, vec![2, 3]),
            (KeepRaw::For(SECOND * 10), SECOND * 99, 2, vec![]),
        ] {
            assert_eq!(
                at(&mut connection, now, |turn| sweep(turn, keep)).unwrap(),
                swept,
                "{keep:?} {now:?}"
            );
            assert_eq!(kept(&connection), left);
        }
    }

    #[test]
    fn keys_and_requests_go_when_nobody_needs_them() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.db");
        schema::make(&path).unwrap();
        let mut connection = schema::writer(&path).unwrap();
        connection
            .execute_batch(
                "INSERT INTO idempotency (scope, key, digest, arguments, run, owner, instance, claimed_us, state,
                                          output, until_us)
                 VALUES ('s', 'done', '', '', '', '', '', 0, 'committed', '1', 5000000),
                        ('s', 'undone', '', '', '', '', '', 0, 'failed', NULL, 6000000),
                        ('s', 'doubt', '', '', '', '', '', 0, 'unknown', NULL, NULL),
                        ('s', 'runs', '', '', '', '', '', 0, 'executing', NULL, NULL);
                 INSERT INTO request (id, digest, run, body, state, asked_us, expires_us, decided)
                 VALUES ('open', 'a', '', '', 'open', 0, 5000000, ''),
                        ('taken', 'b', '', '', 'taken', 0, 9000000, '');
                 INSERT INTO notice (request, channel, attempts, next_us)
                 VALUES (1, 'hook', 0, 0)",
            )
            .unwrap();
        idempotency::fill_digests(&connection).unwrap();
        approval::fill_digests(&connection).unwrap();
        let month = SECOND * 30 * 24 * 3_600;
        for (now, swept, keys, requests) in [
            (SECOND * 4, 0, "done undone doubt runs", "open:open taken:taken"),
            (SECOND * 5, 1, "undone doubt runs", "open:expired taken:taken"),
            (SECOND * 6, 1, "doubt runs", "open:expired taken:taken"),
            (month + SECOND * 5, 1, "doubt runs", "taken:taken"),
            (month * 1_000, 1, "doubt runs", ""),
        ] {
            assert_eq!(
                at(&mut connection, now, |turn| sweep(turn, KeepRaw::Always)).unwrap(),
                swept,
                "{now:?}"
            );
            let text =
                |sql: &str| -> String { connection.query_row(sql, [], |row| row.get(0)).unwrap_or_default() };
            assert_eq!(text("SELECT group_concat(key, ' ' ORDER BY fence) FROM idempotency"), keys);
            assert_eq!(
                text("SELECT group_concat(id || ':' || state, ' ' ORDER BY ordinal) FROM request"),
                requests
            );
        }
        let left: u64 = connection.query_row("SELECT count(*) FROM notice", [], |row| row.get(0)).unwrap();
        assert_eq!(left, 0);
    }
}
