//! Brotli, decoded as it streams.
//!
//! Only the decoder is linked: the crate that `async-compression` takes brings the encoder too, for nothing.
//!
//! INVARIANT: every step takes input, yields output or ends. A stream can be long and yield nothing, so this alone bounds
//! neither a read nor the whole: the input does, which is a layer with a limit that waits at the end of each turn.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use brotli_decompressor::{BrotliDecompressStream, BrotliResult, BrotliState, StandardAlloc};
use tokio::io::{AsyncBufRead, AsyncRead, ReadBuf};

/// Reads what an encoded stream stands for. What follows the end of the stream is not read.
pub(super) struct BrotliDecoder<R> {
    input: R,
    /// Boxed, because it has kilobytes of its own.
    state: Box<BrotliState<StandardAlloc, StandardAlloc, StandardAlloc>>,
    progress: Progress,
}

#[derive(Clone, Copy)]
enum Progress {
    Ended,
    /// The decoder may hold output that there was no room for.
    Full,
    /// The decoder waits for input.
    Hungry,
}

impl<R> BrotliDecoder<R> {
    pub(super) fn new(input: R) -> Self {
        let allocator = StandardAlloc::default;
        // Windows above 16 MiB are no part of `content-encoding: br` (RFC 7932), and would be memory of ours.
        let state = BrotliState::new_strict(allocator(), allocator(), allocator());
        Self { input, state: Box::new(state), progress: Progress::Hungry }
    }
}

impl<R: AsyncBufRead + Unpin> AsyncRead for BrotliDecoder<R> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        output: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Self { input, state, progress } = self.get_mut();
        while output.remaining() > 0 {
            let waiting = match progress {
                Progress::Ended => break,
                Progress::Full => &[],
                Progress::Hungry => match ready!(Pin::new(&mut *input).poll_fill_buf(context))? {
                    [] => return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into())),
                    waiting => waiting,
                },
            };
            let (mut taken, mut yielded) = (0, 0);
            let room = output.initialize_unfilled();
            let result = BrotliDecompressStream(
                &mut waiting.len(),
                &mut taken,
                waiting,
                &mut room.len(),
                &mut yielded,
                room,
                &mut 0,
                state,
            );
            let moved = taken > 0 || yielded > 0;
            Pin::new(&mut *input).consume(taken);
            output.advance(yielded);
            *progress = match result {
                BrotliResult::ResultSuccess => Progress::Ended,
                BrotliResult::NeedsMoreInput if moved || matches!(progress, Progress::Full) => {
                    Progress::Hungry
                }
                BrotliResult::NeedsMoreOutput if moved => Progress::Full,
                BrotliResult::NeedsMoreInput
                | BrotliResult::NeedsMoreOutput
                | BrotliResult::ResultFailure => {
                    return Poll::Ready(Err(invalid()));
                }
            };
            if yielded > 0 {
                break;
            }
        }
        Poll::Ready(Ok(()))
    }
}

fn invalid() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the body is no valid Brotli stream")
}

#[cfg(test)]
mod tests;
