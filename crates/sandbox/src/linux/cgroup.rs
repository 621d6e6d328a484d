//! Control groups: limits on a whole tree of processes, where this machine lets us make them.

mod folder;
mod group;
mod sweep;

use std::fs::OpenOptions;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ringfence_policy::Limits;

use self::group::Group;
use crate::limit::Enforcer;

const MOUNT: &str = "/sys/fs/cgroup";

/// Control groups made for one sandbox. Dropping them removes them.
#[derive(Debug)]
pub(crate) struct Cgroups {
    enforcer: Enforcer,
    groups: Vec<Group>,
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
        self.groups.iter().find_map(|group| group.read(name).ok())
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
            match group.write(name, value) {
                // Where swap or TCP is not accounted, there is no file for it and memory counts alone.
                Err(error)
                    if ["memory.swap.max", TCP].contains(name) && error.kind() == io::ErrorKind::NotFound => {
                }
                other => other?,
            }
        }
        self.doors.push(group.open_door()?.into());
        self.groups.push(group);
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
const MEMBERS: &str = "cgroup.procs";

#[cfg(test)]
mod tests;
