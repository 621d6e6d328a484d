//! A signal to us ends the command, and not us: what it left behind is still to be looked at.

use std::io::PipeReader;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use tokio::signal::unix::{SignalKind, signal};

/// Waits for a signal that asks us to end.
pub(crate) struct Interrupt {
    received: Arc<AtomicI32>,
}

impl Interrupt {
    /// Begins to wait. The other end of the pipe that is returned is closed when a signal comes.
    pub(crate) fn new() -> std::io::Result<(Self, PipeReader)> {
        let (end, held) = std::io::pipe()?;
        let received = Arc::new(AtomicI32::new(0));
        let told = Arc::clone(&received);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        std::thread::Builder::new().spawn(move || {
            let number = runtime.block_on(first_signal()).unwrap_or_default();
            told.store(number, Ordering::Release);
            drop(held);
        })?;
        Ok((Self { received }, end))
    }

    /// Returns the number of the signal that came.
    pub(crate) fn received(&self) -> Option<i32> {
        Some(self.received.load(Ordering::Acquire)).filter(|number| *number != 0)
    }
}

/// Waits for a signal that asks us to end, and returns its number. From the first call on, such signals no longer end us.
pub(crate) async fn first_signal() -> std::io::Result<i32> {
    let mut hangup = signal(SignalKind::hangup())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(tokio::select! {
        _ = hangup.recv() => 1,
        _ = interrupt.recv() => 2,
        _ = terminate.recv() => 15,
    })
}
