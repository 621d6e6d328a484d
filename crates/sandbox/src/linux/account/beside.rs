//! Memory that a tree holds and that is in no process: shared memory, and what waits in sockets and pipes.

use rustix::fs::fstatvfs;

use super::Opened;
use super::process::{Folder, kibibytes};

/// What the whole machine has, in bytes.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Machine {
    shared: u64,
    tcp: u64,
}

impl Machine {
    /// Looks at the machine before a command runs.
    pub(crate) fn now() -> Self {
        let sockets = std::fs::read_to_string("/proc/self/net/sockstat").unwrap_or_default();
        let (shared, swapped) = shared_memory();
        Self { shared: shared + swapped, tcp: Sockets::read(&sockets).tcp_memory }
    }
}

/// The shared memory of the whole machine, and what it has on disk instead of any memory, in bytes.
fn shared_memory() -> (u64, u64) {
    let meminfo = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let number = |name| kibibytes(&meminfo, name).unwrap_or_default();
    (number("Shmem:"), number("SwapTotal:").saturating_sub(number("SwapFree:")))
}

/// What a tree holds beside its processes, in bytes.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Held {
    /// What waits in sockets and pipes.
    pub(super) held: u64,
    /// How much more shared memory the machine has than before.
    pub(super) shared: u64,
}

/// What was there before, and what is not counted.
#[derive(Debug)]
pub(super) struct Beside {
    before: Machine,
    shared_now: u64,
    is_swapping: bool,
    /// The scratch space, which has a limit of its own.
    scratch: Option<Opened>,
}

/// The most that waits in a socket whose buffers are as the machine makes them: the kernel's default and one piece more.
const SOCKET: u64 = (208 << 10) + (36 << 10);
/// A pipe has two ends and 64 KiB, as long as the user's pipes have less than 64 MiB together; two pages afterwards.
const PIPE_END: u64 = 32 << 10;
const PIPES: u64 = 64 << 20;
const SMALL_PIPE_END: u64 = 4 << 10;
/// What could wait in sockets and pipes is counted only beyond this part of the limit: most of them are empty.
const SPARE: u64 = 4;

impl Beside {
    pub(super) const fn new(before: Machine, scratch: Option<Opened>) -> Self {
        Self { before, shared_now: before.shared, is_swapping: true, scratch }
    }

    pub(super) fn look(&mut self, proc: &Folder, descriptors: u64, limit: u64) -> Held {
        let sockets = Sockets::read(&proc.read("1/net/sockstat").unwrap_or_default());
        // Without a socket none of it is ours.
        if sockets.all == 0 {
            self.before.tcp = sockets.tcp_memory;
        }
        let scratch = self.scratch.as_ref().and_then(|folder| fstatvfs(folder).ok());
        let scratch =
            scratch.map_or(0, |space| (space.f_blocks.saturating_sub(space.f_bfree)) * space.f_frsize);
        let (shared, swapped) = shared_memory();
        self.shared_now = (shared + swapped).saturating_sub(scratch);
        self.is_swapping = swapped > 0;
        let waiting =
            could_wait(sockets.all.saturating_sub(sockets.tcp), descriptors.saturating_sub(sockets.tcp))
                .saturating_sub(limit / SPARE);
        Held {
            held: sockets.tcp_memory.saturating_sub(self.before.tcp) + waiting,
            shared: self.shared_now.saturating_sub(self.before.shared),
        }
    }

    /// Tells whether the machine had memory on disk when it was last looked at.
    pub(super) const fn is_swapping(&self) -> bool {
        self.is_swapping
    }

    /// What the machine has more is not this tree's.
    pub(super) const fn forget_shared(&mut self) {
        self.before.shared = self.shared_now;
    }
}

/// The most that can wait in so many sockets, and pipes behind so many descriptors.
const fn could_wait(sockets: u64, descriptors: u64) -> u64 {
    let ends = descriptors.saturating_sub(sockets);
    let large = ends * PIPE_END;
    let pipes = if large > PIPES { PIPES } else { large };
    sockets * SOCKET + pipes + ends.saturating_sub(PIPES / PIPE_END) * SMALL_PIPE_END
}

/// What the kernel tells of the sockets of a network namespace.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
struct Sockets {
    /// All of them, of each family, also those on their way from one process to another.
    all: u64,
    /// How many of them are TCP's, whose memory the kernel tells.
    tcp: u64,
    /// The memory of TCP on the whole machine, in bytes.
    tcp_memory: u64,
}

impl Sockets {
    fn read(sockstat: &str) -> Self {
        let number = |line: &str, name: &str| {
            let line = sockstat.lines().find_map(|found| found.strip_prefix(line))?;
            let mut words = line.split_whitespace();
            words.find(|word| *word == name)?;
            words.next()?.parse::<u64>().ok()
        };
        Self {
            all: number("sockets:", "used").unwrap_or_default(),
            tcp: number("TCP:", "inuse").unwrap_or_default(),
            tcp_memory: number("TCP:", "mem").unwrap_or_default() * rustix::param::page_size() as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_the_kernel_writes() {
        let text = "sockets: used 118\nTCP: inuse 3 orphan 0 tw 0 alloc 1 mem 174\nUDP: inuse 0 mem 9\n";
        let page = rustix::param::page_size() as u64;
        assert_eq!(Sockets::read(text), Sockets { all: 118, tcp: 3, tcp_memory: 174 * page });
        assert_eq!(Sockets::read(""), Sockets::default());
        assert!(Machine::now().shared > 0 || cfg!(not(target_os = "linux")));
    }

    #[test]
    fn sockets_and_pipes_are_counted_by_what_fits_in() {
        #[rustfmt::skip]
        let cases = [
            // sockets  descriptors  MiB
            (0,         0,           0),
            (0,         32,          1),
            (100,       100,         23),
            (100,       132,         24),
            (0,         2_048,       64),
            (0,         2_048 + 256, 65),
            // On their way from one process to another: no descriptor.
            (1_000,     3,           238),
        ];
        for (sockets, descriptors, mebibytes) in cases {
            assert_eq!(could_wait(sockets, descriptors) >> 20, mebibytes, "{sockets} {descriptors}");
        }
    }
}
