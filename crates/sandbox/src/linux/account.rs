//! What a whole tree of processes has used, read from the sandbox's own `/proc`.
//!
//! Limits of the kernel without a control group hold for each process alone. A tree is held to its limits by looking.

use std::collections::HashMap;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::fs::{Dir, Mode, OFlags, fstat, open, openat, stat};

/// What a tree has used so far.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Spent {
    /// Processor time of all that live, and of all that were waited for.
    pub(crate) cpu: Duration,
    /// Memory, shared pages divided by who shares them.
    pub(crate) memory: u64,
}

/// The processes of a sandbox.
pub(crate) struct Tree {
    proc: OwnedFd,
    /// What each process that was seen has used itself, whether or not anybody waited for it: by number and start.
    seen: HashMap<(u32, u64), Duration>,
}

/// The kernel counts processor time for `/proc` in hundredths of a second.
const TICK: Duration = Duration::from_millis(10);
/// One look takes no longer than this: the deadline waits for it.
const LONGEST_LOOK: Duration = Duration::from_millis(50);

impl Tree {
    /// Looks through process 1 of a sandbox, as soon as that has a root of its own.
    pub(crate) fn of(first: i32) -> Option<Self> {
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
        let proc = open(format!("/proc/{first}/root/proc"), flags, Mode::empty()).ok()?;
        // Before it has left the old root this would be the `/proc` of the machine.
        let is_own = fstat(&proc).ok()?.st_dev != stat("/proc").ok()?.st_dev;
        is_own.then(|| Self { proc, seen: HashMap::new() })
    }

    /// Adds up what all processes have used.
    pub(crate) fn spent(&mut self, memory_limit: Option<u64>) -> Spent {
        let begun = Instant::now();
        let in_time = || begun.elapsed() < LONGEST_LOOK;
        let processes = self.processes();
        let (mut with_waited_for, mut resident) = (Duration::ZERO, 0);
        for process in processes.iter().take_while(|_| in_time()) {
            // A process that ended meanwhile has nothing to tell; whoever waited for it has.
            let Some(times) = self.read(&format!("{process}/stat")).and_then(|text| Times::read(&text))
            else {
                continue;
            };
            with_waited_for += times.own + times.waited_for;
            let known = self.seen.entry((*process, times.start)).or_default();
            *known = times.own.max(*known);
            resident +=
                self.read(&format!("{process}/statm")).and_then(|text| pages(&text)).unwrap_or_default();
        }
        // Shared pages are counted once for each process here; only when that is too much is it worth a closer look.
        let memory = if memory_limit.is_some_and(|limit| resident > limit) {
            let exactly = |process: &u32| {
                self.read(&format!("{process}/smaps_rollup")).and_then(|text| proportional(&text))
            };
            processes.iter().take_while(|_| in_time()).filter_map(exactly).sum()
        } else {
            resident
        };
        Spent { cpu: with_waited_for.max(self.seen.values().sum()), memory }
    }

    fn processes(&self) -> Vec<u32> {
        let listed =
            openat(&self.proc, ".", OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).and_then(Dir::new);
        let listed = listed.into_iter().flatten().flatten();
        listed.filter_map(|entry| entry.file_name().to_str().ok()?.parse().ok()).collect()
    }

    fn read(&self, path: &str) -> Option<String> {
        let file = openat(self.proc.as_fd(), path, OFlags::CLOEXEC, Mode::empty()).ok()?;
        std::io::read_to_string(std::fs::File::from(file)).ok()
    }
}

/// Returns the most memory that this process has had at once, in bytes.
pub(crate) fn own_peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    kibibytes(&status, "VmHWM:").unwrap_or_default()
}

/// What one process says of its times.
struct Times {
    own: Duration,
    waited_for: Duration,
    start: u64,
}

impl Times {
    /// The 14th to 17th fields are own and waited-for time, in user and kernel mode; the 22nd is the start. They are
    /// counted after the name in parentheses, which may hold anything.
    fn read(stat: &str) -> Option<Self> {
        let (_, after_name) = stat.rsplit_once(')')?;
        let fields: Vec<u64> =
            after_name.split_whitespace().skip(11).take(9).filter_map(|field| field.parse().ok()).collect();
        let [user, system, waited_user, waited_system, .., start] = fields.as_slice() else { return None };
        let ticks = |count: u64| TICK * u32::try_from(count).unwrap_or(u32::MAX);
        Some(Self {
            own: ticks(user + system),
            waited_for: ticks(waited_user + waited_system),
            start: *start,
        })
    }
}

/// The second field is the resident set, in pages.
fn pages(statm: &str) -> Option<u64> {
    statm
        .split_whitespace()
        .nth(1)?
        .parse::<u64>()
        .ok()
        .map(|pages| pages * rustix::param::page_size() as u64)
}

fn proportional(rollup: &str) -> Option<u64> {
    kibibytes(rollup, "Pss:")
}

fn kibibytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kibibytes| kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_the_kernel_writes() {
        let stat = "7 (a) b) R 1 7 7 0 -1 4194304 90 0 0 0 12 3 40 5 20 0 1 0 4711 1 1";
        let times = Times::read(stat).unwrap();
        assert_eq!((times.own.as_millis(), times.waited_for.as_millis(), times.start), (150, 450, 4711));
        assert!(Times::read("7 (x").is_none());
        assert_eq!(pages("900 3 1 1 0 33 0"), Some(3 * rustix::param::page_size() as u64));
        assert_eq!(proportional("Rss: 1 kB\n"), None);
        assert_eq!(proportional("Rss: 9 kB\nPss:    2 kB\n"), Some(2048));
        assert!(own_peak() > 100_000);
    }
}
