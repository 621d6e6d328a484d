//! Work that blocks for long, on threads of its own.
//!
//! INVARIANT: a call holds no blocking thread of the runtime while its command runs, so that it can never keep its own lookups, the
//! audit or the store of others from one.

use std::fmt;
use std::sync::Arc;

use tokio::sync::{Semaphore, oneshot};

use crate::error::ToolError;

/// How many calls of a launcher run at the same time.
const RUNNING: usize = 64;

/// The stack of a thread. Memory is taken only as far as it is used.
const STACK: usize = 4 << 20;

/// The threads of calls, one for each.
pub(super) struct CallThreads(Arc<Semaphore>);

impl CallThreads {
    /// Waits for a turn, and does the work on a thread. Dropping the future before its turn means that it is never done.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ToolError> {
        let closed = |_| ToolError::new("the launcher is shutting down").not_executed();
        let turn = Arc::clone(&self.0).acquire_owned().await.map_err(closed)?;
        // A call that was given up counts until its command has ended.
        let work = move || {
            let done = work();
            drop(turn);
            done
        };
        match run_on_thread("ringfence-call", work).await {
            Ok(done) => Ok(done),
            Err(ThreadError::Refused(error)) => {
                Err(ToolError::new(format!("no thread could be started: {error}")).not_executed())
            }
            Err(ThreadError::Panicked) => Err(ToolError::new("the call was interrupted")),
        }
    }
}

impl Default for CallThreads {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(RUNNING)))
    }
}

impl fmt::Debug for CallThreads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CallThreads").field(&self.0.available_permits()).finish()
    }
}

/// Why work on a thread has no result.
#[derive(Debug, thiserror::Error)]
pub enum ThreadError {
    /// The work panicked.
    #[error("the work was interrupted")]
    Panicked,
    /// The system starts no more threads; nothing was done.
    #[error("no thread could be started: {0}")]
    Refused(std::io::Error),
}

/// Does work that may block for long on a thread of its own, which no other work waits for. Dropping the future does not stop it.
///
/// # Errors
///
/// The thread could not be started, or the work panicked.
pub async fn run_on_thread<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ThreadError> {
    let (sender, done) = oneshot::channel();
    let thread = std::thread::Builder::new().name(name.to_owned()).stack_size(STACK);
    let work = move || {
        // Whoever waited may be gone.
        let _sent = sender.send(work());
    };
    thread.spawn(work).map_err(ThreadError::Refused)?;
    done.await.map_err(|_| ThreadError::Panicked)
}
