//! Control groups: limits on a whole tree of processes, where this machine lets us make them.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ringfence_policy::Limits;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::limit::Enforcer;

const MOUNT: &str = "/sys/fs/cgroup";

/// Control groups made for one sandbox. Dropping them removes them.
#[derive(Debug)]
pub(crate) struct Cgroups {
    enforcer: Enforcer,
    groups: Vec<Group>,
    doors: Vec<OwnedFd>,
}

/// One folder of a hierarchy. Its lock says that somebody uses it.
///
/// A lock is seen from every namespace and ends with the process that holds it. A number of a process would mean
/// somebody else in another namespace of processes.
#[derive(Debug)]
struct Group {
    folder: PathBuf,
    _lock: File,
}

impl Cgroups {
    /// Makes groups where this user may.
    pub(crate) fn for_user(user: u32, limits: &Limits) -> Option<Self> {
        if user == 0 || Self::is_second_version() { Self::make(limits) } else { None }
    }

    /// An ordinary user can have been given a group to divide only in the second version.
    fn is_second_version() -> bool {
        static WORTH: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
        *WORTH.get_or_init(|| Path::new(MOUNT).join("cgroup.controllers").exists())
    }

    /// Makes groups that hold memory and the number of processes to their limits; `None` where that is not possible.
    fn make(limits: &Limits) -> Option<Self> {
        let own = std::fs::read_to_string("/proc/self/cgroup").ok()?;
        Self::second_version(&own, limits).or_else(|| Self::first_version(&own, limits))
    }

    /// Returns which version enforces.
    pub(crate) const fn enforcer(&self) -> Enforcer {
        self.enforcer
    }

    /// Takes the descriptors through which a process joins.
    pub(crate) fn take_doors(&mut self) -> Vec<OwnedFd> {
        std::mem::take(&mut self.doors)
    }

    /// Returns the most memory the tree has used, in bytes.
    pub(crate) fn peak_memory(&self) -> Option<u64> {
        self.read_number(&["memory.peak", "memory.max_usage_in_bytes"])
    }

    /// Returns the processor time of the tree.
    pub(crate) fn cpu_time(&self) -> Option<Duration> {
        let nanos = self.read_number(&["cpuacct.usage"]).map(Duration::from_nanos);
        nanos.or_else(|| {
            let text = self.read("cpu.stat")?;
            let micros = text.lines().find_map(|line| line.strip_prefix("usage_usec "))?.parse().ok()?;
            Some(Duration::from_micros(micros))
        })
    }

    /// Tells whether the kernel killed for memory.
    pub(crate) fn ran_out_of_memory(&self) -> bool {
        ["memory.events", "memory.oom_control"].iter().any(|name| {
            self.read(name).is_some_and(|text| {
                text.lines()
                    .filter_map(|line| line.strip_prefix("oom_kill "))
                    .any(|count| count.trim().parse().is_ok_and(|count: u64| count > 0))
            })
        })
    }

    fn read(&self, name: &str) -> Option<String> {
        self.groups.iter().find_map(|group| std::fs::read_to_string(group.folder.join(name)).ok())
    }

    fn read_number(&self, names: &[&str]) -> Option<u64> {
        names.iter().find_map(|name| self.read(name)?.trim().parse().ok())
    }

    fn second_version(own: &str, limits: &Limits) -> Option<Self> {
        let mut files = Vec::new();
        files.extend(limits.memory.map(|size| ("memory.max", size.bytes().to_string())));
        files.extend(limits.memory.map(|_| ("memory.swap.max", "0".to_owned())));
        files.extend(limits.processes.map(|count| ("pids.max", (u64::from(count) + 1).to_string())));
        divisible(Path::new(MOUNT), own).find_map(|parent| {
            let mut groups = Self { enforcer: Enforcer::CgroupV2, groups: Vec::new(), doors: Vec::new() };
            groups.add(&parent, &files).ok().map(|()| groups)
        })
    }

    fn first_version(own: &str, limits: &Limits) -> Option<Self> {
        let mut groups = Self { enforcer: Enforcer::CgroupV1, groups: Vec::new(), doors: Vec::new() };
        let parent = |controller: &str| {
            let line = own.lines().find(|line| {
                line.split(':').nth(1).is_some_and(|names| names.split(',').any(|name| name == controller))
            })?;
            Some(Path::new(MOUNT).join(controller).join(line.splitn(3, ':').nth(2)?.trim_start_matches('/')))
        };
        if let Some(memory) = limits.memory {
            // What TCP keeps is counted apart from the rest.
            let files = [
                ("memory.limit_in_bytes", memory.bytes().to_string()),
                (TCP, (memory.bytes() / TCP_PART).to_string()),
            ];
            groups.add(&parent("memory")?, &files).ok()?;
        }
        if let Some(count) = limits.processes {
            let files = [("pids.max", (u64::from(count) + 1).to_string())];
            groups.add(&parent("pids")?, &files).ok()?;
        }
        Some(groups)
    }

    fn add(&mut self, parent: &Path, files: &[(&str, String)]) -> io::Result<()> {
        let group = Group::make(parent)?;
        for (name, value) in files {
            match std::fs::write(group.folder.join(name), value) {
                // Where swap or TCP is not accounted, there is no file for it and memory counts alone.
                Err(error)
                    if ["memory.swap.max", TCP].contains(name) && error.kind() == io::ErrorKind::NotFound => {
                }
                other => other?,
            }
        }
        let door = OpenOptions::new().write(true).open(group.folder.join(MEMBERS))?;
        self.groups.push(group);
        self.doors.push(door.into());
        Ok(())
    }
}

/// Returns the groups of the second version that can be divided for memory and processes and that this process may move within: its
/// own, or one above it. A group that holds processes cannot be divided itself, so that below a session or a service of a user's own
/// manager it is the one above.
fn divisible(mount: &Path, own: &str) -> impl Iterator<Item = PathBuf> {
    let path = own.lines().find_map(|line| line.strip_prefix("0::/")).map(|path| mount.join(path));
    let above: Vec<PathBuf> = path.iter().flat_map(|path| path.ancestors()).map(Path::to_owned).collect();
    let mount = mount.to_owned();
    above.into_iter().take_while(move |folder| folder.starts_with(&mount)).filter(|folder| {
        // In a mixed system the second version is mounted elsewhere, without controllers.
        let controllers = std::fs::read_to_string(folder.join("cgroup.subtree_control")).unwrap_or_default();
        let has = |wanted: &&str| controllers.split_whitespace().any(|one| one == *wanted);
        ["memory", "pids"].iter().all(has)
            && OpenOptions::new().write(true).open(folder.join(MEMBERS)).is_ok()
    })
}

const TCP: &str = "memory.kmem.tcp.limit_in_bytes";
/// Which part of the limit TCP may have beside it.
const TCP_PART: u64 = 4;
const PREFIX: &str = "ringfence-";
const MEMBERS: &str = "cgroup.procs";

/// How often a name may be taken, or a new group be swept before it was locked.
const TRIES: u32 = 16;

impl Group {
    /// Makes an empty group that nobody sweeps.
    fn make(parent: &Path) -> io::Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let mut last = None;
        for _ in 0..TRIES {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            // Once in a while: the first groups of a process, one in each hierarchy.
            if number < 2 {
                sweep(parent);
            }
            // Processes of two namespaces can have the same number.
            let folder = parent.join(format!("{PREFIX}{}-{number}", std::process::id()));
            match Self::make_at(folder) {
                Ok(group) => return Ok(group),
                Err(error)
                    if matches!(error.kind(), io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound) =>
                {
                    last = Some(error);
                }
                Err(error) => return Err(error),
            }
        }
        Err(last.unwrap_or_else(|| io::ErrorKind::NotFound.into()))
    }

    /// Makes the folder and locks it; [`NotFound`](io::ErrorKind::NotFound) where it was swept in between.
    fn make_at(folder: PathBuf) -> io::Result<Self> {
        // Nobody else may hold a lock on it.
        DirBuilder::new().mode(0o700).create(&folder)?;
        let lock = File::open(&folder)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(io::ErrorKind::NotFound.into()),
            Err(TryLockError::Error(error)) => {
                let _removed = std::fs::remove_dir(&folder);
                return Err(error);
            }
        }
        let group = Self { folder, _lock: lock };
        // Who sweeps removes under the lock: what is there now stays.
        std::fs::metadata(group.folder.join(MEMBERS))?;
        Ok(group)
    }
}

/// Removes what processes that were killed left behind: groups that nobody locks, with whoever is still in them.
///
/// What bwrap starts waits for bwrap before anything ends it with its parent: killed at that moment, it would wait for ever.
fn sweep(parent: &Path) {
    let Ok(listed) = std::fs::read_dir(parent) else { return };
    for entry in listed.flatten() {
        if !entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX)) {
            continue;
        }
        let Ok(lock) = File::open(entry.path()) else { continue };
        if lock.try_lock().is_err() {
            continue;
        }
        let is_busy = |error: &io::Error| error.kind() == io::ErrorKind::ResourceBusy;
        if std::fs::remove_dir(entry.path()).is_err_and(|error| is_busy(&error)) {
            end_members(&entry.path());
            remove_soon(&entry.path());
        }
    }
}

/// Kills every process of a group. One of another namespace has no number here, and stays.
fn end_members(folder: &Path) {
    if std::fs::write(folder.join("cgroup.kill"), "1").is_ok() {
        return;
    }
    let members = || -> Vec<Pid> {
        let text = std::fs::read_to_string(folder.join(MEMBERS)).unwrap_or_default();
        text.lines().filter_map(|line| Pid::from_raw(line.parse().ok()?)).collect()
    };
    for pid in members() {
        let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else { continue };
        // The number may have been somebody else's when it was opened.
        if members().contains(&pid) {
            let _ended = pidfd_send_signal(&process, Signal::KILL);
        }
    }
}

/// Removes a group whose last process may still be on its way out.
fn remove_soon(folder: &Path) {
    for _ in 0..100 {
        match std::fs::remove_dir(folder) {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                std::thread::sleep(Duration::from_micros(200));
            }
            _ => break,
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        remove_soon(&self.folder);
    }
}

#[cfg(test)]
mod tests {
    use ringfence_policy::Size;

    use super::*;

    #[test]
    fn only_what_nobody_locks_is_swept() {
        let parent = tempfile::tempdir().unwrap();
        let folder = |name: &str| {
            let folder = parent.path().join(name);
            std::fs::create_dir(&folder).unwrap();
            folder
        };
        // No process has such a number here: its owner lives in another namespace.
        let (used, left, other) =
            (folder("ringfence-4294967295-0"), folder("ringfence-1-7"), folder("docker"));
        let lock = File::open(&used).unwrap();
        lock.lock().unwrap();
        sweep(parent.path());
        assert_eq!([used.exists(), left.exists(), other.exists()], [true, false, true]);
        drop(lock);
        sweep(parent.path());
        assert_eq!([used.exists(), other.exists()], [false, true]);
    }

    #[test]
    fn a_group_in_use_survives_a_sweep_and_its_owner_removes_it() {
        let limits = Limits { processes: Some(4), memory: Some(Size::new(1 << 26)), ..Limits::default() };
        let Some(groups) = Cgroups::make(&limits) else {
            assert!(!rustix::process::geteuid().is_root(), "root can make groups where the tests run");
            return;
        };
        let folders: Vec<PathBuf> = groups.groups.iter().map(|group| group.folder.clone()).collect();
        for folder in &folders {
            sweep(folder.parent().unwrap());
            assert!(folder.join(MEMBERS).exists(), "{}", folder.display());
        }
        drop(groups);
        assert!(!folders.is_empty() && folders.iter().all(|folder| !folder.exists()), "{folders:?}");
    }

    #[test]
    fn whoever_is_left_in_a_group_that_nobody_locks_is_ended() {
        let limits = Limits { processes: Some(4), ..Limits::default() };
        let Some(groups) = Cgroups::make(&limits) else {
            assert!(!rustix::process::geteuid().is_root(), "root can make groups where the tests run");
            return;
        };
        let parent = groups.groups[0].folder.parent().unwrap();
        // The other namespaces of this machine have no process of this number.
        let folder = parent.join(format!("ringfence-4294967294-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        let lock = File::open(&folder).unwrap();
        lock.lock().unwrap();
        let mut left = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        std::fs::write(folder.join(MEMBERS), left.id().to_string()).unwrap();
        sweep(parent);
        assert!(folder.exists() && left.try_wait().unwrap().is_none(), "somebody uses it");
        drop(lock);
        sweep(parent);
        let ended = left.wait().unwrap();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&ended), Some(9));
        // Its starter had not yet asked how it ended.
        sweep(parent);
        assert!(!folder.exists());
    }

    #[test]
    fn the_nearest_group_that_can_be_divided_is_found() {
        let mount = tempfile::tempdir().unwrap();
        let group = |path: &str, controllers: &str| {
            let folder = mount.path().join(path);
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("cgroup.subtree_control"), controllers).unwrap();
            std::fs::write(folder.join(MEMBERS), "").unwrap();
        };
        group("", "cpu memory pids\n");
        group("user.slice", "memory\n");
        group("user.slice/user@1.service", "cpu memory pids\n");
        group("user.slice/user@1.service/app.slice", "memory pids\n");
        group("user.slice/user@1.service/app.slice/app.scope", "");
        let found = |own: &str| -> Vec<String> {
            divisible(mount.path(), own)
                .map(|path| path.strip_prefix(mount.path()).unwrap().display().to_string())
                .collect()
        };
        let service = "user.slice/user@1.service";
        let own = format!("1:cpu:/\n0::/{service}/app.slice/app.scope\n");
        assert_eq!(found(&own), [format!("{service}/app.slice"), service.to_owned(), String::new()]);
        assert_eq!(found("0::/"), [""]);
        assert!(found("4:memory:/").is_empty());
        // Nobody may be moved there.
        std::fs::remove_file(mount.path().join(MEMBERS)).unwrap();
        assert!(found("0::/").is_empty());
    }

    #[test]
    fn a_name_that_is_taken_is_passed_over() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("ringfence-1-0");
        std::fs::create_dir(&folder).unwrap();
        let _used = File::open(&folder).and_then(|file| file.lock().map(|()| file)).unwrap();
        let kind = Group::make_at(folder.clone()).unwrap_err().kind();
        assert_eq!((kind, folder.exists()), (io::ErrorKind::AlreadyExists, true));
        // Not a hierarchy: nothing to join, and nothing is left.
        let kind = Group::make(parent.path()).unwrap_err().kind();
        assert_eq!(kind, io::ErrorKind::NotFound);
        assert_eq!(std::fs::read_dir(parent.path()).unwrap().count(), 1);
    }
}
