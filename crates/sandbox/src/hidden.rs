//! Files of ours that no command sees.
//!
//! A command that may read a file can also lock it, and so keep us from writing to it. Whoever opens such a file adds it here, also
//! after the sandbox was made: it is looked at when a run is planned.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Paths that no command of a [`Sandbox`](crate::Sandbox) sees, whatever is granted. Cheap to clone; all clones share one list.
#[derive(Clone, Debug, Default)]
pub struct HiddenPaths(Arc<Mutex<Vec<HiddenPath>>>);

/// One of them.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct HiddenPath {
    pub(crate) path: PathBuf,
    /// Whether it may be replaced or gone when it is mounted.
    pub(crate) may_change: bool,
}

impl HiddenPaths {
    /// Hides a file that stays where it is. What is not there yet is not hidden: make it first.
    pub fn add(&self, path: impl Into<PathBuf>) {
        self.push(HiddenPath { path: path.into(), may_change: false });
    }

    /// Hides a file that may be replaced or removed at any time.
    pub fn add_changing(&self, path: impl Into<PathBuf>) {
        self.push(HiddenPath { path: path.into(), may_change: true });
    }

    pub(crate) fn list(&self) -> Vec<HiddenPath> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn push(&self, path: HiddenPath) {
        let mut paths = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
}
