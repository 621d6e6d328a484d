//! The files beside a store: they stay, they are all known by name, and none of them is believed on its own.

use std::path::Path;

use ringfence::policy::{STORE_SUFFIXES, StoreFile};
use ringfence_store::SqliteError;

use super::flip::pay;
use super::*;

fn beside(path: &Path, suffix: &str) -> PathBuf {
    PathBuf::from(format!("{}{suffix}", path.display()))
}

#[tokio::test]
async fn the_log_of_a_store_stays_when_it_is_closed_and_every_file_is_known() {
    use std::os::unix::fs::MetadataExt as _;
    let bench = Bench::new();
    drop(bench.open());
    let inode = |suffix: &str| std::fs::metadata(beside(&bench.path(), suffix)).unwrap().ino();
    let before = ["", "-wal", "-shm", ".lock", ".mark"].map(inode);
    let store = bench.open();
    pay(&store, "k").await.unwrap();
    for found in std::fs::read_dir(bench.directory.path()).unwrap() {
        let path = found.unwrap().path();
        let owner = StoreFile::named(&path).map(|file| file.store);
        assert!(path == bench.path() || owner.as_ref() == Some(&bench.path()), "{}", path.display());
    }
    drop(store);
    drop(bench.read());
    assert_eq!(before, ["", "-wal", "-shm", ".lock", ".mark"].map(inode));
    assert!(["", "-wal", "-shm", ".lock", ".mark"].iter().all(|suffix| STORE_SUFFIXES.contains(suffix)));
}

/// Copies the store and its mark, as somebody does by hand.
fn copy(from: &Path, to: &Path, suffixes: &[&str]) {
    for suffix in suffixes {
        std::fs::copy(beside(from, suffix), beside(to, suffix)).unwrap();
    }
}

#[tokio::test]
async fn a_longer_fork_is_not_taken_for_the_future_of_a_store() {
    let (bench, other) = (Bench::new(), Bench::new());
    pay(&bench.open(), "a1").await.unwrap();
    copy(&bench.path(), &other.path(), &["", ".mark"]);
    pay(&bench.open(), "PAY").await.unwrap();
    for key in ["x1", "x2", "x3"] {
        pay(&other.open(), key).await.unwrap();
    }
    copy(&other.path(), &bench.path(), &[""]);
    assert!(matches!(SqliteStore::open(&bench.path()), Err(SqliteError::WentBack { .. })));
    let gap = SqliteStore::find_gap(&bench.path()).unwrap().unwrap();
    assert!(matches!(gap.why, SqliteError::WentBack { .. }) && gap.is_counted, "{gap:?}");
}

#[tokio::test]
async fn a_store_may_be_ahead_of_its_mark() {
    // Killed between the commit and the mark, or a loss of power: the mark is older, and of the same history.
    let bench = Bench::new();
    pay(&bench.open(), "a1").await.unwrap();
    let mark = std::fs::read(beside(&bench.path(), ".mark")).unwrap();
    for key in ["a2", "a3", "a4"] {
        pay(&bench.open(), key).await.unwrap();
    }
    std::fs::write(beside(&bench.path(), ".mark"), mark).unwrap();
    pay(&bench.open(), "a5").await.unwrap();
    assert!(SqliteStore::find_gap(&bench.path()).unwrap().is_none());
}

#[tokio::test]
async fn a_store_from_before_chains_were_remembered_goes_on() {
    let bench = Bench::new();
    pay(&bench.open(), "a1").await.unwrap();
    bench.sql("DROP TABLE past_chain");
    let (first, second) = (bench.open(), bench.open());
    pay(&first, "a2").await.unwrap();
    pay(&second, "a3").await.unwrap();
    pay(&first, "a4").await.unwrap();
}

/// Writes numbers that cannot be true into both halves of a mark, with digests that fit.
fn forge(path: &Path, place: usize, number: u64) {
    let mut bytes = std::fs::read(path).unwrap();
    for slot in [0, 4_096] {
        bytes[slot + place..slot + place + 8].copy_from_slice(&number.to_le_bytes());
        let digest = ringfence::audit::Hash::of(&bytes[slot..slot + 144]);
        bytes[slot + 144..slot + 176].copy_from_slice(digest.as_bytes());
    }
    std::fs::write(path, bytes).unwrap();
}

#[tokio::test]
async fn a_mark_that_cannot_be_true_is_damaged_and_the_store_settles_it() {
    // Where the sequence and the fence are.
    for (place, number) in [(24, u64::MAX), (72, u64::MAX), (72, i64::MAX.cast_unsigned())] {
        let bench = Bench::new();
        pay(&bench.open(), "a1").await.unwrap();
        forge(&beside(&bench.path(), ".mark"), place, number);
        assert!(matches!(SqliteStore::open(&bench.path()), Err(SqliteError::MarkDamaged { .. })), "{number}");
        let gap = SqliteStore::accept_gap(&bench.path(), "ada", "looked").unwrap().unwrap();
        assert!(!gap.is_counted && gap.counted(gap.keys).is_none(), "{gap:?}");
        pay(&bench.open(), "a2").await.unwrap();
        assert!(pay(&bench.open(), "a1").await.unwrap_err().contains("Replay"));
    }
}

#[tokio::test]
async fn a_fence_that_cannot_be_true_is_settled_by_the_keys() {
    let bench = Bench::new();
    pay(&bench.open(), "a1").await.unwrap();
    bench.sql("UPDATE sqlite_sequence SET seq = 9223372036854775807 WHERE name = 'idempotency'");
    SqliteStore::accept_gap(&bench.path(), "ada", "looked").unwrap().unwrap();
    pay(&bench.open(), "a2").await.unwrap();
}

#[tokio::test]
async fn a_refused_store_is_not_written_when_it_is_closed() {
    let bench = Bench::new();
    let store = bench.open();
    pay(&store, "a1").await.unwrap();
    let mark = std::fs::read(beside(&bench.path(), ".mark")).unwrap();
    pay(&store, "a2").await.unwrap();
    // What a command could do that reached them: a log of nothing whose index stays, and an old mark.
    let log = beside(&bench.path(), "-wal");
    let size = std::fs::metadata(&log).unwrap().len();
    std::fs::write(&log, vec![0; usize::try_from(size).unwrap()]).unwrap();
    std::fs::write(beside(&bench.path(), ".mark"), mark).unwrap();
    assert!(pay(&store, "a3").await.is_err());
    let before = std::fs::read(bench.path()).unwrap();
    drop(store);
    assert!(before == std::fs::read(bench.path()).unwrap(), "the database was written");
}

#[tokio::test]
async fn a_store_with_several_names_says_so() {
    let bench = Bench::new();
    drop(bench.open());
    for suffix in ["", ".mark"] {
        let second = bench.directory.path().join("second");
        std::fs::hard_link(beside(&bench.path(), suffix), &second).unwrap();
        let error = SqliteStore::open(&bench.path()).unwrap_err().to_string();
        assert!(error.contains(&format!("ringfence.db{suffix}` has several names")), "{error}");
        std::fs::remove_file(second).unwrap();
    }
    bench.open();
}
