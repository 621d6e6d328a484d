//! A connection of the client under the limits of its scope.
//!
//! INVARIANT: before each read and write the scope is heard; once it has ended the connection, nothing passes.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use ringfence_policy::Refusal;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::scope::{Broken, Ticket, Unspent, Watch};

/// A stream whose bytes are counted and that ends when its scope says so.
pub(super) struct Metered {
    stream: TcpStream,
    ticket: Arc<Ticket>,
    broken: Pin<Box<dyn Future<Output = Broken> + Send>>,
}

impl Metered {
    /// Takes over a connection that was dialled, unless the grant has changed meanwhile.
    pub(super) fn new(
        stream: TcpStream,
        address: SocketAddr,
        ticket: Arc<Ticket>,
        watch: Watch,
    ) -> Result<Self, Refusal> {
        ticket.opened(address);
        ticket.judge()?;
        let broken = Box::pin(ticket.guard(watch).broken());
        Ok(Self { stream, ticket, broken })
    }

    /// Hears the scope.
    fn poll_scope(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        if let Some(refusal) = self.ticket.why_cut() {
            return Err(io::Error::other(refusal));
        }
        match self.broken.as_mut().poll(cx) {
            Poll::Pending => Ok(()),
            Poll::Ready(broken) => Err(self.cut(broken.refusal())),
        }
    }

    fn cut(&self, refusal: Refusal) -> io::Error {
        self.ticket.cut(refusal.clone());
        // What is still queued is dropped with the connection; without it, closing is as good.
        let _set = self.stream.set_zero_linger();
        io::Error::other(refusal)
    }

    /// Tells, when nothing more may be received, whether the far side has said all it had to say.
    fn poll_end(&mut self, cx: &mut Context<'_>, refusal: Refusal) -> Poll<io::Result<()>> {
        let mut one = [0];
        match ready!(self.stream.poll_peek(cx, &mut ReadBuf::new(&mut one)))? {
            0 => Poll::Ready(Ok(())),
            _ => Poll::Ready(Err(self.cut(refusal))),
        }
    }
}

impl AsyncRead for Metered {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.poll_scope(cx)?;
        let this = &mut *self;
        let scope = this.ticket.scope().clone();
        let spent = scope.meter().received.spend(buffer.remaining(), |allowed| {
            let mut part = ReadBuf::new(buffer.initialize_unfilled_to(allowed));
            let read = ready!(Pin::new(&mut this.stream).poll_read(cx, &mut part));
            Poll::Ready(read.map(|()| part.filled().len()))
        });
        match ready!(spent) {
            Err(Unspent::Limit(refusal)) => self.poll_end(cx, refusal),
            Err(Unspent::Io(error)) => Poll::Ready(Err(error)),
            Ok(count) => {
                buffer.advance(count);
                self.ticket.received(count);
                Poll::Ready(Ok(()))
            }
        }
    }
}

impl AsyncWrite for Metered {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_scope(cx)?;
        let this = &mut *self;
        let scope = this.ticket.scope().clone();
        let spent = scope.meter().sent.spend(bytes.len(), |allowed| {
            Pin::new(&mut this.stream).poll_write(cx, bytes.get(..allowed).unwrap_or(bytes))
        });
        match ready!(spent) {
            Err(Unspent::Limit(refusal)) => Poll::Ready(Err(self.cut(refusal))),
            Err(Unspent::Io(error)) => Poll::Ready(Err(error)),
            Ok(count) => {
                self.ticket.sent(count);
                Poll::Ready(Ok(count))
            }
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

impl fmt::Debug for Metered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metered").field("ticket", &self.ticket).finish_non_exhaustive()
    }
}
