//! The caller's standard input, read without ever waiting for it and without changing how others read it.
//!
//! Whoever started us shares the open file: to set `O_NONBLOCK` on it would change it for them too. So each kind is read by a call that
//! does not wait of itself.

use std::fmt;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::fs::{FileType, Mode, OFlags, SeekFrom, fcntl_setfl, fstat, major, minor, open, seek};
use rustix::io::{Errno, pread, read, write};
use rustix::net::{RecvFlags, recv};
use rustix::pipe::{PipeFlags, SpliceFlags, pipe_with, splice, tee};

/// Where a command's input comes from.
pub(crate) struct Source {
    descriptor: OwnedFd,
    kind: Kind,
}

enum Kind {
    /// A file, read from `start` on; its own position is set when it is known how far the command came.
    File { start: u64, ahead: u64 },
    /// A pipe. What it holds is moved to one of ours, which does not wait, and read from there.
    Pipe { into: OwnedFd, out: OwnedFd },
    /// A socket.
    Socket,
    /// Opened by us, and does not wait.
    Own,
}

impl Source {
    /// Finds out how to read a descriptor.
    ///
    /// # Errors
    ///
    /// It is a folder, or the machine has no descriptors left.
    pub(crate) fn new(descriptor: OwnedFd) -> Result<Self, Errno> {
        let found = fstat(&descriptor)?;
        let file = |descriptor: &OwnedFd| seek(descriptor, SeekFrom::Current(0));
        let kind = match FileType::from_raw_mode(found.st_mode) {
            FileType::Directory => return Err(Errno::ISDIR),
            FileType::Fifo => {
                let (out, into) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
                Kind::Pipe { into, out }
            }
            FileType::Socket => Kind::Socket,
            FileType::RegularFile | FileType::BlockDevice => match file(&descriptor) {
                Ok(start) => Kind::File { start, ahead: 0 },
                Err(_) => return Self::by_thread(descriptor),
            },
            _ => return Self::opened_again(descriptor, major(found.st_rdev), minor(found.st_rdev)),
        };
        Ok(Self { descriptor, kind })
    }

    pub(crate) const fn descriptor(&self) -> &OwnedFd {
        &self.descriptor
    }

    /// Whether it is a file, which has a place to be left at. Reading one may wait, however ready it looks.
    pub(crate) const fn is_file(&self) -> bool {
        matches!(self.kind, Kind::File { .. })
    }

    /// Whether [`Self::look`] works.
    pub(crate) const fn can_show(&self) -> bool {
        matches!(self.kind, Kind::Pipe { .. } | Kind::Socket)
    }

    /// Reads without taking.
    pub(crate) fn look(&self, buffer: &mut [u8]) -> Result<usize, Errno> {
        match &self.kind {
            Kind::Pipe { into, out } => {
                let length = tee(&self.descriptor, into, buffer.len(), SpliceFlags::NONBLOCK)?;
                read_all(out, buffer, length)
            }
            Kind::Socket => recv(&self.descriptor, buffer, RecvFlags::PEEK | RecvFlags::DONTWAIT)
                .map(|(length, _)| length),
            Kind::File { .. } | Kind::Own => Err(Errno::INVAL),
        }
    }

    /// Reads what is there. 0 is the end.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Errno> {
        match &mut self.kind {
            Kind::File { start, ahead } => {
                let length = pread(&self.descriptor, buffer, *start + *ahead)?;
                *ahead += length as u64;
                Ok(length)
            }
            Kind::Pipe { into, out } => {
                let flags = SpliceFlags::NONBLOCK | SpliceFlags::MOVE;
                let length = splice(&self.descriptor, None, into, None, buffer.len(), flags)?;
                read_all(out, buffer, length)
            }
            Kind::Socket => recv(&self.descriptor, buffer, RecvFlags::DONTWAIT).map(|(length, _)| length),
            Kind::Own => read(&self.descriptor, buffer),
        }
    }

    /// Takes bytes that were looked at.
    pub(crate) fn discard(&mut self, mut count: usize, buffer: &mut [u8]) {
        while count > 0 {
            let most = count.min(buffer.len());
            match self.read(buffer.get_mut(..most).unwrap_or_default()) {
                Ok(length @ 1..) => count -= length.min(count),
                Err(Errno::INTR) => {}
                // Somebody else has taken them.
                Ok(_) | Err(_) => return,
            }
        }
    }

    /// Leaves a file after what was read of it but for the last so many bytes.
    pub(crate) fn put_back(&mut self, count: usize) {
        if let Kind::File { start, ahead } = self.kind {
            let _set = seek(&self.descriptor, SeekFrom::Start(start + ahead.saturating_sub(count as u64)));
        }
    }

    /// A terminal or a device of the kernel's memory (`/dev/zero`) is opened once more. To open any other device could do something.
    fn opened_again(descriptor: OwnedFd, major: u32, minor: u32) -> Result<Self, Errno> {
        const MEMORY: u32 = 1;
        /// The side of a terminal that makes a new one when it is opened.
        const MASTER: (u32, u32) = (5, 2);
        let may_open = major == MEMORY || rustix::termios::isatty(&descriptor) && (major, minor) != MASTER;
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let path = format!("/proc/self/fd/{}", descriptor.as_raw_fd());
        match may_open.then(|| open(path, flags, Mode::empty())) {
            Some(Ok(descriptor)) => Ok(Self { descriptor, kind: Kind::Own }),
            Some(Err(_)) | None => Self::by_thread(descriptor),
        }
    }

    /// Whatever may wait is read by a thread that nobody waits for. It ends with what it reads, or after the next of it.
    fn by_thread(from: OwnedFd) -> Result<Self, Errno> {
        let (descriptor, to) = pipe_with(PipeFlags::CLOEXEC)?;
        fcntl_setfl(&descriptor, OFlags::NONBLOCK)?;
        let work = move || {
            let mut buffer = [0; 4096];
            loop {
                match read(&from, &mut buffer) {
                    Ok(length @ 1..) if write_all(&to, buffer.get(..length).unwrap_or_default()) => {}
                    Err(Errno::INTR) => {}
                    Ok(_) | Err(_) => return,
                }
            }
        };
        let thread = std::thread::Builder::new().name("ringfence-input".into()).spawn(work);
        thread.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::AGAIN))?;
        Ok(Self { descriptor, kind: Kind::Own })
    }
}

/// Reads so many bytes of a pipe that holds them.
fn read_all(pipe: &OwnedFd, buffer: &mut [u8], length: usize) -> Result<usize, Errno> {
    let mut done = 0;
    while done < length {
        match read(pipe, buffer.get_mut(done..length).unwrap_or_default()) {
            Ok(0) => break,
            Ok(more) => done += more,
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(done)
}

fn write_all(to: &OwnedFd, mut bytes: &[u8]) -> bool {
    while !bytes.is_empty() {
        match write(to, bytes) {
            Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
            Err(Errno::INTR) => {}
            Err(_) => return false,
        }
    }
    true
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source").finish_non_exhaustive()
    }
}
