//! Recording: the kernel tells of every call that names something, it is written down, and the call goes on.
//!
//! A thread of ours does nothing else while the command runs. It decides nothing: each call has passed the confining filter
//! before it is told of, and meets mounts, Landlock and the kernel's own checks afterwards. When the thread ends early, the
//! kernel answers every such call with `ENOSYS`.

mod call;
mod text;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, fstat, openat2};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};

use crate::error::SandboxError;
use crate::host::Kind;
use crate::record::{How, Record, Touch};
use crate::step::Step;
use crate::sys::notify;

/// More different paths than this are only counted: a command could make up more than there is memory for.
const MOST_PATHS: usize = 500_000;
/// The same of addresses.
const MOST_ADDRESSES: usize = 10_000;

/// Writes down what a command names.
pub(crate) struct Recorder {
    listener: OwnedFd,
    /// The root of the sandbox, once the command has been about to start.
    root: Option<OwnedFd>,
    record: Record,
    known: HashMap<(PathBuf, How), usize>,
    addresses: HashMap<SocketAddr, usize>,
}

/// Runs `watch` while everything the command names is written down.
pub(crate) fn recording<T>(
    listener: Option<OwnedFd>,
    watch: impl FnOnce() -> Result<T, SandboxError>,
) -> Result<(T, Option<Record>), SandboxError> {
    let Some(listener) = listener else { return Ok((watch()?, None)) };
    let failed = |error| SandboxError::Step { step: Step::Record, path: None, error };
    let recorder = Recorder::new(listener);
    let (end, held) = pipe_with(PipeFlags::CLOEXEC).map_err(|errno| failed(errno.into()))?;
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("ringfence-recorder".into());
        let thread = thread.spawn_scoped(scope, move || recorder.work(&end)).map_err(failed)?;
        let watched = watch();
        drop(held);
        let gone = |_| failed(std::io::Error::other("the recording thread is gone"));
        let record = thread.join().map_err(gone)?.map_err(|errno| failed(errno.into()))?;
        Ok((watched?, Some(record)))
    })
}

impl Recorder {
    fn new(listener: OwnedFd) -> Self {
        Self {
            listener,
            root: None,
            record: Record::default(),
            known: HashMap::new(),
            addresses: HashMap::new(),
        }
    }

    /// Takes calls until nobody is left who makes any, or `end` is closed.
    fn work(mut self, end: &OwnedFd) -> Result<Record, Errno> {
        notify::take_turns(self.listener.as_fd());
        loop {
            let mut both = [PollFd::new(&self.listener, PollFlags::IN), PollFd::new(end, PollFlags::IN)];
            match poll(&mut both, None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
            let [calls, end] = both.map(|one| one.revents());
            if calls.contains(PollFlags::IN) {
                if let Some(waiting) = notify::receive(self.listener.as_fd())? {
                    self.take(&waiting)?;
                    notify::go_on(self.listener.as_fd(), &waiting);
                }
            } else if !calls.is_empty() || !end.is_empty() {
                return Ok(self.record);
            }
        }
    }

    /// Writes a path down.
    fn note(&mut self, path: &Path, how: How, relative: bool) {
        let key = (path.to_path_buf(), how);
        if let Some(touch) = self.known.get(&key).and_then(|place| self.record.paths.get_mut(*place)) {
            touch.times += 1;
            return;
        }
        if self.known.len() >= MOST_PATHS {
            self.record.left_out += 1;
            return;
        }
        let (there, real) = self.inside(path).unzip();
        self.known.insert(key, self.record.paths.len());
        // What `..` means after a link is what the kernel made of it.
        let odd = path.components().any(|part| part == std::path::Component::ParentDir);
        let path = match &real {
            Some(real) if odd => real.clone(),
            _ => text::normal(path),
        };
        self.record.paths.push(Touch { path, how, times: 1, there, real, relative });
    }

    fn note_address(&mut self, address: SocketAddr) {
        let known = self.addresses.get(&address).copied();
        if let Some((_, times)) = known.and_then(|place| self.record.addresses.get_mut(place)) {
            *times += 1;
        } else if self.addresses.len() >= MOST_ADDRESSES {
            self.record.left_out += 1;
        } else {
            self.addresses.insert(address, self.record.addresses.len());
            self.record.addresses.push((address, 1));
        }
    }

    /// Returns what is there, as the command would find it, and where it really is.
    fn inside(&self, path: &Path) -> Option<(Kind, PathBuf)> {
        use std::os::fd::AsRawFd;
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
        let found = openat2(self.root.as_ref()?, path, flags, Mode::empty(), resolve).ok()?;
        let kind = match FileType::from_raw_mode(fstat(&found).ok()?.st_mode) {
            FileType::Directory => Kind::Directory,
            FileType::RegularFile => Kind::File,
            FileType::Fifo => Kind::Pipe,
            _ => Kind::Other,
        };
        let real = std::fs::read_link(format!("/proc/self/fd/{}", found.as_raw_fd())).ok()?;
        Some((kind, real))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_cannot_fill_memory_with_addresses() {
        let nothing = std::fs::File::open("/dev/null").unwrap();
        let mut recorder = Recorder::new(nothing.into());
        for number in 0..=u32::try_from(MOST_ADDRESSES).unwrap() {
            recorder.note_address(SocketAddr::from((number.to_be_bytes(), 80)));
        }
        recorder.note_address(SocketAddr::from(([0, 0, 0, 0], 80)));
        assert_eq!(recorder.record.addresses.len(), MOST_ADDRESSES);
        assert_eq!(recorder.record.left_out, 1);
        assert_eq!(recorder.record.addresses.first().unwrap().1, 2);
    }
}
