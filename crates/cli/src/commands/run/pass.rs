//! Passing a command's output on to whoever reads ours, who may not read at all.

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ringfence::sandbox::Stream;

/// Writes a command's output to our own streams, on the thread of the observer.
#[derive(Debug, Default)]
pub(super) struct OutputPasser {
    state: Arc<Mutex<Passed>>,
}

/// What came of it.
#[derive(Debug, Default)]
pub(super) struct Passed {
    /// Why a part could not be written.
    pub(super) error: Option<io::Error>,
    /// A write has not returned: nobody reads.
    pub(super) is_stuck: bool,
    /// The end of what went to the error stream.
    pub(super) errors: Vec<u8>,
}

/// How much of the error stream is kept.
const KEPT: usize = 32 << 10;

/// How long our own messages wait for somebody who does not read the output.
const PATIENCE: Duration = Duration::from_secs(1);

impl OutputPasser {
    /// Returns what the sandbox calls with each piece of output.
    pub(super) fn observer(&self) -> impl FnMut(Stream, &[u8]) -> ControlFlow<()> + Send + 'static {
        let state = Arc::clone(&self.state);
        let (mut stdout, mut stderr) = (crate::print::passed_output(), crate::print::passed_errors());
        move |stream, bytes| {
            lock(&state).is_stuck = true;
            let written = match stream {
                Stream::Error => stderr.write_all(bytes),
                Stream::Output => stdout.write_all(bytes).and_then(|()| stdout.flush()),
            };
            let mut state = lock(&state);
            state.is_stuck = false;
            if stream == Stream::Error {
                keep_end(&mut state.errors, bytes);
            }
            match written {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    // Whoever reads our output may have had enough.
                    if error.kind() != io::ErrorKind::BrokenPipe {
                        state.error.get_or_insert(error);
                    }
                    ControlFlow::Break(())
                }
            }
        }
    }

    /// Returns what came of it, when the command is over.
    pub(super) fn passed(&self) -> Passed {
        let mut state = lock(&self.state);
        Passed {
            error: state.error.take(),
            is_stuck: state.is_stuck,
            errors: std::mem::take(&mut state.errors),
        }
    }
}

/// Adds to what is kept, and drops the beginning of what is too much.
fn keep_end(kept: &mut Vec<u8>, bytes: &[u8]) {
    kept.extend_from_slice(bytes.get(bytes.len().saturating_sub(KEPT)..).unwrap_or_default());
    // Not at each piece: moving the rest costs.
    if kept.len() > 2 * KEPT {
        kept.drain(..kept.len() - KEPT);
    }
}

fn lock(state: &Mutex<Passed>) -> MutexGuard<'_, Passed> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes these lines to the error stream.
pub(super) fn tell(lines: &[String]) {
    for line in lines {
        let _told = writeln!(crate::print::errors(), "ringfence: {line}");
    }
}

/// The same, for a stream that may be the one nobody reads: it is not waited for long.
pub(super) fn tell_in_time(lines: Vec<String>) {
    let (told, done) = channel();
    let work = move || {
        tell(&lines);
        // Nobody may wait for it any more.
        let _told = told.send(());
    };
    if std::thread::Builder::new().spawn(work).is_ok() {
        let _done = done.recv_timeout(PATIENCE);
    }
}
