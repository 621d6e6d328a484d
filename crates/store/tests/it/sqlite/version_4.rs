//! Stores of version 4 go on, and none of their keys is forgotten.

use std::path::Path;
use std::time::Duration;

use ringfence::{Claim, Fence, IdempotencyStore as _, Settled, Settlement};
use ringfence_store::SqliteError;
use rusqlite::Connection;

use super::flip::{claim, pay};
use super::history::granted;
use super::*;
use crate::it::wait::PATIENCE;

const FILLED: &str = include_str!("../../../src/sqlite/schema/4_filled.sql");
const PAST_CHAIN: &str = include_str!("../../../src/sqlite/schema/past_chain.sql");

pub(super) fn mark(path: &Path) -> PathBuf {
    PathBuf::from(format!("{}.mark", path.display()))
}

fn version(path: &Path) -> i64 {
    Connection::open(path).unwrap().query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap()
}

/// The digest of a history as version 4 has it, without the last fence.
fn digest_version_4(store: &[u8], sequence: i64, chain: &[u8]) -> i64 {
    let mut bytes = Vec::new();
    for (kind, column) in
        [(1_u8, b"history".as_slice()), (3, store), (2, &sequence.to_le_bytes()), (3, chain)]
    {
        bytes.push(kind);
        bytes.extend_from_slice(&(column.len() as u64).to_le_bytes());
        bytes.extend_from_slice(column);
    }
    i64::from_le_bytes(ringfence::audit::Hash::of(&bytes).as_bytes()[..8].try_into().unwrap())
}

/// Makes a store of version 4 of one that has seen fewer than 64 transactions: chains in rows of their own, keys counted by triggers,
/// fences by SQLite.
fn make_version_4(path: &Path) {
    let mut connection = Connection::open(path).unwrap();
    let transaction = connection.transaction().unwrap();
    transaction.execute_batch(PAST_CHAIN).unwrap();
    let recent: Vec<u8> = transaction.query_row("SELECT recent FROM frontier", [], |row| row.get(0)).unwrap();
    for (sequence, chain) in recent.chunks(8).enumerate().skip(1) {
        let chain = i64::from_le_bytes(chain.try_into().unwrap());
        let sequence = i64::try_from(sequence).unwrap();
        transaction.execute("INSERT INTO past_chain VALUES (?1, ?1, ?2)", (sequence, chain)).unwrap();
    }
    let triggers =
        FILLED.split_inclusive("END;").filter(|sql| sql.contains("AFTER") && sql.contains("ON idempotency"));
    assert_eq!(triggers.clone().count(), 3);
    transaction.execute_batch(&triggers.collect::<String>()).unwrap();
    let (store, sequence, chain) = transaction
        .query_row("SELECT store, sequence, chain FROM frontier", [], |row| {
            Ok((row.get::<_, Vec<u8>>(0)?, row.get::<_, i64>(1)?, row.get::<_, Vec<u8>>(2)?))
        })
        .unwrap();
    let digest = digest_version_4(&store, sequence, &chain);
    transaction.execute("UPDATE frontier SET digest = ?1", [digest]).unwrap();
    transaction
        .execute_batch(
            "UPDATE sqlite_sequence SET seq = (SELECT fence FROM frontier) WHERE name = 'idempotency';
             ALTER TABLE frontier DROP COLUMN recent; ALTER TABLE frontier DROP COLUMN fence; DROP TABLE chain_block;
             PRAGMA user_version = 4;",
        )
        .unwrap();
    transaction.commit().unwrap();
}

#[tokio::test]
async fn a_store_of_version_4_keeps_its_keys_and_its_history() {
    for is_mark_older in [false, true] {
        let bench = Bench::new();
        pay(&bench.open(), "a1").await.unwrap();
        let older = std::fs::read(mark(&bench.path())).unwrap();
        pay(&bench.open(), "a2").await.unwrap();
        make_version_4(&bench.path());
        if is_mark_older {
            std::fs::write(mark(&bench.path()), older).unwrap();
        }
        assert!(matches!(
            SqliteStore::open_read_only(&bench.path()),
            Err(SqliteError::Older { found: 4, .. })
        ));
        let store = bench.open();
        assert_eq!(version(&bench.path()), 5);
        for key in ["a1", "a2"] {
            assert!(pay(&store, key).await.unwrap_err().contains("Replay"));
        }
        // Their fences are not handed out again.
        assert_eq!(granted(&store, "a3").await, Fence(3));
        drop(store);
        assert_eq!(bench.open().check().unwrap(), [""; 0]);
        assert!(SqliteStore::find_gap(&bench.path()).unwrap().is_none());
    }
}

#[tokio::test]
async fn a_store_of_version_4_without_remembered_chains_goes_on() {
    let bench = Bench::new();
    pay(&bench.open(), "a1").await.unwrap();
    make_version_4(&bench.path());
    bench.sql("DROP TABLE past_chain");
    let (first, second) = (bench.open(), bench.open());
    pay(&first, "a2").await.unwrap();
    pay(&second, "a3").await.unwrap();
    pay(&first, "a4").await.unwrap();
}

#[tokio::test]
async fn a_store_of_version_4_that_went_back_is_refused_before_it_is_written() {
    let (bench, other) = (Bench::new(), Bench::new());
    pay(&bench.open(), "a1").await.unwrap();
    std::fs::copy(bench.path(), other.path()).unwrap();
    pay(&bench.open(), "a2").await.unwrap();
    make_version_4(&other.path());
    std::fs::copy(other.path(), bench.path()).unwrap();
    std::fs::write(format!("{}-wal", bench.path().display()), "").unwrap();
    let before = std::fs::read(bench.path()).unwrap();
    let error = SqliteStore::open(&bench.path()).unwrap_err();
    assert!(matches!(error, SqliteError::WentBack { missing: 1.., .. }), "{error}");
    // Looking writes nothing either.
    let gap = SqliteStore::find_gap(&bench.path()).unwrap().unwrap();
    assert!(gap.transactions > 0 && gap.keys == 1, "{gap:?}");
    assert_eq!(std::fs::metadata(format!("{}-wal", bench.path().display())).unwrap().len(), 0);
    assert!(before == std::fs::read(bench.path()).unwrap(), "the store was written");
    // A person goes on with it.
    let gap = SqliteStore::accept_gap(&bench.path(), "ada", "looked").unwrap().unwrap();
    assert!(gap.transactions > 0 && gap.is_counted, "{gap:?}");
    let store = bench.open();
    assert_eq!(version(&bench.path()), 5);
    assert!(pay(&store, "a1").await.unwrap_err().contains("Replay"));
}

#[tokio::test]
async fn a_store_of_version_4_that_is_refused_is_not_moved() {
    // Another history of the same store, and longer.
    let (bench, other) = (Bench::new(), Bench::new());
    pay(&bench.open(), "a1").await.unwrap();
    for suffix in ["", ".mark"] {
        let name = |bench: &Bench| format!("{}{suffix}", bench.path().display());
        std::fs::copy(name(&bench), name(&other)).unwrap();
    }
    pay(&bench.open(), "a2").await.unwrap();
    for key in ["b2", "b3", "b4"] {
        pay(&other.open(), key).await.unwrap();
    }
    make_version_4(&other.path());
    std::fs::copy(other.path(), bench.path()).unwrap();
    std::fs::write(format!("{}-wal", bench.path().display()), "").unwrap();
    assert!(matches!(SqliteStore::open(&bench.path()), Err(SqliteError::WentBack { .. })));
    assert_eq!(version(&bench.path()), 4);
    // A key that is missing.
    let bench = Bench::new();
    pay(&bench.open(), "a1").await.unwrap();
    make_version_4(&bench.path());
    bench.sql("DROP TRIGGER idempotency_digest_removed; DELETE FROM idempotency");
    let error = SqliteStore::open(&bench.path()).unwrap_err().to_string();
    assert!(error.contains("`idempotency` has 0 rows and 1 were written"), "{error}");
    assert_eq!(version(&bench.path()), 4);
}

#[tokio::test]
async fn a_last_fence_of_version_4_that_cannot_be_true_is_for_a_person_to_settle() {
    for set in ["seq = 9223372036854775807", "seq = -1", "seq = 'x'"] {
        let bench = Bench::new();
        pay(&bench.open(), "a1").await.unwrap();
        make_version_4(&bench.path());
        bench.sql(&format!("UPDATE sqlite_sequence SET {set} WHERE name = 'idempotency'"));
        let error = SqliteStore::open(&bench.path()).unwrap_err().to_string();
        assert!(error.contains("no store has handed out so many idempotency keys"), "{set}: {error}");
        assert_eq!(version(&bench.path()), 4);
        SqliteStore::accept_gap(&bench.path(), "ada", "looked").unwrap().unwrap();
        let store = bench.open();
        assert!(pay(&store, "a1").await.unwrap_err().contains("Replay"));
        assert_eq!(granted(&store, "a2").await, Fence(2), "{set}");
    }
}

#[tokio::test]
async fn the_last_fence_of_a_damaged_history_is_not_handed_out_again() {
    for is_version_4 in [false, true] {
        let bench = Bench::new();
        let store = bench.open();
        let fence = granted(&store, "a1").await;
        // No key is left that has it.
        assert_eq!(store.settle(&claim("a1").name, fence, Settlement::Failed).await.unwrap(), Settled::Kept);
        drop(store);
        let connection = Connection::open(bench.path()).unwrap();
        let remove =
            "UPDATE frontier SET idempotency_rows = 0, idempotency_digests = 0; DELETE FROM idempotency";
        connection.execute_batch(remove).unwrap();
        drop(connection);
        if is_version_4 {
            make_version_4(&bench.path());
        }
        bench.sql("UPDATE frontier SET chain = zeroblob(32)");
        std::fs::remove_file(mark(&bench.path())).unwrap();
        assert!(SqliteStore::open(&bench.path()).is_err());
        SqliteStore::accept_gap(&bench.path(), "ada", "looked").unwrap().unwrap();
        assert_eq!(granted(&bench.open(), "a2").await, Fence(2));
    }
}

#[tokio::test]
async fn several_who_open_a_store_of_version_4_at_once_move_it_once() {
    for _ in 0..10 {
        let bench = Bench::new();
        pay(&bench.open(), "a1").await.unwrap();
        make_version_4(&bench.path());
        let open = |_| {
            let path = bench.path();
            std::thread::spawn(move || SqliteStore::open(&path).unwrap())
        };
        let opening: Vec<_> = (0..8).map(open).collect();
        for store in opening.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>() {
            assert!(pay(&store, "a1").await.unwrap_err().contains("Replay"));
        }
    }
}

/// Makes a store of version 4 that remembers many chains, of transactions that it has not seen.
fn make_long_version_4(path: &Path, length: i64) {
    make_version_4(path);
    let mut connection = Connection::open(path).unwrap();
    let transaction = connection.transaction().unwrap();
    let (store, sequence): (Vec<u8>, i64) = transaction
        .query_row("SELECT store, sequence FROM frontier", [], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap();
    let chain = [7_u8; 32];
    let short = i64::from_le_bytes([7; 8]);
    let mut insert = transaction.prepare("INSERT INTO past_chain VALUES (?1, ?1, ?2)").unwrap();
    for later in sequence + 1..=length {
        insert.execute((later, if later == length { short } else { later })).unwrap();
    }
    drop(insert);
    let digest = digest_version_4(&store, length, &chain);
    transaction
        .execute("UPDATE frontier SET sequence = ?1, chain = ?2, digest = ?3", (length, chain, digest))
        .unwrap();
    transaction.commit().unwrap();
}

/// Not a test: moves the store to this version, until it is killed.
#[test]
#[ignore = "run by the test below as a process of its own"]
fn moves_version_4_until_it_is_killed() {
    let Some(path) = child::path() else { return };
    drop(SqliteStore::open(&path).unwrap());
}

#[tokio::test]
async fn no_key_of_version_4_is_forgotten_when_the_move_is_killed() {
    const CHILD: &str = "it::sqlite::version_4::moves_version_4_until_it_is_killed";
    let template = Bench::new();
    let store = template.open();
    for key in 0..20 {
        pay(&store, &format!("a{key}")).await.unwrap();
    }
    let doubt = granted(&store, "doubt").await;
    assert_eq!(store.settle(&claim("doubt").name, doubt, Settlement::Unknown).await.unwrap(), Settled::Kept);
    drop(store);
    make_long_version_4(&template.path(), 60_000);
    let copy = || {
        let bench = Bench::new();
        for suffix in ["", ".mark"] {
            let name = |bench: &Bench| format!("{}{suffix}", bench.path().display());
            std::fs::copy(name(&template), name(&bench)).unwrap();
        }
        bench
    };
    let bench = copy();
    let started = std::time::Instant::now();
    child::spawn(CHILD, &bench.path()).wait().unwrap();
    let whole = started.elapsed();
    let (mut old, mut new) = (0, 0);
    let mut after: Vec<_> = (1..=20).rev().map(|step| whole * step / 14).collect();
    while let Some(pause) = after.pop() {
        let bench = copy();
        let mut child = child::spawn(CHILD, &bench.path());
        std::thread::sleep(pause);
        child.kill().unwrap();
        child.wait().unwrap();
        match version(&bench.path()) {
            4 => old += 1,
            5 => new += 1,
            other => panic!("version {other}"),
        }
        let store = bench.open();
        for key in 0..20 {
            assert!(pay(&store, &format!("a{key}")).await.unwrap_err().contains("Replay"), "{key}");
        }
        assert_eq!(store.claim(&claim("doubt")).await.unwrap(), Claim::Unknown(doubt));
        assert_eq!(granted(&store, "new").await, Fence(doubt.0 + 1));
        assert_eq!(store.check().unwrap(), [""; 0]);
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
