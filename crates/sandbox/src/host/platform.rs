//! The small part of the system that every program needs: loader, shared libraries, certificates, time zones.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::path::{Found, Kind, find};
use super::system::is_system;

/// What every sandbox holds, as this machine has it.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Platform {
    /// Folders and files of libraries: they may be mapped for execution, not started.
    pub libraries: Vec<Found>,
    /// Folders and files that are only read.
    pub data: Vec<Found>,
    /// The loaders, which the kernel starts in front of a program.
    pub loaders: Vec<PathBuf>,
    /// Files of `/proc` that tell of the whole machine, or of keys of the user who runs the sandbox.
    pub hidden: Vec<PathBuf>,
    /// The links of the root: `/lib` to `usr/lib` and the like.
    pub links: Vec<(PathBuf, PathBuf)>,
}

const LIBRARIES: &[&str] = &[
    "/usr/lib/x86_64-linux-gnu",
    "/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/lib64",
];
/// Where libraries lie on systems without the folders above.
const PLAIN_LIBRARIES: &[&str] = &["/usr/lib", "/lib"];
const DATA: &[&str] = &[
    "/etc/ld.so.cache",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/pki/tls/certs",
    "/etc/pki/ca-trust/extracted",
    "/etc/localtime",
    "/usr/share/ca-certificates",
    "/usr/share/zoneinfo",
    "/usr/lib/locale",
    "/usr/lib/ssl",
];
const LOADERS: &[&str] = &[
    "/lib64/ld-linux-x86-64.so.2",
    "/lib/ld-linux-aarch64.so.1",
    "/lib/ld-musl-x86_64.so.1",
    "/lib/ld-musl-aarch64.so.1",
];
/// What tells of the machine, or of others on it: readable by everybody, and then by root alone. A root of our own shows none of it
/// anyway; these are for confiners that mount a whole `/proc`.
const PROC_OPEN: &[&str] = &[
    "/proc/bootconfig",
    "/proc/cmdline",
    "/proc/config.gz",
    "/proc/devices",
    "/proc/diskstats",
    "/proc/interrupts",
    "/proc/iomem",
    "/proc/ioports",
    "/proc/kallsyms",
    "/proc/key-users",
    "/proc/keys",
    "/proc/locks",
    "/proc/mdstat",
    "/proc/modules",
    "/proc/partitions",
    "/proc/softirqs",
    "/proc/swaps",
    "/proc/sys/kernel/random/boot_id",
];
const PROC_MACHINE: &[&str] = &[
    "/proc/kcore",
    "/proc/kmsg",
    "/proc/kpagecgroup",
    "/proc/kpagecount",
    "/proc/kpageflags",
    "/proc/latency_stats",
    "/proc/pagetypeinfo",
    "/proc/sched_debug",
    "/proc/slabinfo",
    "/proc/sysrq-trigger",
    "/proc/timer_list",
    "/proc/timer_stats",
    "/proc/vmallocinfo",
];
const ROOT_LINKS: &[&str] = &["/bin", "/lib", "/lib32", "/lib64", "/libx32", "/sbin"];

impl Platform {
    /// Returns what this machine has, looked at once.
    pub fn of_this_machine() -> &'static Self {
        static PLATFORM: OnceLock<Platform> = OnceLock::new();
        PLATFORM.get_or_init(Self::survey)
    }

    fn survey() -> Self {
        let mut platform = Self::default();
        for link in ROOT_LINKS {
            if let Ok(target) = std::fs::read_link(link) {
                platform.links.push((PathBuf::from(link), target));
            }
        }
        platform.add_libraries(LIBRARIES);
        if platform.libraries.is_empty() {
            platform.add_libraries(PLAIN_LIBRARIES);
        }
        let data = DATA.iter().filter_map(|path| find(Path::new(path)).ok());
        let plain = |found: &Found| matches!(found.kind, Kind::Directory | Kind::File);
        for found in data.filter(|found| plain(found) && is_system(&found.real)) {
            platform.links.extend(found.links.iter().cloned());
            if !platform.data.iter().any(|known| known.real == found.real) {
                platform.data.push(found);
            }
        }
        let loaders = LOADERS.iter().filter_map(|path| find(Path::new(path)).ok());
        for found in loaders.filter(|found| is_system(&found.real)) {
            platform.links.extend(found.links.iter().cloned());
            if !platform.libraries.iter().any(|folder| found.real.starts_with(&folder.real)) {
                platform.libraries.push(found.clone());
            }
            platform.loaders.push(found.real);
        }
        // What this user may not read is not covered: it costs a mount.
        let readable = |path: &&&str| std::fs::File::open(path).is_ok();
        let exists = PROC_OPEN.iter().chain(PROC_MACHINE.iter().filter(readable)).map(PathBuf::from);
        platform.hidden = exists.filter(|path| path.exists()).collect();
        platform
    }

    fn add_libraries(&mut self, paths: &[&str]) {
        for found in paths.iter().filter_map(|path| find(Path::new(path)).ok()) {
            let known = self.libraries.iter().any(|folder| found.real.starts_with(&folder.real));
            if found.kind == Kind::Directory && !known && is_system(&found.real) {
                self.libraries.push(found);
            }
        }
    }
}
