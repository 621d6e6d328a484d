//! Files of older versions are brought up to date, by one process, at once or not at all.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ringfence::audit::{Checkpoint, Frontier, Hash, Progress};
use ringfence::{RequestFilter, Role};
use ringfence_store::{Filter, SqliteError};
use rusqlite::Connection;

use super::*;
use crate::it::wait::PATIENCE;

/// The tables of older versions, which never change again.
const VERSION_1: &str = include_str!("../../../src/sqlite/schema/1.sql");
const VERSION_2: &str = include_str!("../../../src/sqlite/schema/2.sql");

/// Makes a file as version 1 did, with entries and a checkpoint over them.
fn version_1(path: &Path, entries: u64) {
    let mut connection = Connection::open(path).unwrap();
    connection.pragma_update(None, "journal_mode", "WAL").unwrap();
    let transaction = connection.transaction().unwrap();
    transaction.execute_batch(VERSION_1).unwrap();
    transaction.pragma_update(None, "application_id", 0x5246_4e43).unwrap();
    transaction.pragma_update(None, "user_version", 1).unwrap();
    let mut frontier = Frontier::new();
    let mut nodes = Vec::new();
    for call in 0..entries {
        let line = AuditEntry::Approval(&step("run", call)).line().unwrap();
        let leaf = Hash::leaf(line.record.as_bytes());
        let mut insert = transaction
            .prepare_cached(
                "INSERT INTO entry VALUES (?1, ?2, 'approval', 'run', 'pay', NULL, ?3, ?4, NULL, NULL)",
            )
            .unwrap();
        insert.execute((call, line.at, leaf.as_bytes(), &line.record)).unwrap();
        frontier.append_with(leaf, |node| nodes.push(node));
    }
    for node in nodes {
        let mut insert = transaction.prepare_cached("INSERT INTO node VALUES (?1, ?2, ?3)").unwrap();
        insert.execute((node.id.level(), node.id.index(), node.hash.as_bytes())).unwrap();
    }
    transaction.execute("UPDATE frontier SET bytes = ?1", [frontier.to_bytes()]).unwrap();
    let note = Checkpoint::new(ORIGIN, &frontier).unwrap().sign(&key()).unwrap();
    transaction
        .execute("INSERT INTO checkpoint (size, note) VALUES (?1, ?2)", (entries, note.to_string()))
        .unwrap();
    transaction.execute_batch("INSERT INTO value VALUES (1, 'space', 'key', 'value', 8, NULL)").unwrap();
    transaction.commit().unwrap();
    drop(connection);
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(path, private).unwrap();
}

fn version(path: &Path) -> i64 {
    Connection::open(path).unwrap().query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap()
}

#[tokio::test]
async fn keeps_everything_of_an_older_version() {
    let bench = Bench::new();
    version_1(&bench.path(), 100);
    assert!(matches!(SqliteStore::open_read_only(&bench.path()), Err(SqliteError::Older { found: 1, .. })));
    let store = bench.open();
    assert_eq!(version(&bench.path()), 5);
    append(&store, "new", 0..3).await;
    store.sign(&key(), ORIGIN).unwrap();
    let verified = store.verify(&log(), 0, None, &Progress::default()).unwrap();
    assert!(verified.is_intact() && verified.records == 103 && verified.agreeing == 2, "{verified:?}");
    assert_eq!(store.check().unwrap(), [""; 0]);
    let filter = Filter { tool: Some("pay".into()), ..Filter::default() };
    assert_eq!(store.newest(&filter, 200).unwrap().len(), 103);
    assert_eq!(ringfence::Store::get(&store, "space", "key").await.unwrap().as_deref(), Some("value"));
}

/// Makes a file as version 2 did, from the entries that a store of today has.
fn version_2(path: &Path, today: &Path) {
    let connection = Connection::open(path).unwrap();
    connection.pragma_update(None, "journal_mode", "WAL").unwrap();
    connection.execute_batch(VERSION_1).unwrap();
    connection.execute_batch(VERSION_2).unwrap();
    connection.pragma_update(None, "application_id", 0x5246_4e43).unwrap();
    connection.pragma_update(None, "user_version", 2).unwrap();
    connection.execute("ATTACH ?1 AS today", [today.to_str().unwrap()]).unwrap();
    connection
        .execute_batch(
            "INSERT INTO entry
                 SELECT position, at_ms, kind, run, tool, code, leaf, record, raw, clean FROM today.entry;
             INSERT INTO node SELECT * FROM today.node;
             UPDATE frontier SET bytes = (SELECT bytes FROM today.frontier);
             INSERT INTO checkpoint SELECT * FROM today.checkpoint;
             INSERT INTO request SELECT ordinal, id, digest, run, personality, body, state, asked_us, expires_us,
                 decided, replaces, waiter, waiting FROM today.request;
             INSERT INTO approver SELECT name, token, added_us, revoked_us FROM today.approver;",
        )
        .unwrap();
    drop(connection);
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(path, private).unwrap();
}

#[tokio::test]
async fn files_old_entries_under_what_they_are_found_by_today() {
    let (today, bench) = (Bench::new(), Bench::new());
    let store = today.open();
    crate::it::sample::call(Arc::new(store.clone())).await;
    crate::it::sample::variety(&store).await;
    append(&store, "run", 0..2_100).await;
    let token = ringfence::ApproverToken::new("ada").hash();
    ringfence::ApprovalStore::add_approver(&store, &"ada".parse().unwrap(), token, Role::Approver)
        .await
        .unwrap();
    let asked = crate::it::conformance::request(serde_json::json!(1), ringfence::policy::Decision::Ask);
    ringfence::ApprovalStore::file(&store, &asked, Duration::from_hours(1)).await.unwrap();
    store.sign(&key(), ORIGIN).unwrap();
    let all = store.entries(&Filter::default(), 0, usize::MAX).unwrap();
    version_2(&bench.path(), &today.path());

    let store = bench.open();
    assert_eq!(version(&bench.path()), 5);
    assert_eq!(store.entries(&Filter::default(), 0, usize::MAX).unwrap(), all);
    let verified = store.verify(&log(), 0, None, &Progress::default()).unwrap();
    assert!(verified.is_intact() && verified.records == 2_113, "{verified:?}");
    assert_eq!(store.check().unwrap(), [""; 0]);
    let people = ringfence::ApprovalStore::approvers(&store).await.unwrap();
    assert_eq!((people.len(), people[0].role), (1, Role::Approver));
    let of_tool = RequestFilter { tool: Some("pay".into()), ..RequestFilter::default() };
    assert_eq!(ringfence::ApprovalStore::requests(&store, &of_tool).await.unwrap().len(), 1);
    let text = |text: &str| Some(text.to_owned());
    #[rustfmt::skip]
    let cases = [
        (Filter { class: text("read"), ..Filter::default() },                             vec![1]),
        (Filter { host: text("api.example"), ..Filter::default() },                       vec![2]),
        (Filter { principal: text("bob"), ..Filter::default() },                          vec![7, 10]),
        (Filter { since_ms: Some(1_994), until_ms: Some(1_995), ..Filter::default() },    vec![8, 1_006]),
    ];
    for (filter, expected) in cases {
        let found = store.newest(&filter, 100).unwrap();
        assert_eq!(found.iter().map(|stored| stored.index).collect::<Vec<_>>(), expected, "{filter:?}");
    }
}

#[test]
fn does_not_change_tables_under_another_process() {
    let bench = Bench::new();
    version_1(&bench.path(), 10);
    // What a process of version 1 would hold if it shared.
    let lock = std::fs::File::create(bench.directory.path().join("ringfence.db.lock")).unwrap();
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    lock.set_permissions(private).unwrap();
    lock.lock_shared().unwrap();
    let error = SqliteStore::open(&bench.path()).unwrap_err().to_string();
    assert!(
        error.starts_with("another process holds the lock `") && error.ends_with("ringfence.db.lock`"),
        "{error}"
    );
    assert_eq!(version(&bench.path()), 1);
    lock.unlock().unwrap();
    bench.open();
    assert_eq!(version(&bench.path()), 5);
}

/// Not a test: brings the file up to date, until it is killed.
#[test]
#[ignore = "run by the test below as a process of its own"]
fn migrates_until_it_is_killed() {
    let Some(path) = child::path() else { return };
    drop(SqliteStore::open(&path).unwrap());
}

#[test]
fn a_migration_that_is_killed_leaves_nothing_half_made() {
    let (mut old, mut new) = (0, 0);
    let template = Bench::new();
    version_1(&template.path(), 20_000);
    let started = std::time::Instant::now();
    let bench = Bench::new();
    std::fs::copy(template.path(), bench.path()).unwrap();
    child::spawn("it::sqlite::migrate::migrates_until_it_is_killed", &bench.path()).wait().unwrap();
    let whole = started.elapsed();
    // The steps are small against the time that the migration takes, and go beyond its end.
    let mut after: Vec<_> = (1..=24).rev().map(|step| whole * step / 12).collect();
    while let Some(pause) = after.pop() {
        let bench = Bench::new();
        std::fs::copy(template.path(), bench.path()).unwrap();
        let mut child = child::spawn("it::sqlite::migrate::migrates_until_it_is_killed", &bench.path());
        std::thread::sleep(pause);
        child.kill().unwrap();
        child.wait().unwrap();
        match version(&bench.path()) {
            1 => old += 1,
            5 => new += 1,
            other => assert_eq!(other, 1),
        }
        let store = bench.open();
        assert_eq!(version(&bench.path()), 5);
        assert_eq!(store.check().unwrap(), [""; 0]);
        assert_eq!(store.size().unwrap(), 20_000);
        // A machine that became faster or slower after the first time may need other steps than those.
        if after.is_empty() && pause > Duration::from_millis(1) && pause < PATIENCE {
            match (old, new) {
                (0, _) => after.push(pause / 2),
                (_, 0) => after.push(pause * 2),
                _ => {}
            }
        }
    }
    assert!(old > 0 && new > 0, "{old} were killed before the end and {new} after it");
}
