//! Control groups: limits on a whole tree of processes, where this machine lets us make them.

use std::fs::OpenOptions;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ringfence_policy::Limits;

use crate::limit::Enforcer;

const MOUNT: &str = "/sys/fs/cgroup";

/// Control groups made for one sandbox. Dropping them removes them.
#[derive(Debug)]
pub(crate) struct Cgroups {
    enforcer: Enforcer,
    folders: Vec<PathBuf>,
    doors: Vec<OwnedFd>,
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
            let text = self
                .folders
                .iter()
                .find_map(|folder| std::fs::read_to_string(folder.join("cpu.stat")).ok())?;
            let micros = text.lines().find_map(|line| line.strip_prefix("usage_usec "))?.parse().ok()?;
            Some(Duration::from_micros(micros))
        })
    }

    /// Tells whether the kernel killed for memory.
    pub(crate) fn ran_out_of_memory(&self) -> bool {
        ["memory.events", "memory.oom_control"].iter().any(|name| {
            let text = self.folders.iter().find_map(|folder| std::fs::read_to_string(folder.join(name)).ok());
            text.is_some_and(|text| {
                text.lines()
                    .filter_map(|line| line.strip_prefix("oom_kill "))
                    .any(|count| count.trim().parse().is_ok_and(|count: u64| count > 0))
            })
        })
    }

    fn read_number(&self, names: &[&str]) -> Option<u64> {
        let paths = self.folders.iter().flat_map(|folder| names.iter().map(|name| folder.join(name)));
        paths.filter_map(|path| std::fs::read_to_string(path).ok()).find_map(|text| text.trim().parse().ok())
    }

    fn second_version(own: &str, limits: &Limits) -> Option<Self> {
        let path = own.lines().find_map(|line| line.strip_prefix("0::/"))?;
        let parent = Path::new(MOUNT).join(path);
        // In a mixed system the second version is mounted elsewhere, without controllers.
        let controllers = std::fs::read_to_string(parent.join("cgroup.subtree_control")).ok()?;
        if !["memory", "pids"].iter().all(|wanted| controllers.split_whitespace().any(|one| one == *wanted)) {
            return None;
        }
        let mut groups = Self { enforcer: Enforcer::CgroupV2, folders: Vec::new(), doors: Vec::new() };
        let mut files = Vec::new();
        files.extend(limits.memory.map(|size| ("memory.max", size.bytes().to_string())));
        files.extend(limits.memory.map(|_| ("memory.swap.max", "0".to_owned())));
        files.extend(limits.processes.map(|count| ("pids.max", (count + 1).to_string())));
        groups.add(&parent, &files).ok().map(|()| groups)
    }

    fn first_version(own: &str, limits: &Limits) -> Option<Self> {
        let mut groups = Self { enforcer: Enforcer::CgroupV1, folders: Vec::new(), doors: Vec::new() };
        let parent = |controller: &str| {
            let line = own.lines().find(|line| {
                line.split(':').nth(1).is_some_and(|names| names.split(',').any(|name| name == controller))
            })?;
            Some(Path::new(MOUNT).join(controller).join(line.splitn(3, ':').nth(2)?.trim_start_matches('/')))
        };
        let memory = limits.memory.map(|size| ("memory.limit_in_bytes", size.bytes().to_string()));
        let processes = limits.processes.map(|count| ("pids.max", (count + 1).to_string()));
        for (controller, file) in [("memory", memory), ("pids", processes)] {
            if let Some(file) = file {
                groups.add(&parent(controller)?, &[file]).ok()?;
            }
        }
        Some(groups)
    }

    fn add(&mut self, parent: &Path, files: &[(&str, String)]) -> io::Result<()> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        // Once in a while: the first groups of a process, one in each hierarchy.
        if number < 2 {
            sweep(parent);
        }
        let folder = parent.join(format!("{PREFIX}{}-{number}", std::process::id()));
        std::fs::create_dir(&folder)?;
        self.folders.push(folder.clone());
        for (name, value) in files {
            match std::fs::write(folder.join(name), value) {
                // Where swap is not accounted, there is no file for it and memory counts alone.
                Err(error) if *name == "memory.swap.max" && error.kind() == io::ErrorKind::NotFound => {}
                other => other?,
            }
        }
        let door = OpenOptions::new().write(true).open(folder.join("cgroup.procs"))?;
        self.doors.push(door.into());
        Ok(())
    }
}

const PREFIX: &str = "ringfence-";

/// Removes what processes that were killed left behind.
fn sweep(parent: &Path) {
    let Ok(listed) = std::fs::read_dir(parent) else { return };
    for entry in listed.flatten() {
        let name = entry.file_name();
        let owner =
            name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split('-').next()?.parse::<u32>().ok());
        if owner.is_some_and(|owner| !Path::new("/proc").join(owner.to_string()).exists()) {
            // A group that still holds processes stays.
            let _removed = std::fs::remove_dir(entry.path());
        }
    }
}

impl Drop for Cgroups {
    fn drop(&mut self) {
        for folder in &self.folders {
            // The last process of the group may still be on its way out.
            for _ in 0..100 {
                match std::fs::remove_dir(folder) {
                    Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                        std::thread::sleep(Duration::from_micros(200));
                    }
                    _ => break,
                }
            }
        }
    }
}
