//! The standard streams of a command, as the caller wants them.

use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crate::adapter::Input;

/// What a command reads and where its output goes. Starts with an empty input and output that is kept.
#[derive(Default)]
#[must_use = "streams do nothing until a sandbox runs a command with them"]
pub struct Streams<'a> {
    pub(crate) input: Input,
    pub(crate) input_path: InputPath,
    pub(crate) output: Option<OwnedFd>,
    pub(crate) observer: Option<Observer>,
    pub(crate) leash: Option<OwnedFd>,
    pub(crate) signals: Option<OwnedFd>,
    pub(crate) gate: Option<Opener<'a>>,
    pub(crate) gauge: Option<Arc<AtomicU64>>,
}

/// How a descriptor becomes a command's input.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum InputPath {
    /// It is read here and passed on through a pipe of ours.
    #[default]
    Copied,
    /// The command holds it.
    PastUs,
}

/// Sockets that were made inside a network namespace. They work there, whoever holds them.
#[derive(Debug)]
pub struct Sockets {
    /// TCP listeners on the ports of the plan, and one for DNS.
    pub listeners: Vec<OwnedFd>,
    /// The UDP socket of DNS.
    pub dns: OwnedFd,
}

/// Takes the sockets of a gate, before the command runs. An error ends everything.
pub type Opener<'a> = Box<dyn FnOnce(Sockets) -> std::io::Result<()> + Send + 'a>;

/// Takes pieces of output as they come. One that breaks off has had enough, and the stream is closed. On Linux it has a thread of its
/// own: while it blocks, the command waits and every limit holds. One that blocks on after a limit or the leash has ended the command
/// is left behind.
pub type Observer = Box<dyn FnMut(Stream, &[u8]) -> ControlFlow<()> + Send>;

/// Which stream a piece of output came from.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Stream {
    /// Standard error.
    Error,
    /// Standard output.
    Output,
}

impl<'a> Streams<'a> {
    /// Lets the command read these bytes.
    pub fn input(mut self, bytes: Vec<u8>) -> Self {
        self.input = if bytes.is_empty() { Input::Nothing } else { Input::Bytes(bytes) };
        self
    }

    /// Lets the command read what comes from this descriptor. It is read here and passed on: the command never holds it. What the
    /// command does not read stays with the caller, but for what was read ahead of a pipe or a socket that the command reads from.
    pub fn input_from(mut self, descriptor: OwnedFd) -> Self {
        self.input = Input::Descriptor(descriptor);
        self
    }

    /// Lets the command read this pipe itself, past us. It must be made for this command: a command can open the other end of a pipe
    /// that it holds, and write to whoever reads it too.
    pub fn input_pipe(mut self, pipe: OwnedFd) -> Self {
        self.input = Input::Descriptor(pipe);
        self.input_path = InputPath::PastUs;
        self
    }

    /// Lets the command write its standard output to this pipe, past us: no limit counts it, and whoever reads the other end
    /// decides how fast it goes. It must be made for this command, which can open the other end too.
    pub fn output_to(mut self, pipe: OwnedFd) -> Self {
        self.output = Some(pipe);
        self
    }

    /// Kills the command when the other end of this pipe is closed.
    pub fn leash(mut self, end: OwnedFd) -> Self {
        self.leash = Some(end);
        self
    }

    /// Passes signals on to the command's process group: each byte that comes from this pipe is the number of one. `SIGWINCH` gives a
    /// terminal of its own the size of the one that its input comes from. One that asks a command to end
    /// before it has begun kills it. Adapters and other systems than Linux pass nothing on.
    pub fn signals(mut self, pipe: OwnedFd) -> Self {
        self.signals = Some(pipe);
        self
    }

    /// Keeps here how much memory the whole tree uses, in bytes, every second or more often; where that is not seen, it stays as
    /// it is.
    pub fn gauge(mut self, memory: Arc<AtomicU64>) -> Self {
        self.gauge = Some(memory);
        self
    }

    /// Opens a gate on the sockets that a command with hosts asks through. Without one, such a command is refused.
    pub fn gate(mut self, open: impl FnOnce(Sockets) -> std::io::Result<()> + Send + 'a) -> Self {
        self.gate = Some(Box::new(open));
        self
    }

    /// Hands output on as it comes, within the output limit, instead of keeping it.
    pub fn observe(
        mut self,
        observer: impl FnMut(Stream, &[u8]) -> ControlFlow<()> + Send + 'static,
    ) -> Self {
        self.observer = Some(Box::new(observer));
        self
    }
}
