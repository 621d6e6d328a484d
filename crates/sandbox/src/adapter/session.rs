//! One run of an adapter: what the command reads, where its output goes, and when it is to end.

use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Instant;

use crate::plan::Plan;
use crate::report::{Capture, Keep};
use crate::stream::{Observer, Opener, Sockets, Stream, Streams};

/// What a command reads.
#[derive(Debug, Default)]
pub enum Input {
    /// These bytes, and then the end.
    Bytes(Vec<u8>),
    /// Whatever comes from this descriptor.
    Descriptor(OwnedFd),
    /// Nothing.
    #[default]
    Nothing,
}

/// One run of an adapter.
///
/// INVARIANT: no more output is kept or passed on than the plan allows.
pub struct Session<'a> {
    input: Option<Input>,
    output: Option<OwnedFd>,
    observer: Option<Observer>,
    leash: Option<OwnedFd>,
    gate: Option<Opener<'a>>,
    deadline: Option<Instant>,
    limit: usize,
    total: usize,
    pub(crate) stdout: Capture,
    pub(crate) stderr: Capture,
}

impl<'a> Session<'a> {
    pub(crate) fn new(plan: &Plan, streams: Streams<'a>) -> Self {
        Self {
            input: Some(streams.input),
            output: streams.output,
            observer: streams.observer,
            leash: streams.leash,
            gate: streams.gate,
            deadline: plan.deadline().map(|wall| Instant::now() + wall),
            limit: plan.output_limit(),
            total: 0,
            stdout: Capture::default(),
            stderr: Capture::default(),
        }
    }

    /// Takes what the command reads; nothing the second time.
    pub fn input(&mut self) -> Input {
        self.input.take().unwrap_or_default()
    }

    /// Takes a piece of output. `Break` means that there is no room for more, or nobody wants it: the command is to be killed.
    pub fn write(&mut self, stream: Stream, bytes: &[u8]) -> ControlFlow<()> {
        if let (Stream::Output, Some(pipe)) = (stream, &self.output) {
            return write_all(pipe, bytes);
        }
        let keep = if self.observer.is_some() { Keep::No } else { Keep::Yes };
        let capture = match stream {
            Stream::Error => &mut self.stderr,
            Stream::Output => &mut self.stdout,
        };
        let kept = capture.take(bytes, self.limit, keep, &mut self.total);
        let wanted = match &mut self.observer {
            Some(observer) if !kept.is_empty() => observer(stream, kept),
            _ => ControlFlow::Continue(()),
        };
        if kept.len() < bytes.len() { ControlFlow::Break(()) } else { wanted }
    }

    /// Returns the pipe whose other end whoever waits for the command holds: when it hangs up, the command is to be killed.
    pub fn leash(&self) -> Option<BorrowedFd<'_>> {
        self.leash.as_ref().map(AsFd::as_fd)
    }

    /// Returns when the command is to be killed.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Hands over the sockets that a command with hosts asks through, made in the network namespace it will run in.
    ///
    /// # Errors
    ///
    /// Nobody opens a gate on them, and the command must not run.
    pub fn open_gate(&mut self, sockets: Sockets) -> std::io::Result<()> {
        match self.gate.take() {
            Some(open) => open(sockets),
            None => Err(std::io::Error::other("nobody opens an egress gate for it")),
        }
    }

    pub(crate) const fn wrote_too_much(&self) -> bool {
        self.stdout.dropped + self.stderr.dropped > 0
    }
}

fn write_all(pipe: &OwnedFd, mut bytes: &[u8]) -> ControlFlow<()> {
    while !bytes.is_empty() {
        match rustix::io::write(pipe, bytes) {
            Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return ControlFlow::Break(()),
        }
    }
    ControlFlow::Continue(())
}

impl std::fmt::Debug for Session<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("deadline", &self.deadline).finish_non_exhaustive()
    }
}
