//! Both ends of the standard streams.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};

use crate::stream::Input;

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
