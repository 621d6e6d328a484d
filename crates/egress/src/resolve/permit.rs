//! How many lookups of one scope run at the same time.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How many lookups of a scope run at the same time; more wait, and time out there.
const RUNNING: usize = 2;

/// What each lookup of a scope needs one of: two lookups run at the same time, more wait. Cheap to clone.
#[derive(Clone, Debug)]
pub struct LookupPermits(Arc<Semaphore>);

/// Lets one lookup run. Dropping it lets the next one run.
#[derive(Debug)]
#[must_use = "a lookup runs only while its permit is held"]
pub struct LookupPermit {
    /// None where the semaphore was closed, which nobody does.
    _held: Option<OwnedSemaphorePermit>,
}

impl LookupPermits {
    /// Waits until one more lookup may run.
    pub async fn acquire(&self) -> LookupPermit {
        LookupPermit { _held: Arc::clone(&self.0).acquire_owned().await.ok() }
    }
}

impl Default for LookupPermits {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(RUNNING)))
    }
}
