//! The disk of the store fills up while the program pays.

use std::path::Path;
use std::process::Command;

use crate::durable::payer::Office;

/// A disk of its own, of 12 MiB.
struct Disk(tempfile::TempDir);

impl Disk {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=12m,mode=700", "ringfence-test"])
            .arg(directory.path())
            .status()
            .unwrap();
        assert!(mounted.success(), "this test mounts a small disk and needs root");
        Self(directory)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _unmounted = Command::new("umount").arg("--lazy").arg(self.path()).status();
    }
}

#[test]
fn a_full_disk_stops_payments_and_loses_none() {
    let disk = Disk::new();
    let store = disk.path().join("ringfence.db");
    let office = Office::with_store(store.display().to_string(), &[]);
    let first = office.run(&["keys=20"]);
    assert_eq!(first.done.len(), 20, "{first:?}");
    // All but some pages.
    let filler = disk.path().join("filler");
    let size = rustix::fs::statvfs(disk.path()).unwrap();
    let free = size.f_bavail * size.f_frsize;
    std::fs::write(&filler, vec![0; usize::try_from(free.saturating_sub(400 << 10)).unwrap()]).unwrap();
    let mut all = vec![first];
    for _ in 0..2 {
        let said = office.run(&["keys=400", "tasks=4"]);
        assert!(said.ended, "the program goes on: {said:?}");
        assert!(!said.refused.is_empty() || !said.unknown.is_empty(), "the disk was never full");
        for line in &said.refused {
            let known =
                ["NOT_AVAILABLE", "AUDIT_FAILED", "LIMIT_EXCEEDED"].iter().any(|code| line.contains(code));
            assert!(known, "{line}");
        }
        all.push(said);
    }
    std::fs::remove_file(&filler).unwrap();
    let last = office.run(&["keys=400", "tasks=4"]);
    assert!(
        last.ended && last.refused.is_empty(),
        "with room again everything works: {:?}",
        last.refused.first()
    );
    assert_eq!(last.done.len() + last.unknown.len(), 400);
    let doubtful = last.unknown.len();
    all.push(last);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(office.audit(&all, "full disk"));
    println!("full disk: 400 keys, {} paid, {doubtful} in doubt, none twice", office.payments().len());
}
