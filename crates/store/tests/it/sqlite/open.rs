//! Which files are opened, by whom, and how they are copied.

use ringfence::audit::Progress;
use std::fs::{Permissions, set_permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::sync::Arc;

use ringfence::{Call, Registry, Run, Store as _, tool};
use ringfence_store::{Database, KeepRaw, SqliteError};

use super::*;

fn mode(path: &std::path::Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn every_file_is_private() {
    let bench = Bench::new();
    let store = bench.open();
    append(&store, "run", 0..1).await;
    let files: Vec<_> =
        std::fs::read_dir(bench.directory.path()).unwrap().map(|file| file.unwrap().path()).collect();
    // The database, its log, its index, its empty journal, its mark, the lock, and the folder of those that have it open.
    assert_eq!(files.len(), 7, "{files:?}");
    let private = |file: &std::path::PathBuf| mode(file) == if file.is_dir() { 0o700 } else { 0o600 };
    assert!(files.iter().all(private), "{files:?}");
}

#[tokio::test]
async fn refuses_a_folder_in_which_others_can_put_files_beside_the_database() {
    for (mode, admitted) in [(0o700, true), (0o755, true), (0o770, false), (0o777, false), (0o1777, false)] {
        let bench = Bench::new();
        drop(bench.open());
        set_permissions(bench.directory.path(), Permissions::from_mode(mode)).unwrap();
        for opened in [SqliteStore::open(&bench.path()), SqliteStore::open_read_only(&bench.path())] {
            assert_eq!(opened.is_ok(), admitted, "{mode:o}");
            let Err(error) = opened else { continue };
            assert!(error.to_string().starts_with("other users may write to the folder"), "{error}");
        }
    }
}

#[tokio::test]
async fn refuses_what_others_reach() {
    for (mode, admitted) in [(0o600, true), (0o640, false), (0o604, false), (0o620, false), (0o602, false)] {
        let bench = Bench::new();
        drop(bench.open());
        set_permissions(bench.path(), Permissions::from_mode(mode)).unwrap();
        for opened in [SqliteStore::open(&bench.path()), SqliteStore::open_read_only(&bench.path())] {
            assert_eq!(opened.is_ok(), admitted, "{mode:o}");
            let Err(error) = opened else { continue };
            assert!(error.to_string().ends_with("must have mode 600"), "{error}");
        }
    }
    let bench = Bench::new();
    drop(bench.open());
    let link = bench.directory.path().join("link.db");
    symlink(bench.path(), &link).unwrap();
    assert!(matches!(SqliteStore::open(&link), Err(SqliteError::Permissions { .. })));
    let folder = bench.directory.path().join("folder");
    std::fs::create_dir(&folder).unwrap();
    assert!(matches!(SqliteStore::open(&folder), Err(SqliteError::Permissions { .. })));
}

#[test]
fn does_not_write_to_a_file_of_another_user() {
    let bench = Bench::new();
    drop(bench.open());
    if std::os::unix::fs::chown(bench.path(), Some(12_345), None).is_err() {
        println!("not tried: only root can give a file away");
        return;
    }
    assert!(matches!(SqliteStore::open(&bench.path()), Err(SqliteError::Permissions { .. })));
    assert_eq!(bench.read().size().unwrap(), 0);
}

#[tokio::test]
async fn refuses_files_that_are_not_ours() {
    #[rustfmt::skip]
    let cases = [
        ("PRAGMA user_version = 6",                    "has version 6, and this program knows versions up to 5"),
        ("PRAGMA application_id = 7",                  "is not a database of ringfence"),
        ("PRAGMA user_version = 0",                    "is not a database of ringfence"),
        ("PRAGMA user_version = -1",                   "is not a database of ringfence"),
    ];
    for (sql, end) in cases {
        let bench = Bench::new();
        drop(bench.open());
        bench.sql(sql);
        for opened in [SqliteStore::open(&bench.path()), SqliteStore::open_read_only(&bench.path())] {
            let error = opened.unwrap_err().to_string();
            assert!(error.ends_with(end), "{sql}: {error}");
        }
    }
    let bench = Bench::new();
    bench.sql("CREATE TABLE theirs (x)");
    set_permissions(bench.path(), Permissions::from_mode(0o600)).unwrap();
    assert!(matches!(SqliteStore::open(&bench.path()), Err(SqliteError::Foreign { .. })));
    std::fs::write(bench.path(), "not a database, but long enough to look at it").unwrap();
    assert!(matches!(SqliteStore::open(&bench.path()), Err(SqliteError::Foreign { .. })));
    let nothing = bench.directory.path().join("nothing.db");
    assert!(matches!(SqliteStore::open_read_only(&nothing), Err(SqliteError::File { .. })));
}

#[tokio::test]
async fn readers_write_nothing() {
    let bench = Bench::new();
    let store = bench.open();
    let reader = bench.read();
    append(&store, "run", 0..3).await;
    store.set("space", "key", "value", None).await.unwrap();
    assert_eq!(reader.size().unwrap(), 3);
    assert_eq!(reader.get("space", "key").await.unwrap().as_deref(), Some("value"));
    assert!(reader.verify(&log(), u64::MAX, None, &Progress::default()).unwrap().is_intact());
    assert!(matches!(reader.sign(&key(), ORIGIN), Err(SqliteError::ReadOnly { .. })));
    assert!(reader.set("space", "key", "other", None).await.is_err());
    assert!(reader.append(&[AuditEntry::Approval(&step("run", 4))]).await.is_err());
    assert_eq!(reader.instance(), None);
}

#[tokio::test]
async fn several_writers_share_one_log() {
    let bench = Bench::new();
    let (first, second) = (bench.open(), bench.open());
    for call in 0..20 {
        append(if call % 3 == 0 { &first } else { &second }, "run", call..call + 1).await;
    }
    second.set("space", "key", "value", None).await.unwrap();
    assert_eq!(first.get("space", "key").await.unwrap().as_deref(), Some("value"));
    first.sign(&key(), ORIGIN).unwrap();
    second.sign(&key(), ORIGIN).unwrap();
    let verified = second.verify(&log(), 0, None, &Progress::default()).unwrap();
    assert!(verified.is_intact() && verified.records == 20, "{verified:?}");

    let (id, other) = (first.instance().unwrap().to_owned(), second.instance().unwrap());
    assert_ne!(id, other);
    assert!(second.lives(&id).unwrap() && first.lives(other).unwrap());
    let clone = first.clone();
    drop(first);
    assert!(second.lives(&id).unwrap());
    drop(clone);
    assert!(!second.lives(&id).unwrap());
}

#[tokio::test]
async fn does_not_go_on_with_a_log_that_was_put_back() {
    let bench = Bench::new();
    let store = bench.open();
    append(&store, "run", 0..5).await;
    let (kept, now) =
        ("UPDATE frontier SET bytes = x'0000000000000000'", "DELETE FROM entry; DELETE FROM node");
    bench.sql(&format!("{kept}; {now}"));
    let error = store.append(&[AuditEntry::Approval(&step("run", 5))]).await.unwrap_err();
    assert!(error.ends_with("is damaged: its log does not go on from the 5 entries that it had"), "{error}");
    assert!(store.sign(&key(), ORIGIN).is_err());
}

#[tokio::test]
async fn a_copy_is_a_database_of_its_own() {
    let bench = Bench::new();
    let store = bench.open();
    append(&store, "run", 0..100).await;
    store.sign(&key(), ORIGIN).unwrap();
    let copy = bench.directory.path().join("copy.db");
    store.backup(&copy).unwrap();
    assert!(matches!(store.backup(&copy), Err(SqliteError::Exists { .. })));
    assert_eq!(mode(&copy), 0o600);
    assert!(!bench.directory.path().join("copy.db-wal").exists());
    append(&store, "run", 100..101).await;

    // Whoever goes on with it says so: it does not know what was acknowledged since.
    assert!(matches!(SqliteStore::open(&copy), Err(SqliteError::MarkMissing { .. })));
    assert_eq!(SqliteStore::open_read_only(&copy).unwrap().size().unwrap(), 100);
    SqliteStore::accept_gap(&copy, "ada", "a copy").unwrap().unwrap();
    let copied = SqliteStore::open(&copy).unwrap();
    assert_eq!(copied.size().unwrap(), 101);
    assert!(copied.verify(&log(), 1, None, &Progress::default()).unwrap().is_intact());
    append(&copied, "other", 0..1).await;
    assert_eq!((copied.size().unwrap(), store.size().unwrap()), (102, 101));
}

#[tokio::test]
async fn values_survive_reopening() {
    let bench = Bench::new();
    bench.open().set("a", "key", "value", None).await.unwrap();
    assert_eq!(bench.open().get("a", "key").await.unwrap().as_deref(), Some("value"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_made_while_others_write_is_sound() {
    let bench = Bench::new();
    let store = bench.open();
    let writing = {
        let store = store.clone();
        tokio::spawn(async move { append(&store, "run", 0..1_000).await })
    };
    for round in 0..5 {
        let copy = bench.directory.path().join(format!("copy-{round}.db"));
        store.backup(&copy).unwrap();
        let copied = SqliteStore::open_read_only(&copy).unwrap();
        let size = copied.size().unwrap();
        assert_eq!(copied.check().unwrap(), [""; 0]);
        let verified = copied.verify(&log(), u64::MAX, None, &Progress::default()).unwrap();
        assert!(verified.is_intact() && verified.records == size, "{verified:?}");
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    writing.await.unwrap();
    assert_eq!(store.size().unwrap(), 1_000);
}

#[tokio::test]
async fn raw_outputs_are_kept_as_chosen() {
    for (raw, kept) in [
        (KeepRaw::Always, true),
        (KeepRaw::For(std::time::Duration::from_secs(60)), true),
        (KeepRaw::Never, false),
    ] {
        let bench = Bench::new();
        let store = SqliteStore::builder(bench.path()).raw(raw).open().unwrap();
        call(Arc::new(store.clone())).await;
        let stored = store.entry(1).unwrap().unwrap();
        assert_eq!((stored.raw.is_some(), stored.clean.is_some()), (kept, true), "{raw:?}");
        store.sign(&key(), ORIGIN).unwrap();
        assert!(store.verify(&log(), 0, None, &Progress::default()).unwrap().is_intact());
    }
}

#[tokio::test]
async fn what_was_forgotten_is_in_no_file() {
    const MARK: &str = "a mark that only the raw output has";
    let bench = Bench::new();
    let store = bench.open();
    let registry = Registry::builder().audit(Arc::new(store.clone())).build();
    let leak = tool("leak")
        .description("Returns something that is cleaned")
        .input::<String>()
        .output::<String>()
        .run(|_, _| async { Ok(format!("\u{1b}]0;{MARK}\u{7}clean")) })
        .unwrap();
    registry.register(leak).unwrap();
    let run = Run::new("run-1", "session-1");
    for _ in 0..50 {
        registry.call(&run, Call::new("leak", serde_json::json!(""))).await;
    }
    let found = || {
        let files = std::fs::read_dir(bench.directory.path()).unwrap().map(|file| file.unwrap().path());
        let files = files.filter(|path| path.is_file());
        let holds = |path: &std::path::PathBuf| {
            let bytes = std::fs::read(path).unwrap();
            bytes.windows(MARK.len()).any(|window| window == MARK.as_bytes())
        };
        files.filter(holds).count()
    };
    assert!(found() > 0);
    assert_eq!(Database::forget_raw(&store, std::time::Duration::MAX).await.unwrap(), 50);
    crate::it::wait::wait_for("no file holds it", async || (found() == 0).then_some(())).await;
    append(&store, "run", 0..1).await;
}
