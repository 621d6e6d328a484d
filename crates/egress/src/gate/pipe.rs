//! Pipes through which the kernel moves bytes from socket to socket without copying them.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Mutex;

use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};

use crate::scope::locked;

/// How many pipes are kept for the next connection.
const KEPT: usize = 8;

/// How many pipes there may be; a connection beyond them copies.
const MOST: usize = 64;

/// How many bytes a pipe holds, where the system lets it.
const SIZE: usize = 1024 * 1024;

/// The pipes of a gate.
#[derive(Debug, Default)]
pub(super) struct Pipes(Mutex<Pool>);

#[derive(Debug, Default)]
struct Pool {
    kept: Vec<Pipe>,
    made: usize,
}

impl Pipes {
    /// Returns an empty pipe, or none where there are enough or the system has none left.
    pub(super) fn take(&self) -> Option<Pipe> {
        let mut pool = locked(&self.0);
        if let Some(pipe) = pool.kept.pop() {
            return Some(pipe);
        }
        if pool.made >= MOST {
            return None;
        }
        let pipe = Pipe::new().ok()?;
        pool.made += 1;
        Some(pipe)
    }

    /// Takes a pipe back. One with bytes in it is closed: they belong to a connection that is gone.
    pub(super) fn give(&self, pipe: Pipe) {
        let mut pool = locked(&self.0);
        if pipe.held == 0 && pool.kept.len() < KEPT {
            pool.kept.push(pipe);
        } else {
            pool.made = pool.made.saturating_sub(1);
        }
    }
}

/// A pipe and how many bytes are in it.
#[derive(Debug)]
pub(super) struct Pipe {
    read: OwnedFd,
    write: OwnedFd,
    size: usize,
    held: usize,
}

impl Pipe {
    fn new() -> io::Result<Self> {
        let (read, write) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        // Where a larger one is not to be had, the usual size does.
        let size = fcntl_setpipe_size(&write, SIZE).unwrap_or(64 * 1024);
        Ok(Self { read, write, size, held: 0 })
    }

    /// Returns how many bytes are in it.
    pub(super) const fn held(&self) -> usize {
        self.held
    }

    /// Fills the empty pipe from a socket; none means that the socket is at its end.
    ///
    /// INVARIANT: the pipe is empty, so that what would block is the socket and not the pipe.
    pub(super) fn fill(&mut self, from: impl AsFd) -> io::Result<usize> {
        let flags = SpliceFlags::MOVE | SpliceFlags::NONBLOCK;
        let count = splice(from, None, &self.write, None, self.size, flags)?;
        self.held = count;
        Ok(count)
    }

    /// Moves at most `most` of its bytes into a socket.
    pub(super) fn drain(&mut self, to: impl AsFd, most: usize) -> io::Result<usize> {
        let flags = SpliceFlags::MOVE | SpliceFlags::NONBLOCK;
        let count = splice(&self.read, None, to, None, most.min(self.held), flags)?;
        self.held = self.held.saturating_sub(count);
        Ok(count)
    }
}
