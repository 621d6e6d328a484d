//! Both ends of the standard streams: pipes, or a terminal.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{FileType, OFlags, fcntl_getfl, fcntl_setfl, fstat};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};

use super::terminal;
use crate::adapter::Input;

/// Both ends of the streams of one command.
pub(crate) struct Ends {
    /// What the command gets, to be closed here once it runs.
    theirs: [OwnedFd; 3],
    ours: Ours,
}

/// What stays here.
pub(crate) struct Ours {
    pub(crate) input: Feed,
    /// Absent where the command writes past us.
    pub(crate) output: Option<OwnedFd>,
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
    /// What is written when no more comes: to a terminal, the end of what is typed is typed too.
    pub(crate) end: Option<u8>,
}

/// What a terminal reads as the end of its input.
const END_OF_TRANSMISSION: u8 = 4;

impl Ends {
    pub(crate) fn new(input: Input, output: Option<OwnedFd>, terminal: bool) -> Result<Self, Errno> {
        match output {
            // A terminal has one stream for everything.
            Some(_) if terminal => Err(Errno::INVAL),
            None if terminal => Self::terminal(input),
            output => Self::pipes(input, output),
        }
    }

    fn pipes(input: Input, past_us: Option<OwnedFd>) -> Result<Self, Errno> {
        let (output, their_output) = match past_us {
            Some(pipe) => (None, only_written(pipe)?),
            None => {
                let (ours, theirs) = pipe_with(PipeFlags::CLOEXEC)?;
                (Some(ours), theirs)
            }
        };
        let (error, their_error) = pipe_with(PipeFlags::CLOEXEC)?;
        let (their_input, feed) = match input {
            Input::Nothing => (null()?, Feed::default()),
            Input::Descriptor(descriptor) => Self::handed_over(descriptor)?,
            Input::Bytes(rest) => {
                let (theirs, ours) = pipe_with(PipeFlags::CLOEXEC)?;
                fcntl_setfl(&ours, OFlags::NONBLOCK)?;
                (theirs, Feed { to: Some(ours), rest, from: None, end: None })
            }
        };
        for end in output.iter().chain([&error]) {
            fcntl_setfl(end, OFlags::NONBLOCK)?;
        }
        let ours = Ours { input: feed, output, error: Some(error) };
        Ok(Self { theirs: [their_input, their_output, their_error], ours })
    }

    /// A pipe that can only be read is given as it is. Anything else is more than its content: a file can be changed
    /// through its descriptor, a folder leads to others, a socket carries descriptors. That is read here and passed on.
    fn handed_over(descriptor: OwnedFd) -> Result<(OwnedFd, Feed), Errno> {
        let kind = FileType::from_raw_mode(fstat(&descriptor)?.st_mode);
        let read_only = fcntl_getfl(&descriptor)? & OFlags::RWMODE == OFlags::RDONLY;
        match kind {
            FileType::Fifo if read_only => return Ok((descriptor, Feed::default())),
            FileType::Directory => return Err(Errno::ISDIR),
            _ => {}
        }
        let (theirs, ours) = pipe_with(PipeFlags::CLOEXEC)?;
        fcntl_setfl(&ours, OFlags::NONBLOCK)?;
        Ok((theirs, Feed { to: Some(ours), rest: Vec::new(), from: Some(descriptor), end: None }))
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
        let feed = Feed { to: Some(again(&ours)?), rest, from, end: Some(END_OF_TRANSMISSION) };
        let theirs = [again(&theirs)?, again(&theirs)?, theirs];
        Ok(Self { theirs, ours: Ours { input: feed, output: Some(ours), error: None } })
    }

    pub(crate) fn borrowed(&self) -> [BorrowedFd<'_>; 3] {
        self.theirs.each_ref().map(AsFd::as_fd)
    }

    /// Closes what the command got.
    pub(crate) fn into_ours(self) -> Ours {
        self.ours
    }
}

/// Anything but a pipe that can only be written to is more than a place for output.
fn only_written(pipe: OwnedFd) -> Result<OwnedFd, Errno> {
    let kind = FileType::from_raw_mode(fstat(&pipe)?.st_mode);
    let write_only = fcntl_getfl(&pipe)? & OFlags::RWMODE == OFlags::WRONLY;
    if kind == FileType::Fifo && write_only { Ok(pipe) } else { Err(Errno::INVAL) }
}

fn null() -> Result<OwnedFd, Errno> {
    rustix::fs::open("/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, rustix::fs::Mode::empty())
}
