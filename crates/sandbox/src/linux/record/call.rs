//! One call: what its arguments name, and what it is about to do with it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;

use super::{Recorder, text};
use crate::record::How;
use crate::seccomp::{Act, Architecture, Place, act};
use crate::sys::notify::{self, Waiting};

/// A file without a name is made in a folder; this stands for its name.
const UNNAMED: &str = "#unnamed";
/// The longest socket address.
const MOST_ADDRESS: usize = 128;

/// A path that a call names.
struct Named {
    path: PathBuf,
    relative: bool,
}

impl Recorder {
    /// Writes down what a call names.
    ///
    /// # Errors
    ///
    /// We may not look into the sandbox: then nothing is to run in it.
    pub(super) fn take(&mut self, waiting: &Waiting) -> Result<(), Errno> {
        if self.root.is_none() {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            self.root = Some(open(format!("/proc/{}/root", waiting.thread), flags, Mode::empty())?);
        }
        self.record.calls += 1;
        let Some(act) = act(Architecture::HERE, waiting.number) else { return Ok(()) };
        // Whoever was killed meanwhile names nothing any more.
        if self.act(waiting, act).is_none() && notify::still_waits(self.listener.as_fd(), waiting) {
            self.record.unread += 1;
        }
        Ok(())
    }

    /// Returns nothing when what is named cannot be read.
    fn act(&mut self, waiting: &Waiting, act: Act) -> Option<()> {
        let word = |number: u8| waiting.arguments.get(usize::from(number)).copied().unwrap_or_default();
        match act {
            Act::Do(how, place) => {
                let named = self.named(waiting, place)?;
                self.note_named(named.as_ref(), how);
            }
            Act::Create(place) => {
                let named = self.named(waiting, place)?;
                self.note_open(named.as_ref(), libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC);
            }
            Act::Open(place, flags) => {
                let named = self.named(waiting, place)?;
                self.note_open(named.as_ref(), word(flags) as i32);
            }
            Act::Execute(place) => {
                let named = match self.named(waiting, place)? {
                    Some(named) => Some(named),
                    None if is_descriptor(waiting, place) => {
                        Some(Named { path: folder(waiting, place)?, relative: false })
                    }
                    None => None,
                };
                self.note_named(named.as_ref(), How::Execute);
            }
            Act::Rename(from, to) | Act::Link(from, to) => {
                let (from, to) = (self.named(waiting, from)?, self.named(waiting, to)?);
                let first = if matches!(act, Act::Link(..)) { How::Look } else { How::Remove };
                self.note_named(from.as_ref(), first);
                self.note_named(to.as_ref(), How::Make);
            }
            Act::Address(at) => self.address(waiting, word(at), word(at + 1))?,
            Act::Send(length) => self.address(waiting, word(length - 1), word(length))?,
        }
        Some(())
    }

    fn note_named(&mut self, named: Option<&Named>, how: How) {
        if let Some(Named { path, relative }) = named {
            self.note(path, how, *relative);
        }
    }

    fn note_open(&mut self, named: Option<&Named>, flags: i32) {
        const UNNAMED_FILE: i32 = libc::O_TMPFILE & !libc::O_DIRECTORY;
        let Some(Named { path, relative }) = named else { return };
        if flags & libc::O_PATH != 0 {
            return self.note(path, How::Look, *relative);
        }
        if flags & UNNAMED_FILE != 0 {
            return self.note(&path.join(UNNAMED), How::Make, *relative);
        }
        let mode = flags & libc::O_ACCMODE;
        let writes = mode != libc::O_RDONLY || flags & libc::O_TRUNC != 0;
        if flags & libc::O_CREAT != 0 && self.inside(path).is_none() {
            self.note(path, How::Make, *relative);
        } else if writes {
            self.note(path, How::Change, *relative);
        }
        if mode != libc::O_WRONLY {
            self.note(path, How::Read, *relative);
        }
    }

    /// Returns the path that a call names; nothing inside when it names none, nothing at all when it cannot be read.
    fn named(&self, waiting: &Waiting, place: Place) -> Option<Option<Named>> {
        let at = waiting.arguments.get(usize::from(place.text)).copied()?;
        if at == 0 {
            // A descriptor alone is meant.
            return Some(None);
        }
        let mut buffer = [0; text::MOST];
        let read = notify::read_memory(waiting.thread, at, &mut buffer).ok()?;
        let path = text::path(buffer.get(..read)?)?;
        let named = if path.as_os_str().is_empty() {
            None
        } else if path.is_absolute() {
            Some(Named { path: path.to_path_buf(), relative: false })
        } else {
            let relative = !is_descriptor(waiting, place);
            Some(Named { path: folder(waiting, place)?.join(path), relative })
        };
        // Only now is it known that what was read is of this call.
        notify::still_waits(self.listener.as_fd(), waiting).then_some(named)
    }

    fn read(&self, waiting: &Waiting, at: u64, buffer: &mut [u8]) -> Option<()> {
        let read = notify::read_memory(waiting.thread, at, buffer).ok()?;
        (read == buffer.len() && notify::still_waits(self.listener.as_fd(), waiting)).then_some(())
    }

    fn address(&mut self, waiting: &Waiting, at: u64, length: u64) -> Option<()> {
        let mut buffer = [0; MOST_ADDRESS];
        let length = usize::try_from(length).ok()?.min(MOST_ADDRESS);
        let bytes = buffer.get_mut(..length)?;
        self.read(waiting, at, bytes)?;
        match socket_address(bytes) {
            Some(Found::Internet(address)) => self.note_address(address),
            Some(Found::Path(path)) => {
                let relative = !path.is_absolute();
                let path = if relative { working_directory(waiting)?.join(path) } else { path };
                self.note(&path, How::Look, relative);
            }
            None => {}
        }
        Some(())
    }
}

fn working_directory(waiting: &Waiting) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/{}/cwd", waiting.thread)).ok()
}

/// Returns the folder that a path starts from.
fn folder(waiting: &Waiting, place: Place) -> Option<PathBuf> {
    match descriptor(waiting, place) {
        Some(descriptor) if descriptor != libc::AT_FDCWD => {
            std::fs::read_link(format!("/proc/{}/fd/{descriptor}", waiting.thread)).ok()
        }
        Some(_) | None => working_directory(waiting),
    }
}

fn is_descriptor(waiting: &Waiting, place: Place) -> bool {
    descriptor(waiting, place).is_some_and(|descriptor| descriptor != libc::AT_FDCWD)
}

fn descriptor(waiting: &Waiting, place: Place) -> Option<i32> {
    place.folder.and_then(|folder| waiting.arguments.get(usize::from(folder))).map(|word| *word as i32)
}

enum Found {
    Internet(SocketAddr),
    Path(PathBuf),
}

/// Reads a socket address as the kernel does: the family first.
fn socket_address(bytes: &[u8]) -> Option<Found> {
    let family = u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?);
    let port = || Some(u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?));
    match i32::from(family) {
        libc::AF_INET => {
            let octets: [u8; 4] = bytes.get(4..8)?.try_into().ok()?;
            Some(Found::Internet(SocketAddr::new(IpAddr::V4(Ipv4Addr::from(octets)), port()?)))
        }
        libc::AF_INET6 => {
            let octets: [u8; 16] = bytes.get(8..24)?.try_into().ok()?;
            Some(Found::Internet(SocketAddr::new(IpAddr::V6(Ipv6Addr::from(octets)), port()?)))
        }
        // A name that begins with a NUL is none of a file.
        libc::AF_UNIX => {
            let path = text::path(bytes.get(2..)?).unwrap_or(Path::new(""));
            (!path.as_os_str().is_empty()).then(|| Found::Path(path.to_path_buf()))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_addresses_as_the_kernel_does() {
        let shown = |bytes: &[u8]| match socket_address(bytes) {
            Some(Found::Internet(address)) => address.to_string(),
            Some(Found::Path(path)) => path.display().to_string(),
            None => "nothing".to_owned(),
        };
        let family = |family: i32, rest: &[u8]| {
            let mut bytes = (family as u16).to_ne_bytes().to_vec();
            bytes.extend(rest);
            bytes
        };
        let mut six = family(libc::AF_INET6, &[0x01, 0xbb, 0, 0, 0, 0]);
        six.extend([0; 15]);
        six.push(1);
        assert_eq!(shown(&family(libc::AF_INET, &[0x01, 0xbb, 10, 0, 0, 7])), "10.0.0.7:443");
        assert_eq!(shown(&six), "[::1]:443");
        assert_eq!(shown(&family(libc::AF_UNIX, b"/run/x.sock\0junk")), "/run/x.sock");
        for nothing in [&family(libc::AF_UNIX, b"\0abstract")[..], &family(16, &[0; 10]), &[1], &[]] {
            assert_eq!(shown(nothing), "nothing");
        }
    }
}
