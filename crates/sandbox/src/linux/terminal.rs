//! A terminal for a command: made here, so that the command never holds the one we run in.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr, tcsetwinsize};

/// Both sides of a new terminal: ours, and the command's. It has the size of `like`, where that is a terminal.
pub(crate) fn pair(like: Option<&OwnedFd>) -> Result<(OwnedFd, OwnedFd), Errno> {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    grantpt(&ours)?;
    unlockpt(&ours)?;
    let name = ptsname(&ours, Vec::new())?;
    let theirs = rustix::fs::open(name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty())?;
    if let Some(size) = like.and_then(|like| tcgetwinsize(like).ok()) {
        tcsetwinsize(&ours, size)?;
    }
    Ok((ours, theirs))
}

/// Gives a terminal the size of another, which tells the programs in it.
pub(crate) fn copy_size(from: &OwnedFd, to: &OwnedFd) {
    if let Ok(size) = tcgetwinsize(from) {
        // One that is gone needs none.
        let _set = tcsetwinsize(to, size);
    }
}

/// Keeps a terminal raw, so that every key reaches the command; puts it back when dropped.
#[must_use = "the terminal is put back when this is dropped"]
pub struct RawTerminal {
    terminal: OwnedFd,
    before: Termios,
}

impl RawTerminal {
    /// Makes a terminal raw. `None` when it is not a terminal.
    pub fn new(terminal: &impl AsFd) -> Option<Self> {
        let terminal = terminal.as_fd().try_clone_to_owned().ok()?;
        let before = tcgetattr(&terminal).ok()?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(&terminal, OptionalActions::Now, &raw).ok()?;
        Some(Self { terminal, before })
    }
}

impl Drop for RawTerminal {
    fn drop(&mut self) {
        // A terminal that is gone needs nothing.
        let _restored = tcsetattr(&self.terminal, OptionalActions::Now, &self.before);
    }
}

impl std::fmt::Debug for RawTerminal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RawTerminal").finish_non_exhaustive()
    }
}
