//! One direction of a connection.
//!
//! INVARIANT: bytes leave in the order they came, each is counted when it leaves, and the end of the source is
//! passed on only after everything before it. A lane that waits for its source holds no buffer and no pipe.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use ringfence_policy::Refusal;
use rustix::io::Errno;
use rustix::net::RecvFlags;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::tcp::{ReadHalf, WriteHalf};

use super::buffer;
use super::pipe::{Pipe, Pipes};
use crate::scope::{Ticket, Unspent};

/// After how many bytes a direction is worth a pipe.
const BULK: u64 = 256 * 1024;

/// How often bytes are moved before others get their turn.
const MOVES: usize = 16;

/// Which budget the bytes of a lane count against.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Direction {
    /// From the far side.
    Received,
    /// To the far side.
    Sent,
}

/// Why a lane ends before its source does.
#[derive(Debug)]
pub(super) enum Fault {
    /// The source broke off.
    From(io::Error),
    /// What the source said is not let through.
    Refused(Refusal),
    /// No more bytes may pass.
    Spent(Refusal),
    /// The destination broke off.
    To(io::Error),
}

/// One direction: from a source to a destination.
pub(super) struct Lane<'a> {
    from: ReadHalf<'a>,
    to: WriteHalf<'a>,
    ticket: &'a Ticket,
    pipes: &'a Pipes,
    direction: Direction,
    held: Vec<u8>,
    /// How much of `held` has left.
    start: usize,
    pipe: Option<Pipe>,
    /// Whether pipes do not work here.
    copies: bool,
    moved: u64,
    ended: bool,
    done: bool,
}

impl<'a> Lane<'a> {
    pub(super) fn new(
        from: ReadHalf<'a>,
        to: WriteHalf<'a>,
        ticket: &'a Ticket,
        pipes: &'a Pipes,
        direction: Direction,
    ) -> Self {
        let (held, start, pipe) = (Vec::new(), 0, None);
        let (copies, moved, ended, done) = (false, 0, false, false);
        Self { from, to, ticket, pipes, direction, held, start, pipe, copies, moved, ended, done }
    }

    /// Puts bytes on the way that were read before. Nothing else may be on the way.
    pub(super) fn hold(&mut self, bytes: Vec<u8>) {
        self.held = bytes;
        self.start = 0;
    }

    /// Tells whether the end of the source was passed on.
    pub(super) const fn is_done(&self) -> bool {
        self.done
    }

    /// Moves what can be moved, until the end of the source was passed on.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Fault>> {
        for _ in 0..MOVES {
            if self.done {
                return Poll::Ready(Ok(()));
            }
            ready!(self.poll_flush(cx))?;
            if self.ended {
                self.finish();
            } else if self.moved >= BULK && !self.copies {
                ready!(self.poll_pipe(cx))?;
            } else {
                ready!(self.poll_copy(cx))?;
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Moves one piece at a time, of which `hear` is told before it leaves.
    pub(super) fn poll_heard(
        &mut self,
        cx: &mut Context<'_>,
        hear: impl FnOnce(&[u8]) -> Result<(), Fault>,
    ) -> Poll<Result<(), Fault>> {
        if self.done {
            return Poll::Ready(Ok(()));
        }
        ready!(self.poll_flush(cx))?;
        ready!(self.poll_read(cx, |lane, cx, bytes| {
            hear(bytes)?;
            lane.pass(cx, bytes)
        }))?;
        if self.ended {
            self.finish();
            return Poll::Ready(Ok(()));
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Sends what was read before and is still here.
    pub(super) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Fault>> {
        while self.pipe.as_ref().is_some_and(|pipe| pipe.held() > 0) {
            ready!(self.poll_drain(cx))?;
        }
        while self.start < self.held.len() {
            let held = std::mem::take(&mut self.held);
            let written = self.poll_write(cx, held.get(self.start..).unwrap_or_default());
            self.held = held;
            self.start = self.start.saturating_add(ready!(written)?);
        }
        if !self.held.is_empty() {
            self.hold(Vec::new());
        }
        Poll::Ready(Ok(()))
    }

    /// Passes the end of the source on.
    pub(super) fn finish(&mut self) {
        // A destination that is gone needs no end; what it did is seen on the way back.
        let _ended = rustix::net::shutdown(self.to.as_ref(), rustix::net::Shutdown::Write);
        self.done = true;
    }

    /// Reads into the thread's buffer; `take` gets the bytes, none at the end of the source.
    pub(super) fn poll_read<T>(
        &mut self,
        cx: &mut Context<'_>,
        take: impl FnOnce(&mut Self, &mut Context<'_>, &[u8]) -> Poll<Result<T, Fault>>,
    ) -> Poll<Result<T, Fault>> {
        buffer::lend(|buffer| {
            let mut into = ReadBuf::new(buffer);
            ready!(Pin::new(&mut self.from).poll_read(cx, &mut into)).map_err(Fault::From)?;
            take(self, cx, into.filled())
        })
    }

    fn poll_copy(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Fault>> {
        self.poll_read(cx, Self::pass)
    }

    /// Sends what was just read, and holds what cannot be sent now.
    fn pass(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<(), Fault>> {
        self.ended = bytes.is_empty();
        let mut sent = 0;
        while sent < bytes.len() {
            let rest = bytes.get(sent..).unwrap_or_default();
            match self.poll_write(cx, rest) {
                Poll::Ready(written) => sent = sent.saturating_add(written?),
                Poll::Pending => {
                    self.hold(rest.to_vec());
                    break;
                }
            }
        }
        Poll::Ready(Ok(()))
    }

    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize, Fault>> {
        let to = &mut self.to;
        let written = budget(self.ticket, self.direction)
            .spend(bytes.len(), |allowed| Pin::new(to).poll_write(cx, bytes.get(..allowed).unwrap_or(bytes)));
        Poll::Ready(self.counted(ready!(written)))
    }

    /// Moves bytes into a pipe, and lends the pipe back when there are none.
    fn poll_pipe(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Fault>> {
        let Some(mut pipe) = self.pipe.take().or_else(|| self.pipes.take()) else {
            return self.poll_copy(cx);
        };
        loop {
            let Poll::Ready(ready) = self.from.as_ref().poll_read_ready(cx) else {
                self.pipes.give(pipe);
                return Poll::Pending;
            };
            let filled = ready.and_then(|()| {
                self.from.as_ref().try_io(Interest::READABLE, || pipe.fill(self.from.as_ref()))
            });
            match filled {
                Ok(1..) => {
                    self.pipe = Some(pipe);
                    return Poll::Ready(Ok(()));
                }
                Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                    self.pipes.give(pipe);
                    self.copies = true;
                    return Poll::Ready(Ok(()));
                }
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => {
                    self.pipes.give(pipe);
                    return Poll::Ready(Err(Fault::From(error)));
                }
                Ok(0) => {
                    self.pipes.give(pipe);
                    // An end that reading does not see either is taken for one: looking again would find the same.
                    return self.read_past(cx).unwrap_or_else(|| self.pass(cx, &[]));
                }
                Err(_) => {
                    if let Some(passed) = self.read_past(cx) {
                        self.pipes.give(pipe);
                        return passed;
                    }
                }
            }
        }
    }

    /// Reads where a pipe finds nothing or an end: pipes stop at urgent data, and no event would tell of what lies behind.
    fn read_past(&mut self, cx: &mut Context<'_>) -> Option<Poll<Result<(), Fault>>> {
        buffer::lend(|buffer| {
            match rustix::net::recv(self.from.as_ref(), &mut *buffer, RecvFlags::DONTWAIT) {
                Ok((count, _)) => Some(self.pass(cx, buffer.get(..count).unwrap_or_default())),
                Err(Errno::AGAIN | Errno::INTR) => None,
                Err(errno) => Some(Poll::Ready(Err(Fault::From(errno.into())))),
            }
        })
    }

    fn poll_drain(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Fault>> {
        let to = self.to.as_ref();
        ready!(to.poll_write_ready(cx)).map_err(Fault::To)?;
        let Some(pipe) = &mut self.pipe else { return Poll::Ready(Ok(())) };
        let drained = budget(self.ticket, self.direction).spend(pipe.held(), |allowed| {
            match to.try_io(Interest::WRITABLE, || pipe.drain(to, allowed)) {
                // Nothing passed, and the next look at the socket waits for it.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => Poll::Ready(Ok(0)),
                drained => Poll::Ready(drained),
            }
        });
        Poll::Ready(self.counted(ready!(drained)).map(drop))
    }

    fn counted(&mut self, passed: Result<usize, Unspent>) -> Result<usize, Fault> {
        match passed {
            Ok(count) => {
                self.moved = self.moved.saturating_add(count as u64);
                match self.direction {
                    Direction::Received => self.ticket.received(count),
                    Direction::Sent => self.ticket.sent(count),
                }
                Ok(count)
            }
            Err(Unspent::Io(error)) => Err(Fault::To(error)),
            Err(Unspent::Limit(refusal)) => Err(Fault::Spent(refusal)),
        }
    }
}

fn budget(ticket: &Ticket, direction: Direction) -> &crate::scope::Budget {
    match direction {
        Direction::Received => &ticket.scope().meter().received,
        Direction::Sent => &ticket.scope().meter().sent,
    }
}

impl Drop for Lane<'_> {
    fn drop(&mut self) {
        if let Some(pipe) = self.pipe.take() {
            self.pipes.give(pipe);
        }
    }
}
