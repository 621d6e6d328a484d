//! Whether the process that asked for the sandbox still lives.
//!
//! The outer program ties its processes to their parents, but each of them only some time after it was made: one whose
//! parent is killed before that is never told. So we look once more when all of them have done it.

use std::fs::{File, OpenOptions, read_to_string};
use std::io::{Error, ErrorKind, Read, Result};
use std::os::unix::fs::OpenOptionsExt;
use std::time::Duration;

/// How long the first process of the sandbox is waited for: it has two system calls to go.
const PATIENCE: u32 = 1_000;

/// Fails when the other end of the pipe with this number is closed: only the process that asked for the sandbox holds it.
pub(super) fn check(number: u32) -> Result<()> {
    wait_for_the_first();
    let mut pipe = open(number)?;
    match pipe.read(&mut [0]) {
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(()),
        Err(error) => Err(error),
        Ok(_) => Err(Error::other("the process that started the sandbox has ended")),
    }
}

fn open(number: u32) -> Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(format!("/proc/self/fd/{number}"))
}

/// Waits until process 1 sleeps: bwrap's forks us, ties itself to its parent, and then waits for us.
fn wait_for_the_first() {
    for _ in 0..PATIENCE {
        let stat = read_to_string("/proc/1/stat").unwrap_or_default();
        let state = stat.rsplit_once(") ").map(|(_, rest)| rest.as_bytes().first());
        // Who cannot be looked at is not ours to wait for.
        if !matches!(state, Some(Some(b'R' | b'D'))) {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use rustix::pipe::{PipeFlags, pipe_with};

    use super::check;

    #[test]
    fn an_end_that_is_closed_is_seen() {
        let (ours, theirs) = pipe_with(PipeFlags::CLOEXEC).unwrap();
        let number = u32::try_from(ours.as_raw_fd()).unwrap();
        check(number).unwrap();
        drop(theirs);
        assert!(check(number).is_err());
        drop(ours);
        assert!(check(u32::MAX).is_err(), "nor is a descriptor that is not there");
    }
}
