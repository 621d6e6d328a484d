//! A signal to us ends the command, and not us: what it left behind is still to be looked at.

use std::io::PipeReader;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, LazyLock};

use tokio::signal::unix::{Signal, SignalKind, signal};

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

/// Waits for a signal that asks us to end, and returns its number. From the first call on, such signals no longer end us. One that was
/// ignored when we started stays ignored, as `nohup` wants it.
pub(crate) async fn first_signal() -> std::io::Result<i32> {
    let mut hangup = listen(SignalKind::hangup())?;
    let mut interrupt = listen(SignalKind::interrupt())?;
    let mut terminate = listen(SignalKind::terminate())?;
    Ok(tokio::select! {
        () = arrival(&mut hangup) => 1,
        () = arrival(&mut interrupt) => 2,
        () = arrival(&mut terminate) => 15,
    })
}

/// Begins to listen for a signal, unless it is ignored.
fn listen(kind: SignalKind) -> std::io::Result<Option<Signal>> {
    // Once somebody listens, it is no longer ignored: it is looked at once.
    static IGNORED: LazyLock<u64> = LazyLock::new(ignored_signals);
    let is_ignored = *IGNORED >> (kind.as_raw_value() - 1) & 1 == 1;
    if is_ignored { Ok(None) } else { signal(kind).map(Some) }
}

async fn arrival(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}

/// Returns the set of signals that this process ignores: bit 0 is signal 1. Empty where the system does not tell.
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default()
}
