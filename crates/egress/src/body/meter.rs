//! What one layer of a body may cost.
//!
//! The wire is a layer, and so is the output of each decoder. A layer between the two ends can be far larger than both: a
//! decoder reads a million empty members without any output, and another decoder makes them from a few bytes. So every
//! layer has the limit, and all layers of a body share one turn.
//!
//! INVARIANT: no layer passes on more than its limit, and after each [`TURN`] of bytes, in whatever layer, the task yields.

use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};
use tokio::task::yield_now;

/// How many bytes all layers of a body pass on before other tasks have their turn.
const TURN: usize = 16 * 1024;

/// Counts the bytes that the layers of one body have passed on since its task last yielded.
#[derive(Debug, Default)]
pub(super) struct Turn(AtomicUsize);

impl Turn {
    fn add(&self, bytes: usize) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }

    fn is_over(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= TURN
    }

    fn restart(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

/// Reads one layer. It fails with [`Overflow`] above its limit, and waits once the turn is over.
pub(super) struct LayerReader<R> {
    inner: R,
    /// How much more may pass, in bytes; none once it was exceeded.
    left: Option<u64>,
    turn: Arc<Turn>,
}

impl<R> LayerReader<R> {
    /// Takes the limit in bytes.
    pub(super) fn new(inner: R, limit: u64, turn: Arc<Turn>) -> Self {
        Self { inner, left: Some(limit), turn }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for LayerReader<R> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        output: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let Some(left) = this.left else { return Poll::Ready(Err(io::Error::other(Overflow))) };
        if this.turn.is_over() {
            return poll_yield(context);
        }
        let before = output.filled().len();
        ready!(Pin::new(&mut this.inner).poll_read(context, output))?;
        let count = output.filled().len().saturating_sub(before);
        this.turn.add(count);
        this.left = left.checked_sub(u64::try_from(count).unwrap_or(u64::MAX));
        if this.left.is_none() {
            output.set_filled(before);
            return Poll::Ready(Err(io::Error::other(Overflow)));
        }
        Poll::Ready(Ok(()))
    }
}

/// Reads the outermost layer, and yields for all of them.
///
/// A layer cannot yield by itself: a decoder that has some output returns it, though the layer below told it to wait.
pub(super) struct TurnReader<R> {
    inner: R,
    turn: Arc<Turn>,
}

impl<R> TurnReader<R> {
    /// Takes the turn that the layers below share.
    pub(super) fn new(inner: R, turn: Arc<Turn>) -> Self {
        Self { inner, turn }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for TurnReader<R> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        output: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let polled = if this.turn.is_over() {
            poll_yield(context)
        } else {
            Pin::new(&mut this.inner).poll_read(context, output)
        };
        if polled.is_pending() {
            this.turn.restart();
        }
        polled
    }
}

/// Waits until other tasks and the driver of the runtime have run.
fn poll_yield<T>(context: &mut Context<'_>) -> Poll<T> {
    // Its first poll is never ready, and arranges for the next one.
    let _yielded = pin!(yield_now()).poll(context);
    Poll::Pending
}

/// Marks a layer that is larger than it may be.
#[derive(Debug, thiserror::Error)]
#[error("more was sent than may be decoded")]
pub(super) struct Overflow;
