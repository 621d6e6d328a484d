use std::fs::create_dir;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::super::folder::lock_soon;
use super::*;

/// A group of the tests in a real hierarchy, so that nobody else sweeps what is in it.
struct Parent(PathBuf);

impl Parent {
    /// Makes one in the hierarchy of each version that this machine has.
    fn all() -> Vec<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("rf-sweep-{}-{number}", std::process::id());
        let hierarchies = ["pids", "unified", ""].map(|name| Path::new(super::super::MOUNT).join(name));
        let real = hierarchies.into_iter().filter(|folder| folder.join(MEMBERS).exists());
        let parents: Vec<Self> =
            real.map(|folder| folder.join(&name)).filter(|path| create_dir(path).is_ok()).map(Self).collect();
        let root = rustix::process::geteuid().is_root();
        assert!(!root || !parents.is_empty(), "root can make groups where the tests run");
        parents
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Makes a group, which nobody locks.
    fn group(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        create_dir(&path).unwrap();
        path
    }

    fn marked_group(&self, name: &str) -> PathBuf {
        let path = self.group(name);
        LockedFolder::lock(&path).unwrap().set_mark().unwrap();
        path
    }
}

impl Drop for Parent {
    fn drop(&mut self) {
        for entry in std::fs::read_dir(&self.0).into_iter().flatten().flatten() {
            let _removed = std::fs::remove_dir(entry.path());
        }
        let _removed = std::fs::remove_dir(&self.0);
    }
}

/// A process in a group. Dropping it ends it.
struct Member(Child);

impl Member {
    fn of(group: &Path) -> Self {
        let member = Self(Command::new("sleep").arg("600").spawn().unwrap());
        std::fs::write(group.join(MEMBERS), member.0.id().to_string()).unwrap();
        member
    }

    fn is_alive(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }

    /// Returns the signal that ended it.
    fn wait(&mut self) -> Option<i32> {
        self.0.wait().unwrap().signal()
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        let _ended = self.0.kill();
        let _reaped = self.0.wait();
    }
}

/// Sweeps until something is so: a process that another test starts has the lock that was let go of, until it executes.
fn sweep_until(parent: &Path, mut so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{}", parent.display());
        sweep(parent);
    }
}

#[test]
fn only_what_nobody_locks_is_swept() {
    let parent = tempfile::tempdir().unwrap();
    let folder = |name: &str| {
        let folder = parent.path().join(name);
        create_dir(&folder).unwrap();
        folder
    };
    // No process has such a number here: its owner lives in another namespace.
    let (used, left, other) = (folder("ringfence-4294967295-0"), folder("ringfence-1-7"), folder("docker"));
    let similar = folder("ringfence-ci-7");
    let lock = LockedFolder::lock(&used).unwrap();
    sweep(parent.path());
    assert_eq!([&used, &left, &other, &similar].map(|path| path.exists()), [true, false, true, true]);
    drop(lock);
    sweep_until(parent.path(), || !used.exists());
    assert_eq!([&used, &other, &similar].map(|path| path.exists()), [false, true, true]);
}

#[test]
fn whoever_is_left_in_a_marked_group_is_ended_once_nobody_locks_it() {
    for parent in Parent::all() {
        let group = parent.marked_group("ringfence-1-0");
        let lock = lock_soon(&group);
        let mut left = Member::of(&group);
        sweep(&parent.0);
        assert!(group.exists() && left.is_alive(), "somebody uses it");
        drop(lock);
        sweep_until(&parent.0, || !left.is_alive());
        assert_eq!(left.wait(), Some(9), "{}", group.display());
        // Its starter had not yet asked how it ended.
        sweep_until(&parent.0, || !group.exists());
    }
}

#[test]
fn nobody_is_ended_in_a_group_that_somebody_else_made() {
    for parent in Parent::all() {
        // One has our name, the other our mark.
        let (named, marked) = (parent.group("ringfence-1-0"), parent.marked_group("ringfence-ci-7"));
        let mut members = [Member::of(&named), Member::of(&marked)];
        sweep(&parent.0);
        let alive = members.each_mut().map(Member::is_alive);
        assert_eq!(alive, [true, true], "{}", parent.0.display());
        assert!(named.exists() && marked.exists());
    }
}

#[test]
fn a_group_that_takes_the_place_of_a_left_one_is_not_touched() {
    for parent in Parent::all() {
        let group = parent.marked_group("ringfence-1-0");
        let left = lock_soon(&group);
        std::fs::remove_dir(&group).unwrap();
        create_dir(&group).unwrap();
        clear(&left);
        assert!(group.exists(), "an empty one stays too");
        let mut member = Member::of(&group);
        clear(&left);
        assert!(!end_members(&left), "{}", group.display());
        assert!(member.is_alive() && group.exists(), "{}", group.display());
    }
}

#[test]
fn a_group_in_which_nobody_is_ended_is_not_waited_for() {
    for parent in Parent::all() {
        let group = parent.marked_group("ringfence-1-0");
        let within = group.join("within");
        create_dir(&within).unwrap();
        let left = lock_soon(&group);
        assert_eq!(left.remove().unwrap_err().kind(), io::ErrorKind::ResourceBusy);
        assert!(!end_members(&left), "{}", group.display());
        let mut member = Member::of(&group);
        assert!(end_members(&left), "{}", group.display());
        assert_eq!(member.wait(), Some(9));
        std::fs::remove_dir(&within).unwrap();
    }
}
