//! What a whole tree of processes has used, read from the sandbox's own `/proc`.
//!
//! Limits of the kernel without a control group hold for each process alone. A tree is held to its limits by looking.

use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

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
}

/// The kernel counts processor time for `/proc` in hundredths of a second.
const TICK: Duration = Duration::from_millis(10);

impl Tree {
    /// Looks through process 1 of a sandbox, as soon as that has a root of its own.
    pub(crate) fn of(first: i32) -> Option<Self> {
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
        let proc = open(format!("/proc/{first}/root/proc"), flags, Mode::empty()).ok()?;
        // Before it has left the old root this would be the `/proc` of the machine.
        let is_own = fstat(&proc).ok()?.st_dev != stat("/proc").ok()?.st_dev;
        is_own.then_some(Self { proc })
    }

    /// Adds up what all processes have used.
    pub(crate) fn spent(&self) -> Spent {
        let mut spent = Spent::default();
        let Ok(listed) =
            openat(&self.proc, ".", OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).and_then(Dir::new)
        else {
            return spent;
        };
        for entry in listed.flatten() {
            let name = entry.file_name().to_string_lossy();
            if !name.bytes().all(|digit| digit.is_ascii_digit()) {
                continue;
            }
            // A process that ended meanwhile has nothing to tell; whoever waited for it has.
            spent.cpu += self.read(&format!("{name}/stat")).and_then(|text| ticks(&text)).unwrap_or_default();
            let memory = self.read(&format!("{name}/smaps_rollup")).and_then(|text| proportional(&text));
            spent.memory += memory.unwrap_or_default();
        }
        spent
    }

    fn read(&self, path: &str) -> Option<String> {
        let file = openat(self.proc.as_fd(), path, OFlags::CLOEXEC, Mode::empty()).ok()?;
        std::io::read_to_string(std::fs::File::from(file)).ok()
    }
}

/// Own and waited-for time, in user and kernel mode: the 14th to 17th fields, counted after the name in parentheses.
fn ticks(stat: &str) -> Option<Duration> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let times = after_name.split_whitespace().skip(11).take(4);
    times.map(|field| field.parse::<u32>().ok()).sum::<Option<u32>>().map(|ticks| TICK * ticks)
}

fn proportional(rollup: &str) -> Option<u64> {
    let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kibibytes| kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_the_kernel_writes() {
        let stat = "7 (a) b) R 1 7 7 0 -1 4194304 90 0 0 0 12 3 40 5 20 0 1 0 100 1 1";
        assert_eq!(ticks(stat), Some(Duration::from_millis(600)));
        assert_eq!(ticks("7 (x"), None);
        assert_eq!(
            proportional("Rss:   900 kB\nPss:                 512 kB\nPss_Dirty: 1 kB\n"),
            Some(512 << 10)
        );
        assert_eq!(proportional("Rss: 1 kB\n"), None);
    }
}
