//! Memory that stays while no process shows it: shared memory that is not mapped any more.

use std::fs::OpenOptions;
use std::os::fd::AsRawFd;
use std::thread;
use std::time::Duration;

use super::memory::{LIMIT, mapped, touch};
use crate::probe::{Outcome, Probe};
use crate::sys::{forked, waited};

pub(crate) const PROBES: &[Probe] = &[
    shared("resource::memory_shared_dropped", |_| dropped()),
    shared("resource::memory_shared_trimmed", |_| trimmed()),
    shared("resource::memory_shared_zero_device", |_| zero_device()),
    shared("resource::memory_shared_of_the_dead", |_| filled_by_children()),
];

const fn shared(name: &'static str, call: fn(&crate::scene::Scene) -> Outcome) -> Probe {
    Probe::new(name, call).word().or_killed().flags(LIMIT)
}

const PIECE: usize = 8 << 20;
const PIECES: usize = 56;
const PAGE: usize = 4096;
const WRITE: i32 = libc::PROT_WRITE;

/// Long enough to be seen with it.
pub(super) fn kept(what: &str) -> Outcome {
    thread::sleep(Duration::from_millis(400));
    Ok(what.to_owned())
}

/// The pages leave the process, not the memory.
fn dropped() -> Outcome {
    for _ in 0..PIECES {
        let start = mapped(libc::MAP_SHARED, WRITE, PIECE)?;
        touch(start, PIECE);
        sys!(libc::SYS_madvise, start, PIECE, libc::MADV_DONTNEED)?;
    }
    kept("448 MiB that no process shows")
}

/// One page that is still mapped keeps all of it.
fn trimmed() -> Outcome {
    for _ in 0..PIECES {
        let start = mapped(libc::MAP_SHARED, WRITE, PIECE)?;
        touch(start, PIECE);
        sys!(libc::SYS_munmap, start + PAGE as i64, PIECE - PAGE)?;
    }
    kept("448 MiB behind 56 pages")
}

/// What is mapped of this device is shared memory like any other, by another way, and is there as soon as it is read.
fn zero_device() -> Outcome {
    let device = OpenOptions::new().read(true).write(true).open("/dev/zero")?;
    let (access, kind) = (libc::PROT_READ, libc::MAP_SHARED);
    for _ in 0..PIECES {
        let start = sys!(libc::SYS_mmap, 0, PIECE, access, kind, device.as_raw_fd(), 0)?;
        for offset in (0..PIECE).step_by(PAGE) {
            // SAFETY: `read_volatile` demands memory that may be read: the mapping was just made, of that length.
            unsafe { ((start as usize + offset) as *const u8).read_volatile() };
        }
        sys!(libc::SYS_munmap, start + PAGE as i64, PIECE - PAGE)?;
    }
    kept("448 MiB of zeros")
}

/// Whoever filled it is gone, and nobody waited.
fn filled_by_children() -> Outcome {
    // SAFETY: `signal` demands a valid handler, which ignoring is.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
    for _ in 0..PIECES {
        let start = mapped(libc::MAP_SHARED, WRITE, PIECE)?;
        let child = forked(|| {
            touch(start, PIECE);
            0
        })?;
        // There is nothing to wait for but its end.
        let _gone = waited(child);
        sys!(libc::SYS_munmap, start + PAGE as i64, PIECE - PAGE)?;
    }
    kept("448 MiB that others filled")
}
