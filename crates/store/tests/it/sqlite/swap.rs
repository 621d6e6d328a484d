//! A store that is swapped, restored or removed under a process that has it open is refused: by that process, and by the next
//! one where something is missing.

use std::path::{Path, PathBuf};

use ringfence::{Claim, IdempotencyStore as _, Store as _};
use rusqlite::Connection;
use rusqlite::backup::Backup;

use super::flip::{claim, pay};
use super::*;

/// Where things are: the store under test, and copies of how it was before.
struct Scene {
    bench: Bench,
    old: TempDir,
}

impl Scene {
    fn path(&self, suffix: &str) -> PathBuf {
        self.bench.directory.path().join("store").join(format!("ringfence.db{suffix}"))
    }

    fn old(&self, suffix: &str) -> PathBuf {
        self.old.path().join(format!("ringfence.db{suffix}"))
    }

    fn folder(&self) -> PathBuf {
        self.bench.directory.path().join("store")
    }
}

/// Writes a copy over a file, which stays the same file.
fn write_over(from: &Path, to: &Path) {
    std::fs::write(to, std::fs::read(from).unwrap()).unwrap();
}

/// Puts a copy in the place of a file.
fn put(from: &Path, to: &Path) {
    let beside = to.with_extension("new");
    std::fs::copy(from, &beside).unwrap();
    std::fs::rename(beside, to).unwrap();
}

fn remove(scene: &Scene, suffixes: &[&str]) {
    for suffix in suffixes {
        std::fs::remove_file(scene.path(suffix)).unwrap();
    }
}

fn truncate(path: &Path, size: u64) {
    std::fs::File::options().write(true).open(path).unwrap().set_len(size).unwrap();
}

/// Restores as `.restore` of the shell of SQLite does: through SQLite, while others have the file open.
fn restore(scene: &Scene) {
    let from = Connection::open(scene.old("")).unwrap();
    let mut to = Connection::open(scene.path("")).unwrap();
    Backup::new(&from, &mut to).unwrap().step(-1).unwrap();
}

type Way = fn(&Scene);

#[rustfmt::skip]
const WAYS: [(&str, Way); 26] = [
    ("rename an old copy over it",             |s| put(&s.old(""), &s.path(""))),
    ("rename old copies over it and its log",  |s| { put(&s.old(""), &s.path("")); put(&s.old("-wal"), &s.path("-wal")); }),
    ("unlink",                                 |s| remove(s, &[""])),
    ("unlink and make an empty file",          |s| { remove(s, &[""]); put(&s.old(".empty"), &s.path("")); }),
    ("unlink with its log and its index",      |s| remove(s, &["", "-wal", "-shm"])),
    ("unlink all and the mark",                |s| remove(s, &["", "-wal", "-shm", ".mark"])),
    ("unlink and open another in its place",   |s| { remove(s, &["", "-wal", "-shm", ".mark", ".lock"]); drop(SqliteStore::open(&s.path(""))); }),
    ("write an old copy over it",              |s| write_over(&s.old(""), &s.path(""))),
    ("write an old copy over it, empty log",   |s| { write_over(&s.old(""), &s.path("")); truncate(&s.path("-wal"), 0); }),
    ("write all old copies over",              |s| for suffix in ["", "-wal", ".mark"] { write_over(&s.old(suffix), &s.path(suffix)); }),
    ("truncate to nothing",                    |s| truncate(&s.path(""), 0)),
    ("truncate to a page",                     |s| truncate(&s.path(""), 4_096)),
    ("replace the log",                        |s| put(&s.old("-wal"), &s.path("-wal"))),
    ("write an old log over it",               |s| write_over(&s.old("-wal"), &s.path("-wal"))),
    ("remove the log",                         |s| remove(s, &["-wal"])),
    ("truncate the log",                       |s| truncate(&s.path("-wal"), 0)),
    ("remove the index of the log",            |s| remove(s, &["-shm"])),
    ("remove the log and its index",           |s| remove(s, &["-wal", "-shm"])),
    ("a link in its place",                    |s| { remove(s, &[""]); std::os::unix::fs::symlink(s.old(""), s.path("")).unwrap(); }),
    ("rename the folder",                      |s| std::fs::rename(s.folder(), s.folder().with_extension("away")).unwrap()),
    ("another folder in its place",            |s| { std::fs::rename(s.folder(), s.folder().with_extension("away")).unwrap(); std::fs::rename(s.old.path().join("copy"), s.folder()).unwrap(); }),
    ("a second name",                          |s| std::fs::hard_link(s.path(""), s.path(".second")).unwrap()),
    ("restore through SQLite",                 restore),
    ("vacuum into a file and rename it",       |s| { let new = s.path(".vacuumed"); Connection::open(s.path("")).unwrap().execute("VACUUM INTO ?1", [new.to_str().unwrap()]).unwrap(); std::fs::rename(new, s.path("")).unwrap(); }),
    ("remove the mark",                        |s| remove(s, &[".mark"])),
    ("write an old mark over it and restore",  |s| { write_over(&s.old(".mark"), &s.path(".mark")); restore(s); }),
];

/// Three times: what an old copy has, what is only in the database, and what is only in its log.
async fn scene() -> (Scene, SqliteStore, Vec<String>) {
    let scene = Scene { bench: Bench::new(), old: tempfile::tempdir().unwrap() };
    std::fs::create_dir(scene.folder()).unwrap();
    let mut paid = Vec::new();
    for part in 0..3 {
        let store = SqliteStore::open(&scene.path("")).unwrap();
        for number in 0..4 {
            let key = format!("inv-{part}-{number}");
            pay(&store, &key).await.unwrap();
            store.set("notes", &key, &key, None).await.unwrap();
            paid.push(key);
        }
        if part == 0 {
            std::fs::write(scene.old("-wal"), std::fs::read(scene.path("-wal")).unwrap()).unwrap();
        } else if part == 2 {
            return (scene, store, paid);
        }
        drop(store);
        if part == 0 {
            let copy = scene.old.path().join("copy");
            std::fs::create_dir(&copy).unwrap();
            for suffix in ["", ".mark", ".lock"] {
                std::fs::copy(scene.path(suffix), scene.old(suffix)).unwrap();
                std::fs::copy(scene.path(suffix), copy.join(format!("ringfence.db{suffix}"))).unwrap();
            }
            std::fs::write(scene.old(".empty"), "").unwrap();
        }
    }
    panic!("the last part returns the store")
}

/// What is wrong with how a store answers: a key that it would let take effect again, or another answer.
async fn wrong(store: &SqliteStore, paid: &[String]) -> Vec<String> {
    let mut wrong = Vec::new();
    for key in paid {
        let asked = claim(key);
        match store.get("notes", key).await {
            Ok(found) if found.as_ref() != Some(key) => wrong.push(format!("note {key}: {found:?}")),
            _ => {}
        }
        let replay = Claim::Replay(format!("\"receipt of {key}\""));
        match store.claim(&asked).await {
            Ok(found) if found != replay => wrong.push(format!("{key}: {found:?}")),
            _ => {}
        }
    }
    wrong
}

#[tokio::test]
async fn no_way_of_swapping_a_store_makes_a_key_take_effect_twice() {
    let mut failures = Vec::new();
    for (way, swap) in WAYS {
        let (scene, store, mut paid) = scene().await;
        swap(&scene);
        // Whoever has it open notices: a new key must not be granted where nobody will find it.
        match pay(&store, "after").await {
            // The log has all pages that differ: nothing is missing, now and at the next open.
            Ok(()) if way == "write an old copy over it" => {
                store.set("notes", "after", "after", None).await.unwrap();
                paid.push("after".into());
            }
            Ok(()) => failures.push(format!("{way}: a key was acknowledged")),
            Err(error)
                if ![
                    "was replaced",
                    "several names",
                    "lost",
                    "is damaged",
                    "is missing",
                    "malformed",
                    "not there",
                ]
                .iter()
                .any(|said| error.contains(said)) =>
            {
                failures.push(format!("{way}: {error}"));
            }
            Err(_) => {}
        }
        failures
            .extend(wrong(&store, &paid).await.into_iter().map(|wrong| format!("{way}: running: {wrong}")));
        drop(store);
        // Whoever comes next either knows everything or refuses, but for a store of which nothing is left or that is old as a whole.
        let is_forgotten = matches!(
            way,
            "unlink all and the mark"
                | "unlink and open another in its place"
                | "rename the folder"
                | "another folder in its place"
                | "write all old copies over"
                | "write an old mark over it and restore"
        );
        if !is_forgotten && let Ok(store) = SqliteStore::open(&scene.path("")) {
            failures
                .extend(wrong(&store, &paid).await.into_iter().map(|wrong| format!("{way}: next: {wrong}")));
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

#[tokio::test]
async fn whoever_shares_a_store_is_not_taken_for_a_swap() {
    let bench = Bench::new();
    let (first, second) = (bench.open(), bench.open());
    for round in 0..20 {
        for (number, store) in [&first, &second].into_iter().enumerate() {
            pay(store, &format!("{round}-{number}")).await.unwrap();
        }
        // Another one comes and goes, and somebody moves the log.
        drop(bench.open());
        bench.sql("PRAGMA wal_checkpoint(TRUNCATE)");
    }
    drop(first);
    pay(&second, "last").await.unwrap();
    drop(second);
    assert!(SqliteStore::find_gap(&bench.path()).unwrap().is_none());
}
