//! How far something that takes long has come.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How far a verification has come, to be looked at while it goes on. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Progress(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    done: AtomicU64,
    total: AtomicU64,
}

impl Progress {
    /// Begins something of `total` parts, of which none are done.
    pub fn begin(&self, total: u64) {
        self.0.done.store(0, Ordering::Relaxed);
        self.0.total.store(total, Ordering::Relaxed);
    }

    /// Says how many parts are done.
    pub fn reach(&self, done: u64) {
        self.0.done.store(done, Ordering::Relaxed);
    }

    /// Returns how many parts are done.
    pub fn done(&self) -> u64 {
        self.0.done.load(Ordering::Relaxed)
    }

    /// Returns how many parts there are; 0 before it has begun.
    pub fn total(&self) -> u64 {
        self.0.total.load(Ordering::Relaxed)
    }
}
