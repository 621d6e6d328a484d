//! Files of older versions are brought up to date, by one process, at once or not at all.

use std::path::Path;
use std::time::Duration;

use ringfence::audit::{Checkpoint, Frontier, Hash};
use ringfence_store::{Filter, SqliteError};
use rusqlite::Connection;

use super::*;

/// The tables of version 1, which never change again.
const VERSION_1: &str = include_str!("../../../src/sqlite/schema/1.sql");

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
    assert_eq!(version(&bench.path()), 2);
    append(&store, "new", 0..3).await;
    store.sign(&key(), ORIGIN).unwrap();
    let verified = store.verify(&log(), 0, None).unwrap();
    assert!(verified.is_intact() && verified.records == 103 && verified.agreeing == 2, "{verified:?}");
    assert_eq!(store.check().unwrap(), [""; 0]);
    let filter = Filter { tool: Some("pay".into()), ..Filter::default() };
    assert_eq!(store.newest(&filter, 200).unwrap().len(), 103);
    assert_eq!(ringfence::Store::get(&store, "space", "key").await.unwrap().as_deref(), Some("value"));
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
    assert_eq!(version(&bench.path()), 2);
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
    // The steps are small against the time that the migration takes, and go beyond its end.
    for step in 0..24 {
        let bench = Bench::new();
        std::fs::copy(template.path(), bench.path()).unwrap();
        let mut child = child::spawn("sqlite::migrate::migrates_until_it_is_killed", &bench.path());
        std::thread::sleep(Duration::from_millis(5 + 4 * step));
        child.kill().unwrap();
        child.wait().unwrap();
        match version(&bench.path()) {
            1 => old += 1,
            2 => new += 1,
            other => assert_eq!(other, 1),
        }
        let store = bench.open();
        assert_eq!(version(&bench.path()), 2);
        assert_eq!(store.check().unwrap(), [""; 0]);
        assert_eq!(store.size().unwrap(), 20_000);
    }
    assert!(old > 0 && new > 0, "{old} were killed before the end and {new} after it");
}
