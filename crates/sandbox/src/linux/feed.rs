//! What a command reads: a pipe of our own, filled from here.
//!
//! INVARIANT: the command never holds the caller's own descriptor. What it holds it can open again through `/proc/self/fd/0`, for
//! writing too, and would then write to whoever reads the caller's pipe next.
//!
//! A command that reads nothing leaves the input to the caller, as it would without us: the first piece is shown to it, and taken from
//! the caller only as far as the command has read it. A file is left where the command stopped reading. Of a pipe or a socket that the
//! command does read, up to 128 KiB may be taken that it never reads, as by any program that reads in blocks.

use std::os::fd::OwnedFd;

use rustix::event::PollFlags;
use rustix::io::{Errno, fcntl_dupfd_cloexec, ioctl_fionread};
use rustix::pipe::fcntl_setpipe_size;

use super::source::Source;

/// What the command reads, as far as it comes from here.
#[derive(Default)]
pub(crate) struct Feed {
    /// Where it is written.
    to: Option<OwnedFd>,
    /// What is still to be written.
    rest: Vec<u8>,
    /// Where more comes from.
    from: Option<Source>,
    /// Nothing more comes.
    is_over: bool,
    /// The command's end of the pipe once more, to see what it leaves of a file when ours is closed.
    left: Option<OwnedFd>,
    stage: Stage,
    /// What is written when no more comes: to a terminal, the end of what is typed is typed too.
    end: Option<u8>,
}

/// How the caller's input is read.
#[derive(Clone, Copy, Default, Eq, PartialEq)]
enum Stage {
    /// As it comes.
    #[default]
    Flowing,
    /// Nothing is read yet; the first piece will only be shown.
    Untouched,
    /// This many bytes lie in the command's pipe, and still with the caller.
    Shown(usize),
}

/// What a terminal reads as the end of its input.
const END_OF_TRANSMISSION: u8 = 4;
/// The first piece. It fills the pipe, so that there is room again when the command has read all of it.
const FIRST_PIECE: usize = 4096;
const USUAL_PIPE: usize = 64 << 10;

impl Feed {
    /// Writes these bytes to a pipe, and then the end.
    pub(crate) fn of_bytes(bytes: Vec<u8>, to: OwnedFd) -> Self {
        Self { to: Some(to), rest: bytes, ..Self::default() }
    }

    /// Passes on what comes from a source, to a pipe that the command reads by its end `theirs`.
    pub(crate) fn of_source(from: Source, to: OwnedFd, theirs: &OwnedFd) -> Result<Self, Errno> {
        let may_stay = from.can_show() && fcntl_setpipe_size(&to, FIRST_PIECE).is_ok();
        let stage = if may_stay { Stage::Untouched } else { Stage::Flowing };
        let left = from.is_file().then(|| fcntl_dupfd_cloexec(theirs, 3)).transpose()?;
        Ok(Self { to: Some(to), from: Some(from), stage, left, ..Self::default() })
    }

    /// Types into a terminal.
    pub(crate) fn of_terminal(bytes: Vec<u8>, from: Option<Source>, to: OwnedFd) -> Self {
        Self { to: Some(to), rest: bytes, from, end: Some(END_OF_TRANSMISSION), ..Self::default() }
    }

    /// Returns what is waited for: room for what is left, or more of it.
    pub(crate) fn wants(&self) -> Option<(&OwnedFd, PollFlags)> {
        if self.rest.is_empty() && !matches!(self.stage, Stage::Shown(_)) {
            self.from.as_ref().filter(|_| !self.is_over).map(|from| (from.descriptor(), PollFlags::IN))
        } else {
            self.to.as_ref().map(|to| (to, PollFlags::OUT))
        }
    }

    /// Whether reading may keep us waiting however ready it looked: a file of a slow file system.
    pub(crate) fn may_wait(&self) -> bool {
        self.from.as_ref().is_some_and(Source::is_file)
    }

    /// Writes what there is room for, or reads more. A pipe is closed when all is written or nobody reads it.
    pub(crate) fn go_on(&mut self, buffer: &mut [u8]) {
        match self.stage {
            Stage::Flowing => self.flow(buffer),
            Stage::Untouched => self.show(buffer),
            Stage::Shown(_) => self.shown(buffer),
        }
    }

    /// Takes from the caller what the command has read, when everything is over.
    pub(crate) fn settle(&mut self, buffer: &mut [u8]) {
        let unread = self.unread() + self.rest.len();
        let Some(from) = &mut self.from else { return };
        match self.stage {
            Stage::Shown(shown) => from.discard(shown.saturating_sub(unread), buffer),
            Stage::Flowing if self.end.is_none() => from.put_back(unread),
            Stage::Flowing | Stage::Untouched => {}
        }
        self.close();
    }

    fn show(&mut self, buffer: &mut [u8]) {
        let piece = buffer.get_mut(..FIRST_PIECE).unwrap_or_default();
        let (Some(from), Some(to)) = (&self.from, &self.to) else { return };
        match from.look(piece) {
            Ok(length @ 1..) => match rustix::io::write(to, piece.get(..length).unwrap_or_default()) {
                Ok(written) => self.stage = Stage::Shown(written),
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(_) => self.close(),
            },
            Err(Errno::AGAIN | Errno::INTR) => {}
            // The end; or it cannot be looked at, and is then read.
            Ok(_) => self.close(),
            Err(_) => self.stage = Stage::Flowing,
        }
    }

    /// There is room again: the command has read the first piece, and is one that reads. Or nobody reads it any more.
    fn shown(&mut self, buffer: &mut [u8]) {
        let Stage::Shown(shown) = self.stage else { return };
        let unread = self.unread();
        if unread > 0 {
            return self.settle(buffer);
        }
        if let Some(from) = &mut self.from {
            from.discard(shown, buffer);
        }
        if let Some(to) = &self.to {
            // Without it, it is only slower.
            let _larger = fcntl_setpipe_size(to, USUAL_PIPE);
        }
        self.stage = Stage::Flowing;
    }

    fn flow(&mut self, buffer: &mut [u8]) {
        if self.rest.is_empty() {
            match self.from.as_mut().map(|from| from.read(buffer)) {
                Some(Ok(length @ 1..)) => {
                    self.rest.extend_from_slice(buffer.get(..length).unwrap_or_default());
                }
                Some(Err(Errno::AGAIN | Errno::INTR)) => return,
                Some(Ok(_)) => {
                    self.rest.extend(self.end);
                    self.is_over = true;
                }
                Some(Err(_)) | None => self.is_over = true,
            }
        }
        match self.to.as_ref().map(|to| rustix::io::write(to, &self.rest)) {
            Some(Ok(written)) => drop(self.rest.drain(..written)),
            Some(Err(Errno::AGAIN | Errno::INTR)) => return,
            Some(Err(_)) | None => self.close(),
        }
        if self.rest.is_empty() && (self.from.is_none() || self.is_over) {
            self.to = None;
        }
    }

    fn unread(&self) -> usize {
        let pipe = self.left.as_ref().or(self.to.as_ref());
        let left = pipe.and_then(|pipe| ioctl_fionread(pipe).ok());
        left.and_then(|left| usize::try_from(left).ok()).unwrap_or(0)
    }

    fn close(&mut self) {
        self.rest.clear();
        (self.from, self.to) = (None, None);
    }
}
