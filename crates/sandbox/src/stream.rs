//! The standard streams of a command, as the caller wants them.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};

/// What a command reads and where its output goes. Starts with an empty input and output that is kept.
#[derive(Default)]
#[must_use = "streams do nothing until a sandbox runs a command with them"]
pub struct Streams<'a> {
    pub(crate) input: Input,
    pub(crate) observer: Option<Observer<'a>>,
}

/// Takes pieces of output as they come.
pub type Observer<'a> = Box<dyn FnMut(Stream, &[u8]) + Send + 'a>;

/// Which stream a piece of output came from.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Stream {
    /// Standard error.
    Error,
    /// Standard output.
    Output,
}

/// What a command reads.
#[derive(Default)]
pub(crate) enum Input {
    Bytes(Vec<u8>),
    Descriptor(OwnedFd),
    #[default]
    Nothing,
}

impl<'a> Streams<'a> {
    /// Lets the command read these bytes.
    pub fn input(mut self, bytes: Vec<u8>) -> Self {
        self.input = if bytes.is_empty() { Input::Nothing } else { Input::Bytes(bytes) };
        self
    }

    /// Lets the command read from this descriptor.
    pub fn input_from(mut self, descriptor: OwnedFd) -> Self {
        self.input = Input::Descriptor(descriptor);
        self
    }

    /// Hands output on as it comes, within the output limit, instead of keeping it.
    pub fn observe(mut self, observer: impl FnMut(Stream, &[u8]) + Send + 'a) -> Self {
        self.observer = Some(Box::new(observer));
        self
    }
}

/// Both ends of the streams of one command.
pub(crate) struct Ends {
    /// What the command gets, to be closed here once it runs.
    pub(crate) theirs: [OwnedFd; 3],
    pub(crate) ours: Ours,
}

/// What stays here.
pub(crate) struct Ours {
    pub(crate) input: Option<(OwnedFd, Vec<u8>)>,
    pub(crate) output: OwnedFd,
    pub(crate) error: OwnedFd,
}

impl Ends {
    pub(crate) fn new(input: Input) -> Result<Self, Errno> {
        let flags = PipeFlags::CLOEXEC;
        let (output, their_output) = pipe_with(flags)?;
        let (error, their_error) = pipe_with(flags)?;
        let (their_input, input) = match input {
            Input::Nothing => (null()?, None),
            Input::Descriptor(descriptor) => (descriptor, None),
            Input::Bytes(bytes) => {
                let (theirs, ours) = pipe_with(flags)?;
                rustix::fs::fcntl_setfl(&ours, rustix::fs::OFlags::NONBLOCK)?;
                (theirs, Some((ours, bytes)))
            }
        };
        for end in [&output, &error] {
            rustix::fs::fcntl_setfl(end, rustix::fs::OFlags::NONBLOCK)?;
        }
        Ok(Self { theirs: [their_input, their_output, their_error], ours: Ours { input, output, error } })
    }

    pub(crate) fn borrowed(&self) -> [BorrowedFd<'_>; 3] {
        self.theirs.each_ref().map(AsFd::as_fd)
    }
}

fn null() -> Result<OwnedFd, Errno> {
    rustix::fs::open(
        "/dev/null",
        rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::CLOEXEC,
        rustix::fs::Mode::empty(),
    )
}
