//! Both ends of the standard streams: pipes, or a terminal.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{OFlags, fcntl_setfl};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};

use super::terminal;
use crate::stream::Input;

/// Both ends of the streams of one command.
pub(crate) struct Ends {
    /// What the command gets, to be closed here once it runs.
    theirs: [OwnedFd; 3],
    ours: Ours,
}

/// What stays here.
pub(crate) struct Ours {
    pub(crate) input: Feed,
    pub(crate) output: OwnedFd,
    /// A terminal has one stream for both.
    pub(crate) error: Option<OwnedFd>,
}

/// What the command reads, as far as it comes from here.
#[derive(Default)]
pub(crate) struct Feed {
    /// Where it is written.
    pub(crate) to: Option<OwnedFd>,
    /// What is still to be written.
    pub(crate) rest: Vec<u8>,
    /// Where more comes from.
    pub(crate) from: Option<OwnedFd>,
}

impl Ends {
    pub(crate) fn new(input: Input, terminal: bool) -> Result<Self, Errno> {
        if terminal { Self::terminal(input) } else { Self::pipes(input) }
    }

    fn pipes(input: Input) -> Result<Self, Errno> {
        let (output, their_output) = pipe_with(PipeFlags::CLOEXEC)?;
        let (error, their_error) = pipe_with(PipeFlags::CLOEXEC)?;
        let (their_input, feed) = match input {
            Input::Nothing => (null()?, Feed::default()),
            Input::Descriptor(descriptor) => (descriptor, Feed::default()),
            Input::Bytes(rest) => {
                let (theirs, ours) = pipe_with(PipeFlags::CLOEXEC)?;
                fcntl_setfl(&ours, OFlags::NONBLOCK)?;
                (theirs, Feed { to: Some(ours), rest, from: None })
            }
        };
        for end in [&output, &error] {
            fcntl_setfl(end, OFlags::NONBLOCK)?;
        }
        let ours = Ours { input: feed, output, error: Some(error) };
        Ok(Self { theirs: [their_input, their_output, their_error], ours })
    }

    fn terminal(input: Input) -> Result<Self, Errno> {
        let (rest, from) = match input {
            Input::Nothing => (Vec::new(), None),
            Input::Bytes(bytes) => (bytes, None),
            Input::Descriptor(descriptor) => (Vec::new(), Some(descriptor)),
        };
        let (ours, theirs) = terminal::pair(from.as_ref())?;
        fcntl_setfl(&ours, OFlags::NONBLOCK | OFlags::RDWR)?;
        let again = |descriptor: &OwnedFd| rustix::io::fcntl_dupfd_cloexec(descriptor, 3);
        let feed = Feed { to: Some(again(&ours)?), rest, from };
        let theirs = [again(&theirs)?, again(&theirs)?, theirs];
        Ok(Self { theirs, ours: Ours { input: feed, output: ours, error: None } })
    }

    pub(crate) fn borrowed(&self) -> [BorrowedFd<'_>; 3] {
        self.theirs.each_ref().map(AsFd::as_fd)
    }

    /// Closes what the command got.
    pub(crate) fn into_ours(self) -> Ours {
        self.ours
    }
}

fn null() -> Result<OwnedFd, Errno> {
    rustix::fs::open("/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, rustix::fs::Mode::empty())
}
