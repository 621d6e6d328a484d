//! What a guest writes for operators: its log, its standard output, its standard error.
//!
//! INVARIANT: nothing of it reaches the output of a call, each line is one line, and no more than [`LINES`] lines and
//! [`BYTES`] bytes of a call are kept; what is over is counted.

use std::sync::{Arc, Mutex, PoisonError};

use ringfence::egress::Bytes;
use tokio::io::AsyncWrite;
use wasmtime_wasi::async_trait;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};

use crate::bindings::ringfence::tool::log::Level;
use crate::error::line;

/// Lines that are kept of one call.
const LINES: usize = 1_000;
/// Bytes that are kept of one call.
const BYTES: usize = 64 << 10;
/// Characters that are kept of one line.
const LINE: usize = 2_000;

/// The log of one call. Clones write to the same.
#[derive(Clone, Debug)]
pub(crate) struct Log(Arc<Mutex<Kept>>);

#[derive(Debug)]
struct Kept {
    tool: Arc<str>,
    call: u64,
    lines: usize,
    bytes: usize,
    lost: usize,
}

impl Log {
    pub(crate) fn new(tool: Arc<str>, call: u64) -> Self {
        Self(Arc::new(Mutex::new(Kept { tool, call, lines: 0, bytes: 0, lost: 0 })))
    }

    /// Keeps one line.
    pub(crate) fn write(&self, level: Level, message: &str) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.lines >= LINES || kept.bytes.saturating_add(message.len()) > BYTES {
            kept.lost += 1;
            return;
        }
        kept.lines += 1;
        kept.bytes += message.len();
        let (tool, call, message) = (&*kept.tool, kept.call, line(message, LINE));
        match level {
            Level::Debug => tracing::debug!(target: "ringfence::guest", tool, call, "{message}"),
            Level::Info => tracing::info!(target: "ringfence::guest", tool, call, "{message}"),
            Level::Warn => tracing::warn!(target: "ringfence::guest", tool, call, "{message}"),
            Level::Error => tracing::error!(target: "ringfence::guest", tool, call, "{message}"),
        }
    }

    /// Returns how many lines were kept and how many were lost.
    #[cfg(test)]
    fn counted(&self) -> (usize, usize) {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (kept.lines, kept.lost)
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        if self.lost > 0 {
            tracing::warn!(
                target: "ringfence::guest", tool = &*self.tool, call = self.call, lost = self.lost,
                "the tool wrote more than is kept"
            );
        }
    }
}

/// Standard output or standard error, as a part of the log.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    pub(crate) log: Log,
    pub(crate) level: Level,
}

impl IsTerminal for Stream {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Stream {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(tokio::io::sink())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

#[async_trait]
impl Pollable for Stream {
    async fn ready(&mut self) {}
}

#[async_trait]
impl OutputStream for Stream {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        for text in String::from_utf8_lossy(&bytes).split('\n').filter(|text| !text.is_empty()) {
            self.log.write(self.level, text);
        }
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(BYTES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_no_more_than_it_may() {
        let log = Log::new("shouter".into(), 1);
        for _ in 0..LINES + 10 {
            log.write(Level::Info, "a");
        }
        assert_eq!(log.counted(), (LINES, 10));

        let log = Log::new("shouter".into(), 2);
        log.write(Level::Info, &"a".repeat(BYTES));
        log.write(Level::Info, "a");
        assert_eq!(log.counted(), (1, 1));
    }
}
