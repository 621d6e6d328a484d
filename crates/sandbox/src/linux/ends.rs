//! Both ends of the standard streams: pipes, or a terminal.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{FileType, OFlags, fcntl_getfl, fcntl_setfl, fstat, major, minor};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};

use super::feed::Feed;
use super::source::Source;
use super::terminal;
use crate::adapter::Input;
use crate::stream::InputPath;

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
    /// The terminal whose size the command's has.
    pub(crate) window: Option<OwnedFd>,
}

impl Ends {
    /// `input` is what the command reads, and whether the command may hold it itself.
    pub(crate) fn new(
        input: (Input, InputPath),
        output: Option<OwnedFd>,
        terminal: bool,
    ) -> Result<Self, Errno> {
        match output {
            // A terminal has one stream for everything.
            Some(_) if terminal => Err(Errno::INVAL),
            None if terminal => Self::terminal(input.0),
            output => Self::pipes(input, output),
        }
    }

    fn pipes((input, way): (Input, InputPath), past_us: Option<OwnedFd>) -> Result<Self, Errno> {
        let (output, their_output) = match past_us {
            Some(pipe) => (None, only(pipe, OFlags::WRONLY)?),
            None => {
                let (ours, theirs) = pipe_with(PipeFlags::CLOEXEC)?;
                (Some(ours), theirs)
            }
        };
        let (error, their_error) = pipe_with(PipeFlags::CLOEXEC)?;
        let (their_input, feed) = match input {
            Input::Nothing => (null()?, Feed::default()),
            Input::Descriptor(pipe) if way == InputPath::PastUs => {
                (only(pipe, OFlags::RDONLY)?, Feed::default())
            }
            Input::Descriptor(descriptor) if is_null(&descriptor)? => (null()?, Feed::default()),
            Input::Descriptor(descriptor) => {
                let source = Source::new(descriptor)?;
                let (theirs, ours) = input_pipe()?;
                let feed = Feed::of_source(source, ours, &theirs)?;
                (theirs, feed)
            }
            Input::Bytes(bytes) => {
                let (theirs, ours) = input_pipe()?;
                (theirs, Feed::of_bytes(bytes, ours))
            }
        };
        for end in output.iter().chain([&error]) {
            fcntl_setfl(end, OFlags::NONBLOCK)?;
        }
        let ours = Ours { input: feed, output, error: Some(error), window: None };
        Ok(Self { theirs: [their_input, their_output, their_error], ours })
    }

    fn terminal(input: Input) -> Result<Self, Errno> {
        let (rest, from) = match input {
            Input::Nothing => (Vec::new(), None),
            Input::Bytes(bytes) => (bytes, None),
            Input::Descriptor(descriptor) => (Vec::new(), Some(descriptor)),
        };
        let (ours, theirs) = terminal::pair(from.as_ref())?;
        let window = from.as_ref().map(OwnedFd::try_clone).transpose().map_err(|_| Errno::MFILE)?;
        let from = from.map(Source::new).transpose()?;
        fcntl_setfl(&ours, OFlags::NONBLOCK | OFlags::RDWR)?;
        let again = |descriptor: &OwnedFd| rustix::io::fcntl_dupfd_cloexec(descriptor, 3);
        let feed = Feed::of_terminal(rest, from, again(&ours)?);
        let theirs = [again(&theirs)?, again(&theirs)?, theirs];
        Ok(Self { theirs, ours: Ours { input: feed, output: Some(ours), error: None, window } })
    }

    pub(crate) fn borrowed(&self) -> [BorrowedFd<'_>; 3] {
        self.theirs.each_ref().map(AsFd::as_fd)
    }

    /// Closes what the command got.
    pub(crate) fn into_ours(self) -> Ours {
        self.ours
    }
}

/// A pipe for input: the command's end, and ours, which does not wait.
fn input_pipe() -> Result<(OwnedFd, OwnedFd), Errno> {
    let (theirs, ours) = pipe_with(PipeFlags::CLOEXEC)?;
    fcntl_setfl(&ours, OFlags::NONBLOCK)?;
    Ok((theirs, ours))
}

/// Anything but a pipe that can only be read, or only be written to, is more than a stream.
fn only(pipe: OwnedFd, mode: OFlags) -> Result<OwnedFd, Errno> {
    let kind = FileType::from_raw_mode(fstat(&pipe)?.st_mode);
    let found = fcntl_getfl(&pipe)? & OFlags::RWMODE;
    if kind == FileType::Fifo && found == mode { Ok(pipe) } else { Err(Errno::INVAL) }
}

/// Whether nothing will ever come.
fn is_null(descriptor: &OwnedFd) -> Result<bool, Errno> {
    let found = fstat(descriptor)?;
    let device = (major(found.st_rdev), minor(found.st_rdev));
    Ok(FileType::from_raw_mode(found.st_mode) == FileType::CharacterDevice && device == (1, 3))
}

fn null() -> Result<OwnedFd, Errno> {
    rustix::fs::open("/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, rustix::fs::Mode::empty())
}
