//! A full disk: what does not fit is an error, what was acknowledged stays, and with room it goes on.

use ringfence::audit::Progress;
use std::io::{Read as _, Write as _};

use ringfence::Store as _;
use ringfence_store::Filter;

use super::*;

/// The most appends that a disk of the test's size could take.
const MOST: u64 = 20_000;

/// Not a test: fills the small disk that it is started on.
#[test]
#[ignore = "run by the test below as a process of its own"]
fn fills_the_disk() {
    let Some(path) = child::path() else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let ballast = path.with_file_name("ballast");
        std::fs::write(&ballast, vec![0; 1 << 20]).unwrap();
        let store = SqliteStore::open(&path).unwrap();
        store.set("space", "key", "before", None).await.unwrap();
        let mut kept = 0;
        let error = loop {
            let step = step("run", kept);
            match store.append(&[AuditEntry::Approval(&step)]).await {
                Ok(()) => kept += 1,
                Err(error) => break error,
            }
            assert!(kept < MOST);
        };
        assert!(kept > 50, "{kept}: {error}");
        assert!(error.starts_with("there is no room on the disk for the database `"), "{error}");
        let refused = store.set("space", "key", &"x".repeat(1 << 20), None).await.unwrap_err();
        assert!(refused.to_string().contains("there is no room on the disk"), "{refused}");
        assert_eq!(store.get("space", "key").await.unwrap().as_deref(), Some("before"));
        assert_eq!(store.size().unwrap(), kept);

        std::fs::remove_file(ballast).unwrap();
        append(&store, "run", kept..kept + 50).await;
        store.sign(&key(), ORIGIN).unwrap();
        drop(store);
        let store = SqliteStore::open(&path).unwrap();
        let found = store.entries(&Filter::default(), 0, usize::MAX).unwrap();
        assert!(found.iter().map(|stored| stored.at).eq((0..kept + 50).map(|call| 1_000 + call)));
        assert!(store.verify(&log(), 0, None, &Progress::default()).unwrap().is_intact());
        assert_eq!(store.check().unwrap(), [""; 0]);
        let mut output = std::io::stdout().lock();
        writeln!(output, "\nkept {kept}").and_then(|()| output.flush()).unwrap();
    });
}

#[test]
fn a_full_disk_loses_nothing_that_was_acknowledged() {
    let bench = Bench::new();
    // A disk of three mebibytes, in a mount namespace of its own: neither root nor cleaning up is needed.
    let mount = format!(
        "mount -t tmpfs -o size=3m,mode=700 tmpfs '{}' && exec \"$@\"",
        bench.directory.path().display()
    );
    let before = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-ec", &mount, "sh"];
    let mut child =
        child::command(&before, "it::sqlite::full::fills_the_disk", &bench.path()).spawn().unwrap();
    let mut output = String::new();
    child.stdout.take().unwrap().read_to_string(&mut output).unwrap();
    assert!(child.wait().unwrap().success() && output.contains("\nkept "), "{output}");
    assert!(!bench.path().exists(), "the disk was not the small one");
}
