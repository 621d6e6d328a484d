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
    bench.sql("UPDATE frontier SET fence = 9223372036854775807");
    assert!(SqliteStore::open(&bench.path()).is_err());
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

/// Writes a journal that brings the first page of a store back to what it is now, as a command could that has seen one like it.
fn plant(path: &Path) {
    let page = std::fs::read(path).unwrap().get(..4096).unwrap().to_vec();
    let word = |number: u32| number.to_be_bytes();
    // The magic number, one page, the seed of the sums, one page in the database before, sectors of 512 and pages of 4,096 bytes.
    let mut journal = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7].to_vec();
    journal.extend([word(1), word(7), word(1), word(512), word(4096)].concat());
    journal.resize(512, 0);
    journal.extend(word(1));
    let sum = (1..).map(|step| 4096 - 200 * step).take_while(|at| *at > 0);
    let sum = sum.fold(7_u32, |sum, at| sum.wrapping_add(u32::from(page[usize::try_from(at).unwrap()])));
    journal.extend(&page);
    journal.extend(word(sum));
    std::fs::write(beside(path, "-journal"), journal).unwrap();
}

#[tokio::test]
async fn a_journal_that_somebody_put_there_is_not_rolled_back() {
    let bench = Bench::new();
    pay(&bench.open(), "k").await.unwrap();
    let journal = beside(&bench.path(), "-journal");
    assert_eq!(std::fs::metadata(&journal).unwrap().len(), 0, "an empty one is always there");
    let before = std::fs::read(bench.path()).unwrap();
    plant(&bench.path());
    for opened in [SqliteStore::open(&bench.path()), SqliteStore::open_read_only(&bench.path())] {
        assert!(matches!(opened, Err(SqliteError::Journal { .. })), "{opened:?}");
    }
    assert_eq!(std::fs::read(bench.path()).unwrap(), before);
    std::fs::remove_file(&journal).unwrap();
    assert!(pay(&bench.open(), "k").await.is_err(), "the key was used");
    assert!(journal.exists());
}

#[tokio::test]
async fn the_files_of_a_store_that_another_program_removed_are_made_again() {
    let bench = Bench::new();
    pay(&bench.open(), "k").await.unwrap();
    let removed = ["-wal", "-shm", "-journal"].map(|suffix| beside(&bench.path(), suffix));
    removed.iter().for_each(|path| std::fs::remove_file(path).unwrap());
    ringfence_store::make_companions(&bench.path()).unwrap();
    assert!(removed.iter().all(|path| std::fs::metadata(path).unwrap().len() == 0));
    assert!(pay(&bench.open(), "k").await.is_err(), "the key was used");

    // Nothing is made beside what is no store.
    let other = bench.directory.path().join("other.db");
    std::fs::write(&other, "").unwrap();
    assert!(!ringfence_store::make_companions(&other).unwrap());
    assert!(!beside(&other, "-wal").exists());
    // A store that came back from a backup has its mark, and nothing else yet.
    let restored = Bench::new();
    for suffix in ["", ".mark"] {
        std::fs::copy(beside(&bench.path(), suffix), beside(&restored.path(), suffix)).unwrap();
    }
    assert!(ringfence_store::make_companions(&restored.path()).unwrap());
    assert!(["-wal", "-shm", "-journal"].iter().all(|suffix| beside(&restored.path(), suffix).exists()));
}
